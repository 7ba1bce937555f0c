// The form of an ask that consists of questions: one section for each, answered in any order.

import { fill, h } from "./dom.js";
import { QuestionView } from "./question.js";
import { rawTree } from "./tree.js";

/** @implements {Form} */
export class QuestionForm {
  keys = /^([1-9]|ArrowDown|ArrowUp)$/;
  sendTone = /** @type {const} */ ("primary");
  isApproval = false;
  dismissal = { label: "Dismiss", hint: "Refuse to answer", question: null };
  /** @type {import("./question.js").QuestionDraft[]} */
  #drafts;
  /** @type {QuestionView[] | null} */
  #built = null;
  #element = h("div", { class: "form" });
  #progress = h("span", { class: "progress" });

  /**
   * @param {Ask} ask
   * @param {unknown} draft
   * @param {FormListener} listener
   */
  constructor(ask, draft, listener) {
    this.ask = ask;
    this.listener = listener;
    const saved = Array.isArray(draft) ? draft : [];
    this.#drafts = ask.questions.map((_, index) => ({ chosen: [], other: "", note: "", ...saved[index] }));
  }

  get element() {
    void this.#questions;
    return this.#element;
  }

  get aside() {
    return this.#isSeveral ? this.#progress : this.#questions[0].note.open;
  }

  get sendLabel() {
    return this.#isSeveral ? "Send answers" : "Send answer";
  }

  get draft() {
    return this.texts.length > 0 ? this.#drafts : null;
  }

  get texts() {
    return this.#drafts.map(textOf).filter(Boolean);
  }

  get summary() {
    return this.#questions.map(({ summary }) => summary).filter(Boolean).join(" · ");
  }

  get isComplete() {
    return this.#questions.every(({ fault }) => !fault);
  }

  get sendsItself() {
    const [only] = this.#questions;
    return !this.#isSeveral && only.sendsItself && only.value === null;
  }

  answer() {
    const answers = this.#questions.map(({ question, value }) => [question.question, value]).filter(([, value]) => value !== null);
    const notes = this.#questions.map(({ question, draft }) => [question.question, draft.note.trim()]).filter(([, note]) => note);
    return { answers: Object.fromEntries(answers), notes: Object.fromEntries(notes) };
  }

  focus() {
    this.#questions[0].focus();
  }

  undo() {
    for (const question of this.#questions) question.clear();
    this.#changed();
  }

  showFaults() {
    const faulty = this.#questions.filter(({ fault }) => fault);
    for (const question of faulty) question.blame(question.fault);
    faulty[0]?.element.scrollIntoView({ block: "nearest" });
    faulty[0]?.focus();
  }

  /** @param {AnswerError[]} errors */
  blame(errors) {
    for (const { question, problem } of errors) this.#questions.find((view) => view.question.question === question)?.blame(problem);
  }

  /** A digit chooses an option of the current question; an arrow focuses that question. @param {string} key */
  press(key) {
    if (this.#element.inert) return;
    if (key.startsWith("Arrow")) this.#current.focus();
    else this.#current.pick(Number(key) - 1);
  }

  get #isSeveral() {
    return this.ask.questions.length > 1;
  }

  get #questions() {
    return (this.#built ??= this.#build());
  }

  /** The question with the focus, or else the first one without an answer. */
  get #current() {
    const focused = this.#questions.find(({ element }) => element.contains(document.activeElement));
    return focused ?? this.#unanswered ?? this.#questions[0];
  }

  get #unanswered() {
    return this.#questions.find(({ value }) => value === null);
  }

  #build() {
    const listener = { changed: () => this.#changed(), picked: () => this.#picked(), submit: () => this.listener.submit() };
    const questions = this.ask.questions.map((_, index) => new QuestionView(this.ask, index, this.#drafts[index], listener));
    // A question has no subject. This one is of a kind that the page does not know, or cannot show.
    const { subject } = this.ask;
    fill(this.#element, subject ? h("section", { class: "question" }, rawTree(subject)) : null, ...questions.map(({ element }) => element));
    this.#showProgress(questions);
    return questions;
  }

  #changed() {
    this.#showProgress(this.#questions);
    this.listener.changed();
  }

  /** A choice is the whole answer, or leads to the next question. */
  #picked() {
    if (!this.#isSeveral && this.#questions[0].sendsItself) return this.listener.decided();
    const next = this.#unanswered;
    if (!next) return this.listener.filled();
    next.focus();
    next.element.scrollIntoView({ block: "nearest" });
  }

  /** @param {QuestionView[]} questions */
  #showProgress(questions) {
    const answered = questions.filter(({ value }) => value !== null).length;
    const dots = questions.map((_, index) => h("i", { class: index < answered ? "dot full" : "dot" }));
    fill(this.#progress, h("span", { class: "dots", "aria-hidden": "true" }, ...dots), `${answered} of ${questions.length}`);
  }
}

/** @param {import("./question.js").QuestionDraft} draft */
const textOf = ({ chosen, other, note }) => [[...chosen, other.trim()].filter(Boolean).join(", "), note.trim()].filter(Boolean).join(" — ");
