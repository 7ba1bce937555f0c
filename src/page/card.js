// One ask on the page, from its opening to its end: first a row or a form, then its outcome. What is asked is the form's business.

import { announce, fill, h, icon } from "./dom.js";
import * as drafts from "./draft.js";
import { ended } from "./ended.js";
import { Foot } from "./foot.js";
import { Head, surroundings } from "./head.js";
import { firstLine } from "./inline.js";
import { cardName, formOf, guarded, kindKey, text } from "./kinds.js";
import { Row } from "./row.js";
import { says, Sending } from "./sending.js";
import { age, deadline, mode } from "./words.js";

/** How long the outcome is shown, and how long if a receipt may still arrive. */
const SHOWN = 3500;
const SHOWN_WITHOUT_RECEIPT = 9000;
/** How long to wait before leaving is tried again. */
const STILL_BUSY = 1000;

const hasPointer = () => matchMedia("(hover: hover)").matches;

/**
 * @typedef {object} CardListener
 * @property {(card: Card) => void} left
 * @property {(ask: Ask) => void} settled
 * @property {(card: Card) => void} passed the person is done with this card for now
 * @property {(card: Card) => void} opened the person wants to see this card
 * @property {(card: Card) => void} needed the person has to see this card again
 * @property {(change: () => void) => void} steadily makes a change that moves other cards
 * @property {(card: Card) => boolean} isBusy whether the person is about to use another card
 * @property {(card: Card) => boolean} isElsewhere whether another card has the focus
 */

export class Card {
  #isSettled = false;
  /** Ends the time for which the outcome is shown. */
  #timer = 0;
  /** The outcome stays until the person closes it. */
  #stays = false;
  /** The situation in which the ask came up, once it is known. @type {AskContext | null} */
  #context = null;
  #age = h("span", { class: "age" });
  #deadline = h("span", { class: "deadline" });
  /** A form may break rules that only the daemon knows. The person goes on when it has taken the form. */
  #waitsForDaemon = false;
  #error = h("p", { class: "error", role: "alert", hidden: true });
  /** @type {Head | null} */
  #head = null;
  isExpanded = false;
  /** When the person last made a choice that can be undone. */
  chosenAt = 0;
  /** When the page last moved this card by itself. */
  movedAt = -Infinity;
  /** When its form was first shown. */
  shownAt = -Infinity;

  /**
   * @param {Ask} ask
   * @param {CardListener} listener
   */
  constructor(ask, listener) {
    this.ask = ask;
    this.id = ask.id;
    this.listener = listener;
    this.sending = new Sending(ask, {
      changed: () => this.#showActions(),
      settled: (settled) => (settled.id === this.id ? this.update(settled) : this.vanish()),
      refused: (problem) => this.#failed(problem),
      answer: () => this.form.answer(),
    });
    this.row = new Row(ask, { open: () => this.listener.opened(this), undo: () => this.undo() });
    this.element = h("article", { class: "card", tabindex: -1, "data-key": ask.key, "aria-label": `${cardName(ask)}. ${firstLine(text(ask))}` });
    this.form = this.#newForm();
    this.foot = this.#newFoot();
    this.#showRow();
    this.tick();
  }

  /** Begins with the draft that is saved. */
  #begin() {
    this.form = this.#newForm();
    this.foot = this.#newFoot();
  }

  /** Builds the form. That comes to light now if the page cannot show what the ask is about. */
  #build() {
    guarded(this.ask, () => void this.form.element, () => this.#begin());
  }

  #newForm() {
    return formOf(this.ask, drafts.load(this.ask).form, {
      changed: () => this.#changed(),
      decided: () => this.#waitForUndo({ how: "answer" }),
      filled: () => this.foot.revealSend(),
      submit: () => this.submit(),
    });
  }

  #newFoot() {
    const foot = new Foot(this.form, {
      submit: () => this.submit(),
      send: () => this.#send(),
      undo: () => this.undo(),
      release: () => this.#waitForUndo({ how: "release" }),
      dismiss: (reason) => this.#send({ how: "dismiss", body: reason ? { reason } : {} }),
      written: () => this.#save(),
    });
    foot.keptReason = drafts.load(this.ask).reason;
    return foot;
  }

  get isOpen() {
    return !this.#isSettled;
  }

  /** The person has not said yet what to do about this ask. */
  get needsPerson() {
    return this.isOpen && this.sending.step === "open";
  }

  get hasFocus() {
    return this.element.contains(document.activeElement);
  }

  /** The person has begun an answer or a dismissal, or it is being sent. */
  get isBegun() {
    return this.isOpen && (!this.needsPerson || this.foot.reason.trim() !== "" || this.foot.isDismissing || this.form.draft !== null);
  }

  /** The person is about to use this card, so it must not move. */
  get isTouched() {
    return this.isOpen && (this.hasFocus || (hasPointer() && this.element.matches(":hover")));
  }

  get canUndo() {
    return this.isOpen && this.sending.step === "undo";
  }

  /** Gives up the height that the card kept for the sake of the cards below. */
  relax() {
    if (this.element.style.minHeight && !this.listener.isBusy(this)) this.listener.steadily(() => this.element.style.removeProperty("min-height"));
  }

  /** Brings the times up to date. */
  tick() {
    this.#age.textContent = age(this.ask);
    this.#deadline.textContent = deadline(this.ask, this.#context);
    this.row.tick(this.ask);
  }

  /** The card can be seen again. What runs on it goes on where it would be by now. */
  reappear() {
    if (!this.canUndo) return;
    for (const animation of this.foot.element.getAnimations({ subtree: true })) animation.currentTime = performance.now() - this.chosenAt;
  }

  /** Shows the form in place of the row. */
  expand() {
    if (this.isExpanded || !this.isOpen) return;
    this.isExpanded = true;
    this.shownAt = performance.now();
    this.element.classList.add("expanded");
    this.#build();
    if (!this.#head) {
      this.#head = new Head(this.ask, this.#deadline, this.#age);
      if (this.ask.origin === "claude-code") void this.#learnSurroundings(this.#head);
    }
    this.#showForm();
    this.#showActions();
  }

  #showForm() {
    fill(this.element, ...(this.#head?.elements ?? []), this.form.element, this.#error, this.foot.element);
  }

  /** Shows the row in place of the form. What the person has begun stays open. */
  collapse() {
    if (!this.isExpanded || this.isBegun) return;
    this.isExpanded = false;
    this.element.classList.remove("expanded");
    this.#showRow();
  }

  /** Puts the row back where it belongs if the card is not open. */
  keepRow() {
    if (this.isOpen && !this.isExpanded && this.row.element.parentElement !== this.element) this.#showRow();
  }

  /** @param {Head} head */
  async #learnSurroundings(head) {
    const found = await surroundings(this.ask);
    this.#context = found;
    this.listener.steadily(() => head.showContext(found));
    this.#showActions();
  }

  focus() {
    this.element.focus({ preventScroll: true });
    this.element.scrollIntoView({ block: "nearest" });
  }

  /** The page has brought the person here. They find nothing half approved. */
  arrive() {
    this.form.forgetApproval?.();
  }

  /** Hands a key to the form. Returns whether it is a key of the form. @param {string} key */
  press(key) {
    if (!this.form.keys.test(key)) return false;
    // Nobody chooses what they have not seen.
    if (this.isExpanded) this.form.press(key);
    else this.listener.opened(this);
    return true;
  }

  /** Takes over a draft from another tab. A person who comes back to this tab goes on in the field in which they were. */
  redraft() {
    if (!this.needsPerson || this.foot.isDismissing) return;
    const fields = () => /** @type {HTMLElement[]} */ ([...this.element.querySelectorAll("textarea, input")]);
    const { hasFocus } = this;
    const field = fields().findIndex((each) => each === document.activeElement);
    this.#begin();
    this.#build();
    if (this.isExpanded) this.#showForm();
    this.#showActions();
    if (field >= 0) fields()[field]?.focus({ preventScroll: true });
    else if (hasFocus) this.element.focus({ preventScroll: true });
  }

  /** @param {Ask} ask */
  update(ask) {
    if (ask.id !== this.id) return;
    const before = this.ask;
    // The receipt may arrive before the reply to the answer.
    this.ask = { ...ask, receipt: ask.receipt ?? before.receipt };
    if (ask.state === "settled") this.#settled(before);
    else if (mode(before).word !== mode(ask).word) {
      this.#head?.showMode(ask);
      this.#showActions();
      if (ask.perhaps_answered) announce(`${cardName(ask)}: ${mode(ask).word}`);
    }
    this.#showState();
  }

  /**
   * Whether somebody may have answered in the terminal without a trace so far. No event tells of that, so it has to be asked for.
   */
  get mayBeAnswered() {
    return this.isExpanded && !this.element.hidden && this.needsPerson && this.ask.racing && this.ask.kind === "permission";
  }

  /** The ask is no longer open, and nobody knows its outcome. */
  vanish() {
    this.update({ ...this.ask, state: "settled", outcome: { kind: "withdrawn", by: null } });
  }

  /** Sends what waits for its undo, or else the answer if it is complete. */
  submit() {
    if (this.canUndo) return this.#send();
    if (!this.needsPerson) return;
    if (this.form.isComplete) return this.#send({ how: "answer" });
    this.form.showFaults();
  }

  /** The person pressed Enter. An approval takes one more step. */
  enter() {
    if (this.form.isApproval && this.form.isComplete) this.foot.focusSend();
    else this.submit();
  }

  /** Takes back what is not sent yet. */
  undo() {
    const isAnswer = this.sending.sent?.how === "answer";
    const step = this.sending.takeBack();
    if (step === null) return;
    this.#waitsForDaemon = false;
    this.listener.needed(this);
    if (step === "undo" && isAnswer) this.form.undo();
    this.form.focus();
    // A request that got no reply may have arrived all the same.
    if (step === "unsent") this.#complain("Taken back. If the daemon had received it already, it counts, and this card will say so.");
    else announce("Not sent");
  }

  /** Sends a choice now. */
  flush() {
    if (this.canUndo) this.sending.now();
  }

  #showRow() {
    fill(this.element, this.row.element);
  }

  #showState() {
    const { step } = this.sending;
    const state = this.#isSettled ? "settled" : step !== "open" ? step : !this.#error.hidden ? "refused" : this.isBegun ? "begun" : "open";
    // The row and the card say the same at every moment.
    this.tick();
    this.row.show(this.ask, state, state === "open" ? "" : this.#pending.slice(0, 100));
  }

  /** What is being sent, or would be. */
  get #pending() {
    const how = this.sending.sent?.how ?? "answer";
    if (how === "release") return "it to the terminal";
    return how === "dismiss" ? "the dismissal" : this.form.summary || this.form.texts.join(" · ");
  }

  #save() {
    drafts.save(this.ask, { form: this.form.draft, reason: this.foot.reason });
    this.#showState();
  }

  /** A choice that was about to be sent is not the whole answer if the person goes on. */
  #changed() {
    if (this.sending.takeBack()) announce("Not sent yet");
    this.#error.hidden = true;
    this.#save();
    this.#showActions();
  }

  /** @param {import("./sending.js").Sent} sent */
  #waitForUndo(sent) {
    this.foot.putReasonAside();
    this.chosenAt = performance.now();
    this.sending.soon(sent);
    announce(`Sending ${this.#pending.slice(0, 100)}. Press U to undo`);
    this.listener.passed(this);
  }

  /** The person sends. @param {import("./sending.js").Sent} [sent] */
  #send(sent) {
    // A dismissal that is taken back goes on where it was.
    if (sent?.how !== "dismiss") this.foot.putReasonAside();
    this.#error.hidden = true;
    this.#waitsForDaemon = sent?.how === "answer" && kindKey(this.ask) === "form";
    this.sending.now(sent);
    if (!this.#waitsForDaemon) this.listener.passed(this);
  }

  /** @param {string} text */
  #complain(text) {
    fill(this.#error, icon("warning"), h("span", {}, text));
    this.#error.hidden = false;
    this.#showActions();
  }

  /** @param {import("./api.js").Problem} problem */
  #failed(problem) {
    const { ask } = problem;
    if (ask?.id === this.id && ask.state === "settled") return this.update(ask);
    this.#waitsForDaemon = false;
    // First the fields take input again, because one of them gets the focus.
    const isAtField = kindKey(this.ask) === "form" && problem.errors.length > 0;
    this.#complain(isAtField ? "Not sent. A value does not fit its field." : `Not sent. ${problem.message} ${problem.hint}`);
    if (this.listener.isElsewhere(this)) return announce(`${cardName(this.ask)}: not sent`);
    this.listener.needed(this);
    this.form.blame(problem.errors);
  }

  /** What the person wrote here. */
  get texts() {
    return [...this.form.texts, this.foot.reason].filter((text) => text.trim());
  }

  /** What the person wrote here and nobody sent. Another tab may have sent the same draft. @param {Outcome} outcome */
  #unsent(outcome) {
    return this.sending.caused(outcome) || (this.form.draft !== null && this.form.isComplete && says(outcome, this.form.answer())) ? [] : this.texts;
  }

  #showActions() {
    this.#showState();
    if (!this.isExpanded || this.#isSettled) return;
    const { step } = this.sending;
    const isBusy = step === "sending" || step === "unsent";
    const { hasFocus } = this;
    this.element.dataset.phase = step;
    this.form.element.inert = isBusy;
    this.foot.show({ phase: step, canRelease: Boolean(this.#context?.terminal) && !this.ask.racing && !this.ask.deferred, pending: this.#pending });
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
    const isMine = this.sending.caused(outcome);
    const unsent = this.#unsent(outcome);
    this.#isSettled = true;
    this.sending.end();
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
      // That may be long after the person sent it, and nothing they do elsewhere is interrupted.
      const isWith = hasFocus || document.activeElement === document.body;
      if (this.#waitsForDaemon && isMine && isWith) this.listener.passed(this);
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
