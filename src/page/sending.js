// What a person does about an ask, on its way to the daemon: first it can be undone, then it is sent, and if the daemon cannot be reached
// it is sent later.

import { Problem, settle } from "./api.js";

/** How long a choice can be undone before it is sent. The style sheet animates the same time. */
const UNDO = 3000;

/** @typedef {"open" | "undo" | "sending" | "unsent"} Step `open`: nothing is on its way */
/** @typedef {{ how: "answer" | "dismiss" | "release", body?: any }} Sent the body of an answer is written when it is sent */

/**
 * @typedef {object} SendingListener
 * @property {() => void} changed it is at another step
 * @property {(ask: Ask) => void} settled
 * @property {(problem: Problem) => void} refused
 * @property {() => unknown} answer what to send as an answer
 */

export class Sending {
  /** @type {Step} */
  step = "open";
  /** What is being sent, or was. It is set before sending, because the event may arrive before the reply. @type {Sent | null} */
  sent = null;
  #timer = 0;
  /** Stops the request that is under way. */
  #request = new AbortController();
  #isTrying = false;
  #isOver = false;

  /**
   * @param {Ask} ask
   * @param {SendingListener} listener
   */
  constructor(ask, listener) {
    this.ask = ask;
    this.listener = listener;
  }

  /** Sends it when the time for an undo is over. @param {Sent} sent */
  soon(sent) {
    this.sent = sent;
    this.#go("undo");
    this.#timer = setTimeout(() => this.now(), UNDO);
  }

  /** Sends it now. @param {Sent | null} [sent] what waits for its undo, unless it is something else */
  now(sent = this.sent) {
    if (!sent) return;
    clearTimeout(this.#timer);
    const body = sent.how === "answer" ? this.listener.answer() : sent.body;
    this.sent = { how: sent.how, body: { ...body, id: this.ask.id } };
    this.#go("sending");
    void this.#post();
  }

  /** Tries again what could not be sent. */
  again() {
    if (this.step === "unsent" && !this.#isTrying) void this.#post();
  }

  /** Takes back what is on its way. Returns what it was at; null if there is nothing to take back. @returns {Step | null} */
  takeBack() {
    const { step } = this;
    if (step !== "undo" && step !== "unsent") return null;
    clearTimeout(this.#timer);
    this.#request.abort();
    this.#isTrying = false;
    this.sent = null;
    this.#go("open");
    return step;
  }

  /** The ask is settled. */
  end() {
    clearTimeout(this.#timer);
    this.#isOver = true;
  }

  /** Whether this outcome was sent from here. @param {Outcome} outcome */
  caused(outcome) {
    const { how, body } = this.sent ?? {};
    if (!body) return false;
    if (how === "release") return outcome.kind === "released";
    if (how === "dismiss") return outcome.kind === "dismissed" && (body.reason ?? undefined) === outcome.reason;
    return says(outcome, body);
  }

  /** @param {Step} step */
  #go(step) {
    this.step = step;
    this.listener.changed();
  }

  async #post() {
    const { sent } = this;
    if (!sent) return;
    this.#isTrying = true;
    this.#request = new AbortController();
    const { signal } = this.#request;
    try {
      const ask = await settle(this.ask.key, sent.how, sent.body, signal);
      if (!signal.aborted) this.listener.settled(ask);
    } catch (error) {
      // The person has taken it back, or the event has arrived although the reply did not.
      if (signal.aborted || this.#isOver) return;
      if (error instanceof Problem) {
        this.step = "open";
        this.listener.refused(error);
      } else this.#go("unsent");
    } finally {
      if (!signal.aborted) this.#isTrying = false;
    }
  }
}

/**
 * Whether an ask was settled with this answer.
 * @param {Outcome} outcome
 * @param {Answer} sent
 */
export function says({ kind, answers = {}, edited }, sent) {
  const said = Object.entries(sent.answers);
  return kind === "answered" && isSame(edited, sent.edited) && said.length === Object.keys(answers).length && said.every(([question, answer]) => [answer].flat().join(", ") === answers[question]);
}

/**
 * Whether two edits are the same.
 * @param {Record<string, unknown> | undefined} one
 * @param {Record<string, unknown> | undefined} other
 */
function isSame(one = {}, other = {}) {
  const names = Object.keys(one);
  return names.length === Object.keys(other).length && names.every((name) => JSON.stringify(one[name]) === JSON.stringify(other[name]));
}
