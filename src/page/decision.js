// One decision with a way to refuse it in one's own words: a permission, a plan. A choice is never the whole answer here. An approval
// needs a second step.

import { Choices } from "./choices.js";
import { h, icon } from "./dom.js";
import { sendsOnEnter, textarea, tooLong } from "./text_field.js";

let made = 0;

/** @typedef {{ chosen: string | null, words: string }} DecisionDraft */

/**
 * @typedef {object} DecisionSpec
 * @property {Question} question
 * @property {(option: QuestionOption) => string} [describe] what an option means, if the question does not say it best
 * @property {DecisionDraft} draft
 * @property {string} title what the person decides
 * @property {string} refusal the label of the option that takes words
 * @property {string} placeholder of the field for words
 * @property {(label: string) => string} blocked why an option cannot be chosen now; empty if it can
 * @property {() => string} note what goes with the refusal
 * @property {() => void} changed
 * @property {() => void} filled
 * @property {() => void} submit
 */

export class Decision {
  #fault = h("p", { class: "fault", role: "alert" });
  #why = h("p", { class: "hint", role: "status" });

  /** @param {DecisionSpec} spec */
  constructor(spec) {
    this.spec = spec;
    this.draft = spec.draft;
    this.id = `decision-${++made}`;
    this.title = h("h2", { id: this.id, class: "text" }, spec.title);
    this.field = this.#words();
    const { describe = ({ description }) => description } = spec;
    const options = spec.question.options.map((option) => ({ label: option.label, description: describe(option) }));
    this.choices = new Choices({ options, isMulti: false, labelledBy: this.id, pick: (place) => this.pick(place), next: this.field, isExact: true });
    const key = h("kbd", { "aria-hidden": "true" }, String(options.length + 1));
    this.other = h("div", { class: "option other", on: { click: () => this.field.focus() } }, key, this.field, h("span", { class: "mark" }, icon("check")));
    this.element = h("div", { class: "answers decision" }, this.#why, h("div", { class: "choices" }, this.choices.element, this.other), this.#fault);
    this.show();
  }

  /** The label that would be sent. Words mean the refusal, whatever they are. */
  get label() {
    return this.draft.chosen ?? (this.draft.words.trim() ? this.spec.refusal : null);
  }

  get isRefusal() {
    return this.label === this.spec.refusal;
  }

  /** Why the decision cannot be sent; empty if it can. */
  get fault() {
    if (this.label === null) return "Choose what to do.";
    return this.spec.blocked(this.label) || (this.isRefusal ? tooLong(this.spec.note()) : "");
  }

  /** @returns {Answer} */
  answer() {
    const { question } = this.spec.question;
    const note = this.isRefusal ? this.spec.note() : "";
    return { answers: { [question]: this.label ?? "" }, notes: note ? { [question]: note } : {} };
  }

  /** Chooses an option. The place after the last one is the field for words. @param {number} place */
  pick(place) {
    const { options } = this.spec.question;
    if (place === options.length) return this.field.focus();
    const label = options[place]?.label;
    if (label === undefined || this.spec.blocked(label)) return;
    this.draft.chosen = label;
    this.choices.focus(place);
    this.show();
    this.spec.changed();
    this.spec.filled();
  }

  focus() {
    this.choices.focus();
  }

  /** @param {string} problem empty if there is none */
  blame(problem) {
    this.#fault.textContent = problem;
    this.element.classList.toggle("faulty", problem !== "");
  }

  /** Brings the options up to date. A choice that is not possible any more is taken back. */
  show() {
    const { blocked, question, refusal } = this.spec;
    if (this.draft.chosen !== null && blocked(this.draft.chosen)) this.draft.chosen = null;
    const { chosen } = this.draft;
    this.choices.show(chosen === null ? [] : [chosen], (label) => blocked(label) !== "");
    const reasons = new Set(question.options.map(({ label }) => blocked(label)).filter(Boolean));
    this.#why.textContent = [...reasons].join(" ");
    this.#why.hidden = reasons.size === 0;
    this.field.disabled = blocked(refusal) !== "";
    this.other.classList.toggle("chosen", this.draft.words.trim() !== "" && this.isRefusal);
    if (!this.fault) this.blame("");
  }

  #words() {
    const { placeholder, refusal } = this.spec;
    const field = textarea(this.draft.words, placeholder, placeholder.replace("…", ""), () => {
      this.draft.words = field.value;
      // Words refuse, even if another option was chosen before.
      this.draft.chosen = field.value.trim() ? refusal : null;
      this.show();
      this.spec.changed();
    });
    field.addEventListener("keydown", (event) => field.value === "" && this.choices.move(event));
    sendsOnEnter(field, () => this.isRefusal && this.spec.submit());
    return field;
  }
}
