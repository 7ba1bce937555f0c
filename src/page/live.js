// Keeps the page true: a list, then every change, and the list again whenever the connection was lost.
//
// A stream takes one of the six connections that a browser has for a server, and the rest is for answers. So there are a few places,
// for tabs that somebody looks at, and for one that nobody does, to call them; the others look now and then.

import { events, openAsks, Problem } from "./api.js";

const FIRST_PAUSE = 200;
/** Short enough to be true again within two seconds of a daemon that is back. */
const LAST_PAUSE = 1500;
/** After so long without a connection it is more than a hiccup. */
const PATIENCE = 4000;
/** A page that slept for so long may have a connection that only looks alive. */
const NAP = 20_000;
const PLACES = 4;
/** How often a tab looks that has no place: that somebody looks at, and that nobody does. */
const LOOK = 2000;
const GLANCE = 15_000;
const LIST_PATIENCE = 5000;

/** @typedef {"connecting" | "live" | "retrying" | "offline"} Connection */

export class Live {
  #stop = new AbortController();
  #again = new AbortController();
  #wake = () => {};
  #lostAt = 0;
  #awakeAt = Date.now();
  /** Whether this is the tab that calls people who look at none. */
  callsPeople = false;

  /** @param {{ list(asks: Ask[]): void, event(event: AskEvent): void, state(state: Connection): void }} sink */
  constructor(sink) {
    this.sink = sink;
    const options = { signal: this.#stop.signal };
    addEventListener("online", () => this.refresh(), options);
    addEventListener("offline", () => this.refresh(), options);
    addEventListener("pageshow", () => this.#look(), options);
    document.addEventListener("visibilitychange", () => this.#look(), options);
    const beat = setInterval(() => this.#beat(), 5000);
    this.#stop.signal.addEventListener("abort", () => clearInterval(beat));
    if (navigator.locks) void navigator.locks.request("answerback.calls-people", options, () => this.#callPeople()).catch(() => {});
    else this.callsPeople = true;
    void this.#run();
  }

  stop() {
    this.#stop.abort();
    this.refresh();
  }

  /** Lists again, now. */
  refresh() {
    this.#again.abort();
    this.#wake();
  }

  /** For as long as the page is there. */
  #callPeople() {
    this.callsPeople = true;
    return new Promise((resolve) => this.#stop.signal.addEventListener("abort", resolve));
  }

  get #isWatched() {
    return document.visibilityState === "visible";
  }

  #look() {
    const slept = Date.now() - this.#awakeAt > NAP;
    if (slept || (!this.#isWatched && !this.callsPeople)) this.refresh();
    else this.#wake();
  }

  /** Timers stand still while a machine sleeps. */
  #beat() {
    if (Date.now() - this.#awakeAt > NAP) this.refresh();
    this.#awakeAt = Date.now();
  }

  async #run() {
    this.sink.state("connecting");
    let pause = FIRST_PAUSE;
    while (!this.#stop.signal.aborted) {
      this.#again = new AbortController();
      const { signal } = this.#again;
      try {
        const { asks, cursor } = await openAsks(AbortSignal.any([signal, AbortSignal.timeout(LIST_PATIENCE)]));
        this.#tell(() => this.sink.list(asks));
        const isTrue = () => {
          this.sink.state("live");
          this.#lostAt = 0;
          pause = FIRST_PAUSE;
        };
        const follow = async () => {
          for await (const event of events(cursor, signal, isTrue)) this.#tell(() => this.sink.event(event));
        };
        if ((!this.#isWatched && !this.callsPeople) || !(await inPlace(follow))) {
          isTrue();
          await this.#rest(this.#isWatched ? LOOK : GLANCE);
          continue;
        }
      } catch (error) {
        if (error instanceof Problem && error.status === 401) return this.stop();
        if (signal.aborted && navigator.onLine) continue;
      }
      this.#lostAt ||= Date.now();
      this.sink.state(Date.now() - this.#lostAt > PATIENCE ? "offline" : "retrying");
      await this.#rest(pause * (0.8 + 0.4 * Math.random()));
      pause = Math.min(LAST_PAUSE, pause * 2);
    }
  }

  /** A fault in showing something is not one of the connection. @param {() => void} show */
  #tell(show) {
    try {
      show();
    } catch (error) {
      reportError(error);
    }
  }

  /** @param {number} millis */
  #rest(millis) {
    return /** @type {Promise<void>} */ (
      new Promise((resolve) => {
        const timer = setTimeout(resolve, millis);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      })
    );
  }
}

/**
 * Does it in a place of its own, if there is one; whether there was.
 * @param {() => Promise<void>} task
 */
async function inPlace(task) {
  // Without them there is no knowing of other tabs.
  if (!navigator.locks) return task().then(() => true);
  for (let place = 1; place <= PLACES; place++) {
    const had = await navigator.locks.request(`answerback.stream-${place}`, { ifAvailable: true }, async (lock) => {
      if (lock) await task();
      return lock !== null;
    });
    if (had) return true;
  }
  return false;
}
