// One question: its options, the field for an answer in one's own words, and a note.

import { Choices } from "./choices.js";
import { clamp } from "./clamp.js";
import { fill, h, icon } from "./dom.js";
import { markdown } from "./markdown.js";
import { preview } from "./preview.js";
import { isTouch, sendsOnEnter, textarea, tooLong } from "./text_field.js";
import { prose } from "./visible.js";

let made = 0;

/** @typedef {{ chosen: string[], other: string, note: string }} QuestionDraft the input so far; `other` is the person's own words */

export class QuestionView {
  #fault = h("p", { class: "fault", role: "alert" });
  /** @type {HTMLElement | null} */
  #pane = null;
  #shown = -1;

  /**
   * @param {Ask} ask
   * @param {number} index
   * @param {QuestionDraft} draft
   * @param {{ changed(): void, picked(): void, submit(): void }} listener
   */
  constructor(ask, index, draft, listener) {
    this.ask = ask;
    this.index = index;
    this.question = ask.questions[index];
    this.draft = draft;
    this.listener = listener;
    this.id = `question-${++made}`;
    this.other = this.#otherField();
    this.note = this.#noteField();
    this.choices = new Choices({
      options: this.question.options,
      isMulti: this.isMulti,
      labelledBy: this.id,
      pick: (place) => this.pick(place),
      look: (place) => this.#preview(place),
      next: this.takesText ? this.other.field : undefined,
    });
    for (const { field } of [this.other, this.note]) field.setAttribute("aria-describedby", this.id);
    this.element = this.#build();
    this.#show();
  }

  get isMulti() {
    return this.question.multiSelect && this.question.options.length > 0;
  }

  /** Whether an answer in one's own words is accepted. */
  get takesText() {
    return this.question.freeText !== false;
  }

  /** Whether a choice is the whole answer. On a touch screen it is not if there are previews: a tap is the only way to see one. */
  get sendsItself() {
    const isTapToLook = isTouch() && this.question.options.some((option) => option.preview);
    const hasNote = !this.note.field.hidden;
    return !this.isMulti && this.question.options.length > 0 && !hasNote && !isTapToLook;
  }

  /** The answer as it is sent, or null. */
  get value() {
    const other = this.takesText && this.draft.other.trim() ? [this.draft.other.trim()] : [];
    if (!this.isMulti) return this.draft.chosen[0] ?? other[0] ?? null;
    const chosen = this.question.options.map(({ label }) => label).filter((label) => this.draft.chosen.includes(label));
    const all = [...chosen, ...other];
    return all.length > 0 ? all : null;
  }

  /**
   * Chooses an option. The place after the last option is the field for one's own words.
   * @param {number} place
   */
  pick(place) {
    const option = this.question.options[place];
    if (!option) {
      if (!this.takesText || place !== this.question.options.length) return;
      this.other.field.focus();
      this.listener.changed();
      return;
    }
    const { chosen } = this.draft;
    if (!this.isMulti) this.draft.chosen = [option.label];
    else this.draft.chosen = chosen.includes(option.label) ? chosen.filter((label) => label !== option.label) : [...chosen, option.label];
    this.choices.focus(place);
    this.#show();
    this.listener.changed();
    if (!this.isMulti) this.listener.picked();
  }

  /** Chooses nothing again. Texts stay. */
  clear() {
    this.draft.chosen = [];
    this.#show();
    this.blame("");
  }

  focus() {
    this.choices.focus();
  }

  /** @param {string} problem empty if there is none */
  blame(problem) {
    this.#fault.textContent = problem;
    this.element.classList.toggle("faulty", problem !== "");
  }

  /** Why the answer cannot be sent; empty if it can. */
  get fault() {
    if (this.value === null && !this.question.optional) return "This one needs an answer.";
    return tooLong(this.summary, this.draft.note);
  }

  /** The answer in one line; empty if there is none. */
  get summary() {
    return [this.value].flat().filter(Boolean).join(", ");
  }

  #build() {
    const { question, options, header } = this.question;
    const withPreviews = options.some((option) => option.preview);
    this.#pane = withPreviews ? h("div", { class: "preview" }) : null;
    return h(
      "section",
      { class: withPreviews ? "question with-preview" : "question" },
      h(
        "div",
        { class: "asked" },
        header && h("span", { class: "topic", dir: "auto" }, prose(header)),
        ...clamp(h("div", { id: this.id, class: "text", role: "heading", "aria-level": 2 }, markdown(question)), { lines: isTouch() ? 8 : 14 }),
        this.isMulti && h("p", { class: "hint" }, "Choose any number"),
      ),
      h("div", { class: "answers" }, h("div", { class: "choices" }, options.length > 0 && this.choices.element, this.takesText && this.other.element), this.#pane),
      this.note.element,
      this.#fault,
    );
  }

  #otherField() {
    const { options } = this.question;
    const placeholder = options.length > 0 ? "Something else…" : "Your answer…";
    const field = textarea(this.draft.other, placeholder, options.length > 0 ? "Another answer" : "Your answer", () => {
      this.draft.other = field.value;
      if (!this.isMulti && field.value.trim()) this.draft.chosen = [];
      this.#show();
      this.listener.changed();
    });
    // A person who points at the field is not done.
    field.addEventListener("pointerdown", () => this.listener.changed());
    field.addEventListener("keydown", (event) => field.value === "" && this.choices.move(event));
    sendsOnEnter(field, () => this.listener.submit());
    const key = options.length > 0 && h("kbd", { "aria-hidden": "true" }, String(options.length + 1));
    const element = h("div", { class: "option other" }, key, field, h("span", { class: "mark" }, icon("check")));
    element.addEventListener("click", () => {
      field.focus();
      // The text was put aside when an option was chosen. Now it is the answer again.
      if (!this.isMulti && field.value.trim() && this.draft.chosen.length > 0) {
        this.draft.chosen = [];
        this.#show();
        this.listener.changed();
      }
    });
    return { element, field };
  }

  #noteField() {
    const field = textarea(this.draft.note, "A note for the agent…", "Note", () => {
      this.draft.note = field.value;
      this.listener.changed();
    });
    const open = h("button", { type: "button", class: "quiet" }, "Add a note");
    const show = (/** @type {boolean} */ shown) => {
      field.hidden = !shown;
      open.hidden = shown;
    };
    open.addEventListener("click", () => {
      show(true);
      field.focus();
      this.listener.changed();
    });
    show(this.draft.note.trim() !== "");
    return { element: h("div", { class: "note" }, open, field), field, open };
  }

  #show() {
    const { chosen, other } = this.draft;
    const current = this.question.options.findIndex(({ label }) => chosen.includes(label));
    this.choices.show(chosen);
    this.other.element.classList.toggle("chosen", other.trim() !== "" && (this.isMulti || chosen.length === 0));
    if (!this.fault) this.blame("");
    if (this.#pane && (this.#shown < 0 || current >= 0)) this.#preview(this.#shown < 0 ? Math.max(0, current) : current);
  }

  /** @param {number} place */
  #preview(place) {
    if (!this.#pane || place === this.#shown) return;
    this.#shown = place;
    const option = this.question.options[place];
    fill(
      this.#pane,
      h("p", { class: "preview-name", dir: "auto" }, option.label),
      option.preview ? preview(this.ask, this.index, place) : h("p", { class: "faint" }, "No preview."),
    );
  }
}
