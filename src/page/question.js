// One question: its options, the field for an answer in one's own words, and a note.

import { fill, h, icon, isComposing } from "./dom.js";
import { preview } from "./preview.js";

/** The longest text that the daemon accepts, in bytes. */
const MAX_TEXT = 16 * 1024;
const isTouch = () => matchMedia("(pointer: coarse)").matches;
let made = 0;

/** @typedef {{ chosen: string[], other: string, note: string }} QuestionDraft the input so far; `other` is the person's own words */

export class QuestionView {
  /** @type {HTMLElement[]} */
  #options = [];
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
    this.#options[place].focus({ preventScroll: true });
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
    const chosen = this.#options.find((option) => option.getAttribute("aria-checked") === "true");
    (chosen ?? this.#options[0] ?? this.other.field).focus({ preventScroll: true });
  }

  /** @param {string} problem empty if there is none */
  blame(problem) {
    this.#fault.textContent = problem;
    this.element.classList.toggle("faulty", problem !== "");
  }

  /** Why the answer cannot be sent; empty if it can. */
  get fault() {
    if (this.value === null) return "This one needs an answer.";
    const length = (/** @type {string} */ text) => new TextEncoder().encode(text).length;
    const longest = Math.max(length(this.summary), length(this.draft.note));
    return longest > MAX_TEXT ? `This is too long, by about ${Math.ceil((1 - MAX_TEXT / longest) * 100)} %.` : "";
  }

  /** The answer in one line; empty if there is none. */
  get summary() {
    return [this.value].flat().filter(Boolean).join(", ");
  }

  #build() {
    const { question, options, header } = this.question;
    const withPreviews = options.some((option) => option.preview);
    this.#options = options.map((option, place) => this.#option(option, place));
    this.#pane = withPreviews ? h("div", { class: "preview" }) : null;
    const group = h("div", { class: "options", role: this.isMulti ? "group" : "radiogroup", "aria-labelledby": this.id }, ...this.#options);
    group.addEventListener("keydown", (event) => this.#move(event));
    return h(
      "section",
      { class: withPreviews ? "question with-preview" : "question" },
      h(
        "div",
        { class: "asked" },
        header && h("span", { class: "chip", dir: "auto" }, header),
        h("h2", { id: this.id, class: "text", dir: "auto" }, question),
        this.isMulti && h("p", { class: "hint" }, "Choose any number"),
      ),
      h("div", { class: "answers" }, h("div", { class: "choices" }, options.length > 0 && group, this.takesText && this.other.element), this.#pane),
      this.note.element,
      this.#fault,
    );
  }

  /**
   * @param {QuestionOption} option
   * @param {number} place
   */
  #option({ label, description }, place) {
    const look = () => this.#preview(place);
    return h(
      "button",
      {
        type: "button",
        class: "option",
        role: this.isMulti ? "checkbox" : "radio",
        "aria-checked": "false",
        on: { click: () => this.pick(place), focus: look, pointerenter: look },
      },
      h("kbd", { "aria-hidden": "true" }, String(place + 1)),
      h("span", { class: "option-text", dir: "auto" }, h("span", { class: "label" }, label), description && h("span", { class: "description" }, description)),
      h("span", { class: "mark" }, icon("check")),
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
    field.addEventListener("keydown", (event) => {
      if (field.value === "") this.#move(event);
      if (event.key !== "Enter" || event.shiftKey || isComposing(event) || isTouch()) return;
      event.preventDefault();
      if (!event.repeat) this.listener.submit();
    });
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

  /** Arrows only move. They choose nothing, because a choice may be sent at once. @param {KeyboardEvent} event */
  #move(event) {
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    if (!step || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const places = this.takesText ? [...this.#options, this.other.field] : this.#options;
    const at = places.indexOf(/** @type {HTMLElement} */ (event.target));
    places[(at + step + places.length) % places.length].focus();
  }

  #show() {
    const { chosen, other } = this.draft;
    const current = this.question.options.findIndex(({ label }) => chosen.includes(label));
    this.#options.forEach((element, place) => {
      const isChosen = chosen.includes(this.question.options[place].label);
      element.setAttribute("aria-checked", String(isChosen));
      // Enter chooses a single option. Once that is chosen, or where several may be, Enter sends.
      element.toggleAttribute("data-enter-sends", this.isMulti || isChosen);
      element.tabIndex = this.isMulti || place === Math.max(0, current) ? 0 : -1;
    });
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

/**
 * @param {string} value
 * @param {string} placeholder
 * @param {string} label
 * @param {() => void} input
 */
function textarea(value, placeholder, label, input) {
  const field = h("textarea", { rows: 1, placeholder, "aria-label": label, dir: "auto" });
  field.value = value;
  const grow = () => {
    if (CSS.supports("field-sizing", "content")) return;
    field.style.height = "auto";
    field.style.height = `${field.scrollHeight}px`;
  };
  field.addEventListener("input", () => {
    grow();
    input();
  });
  return field;
}
