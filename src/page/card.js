// One ask on the page, from its opening to its end: a row or a form, then how it ended.

import { Problem, settle } from "./api.js";
import { announce, fill, h, icon } from "./dom.js";
import * as drafts from "./draft.js";
import { ended } from "./ended.js";
import { head, modeBadge } from "./head.js";
import { isComposing, QuestionView } from "./question.js";
import { age, deadline, projectName, title } from "./words.js";

/** How long a choice can be taken back before it is sent; the style sheet shows it. */
const UNDO = 3000;
/** How long the end of a question is shown: with its receipt, and where one may come. */
const SHOWN = 3500;
const SHOWN_WITHOUT_RECEIPT = 9000;

const hasPointer = () => matchMedia("(hover: hover)").matches;

/** @typedef {"open" | "undo" | "sending" | "settled"} Phase */

export class Card {
  /** @type {Phase} */
  #phase = "open";
  #timer = 0;
  /** What was sent, from before it was: its own event may be faster than its reply. @type {{ how: string, body: any } | null} */
  #sent = null;
  /** Why it is refused, while that is being written. @type {string | null} */
  #reason = null;
  /** What was written of it before something else was done. */
  #keptReason = "";
  /** What the buttons below were made for. */
  #shown = "";
  /** Something is told that must not go by itself. */
  #stays = false;
  #age = h("span", { class: "age" });
  #deadline = h("span", { class: "deadline" });
  #foot = h("footer", { class: "card-foot" });
  #error = h("p", { class: "error", role: "alert", hidden: true });
  /** @type {QuestionView[]} */
  questions = [];
  isExpanded = false;
  /** When the last choice was made that can be taken back. */
  chosenAt = 0;
  /** When it was moved by something else than a hand. */
  movedAt = -Infinity;

  /**
   * @param {Ask} ask
   * @param {{ left(card: Card): void, settled(ask: Ask): void, steadily(change: () => void): void, isBusy(card: Card): boolean }} listener `steadily` makes a change
   *   that moves other cards, `isBusy` says whether somebody is at another one
   */
  constructor(ask, listener) {
    this.ask = ask;
    this.id = ask.id;
    this.listener = listener;
    this.drafts = drafts.load(ask);
    this.element = h("article", { class: "card", tabindex: -1, "data-key": ask.key, "aria-label": `${projectName(ask.project)} asks: ${title(ask)}` });
    this.#row();
    this.tick();
  }

  get isOpen() {
    return this.#phase !== "settled";
  }

  get hasFocus() {
    return this.element.contains(document.activeElement);
  }

  /** Somebody has put something in, or it is on its way. */
  get isBegun() {
    return this.isOpen && (this.#phase !== "open" || this.#reason !== null || this.drafts.some((draft) => !drafts.isEmpty(draft)));
  }

  /** Somebody is about to: nothing may move under their hand. */
  get isTouched() {
    return this.isOpen && (this.hasFocus || (hasPointer() && this.element.matches(":hover")));
  }

  /** Gives back the height that it kept for others. */
  relax() {
    if (this.element.style.minHeight && !this.listener.isBusy(this)) this.listener.steadily(() => this.element.style.removeProperty("min-height"));
  }

  tick() {
    this.#age.textContent = age(this.ask);
    this.#deadline.textContent = deadline(this.ask);
  }

  /** The question that a key is meant for: where the focus is, or the first without an answer. */
  get current() {
    const focused = this.questions.find(({ element }) => element.contains(document.activeElement));
    return focused ?? this.questions.find(({ value }) => value === null) ?? this.questions[0];
  }

  /** From a row to the form. */
  expand() {
    if (this.isExpanded || !this.isOpen) return;
    this.isExpanded = true;
    this.element.classList.add("expanded");
    const listener = {
      changed: () => this.#changed(),
      picked: () => this.#picked(),
      submit: () => void this.submit(),
    };
    this.questions = this.ask.questions.map((_, index) => new QuestionView(this.ask, index, this.drafts[index], listener));
    fill(this.element, ...head(this.ask, this.#deadline, this.#age), ...this.questions.map(({ element }) => element), this.#error, this.#foot);
    this.#shown = "";
    this.#changed();
  }

  /** @param {Ask} ask */
  update(ask) {
    if (ask.id !== this.id) return;
    const before = this.ask;
    // The reply to an answer may be slower than the receipt of it.
    this.ask = { ...ask, receipt: ask.receipt ?? before.receipt };
    if (ask.state === "settled") this.#settled(before);
    else if (before.deferred !== ask.deferred || before.racing !== ask.racing) {
      this.element.querySelector(".mode")?.replaceWith(modeBadge(ask));
      this.#actions();
    }
    this.tick();
  }

  /** It is not open any more, and how it ended cannot be known. */
  vanish() {
    this.update({ ...this.ask, state: "settled", outcome: { kind: "withdrawn", by: null } });
  }

  focus() {
    this.element.focus({ preventScroll: true });
    this.element.scrollIntoView({ block: "nearest" });
  }

  /** Sends what has been put in, if that is everything. */
  async submit() {
    if (this.#phase !== "open" && this.#phase !== "undo") return;
    const faulty = this.questions.filter(({ fault }) => fault);
    for (const question of faulty) question.blame(question.fault);
    if (faulty.length === 0) return this.#send();
    this.#holdBack();
    faulty[0].element.scrollIntoView({ block: "nearest" });
    faulty[0].focus();
  }

  /** Takes back what was chosen and not yet sent. */
  undo() {
    if (!this.#holdBack()) return;
    for (const draft of this.drafts) draft.chosen = [];
    this.isExpanded = false;
    this.expand();
    this.questions[0].focus();
    announce("Not sent");
  }

  get canUndo() {
    return this.#phase === "undo";
  }

  /** Sends what waits to be sent, now: the page is being left. */
  flush() {
    if (this.#phase === "undo") void this.#send();
  }

  #row() {
    const open = h(
      "button",
      { type: "button", class: "row" },
      h("span", { class: "row-project" }, projectName(this.ask.project)),
      h("span", { class: "row-text", dir: "auto" }, this.ask.questions[0].question),
      this.#age,
    );
    open.addEventListener("click", () => {
      this.expand();
      this.questions[0].focus();
    });
    fill(this.element, open);
  }

  /** Something was put in. What was about to be sent is not the whole of it, then. */
  #changed() {
    if (this.#holdBack()) announce("Not sent yet");
    drafts.save(this.ask, this.drafts);
    this.#actions();
  }

  /** A choice was made: it is the whole answer, or the next question is to be answered. */
  #picked() {
    const [only] = this.questions;
    if (this.questions.length === 1 && only.sendsItself) return this.#waitForUndo();
    const next = this.questions.find(({ value }) => value === null);
    if (next) {
      next.focus();
      next.element.scrollIntoView({ block: "nearest" });
    } else {
      this.#foot.querySelector("button.primary")?.scrollIntoView({ block: "nearest" });
    }
  }

  #waitForUndo() {
    this.#phase = "undo";
    this.#putReasonAside();
    this.chosenAt = performance.now();
    this.#timer = setTimeout(() => this.#send(), UNDO);
    this.#actions();
    announce(`Sending ${this.questions[0].summary.slice(0, 100)}. Press U to undo`);
  }

  /** Whether something was about to be sent, and is not any more. */
  #holdBack() {
    if (this.#phase !== "undo") return false;
    clearTimeout(this.#timer);
    this.#phase = "open";
    this.#actions();
    return true;
  }

  #send() {
    this.#putReasonAside();
    const answers = this.questions.map(({ question, value }) => [question.question, value]);
    const notes = this.questions.map(({ question, draft }) => [question.question, draft.note.trim()]).filter(([, note]) => note);
    return this.#settle("answer", { answers: Object.fromEntries(answers), notes: Object.fromEntries(notes) });
  }

  /**
   * @param {string} how
   * @param {unknown} body
   */
  async #settle(how, body) {
    clearTimeout(this.#timer);
    this.#phase = "sending";
    this.#sent = { how, body };
    this.#error.hidden = true;
    this.#actions();
    try {
      this.update(await settle(this.ask.key, how, body));
    } catch (error) {
      // Its event may have come all the same.
      if (!this.isOpen) return;
      this.#phase = "open";
      if (error instanceof Problem && error.ask?.id === this.id && error.ask.state === "settled") return this.update(error.ask);
      this.#failed(/** @type {Error} */ (error));
    }
  }

  /** @param {Error} error */
  #failed(error) {
    const hint = error instanceof Problem ? error.hint : "It is kept here. Try again when the page is connected.";
    fill(this.#error, icon("warning"), h("span", {}, `Not sent. ${error.message} ${hint}`));
    this.#error.hidden = false;
    for (const { question, problem } of error instanceof Problem ? error.errors : []) {
      this.questions.find((view) => view.question.question === question)?.blame(problem);
    }
    this.#actions();
  }

  /** Whether an outcome is what was sent from here. @param {Outcome} outcome */
  #isMine({ kind, answers = {}, reason }) {
    if (!this.#sent) return false;
    const { how, body } = this.#sent;
    if (how === "release") return kind === "released";
    if (how === "dismiss") return kind === "dismissed" && (body.reason ?? undefined) === reason;
    const sent = Object.entries(body.answers);
    return kind === "answered" && sent.length === Object.keys(answers).length && sent.every(([question, answer]) => [answer].flat().join(", ") === answers[question]);
  }

  #actions() {
    if (!this.isExpanded || !this.isOpen) return;
    const isBusy = this.#phase === "sending";
    const { hasFocus } = this;
    this.element.dataset.phase = this.#phase;
    for (const { element } of this.questions) element.inert = isBusy;
    const [first] = this.questions;
    const answered = this.questions.filter(({ value }) => value !== null).length;
    const isSeveral = this.questions.length > 1;
    // What does not send itself, or did not get there, needs a button.
    const isQuick = !isSeveral && first.sendsItself && first.value === null;
    const canRelease = this.ask.origin === "claude-code" && !this.ask.racing && !this.ask.deferred;
    // Buttons that stay the same stay where they are: one may be about to be clicked.
    const shown = [this.#phase, answered, isQuick, canRelease, this.#reason !== null, this.#phase === "undo" && first.summary].join();
    if (shown === this.#shown) return;
    this.#shown = shown;
    if (this.#phase === "undo") {
      fill(
        this.#foot,
        h("span", { class: "pending" }, "Sending ", h("bdi", {}, h("strong", {}, first.summary)), "…"),
        button("Undo", "", () => this.undo()),
        button("Send now", "primary", () => this.#send()),
      );
    } else if (this.#reason !== null) {
      this.#reasonForm(isBusy);
    } else {
      const submit = button(isBusy ? "Sending…" : isSeveral ? "Send answers" : "Send answer", "primary", () => void this.submit());
      fill(
        this.#foot,
        isSeveral ? progress(answered, this.questions.length) : first.note.open,
        h("span", { class: "spacer" }),
        canRelease && button("To the terminal", "quiet", () => this.#settle("release", {}), "Answer in the terminal instead"),
        button("Dismiss…", "quiet dismiss", () => this.#refuse(this.#keptReason), "Refuse to answer"),
        (!isQuick || isBusy) && submit,
      );
    }
    for (const control of this.#foot.querySelectorAll("button, input")) control.toggleAttribute("disabled", isBusy);
    // A keyboard must not lose its place with what it pressed: the next key would be for another card.
    // What becomes inert loses it a little later.
    if (hasFocus && (isBusy || !this.hasFocus)) this.element.focus({ preventScroll: true });
  }

  /** Begins to refuse, or thinks better of it. @param {string | null} reason */
  #refuse(reason) {
    this.#reason = reason;
    this.#actions();
    const next = /** @type {HTMLElement | null} */ (this.#foot.querySelector(reason === null ? ".dismiss" : "input"));
    next?.focus();
  }

  #putReasonAside() {
    this.#keptReason = this.#reason ?? this.#keptReason;
    this.#reason = null;
  }

  /** @param {boolean} isBusy */
  #reasonForm(isBusy) {
    const field = h("input", { type: "text", placeholder: "Why? (the agent is told)", "aria-label": "Reason", dir: "auto" });
    field.value = this.#reason ?? "";
    const send = () => this.#settle("dismiss", field.value.trim() ? { reason: field.value.trim() } : {});
    field.addEventListener("input", () => (this.#reason = field.value));
    field.addEventListener("keydown", (event) => {
      if (event.key === "Escape") {
        event.stopPropagation();
        this.#refuse(null);
      }
      if (event.key === "Enter" && !isComposing(event) && !event.repeat) send();
    });
    fill(this.#foot, field, button("Keep", "quiet", () => this.#refuse(null)), button(isBusy ? "Sending…" : "Dismiss", "danger", (event) => event.detail < 2 && send()));
  }

  /** @param {Ask} before */
  #settled(before) {
    const { outcome, receipt } = this.ask;
    if (!outcome) return;
    const isFirst = this.isOpen;
    if (!isFirst && before.receipt?.at === receipt?.at) return;
    const { hasFocus } = this;
    const isMine = this.#isMine(outcome);
    const unsent = isMine ? [] : [...this.drafts.map(textOf), this.#reason ?? this.#keptReason].filter((text) => text.trim());
    this.#phase = "settled";
    this.isExpanded = false;
    this.element.classList.remove("expanded");
    this.element.classList.add("settled");
    delete this.element.dataset.phase;
    const end = ended(this.ask, isMine, unsent, () => this.#leave(true));
    const { height } = this.element.getBoundingClientRect();
    this.listener.steadily(() => {
      fill(this.element, ...end.content);
      // What is below stays where it is while somebody is at it.
      if (isFirst && this.listener.isBusy(this)) this.element.style.minHeight = `${height}px`;
    });
    if (hasFocus) {
      this.element.focus({ preventScroll: true });
      this.element.scrollIntoView({ block: "nearest" });
    }
    if (isFirst) {
      announce(end.spoken);
      this.listener.settled(this.ask);
    }
    clearTimeout(this.#timer);
    // What a person has written, and what went wrong, goes when they say so.
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
      this.#timer = setTimeout(() => this.#leave(), 1000);
      return;
    }
    // Not while it is being read.
    if (!isWanted && hasPointer() && this.element.matches(":hover")) {
      this.element.addEventListener("pointerleave", () => this.#leave(), { once: true });
      return;
    }
    drafts.forget(this.ask);
    this.listener.left(this);
  }
}

/** @param {QuestionDraft} draft */
const textOf = ({ chosen, other, note }) => [[...chosen, other.trim()].filter(Boolean).join(", "), note.trim()].filter(Boolean).join(" — ");

/**
 * @param {string} label
 * @param {string} kind
 * @param {(event: MouseEvent) => void} action
 * @param {string} [hint]
 */
function button(label, kind, action, hint) {
  return h("button", { type: "button", class: kind, title: hint, on: { click: action } }, label);
}

/**
 * @param {number} answered
 * @param {number} all
 */
function progress(answered, all) {
  const dots = Array.from({ length: all }, (_, index) => h("i", { class: index < answered ? "dot full" : "dot" }));
  return h("span", { class: "progress" }, h("span", { class: "dots", "aria-hidden": "true" }, ...dots), `${answered} of ${all}`);
}
