// Keeps the page true: a list, then every change, and the list again whenever the connection was lost.

import { events, openAsks, Problem } from "./api.js";

const FIRST_PAUSE = 200;
/** Short enough to be true again within two seconds of a daemon that is back. */
const LAST_PAUSE = 1500;
/** After so long without a connection it is more than a hiccup. */
const PATIENCE = 4000;
/** A page that slept for so long may have a connection that only looks alive. */
const NAP = 20_000;

/** @typedef {"connecting" | "live" | "retrying" | "offline"} Connection */

export class Live {
  #stop = new AbortController();
  #again = new AbortController();
  #wake = () => {};
  #lostAt = 0;
  #awakeAt = Date.now();

  /** @param {{ list(asks: Ask[]): void, event(event: AskEvent): void, state(state: Connection): void }} sink */
  constructor(sink) {
    this.sink = sink;
    const look = () => this.#look();
    const options = { signal: this.#stop.signal };
    addEventListener("online", () => this.refresh(), options);
    addEventListener("pageshow", look, options);
    addEventListener("focus", look, options);
    document.addEventListener("visibilitychange", look, options);
    const beat = setInterval(() => {
      // Timers stand still while a machine sleeps.
      if (Date.now() - this.#awakeAt > NAP) this.refresh();
      this.#awakeAt = Date.now();
    }, 5000);
    this.#stop.signal.addEventListener("abort", () => clearInterval(beat));
    void this.#run();
  }

  stop() {
    this.#stop.abort();
    this.#again.abort();
    this.#wake();
  }

  /** Lists again, now. */
  refresh() {
    this.#again.abort();
    this.#wake();
  }

  #look() {
    // Somebody looks at the page: no pause is short enough.
    if (document.visibilityState === "visible") this.#wake();
  }

  async #run() {
    this.sink.state("connecting");
    let pause = FIRST_PAUSE;
    while (!this.#stop.signal.aborted) {
      this.#again = new AbortController();
      try {
        const { asks, cursor } = await openAsks(AbortSignal.any([this.#again.signal, AbortSignal.timeout(10_000)]));
        this.sink.list(asks);
        this.sink.state("live");
        this.#lostAt = 0;
        pause = FIRST_PAUSE;
        for await (const event of events(cursor, this.#again.signal)) this.sink.event(event);
      } catch (error) {
        if (error instanceof Problem && error.status === 401) return this.stop();
        if (this.#again.signal.aborted) continue;
      }
      this.#lostAt ||= Date.now();
      this.sink.state(Date.now() - this.#lostAt > PATIENCE ? "offline" : "retrying");
      await this.#rest(pause);
      pause = Math.min(LAST_PAUSE, pause * 2);
    }
  }

  /** @param {number} millis */
  #rest(millis) {
    return /** @type {Promise<void>} */ (
      new Promise((resolve) => {
        const timer = setTimeout(resolve, millis * (0.8 + 0.4 * Math.random()));
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      })
    );
  }
}
