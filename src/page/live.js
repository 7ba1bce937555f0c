// Keeps the page up to date: it gets the list, follows every change, and gets the list again after each loss of the connection.
//
// A browser opens at most six connections to a server, and each stream takes one. Some must stay free for answers. So only a few tabs have
// a stream: visible ones, and one hidden tab that calls the person. The other tabs get the list now and then.

import { events, openAsks, Problem } from "./api.js";

const FIRST_PAUSE = 200;
/** Short enough that the page is up to date two seconds after the daemon is back. */
const LAST_PAUSE = 1500;
/** Without a connection for this long, the page says that it is offline. */
const PATIENCE = 4000;
/** After a sleep this long, a connection may be dead although it looks open. */
const NAP = 20_000;
/** How many tabs have a stream. */
const STREAMS = 4;
/** How often a tab without a stream gets the list: a visible tab, and a hidden one. */
const LOOK = 2000;
const GLANCE = 15_000;
/** How long a page of the list may take. */
const LIST_PATIENCE = 5000;

/** @typedef {"connecting" | "live" | "retrying" | "offline"} Connection */

export class Live {
  #stop = new AbortController();
  #again = new AbortController();
  #wake = () => {};
  #lostAt = 0;
  #awakeAt = Date.now();
  /** Whether somebody looked at the page when the present stream began. */
  #wasWatched = false;
  /** Whether this tab calls the person while they look at none. */
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

  /** Gets the list again now. */
  refresh() {
    this.#again.abort();
    this.#wake();
  }

  /** Holds the lock until the page is closed. */
  #callPeople() {
    this.callsPeople = true;
    return new Promise((resolve) => this.#stop.signal.addEventListener("abort", resolve));
  }

  get #isWatched() {
    return document.visibilityState === "visible";
  }

  /** Somebody looks at the page now, or nobody does any more: that needs another kind of stream. */
  #look() {
    const slept = Date.now() - this.#awakeAt > NAP;
    if (slept || this.#isWatched !== this.#wasWatched) this.refresh();
    else this.#wake();
  }

  /** Timers stop while the machine sleeps, so a late one shows that it slept. */
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
        const { asks, cursor } = await openAsks(signal, LIST_PATIENCE);
        this.#tell(() => this.sink.list(asks));
        const connected = () => {
          this.sink.state("live");
          this.#lostAt = 0;
          pause = FIRST_PAUSE;
        };
        const isWatched = (this.#wasWatched = this.#isWatched);
        const follow = async () => {
          for await (const event of events(cursor, { signal, isWatched, opened: connected })) {
            // What was shown may be undone, so everything is listed again.
            if (event.type === "reset") return this.refresh();
            this.#tell(() => this.sink.event(event));
          }
        };
        if ((!this.#isWatched && !this.callsPeople) || !(await withStream(follow))) {
          connected();
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

  /** An error while showing something must not look like a lost connection. @param {() => void} show */
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
 * Runs the task while holding one of the locks for streams. Returns false if other tabs hold them all.
 * @param {() => Promise<void>} task
 */
async function withStream(task) {
  // Without locks, this tab cannot know about the others.
  if (!navigator.locks) return task().then(() => true);
  for (let number = 1; number <= STREAMS; number++) {
    const had = await navigator.locks.request(`answerback.stream-${number}`, { ifAvailable: true }, async (lock) => {
      if (lock) await task();
      return lock !== null;
    });
    if (had) return true;
  }
  return false;
}
