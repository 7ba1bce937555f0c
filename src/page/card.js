// One ask on the page, from its opening to its end: a row or a form, then how it ended.

import { context, Problem, settle } from "./api.js";
import { announce, fill, h, icon } from "./dom.js";
import * as drafts from "./draft.js";
import { markdown } from "./markdown.js";
import { QuestionView } from "./question.js";
import { age, deadline, ending, mode, projectName, title } from "./words.js";

/** How long a choice can be taken back before it is sent. */
const UNDO = 3000;
/** How long the end of a question is shown: with its receipt, and where none comes. */
const SHOWN = 3500;
const SHOWN_WITHOUT_RECEIPT = 9000;

/** @typedef {"open" | "undo" | "sending" | "settled"} Phase */

export class Card {
  /** @type {Phase} */
  #phase = "open";
  #timer = 0;
  #isMine = false;
  /** What the buttons below were made for. */
  #shown = "";
  #age = h("span", { class: "age" });
  #deadline = h("span", { class: "deadline" });
  #branch = h("span", { class: "branch", hidden: true });
  #foot = h("footer", { class: "card-foot" });
  #error = h("p", { class: "error", role: "alert", hidden: true });
  /** @type {QuestionView[]} */
  questions = [];
  isExpanded = false;

  /**
   * @param {Ask} ask
   * @param {{ left(card: Card): void }} listener
   */
  constructor(ask, listener) {
    this.ask = ask;
    this.listener = listener;
    this.drafts = drafts.load(ask);
    this.element = h("article", { class: "card", tabindex: -1, "data-key": ask.key, "aria-label": `${projectName(ask.project)} asks: ${title(ask)}` });
    this.#row();
    this.tick();
  }

  get isOpen() {
    return this.ask.state === "open" && this.#phase !== "settled";
  }

  get hasDraft() {
    return this.drafts.some((draft) => !drafts.isEmpty(draft));
  }

  /** Somebody is at it: nothing may move under their hand. */
  get isInUse() {
    return this.isOpen && (this.#phase !== "open" || this.hasDraft || this.element.contains(document.activeElement));
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
    fill(this.element, this.#head(), this.#said(), ...this.questions.map(({ element }) => element), this.#error, this.#foot);
    this.#changed();
  }

  /** @param {Ask} ask */
  update(ask) {
    const before = this.ask;
    this.ask = ask;
    if (ask.state === "settled") this.#settled(before);
    else if (before.deferred !== ask.deferred || before.racing !== ask.racing) {
      const old = this.element.querySelector(".mode");
      old?.replaceWith(modeBadge(ask));
      this.#actions();
    }
    this.tick();
  }

  focus() {
    this.element.focus({ preventScroll: true });
    this.element.scrollIntoView({ block: "nearest" });
  }

  /** Sends what has been put in, if that is everything. */
  async submit() {
    if (this.#phase === "undo") return this.#send();
    if (this.#phase !== "open") return;
    const missing = this.questions.filter(({ value }) => value === null);
    for (const question of missing) question.blame("This one needs an answer.");
    if (missing.length > 0) {
      missing[0].element.scrollIntoView({ block: "nearest" });
      return missing[0].focus();
    }
    return this.#send();
  }

  /** Takes back what was chosen and not yet sent; whether there was anything. */
  undo() {
    if (this.#phase !== "undo") return false;
    clearTimeout(this.#timer);
    this.#phase = "open";
    for (const draft of this.drafts) draft.chosen = [];
    this.#rebuild();
    this.questions[0].focus();
    announce("Not sent");
    return true;
  }

  /** Sends what waits to be sent, now: the page is being left. */
  flush() {
    if (this.#phase === "undo") void this.#send();
  }

  #rebuild() {
    this.isExpanded = false;
    this.#shown = "";
    this.expand();
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

  #head() {
    const { project, session } = this.ask;
    return h(
      "header",
      { class: "card-head" },
      h("span", { class: "project", title: `${project ?? "No project"}\nSession ${session}` }, icon("folder"), h("bdi", {}, projectName(project))),
      this.#branch,
      h("span", { class: "times" }, modeBadge(this.ask), this.#deadline, this.#age),
    );
  }

  /** The last thing the agent said, folded; read when the card is. */
  #said() {
    const place = h("div", { class: "said-text" });
    const details = h("details", { class: "said", hidden: true }, h("summary", {}, "What the agent said before"), place);
    if (this.ask.origin === "claude-code") {
      context(this.ask.key).then(
        ({ said, branch }) => {
          if (branch) {
            fill(this.#branch, icon("branch"), h("bdi", {}, branch));
            this.#branch.hidden = false;
          }
          if (said) {
            details.hidden = false;
            details.addEventListener("toggle", () => place.hasChildNodes() || place.append(markdown(said)));
          }
        },
        () => {},
      );
    }
    return details;
  }

  #changed() {
    drafts.save(this.ask, this.drafts);
    this.#actions();
  }

  /** A choice was made: it is the whole answer, or the next question is to be answered. */
  #picked() {
    const [only] = this.questions;
    if (this.questions.length === 1 && !only.hasNote) return this.#waitForUndo();
    const next = this.questions.find(({ value }) => value === null);
    if (next) {
      next.focus();
      next.element.scrollIntoView({ block: "nearest" });
    } else {
      this.#foot.querySelector("button.primary")?.scrollIntoView({ block: "nearest" });
    }
  }

  #waitForUndo() {
    clearTimeout(this.#timer);
    this.#phase = "undo";
    this.#timer = setTimeout(() => this.#send(), UNDO);
    this.#actions();
    announce(`Sending ${this.questions[0].summary}. Press U to undo.`);
  }

  async #send() {
    clearTimeout(this.#timer);
    const answer = this.#answer();
    await this.#settle("answer", answer);
  }

  /** @returns {Answer} */
  #answer() {
    /** @type {Answer} */
    const answer = { answers: {}, notes: {} };
    for (const { question, value, draft } of this.questions) {
      if (value !== null) answer.answers[question.question] = value;
      if (draft.note.trim()) answer.notes[question.question] = draft.note.trim();
    }
    return answer;
  }

  /**
   * @param {string} how
   * @param {unknown} body
   */
  async #settle(how, body) {
    this.#phase = "sending";
    this.#error.hidden = true;
    this.#actions();
    try {
      const settled = await settle(this.ask.key, how, body);
      this.#isMine = true;
      for (const draft of this.drafts) Object.assign(draft, drafts.emptyDraft());
      this.update(settled);
    } catch (error) {
      // It may have been settled by an event meanwhile.
      if (this.#phase !== "sending") return;
      this.#phase = "open";
      if (error instanceof Problem && error.ask) return this.update(error.ask);
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

  #actions() {
    if (!this.isExpanded || this.#phase === "settled") return;
    this.element.dataset.phase = this.#phase;
    const [first] = this.questions;
    const answered = this.questions.filter(({ value }) => value !== null).length;
    const isSeveral = this.questions.length > 1;
    // A choice sends itself; several, a text or a note need a button.
    const isQuick = !isSeveral && !first.isMulti && first.question.options.length > 0 && !first.draft.other.trim() && !first.hasNote;
    const canRelease = this.ask.origin === "claude-code" && !this.ask.racing && !this.ask.deferred;
    // Buttons that stay the same stay where they are: one may be about to be clicked.
    const shown = [this.#phase, answered, isQuick, canRelease, this.#phase === "undo" && first.summary].join();
    if (shown === this.#shown) return;
    this.#shown = shown;
    if (this.#phase === "undo") {
      fill(
        this.#foot,
        h("span", { class: "pending" }, "Sending ", h("bdi", {}, h("strong", {}, first.summary)), "…"),
        button("Undo", "", () => this.undo()),
        button("Send now", "primary", () => this.#send()),
      );
      return;
    }
    const isBusy = this.#phase === "sending";
    const submit = button(isBusy ? "Sending…" : isSeveral ? "Send answers" : "Send answer", "primary", () => void this.submit());
    submit.disabled = isBusy;
    fill(
      this.#foot,
      isSeveral ? progress(answered, this.questions.length) : first.note.open,
      h("span", { class: "spacer" }),
      canRelease && button("To the terminal", "quiet", () => this.#settle("release", {}), "Answer in the terminal instead"),
      button("Dismiss…", "quiet", () => this.#askReason(), "Refuse to answer"),
      (!isQuick || isBusy) && submit,
    );
  }

  #askReason() {
    const reason = h("input", { type: "text", placeholder: "Why? The agent is told. (optional)", "aria-label": "Reason", dir: "auto", maxlength: 16_000 });
    const send = () => this.#settle("dismiss", reason.value.trim() ? { reason: reason.value.trim() } : {});
    reason.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.#actions();
      if (event.key === "Enter" && !event.isComposing) send();
    });
    const keep = () => this.#actions();
    fill(this.#foot, reason, button("Keep", "quiet", keep), button("Dismiss", "danger", send));
    this.#shown = "";
    reason.focus();
  }

  /** @param {Ask} before */
  #settled(before) {
    const { outcome, receipt } = this.ask;
    if (!outcome) return;
    const first = this.#phase !== "settled";
    const hadFocus = this.element.contains(document.activeElement);
    clearTimeout(this.#timer);
    const lost = this.#isMine ? [] : this.questions.map(({ question, summary, draft }) => [question.question, [summary, draft.note.trim()].filter(Boolean).join(" — ")]);
    const unsent = lost.filter(([, text]) => text);
    this.#phase = "settled";
    this.isExpanded = false;
    this.element.classList.remove("expanded");
    this.element.classList.add("settled");
    delete this.element.dataset.phase;
    if (first || before.receipt !== receipt) this.#ended(outcome, receipt, unsent, first);
    if (hadFocus && first) this.element.focus({ preventScroll: true });
  }

  /**
   * @param {Outcome} outcome
   * @param {Receipt | null} receipt
   * @param {string[][]} unsent
   * @param {boolean} first
   */
  #ended(outcome, receipt, unsent, first) {
    const answers = Object.values(outcome.answers ?? {}).join(" · ");
    const how = this.#isMine && outcome.kind === "answered" ? "Answered" : ending(outcome);
    const changed = receipt && !receipt.as_sent;
    const isAnswered = outcome.kind === "answered" || outcome.kind === "answered_in_terminal";
    const proof = receipt
      ? h("span", { class: changed ? "receipt changed" : "receipt" }, icon(changed ? "warning" : "check"), changed ? "Claude received something else" : "received by Claude")
      : null;
    const close = button("", "icon-button", () => this.#leave(true));
    close.setAttribute("aria-label", "Close");
    close.append(icon("close"));
    fill(
      this.element,
      h(
        "div",
        { class: `ended ${isAnswered ? "good" : "plain"}` },
        h("span", { class: "ended-mark" }, icon(isAnswered ? "check" : outcome.kind === "released" ? "terminal" : "close")),
        h(
          "span",
          { class: "ended-text" },
          h("span", { class: "ended-how" }, `${projectName(this.ask.project)} · ${how}`),
          answers && h("span", { class: "ended-answer", dir: "auto" }, answers),
          outcome.reason && h("span", { class: "ended-answer", dir: "auto" }, outcome.reason),
          proof,
        ),
        close,
      ),
      changed && h("p", { class: "error" }, `Another hook has changed the answer. Claude received: ${Object.values(receipt.answers).join(" · ")}`),
      unsent.length > 0 &&
        h("div", { class: "unsent" }, h("p", {}, "You had begun to answer, and this was not sent:"), ...unsent.map(([, text]) => h("p", { class: "unsent-text", dir: "auto" }, text))),
    );
    if (first) announce(`${projectName(this.ask.project)}: ${how}${answers ? `: ${answers}` : ""}`);
    clearTimeout(this.#timer);
    // What a person has written, and what went wrong, goes when they say so.
    if (unsent.length > 0 || changed) return;
    drafts.forget(this.ask);
    const expectsReceipt = this.#isMine && isAnswered && !receipt && this.ask.origin === "claude-code" && !this.ask.deferred;
    this.#timer = setTimeout(() => this.#leave(), expectsReceipt ? SHOWN_WITHOUT_RECEIPT : SHOWN);
  }

  #leave(isWanted = false) {
    clearTimeout(this.#timer);
    // Not while it is being read.
    if (!isWanted && this.element.matches(":hover")) {
      this.element.addEventListener("pointerleave", () => this.#leave(), { once: true });
      return;
    }
    drafts.forget(this.ask);
    this.listener.left(this);
  }
}

/** @param {Ask} ask */
function modeBadge(ask) {
  const { word, title: meaning } = mode(ask);
  return h("span", { class: "mode", title: meaning }, ask.racing && icon("terminal"), word);
}

/**
 * @param {string} label
 * @param {string} kind
 * @param {() => void} action
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
