// One ask on the page, from its opening to its end: first a row or a form, then its outcome. What is asked is the form's business.

import { Problem, settle } from "./api.js";
import { announce, fill, h, icon } from "./dom.js";
import * as drafts from "./draft.js";
import { ended } from "./ended.js";
import { Foot } from "./foot.js";
import { head, modeBadge } from "./head.js";
import { cardName, formOf, text } from "./kinds.js";
import { age, deadline, mode, projectName } from "./words.js";

/** How long a choice can be undone before it is sent. The style sheet animates the same time. */
const UNDO = 3000;
/** How long the outcome is shown, and how long if a receipt may still arrive. */
const SHOWN = 3500;
const SHOWN_WITHOUT_RECEIPT = 9000;
/** How long to wait before leaving is tried again. */
const STILL_BUSY = 1000;

const hasPointer = () => matchMedia("(hover: hover)").matches;

/** @typedef {"open" | "undo" | "sending" | "settled"} Phase */

export class Card {
  /** @type {Phase} */
  #phase = "open";
  #timer = 0;
  /** What was sent from here. It is set before sending, because the event may arrive before the reply. @type {{ how: string, body: any } | null} */
  #sent = null;
  /** The outcome stays until the person closes it. */
  #stays = false;
  #age = h("span", { class: "age" });
  #deadline = h("span", { class: "deadline" });
  #error = h("p", { class: "error", role: "alert", hidden: true });
  /** @type {Foot} */
  #foot;
  isExpanded = false;
  /** When the person last made a choice that can be undone. */
  chosenAt = 0;
  /** When the page last moved this card by itself. */
  movedAt = -Infinity;

  /**
   * @param {Ask} ask
   * @param {{ left(card: Card): void, settled(ask: Ask): void, steadily(change: () => void): void, isBusy(card: Card): boolean }} listener `steadily` makes a change
   *   that moves other cards; `isBusy` says whether the person is using another card
   */
  constructor(ask, listener) {
    this.ask = ask;
    this.id = ask.id;
    this.listener = listener;
    this.form = formOf(ask, drafts.load(ask), {
      changed: () => this.#changed(),
      decided: () => this.#waitForUndo(),
      filled: () => this.#foot.revealSend(),
      submit: () => void this.submit(),
    });
    this.#foot = new Foot(this.form, {
      submit: () => void this.submit(),
      send: () => void this.#send(),
      undo: () => this.undo(),
      release: () => void this.#settle("release", {}),
      dismiss: (reason) => void this.#settle("dismiss", reason ? { reason } : {}),
    });
    this.element = h("article", { class: "card", tabindex: -1, "data-key": ask.key, "aria-label": cardName(ask) });
    this.#showRow();
    this.tick();
  }

  get isOpen() {
    return this.#phase !== "settled";
  }

  get hasFocus() {
    return this.element.contains(document.activeElement);
  }

  /** The person has begun an answer or a dismissal, or it is being sent. */
  get isBegun() {
    return this.isOpen && (this.#phase !== "open" || this.#foot.isDismissing || this.form.draft !== null);
  }

  /** The person is about to use this card, so it must not move. */
  get isTouched() {
    return this.isOpen && (this.hasFocus || (hasPointer() && this.element.matches(":hover")));
  }

  get canUndo() {
    return this.#phase === "undo";
  }

  /** Gives up the height that the card kept for the sake of the cards below. */
  relax() {
    if (this.element.style.minHeight && !this.listener.isBusy(this)) this.listener.steadily(() => this.element.style.removeProperty("min-height"));
  }

  /** Brings the times up to date. */
  tick() {
    this.#age.textContent = age(this.ask);
    this.#deadline.textContent = deadline(this.ask);
  }

  /** Shows the form in place of the row. */
  expand() {
    if (this.isExpanded || !this.isOpen) return;
    this.isExpanded = true;
    this.element.classList.add("expanded");
    fill(this.element, ...head(this.ask, this.#deadline, this.#age), this.form.element, this.#error, this.#foot.element);
    this.#changed();
  }

  focus() {
    this.element.focus({ preventScroll: true });
    this.element.scrollIntoView({ block: "nearest" });
  }

  /** Hands a key to the form. Returns whether it is a key of the form. @param {string} key */
  press(key) {
    if (!this.form.keys.test(key)) return false;
    this.expand();
    this.form.press(key);
    return true;
  }

  /** @param {Ask} ask */
  update(ask) {
    if (ask.id !== this.id) return;
    const before = this.ask;
    // The receipt may arrive before the reply to the answer.
    this.ask = { ...ask, receipt: ask.receipt ?? before.receipt };
    if (ask.state === "settled") this.#settled(before);
    else if (mode(before).word !== mode(ask).word) {
      this.element.querySelector(".mode")?.replaceWith(modeBadge(ask));
      this.#showActions();
      if (ask.perhaps_answered) announce(`${cardName(ask)}: ${mode(ask).word}`);
    }
    this.tick();
  }

  /**
   * Whether somebody may have answered in the terminal without a trace so far. No event tells of that, so it has to be asked for.
   */
  get mayBeAnswered() {
    return this.isExpanded && this.#phase === "open" && this.ask.racing && this.ask.kind === "permission";
  }

  /** The ask is no longer open, and nobody knows its outcome. */
  vanish() {
    this.update({ ...this.ask, state: "settled", outcome: { kind: "withdrawn", by: null } });
  }

  /** Sends the answer if it is complete. */
  async submit() {
    if (this.#phase !== "open" && this.#phase !== "undo") return;
    if (this.form.isComplete) return this.#send();
    this.#holdBack();
    this.form.showFaults();
  }

  /** The person pressed Enter. An approval takes one more step. */
  enter() {
    if (this.form.isApproval && this.form.isComplete) this.#foot.focusSend();
    else void this.submit();
  }

  /** Takes back a choice that is not sent yet. */
  undo() {
    if (!this.#holdBack()) return;
    this.form.undo();
    this.form.focus();
    announce("Not sent");
  }

  /** Sends a choice now, because the person is leaving the page. */
  flush() {
    if (this.canUndo) void this.#send();
  }

  #showRow() {
    const open = h(
      "button",
      { type: "button", class: "row" },
      h("span", { class: "row-project" }, projectName(this.ask.project)),
      h("span", { class: "row-text", dir: "auto" }, text(this.ask)),
      this.#age,
    );
    open.addEventListener("click", () => {
      this.expand();
      this.form.focus();
    });
    fill(this.element, open);
  }

  /** A choice that was about to be sent is not the whole answer if the person goes on. */
  #changed() {
    if (this.#holdBack()) announce("Not sent yet");
    drafts.save(this.ask, this.form.draft);
    this.#showActions();
  }

  #waitForUndo() {
    this.#phase = "undo";
    this.#foot.putReasonAside();
    this.chosenAt = performance.now();
    this.#timer = setTimeout(() => this.#send(), UNDO);
    this.#showActions();
    announce(`Sending ${this.form.summary.slice(0, 100)}. Press U to undo`);
  }

  /** Stops a choice from being sent. Returns whether there was one. */
  #holdBack() {
    if (!this.canUndo) return false;
    clearTimeout(this.#timer);
    this.#phase = "open";
    this.#showActions();
    return true;
  }

  #send() {
    this.#foot.putReasonAside();
    return this.#settle("answer", { ...this.form.answer(), id: this.ask.id });
  }

  /**
   * @param {"answer" | "dismiss" | "release"} how
   * @param {unknown} body
   */
  async #settle(how, body) {
    clearTimeout(this.#timer);
    this.#phase = "sending";
    this.#sent = { how, body };
    this.#error.hidden = true;
    this.#showActions();
    try {
      this.update(await settle(this.ask.key, how, body));
    } catch (error) {
      // The event may have arrived although the reply did not.
      if (!this.isOpen) return;
      this.#phase = "open";
      if (error instanceof Problem && error.ask?.id === this.id && error.ask.state === "settled") return this.update(error.ask);
      this.#failed(/** @type {Error} */ (error));
    }
  }

  /** @param {Error} error */
  #failed(error) {
    const hint = error instanceof Problem ? error.hint : "Your input is kept here. Try again when the page is connected.";
    fill(this.#error, icon("warning"), h("span", {}, `Not sent. ${error.message} ${hint}`));
    this.#error.hidden = false;
    // First the fields take input again, because one of them gets the focus.
    this.#showActions();
    if (error instanceof Problem) this.form.blame(error.errors);
  }

  /** Whether this outcome was sent from here. @param {Outcome} outcome */
  #isMine({ kind, answers = {}, edited, reason }) {
    if (!this.#sent) return false;
    const { how, body } = this.#sent;
    if (how === "release") return kind === "released";
    if (how === "dismiss") return kind === "dismissed" && (body.reason ?? undefined) === reason;
    const sent = Object.entries(body.answers);
    return kind === "answered" && isSame(edited, body.edited) && sent.length === Object.keys(answers).length && sent.every(([question, answer]) => [answer].flat().join(", ") === answers[question]);
  }

  #showActions() {
    if (!this.isExpanded || this.#phase === "settled") return;
    const isBusy = this.#phase === "sending";
    const { hasFocus } = this;
    this.element.dataset.phase = this.#phase;
    this.form.element.inert = isBusy;
    this.#foot.show(this.#phase, this.ask.origin === "claude-code" && !this.ask.racing && !this.ask.deferred);
    // If the control with the focus is gone, the next key would go to another card. An inert control loses the focus only later.
    if (hasFocus && (isBusy || !this.hasFocus)) this.element.focus({ preventScroll: true });
  }

  /** @param {Ask} before */
  #settled(before) {
    const { outcome, receipt } = this.ask;
    if (!outcome) return;
    const isFirst = this.isOpen;
    if (!isFirst && before.receipt?.at === receipt?.at) return;
    const { hasFocus } = this;
    const isMine = this.#isMine(outcome);
    const unsent = isMine ? [] : [...this.form.texts, this.#foot.reason].filter((text) => text.trim());
    this.#phase = "settled";
    this.isExpanded = false;
    this.element.classList.remove("expanded");
    this.element.classList.add("settled");
    delete this.element.dataset.phase;
    const end = ended(this.ask, isMine, unsent, () => this.#leave(true));
    const { height } = this.element.getBoundingClientRect();
    this.listener.steadily(() => {
      fill(this.element, ...end.content);
      // The cards below stay in place while the person uses one of them.
      if (isFirst && this.listener.isBusy(this)) this.element.style.minHeight = `${height}px`;
    });
    if (hasFocus) this.focus();
    if (isFirst) {
      announce(end.spoken);
      this.listener.settled(this.ask);
    }
    clearTimeout(this.#timer);
    // The person closes the card if a text of theirs was not sent, or if something went wrong.
    this.#stays = unsent.length > 0 || (receipt !== null && !receipt.as_sent);
    if (this.#stays) return;
    drafts.forget(this.ask);
    const expectsReceipt = isMine && outcome.kind === "answered" && !receipt && this.ask.origin === "claude-code" && !before.deferred;
    this.#timer = setTimeout(() => this.#leave(), expectsReceipt ? SHOWN_WITHOUT_RECEIPT : SHOWN);
  }

  #leave(isWanted = false) {
    clearTimeout(this.#timer);
    if (!isWanted && this.#stays) return;
    if (!isWanted && this.listener.isBusy(this)) {
      this.#timer = setTimeout(() => this.#leave(), STILL_BUSY);
      return;
    }
    // The person may be reading it.
    if (!isWanted && hasPointer() && this.element.matches(":hover")) {
      this.element.addEventListener("pointerleave", () => this.#leave(), { once: true });
      return;
    }
    drafts.forget(this.ask);
    this.listener.left(this);
  }
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
