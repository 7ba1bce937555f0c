// One field of a form, with the input that suits its type. The daemon checks the values.

import { Choices } from "./choices.js";
import { h } from "./dom.js";
import { textarea } from "./text_field.js";
import { prose } from "./visible.js";

/** More options than this are in a list that opens. */
const FEW = 6;
/** A text that may be longer than this has more than one line. */
const ONE_LINE = 200;
/** @type {Record<string, string>} */
const TYPES = { email: "email", uri: "url", date: "date", "date-time": "datetime-local" };

let made = 0;

/** @typedef {string | string[]} Value a text, or the labels of several options; empty if there is none */

export class SchemaField {
  #fault = h("p", { class: "fault", role: "alert" });
  /** @type {Choices | null} */
  #choices = null;
  /** @type {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement | null} */
  #input = null;

  /**
   * @param {FormField} field
   * @param {Question} question
   * @param {Value | undefined} draft
   * @param {{ changed(): void, submit(): void }} listener
   */
  constructor(field, question, draft, listener) {
    this.field = field;
    this.question = question;
    this.listener = listener;
    this.first = initial(field, question);
    this.value = draft ?? this.first;
    this.id = `field-${++made}`;
    this.element = this.#build();
    this.#show();
  }

  get isEmpty() {
    return this.value.length === 0;
  }

  get isChanged() {
    return JSON.stringify(this.value) !== JSON.stringify(this.first);
  }

  /** The value as the daemon takes it. A date and time gets its time zone. */
  get sent() {
    if (this.#type !== "datetime-local" || typeof this.value !== "string") return this.value;
    const time = new Date(this.value);
    return Number.isNaN(time.getTime()) ? this.value : time.toISOString();
  }

  /** Why it cannot be sent; empty if it can. */
  get fault() {
    if (this.#input instanceof HTMLInputElement && this.#input.validity.badInput) return this.#type === "number" ? "This is not a number." : "This is not complete.";
    return this.isEmpty && this.field.required ? "This one is required." : "";
  }

  focus() {
    if (this.#choices) this.#choices.focus();
    else this.#input?.focus({ preventScroll: true });
  }

  /** @param {string} problem empty if there is none */
  blame(problem) {
    this.#fault.textContent = problem;
    this.element.classList.toggle("faulty", problem !== "");
    this.#input?.setAttribute("aria-invalid", String(problem !== ""));
  }

  /** Chooses an option. @param {number} place */
  pick(place) {
    const label = this.question.options[place]?.label;
    if (label === undefined || !this.#choices) return;
    const chosen = [this.value].flat().filter(Boolean);
    const others = chosen.filter((other) => other !== label);
    if (this.question.multiSelect) this.value = chosen.includes(label) ? others : this.question.options.map((option) => option.label).filter((each) => each === label || chosen.includes(each));
    // A value that is not required can be taken back.
    else this.value = chosen.includes(label) && !this.field.required ? "" : label;
    this.#choices.focus(place);
    this.#changed();
  }

  get #type() {
    const { type, format = "" } = this.field;
    if (type === "number" || type === "integer") return "number";
    return TYPES[format] ?? "text";
  }

  #changed() {
    this.#show();
    this.listener.changed();
  }

  #show() {
    this.#choices?.show([this.value].flat());
    if (!this.fault) this.blame("");
  }

  #build() {
    const { field, question } = this;
    const label = [prose(field.question), field.required && h("span", { class: "required", title: "Required" }, " *", h("span", { class: "unseen" }, "required"))];
    const hints = [field.description, this.#rule()].filter(Boolean).map((text) => h("p", { class: "hint", dir: "auto" }, prose(String(text))));
    const about = h("div", { id: `${this.id}-about` }, ...hints);
    if (question.options.length > 0 && (question.multiSelect || question.options.length <= FEW)) {
      this.#choices = new Choices({ options: question.options, isMulti: question.multiSelect, labelledBy: this.id, pick: (place) => this.pick(place), hasKeys: false });
      const group = this.#choices.element;
      group.setAttribute("aria-describedby", `${this.id}-about`);
      return h("div", { class: "field" }, h("p", { class: "field-name", id: this.id, dir: "auto" }, ...label), about, group, this.#fault);
    }
    this.#input = question.options.length > 0 ? this.#select() : this.#text();
    this.#input.id = this.id;
    this.#input.setAttribute("aria-describedby", `${this.id}-about`);
    if (field.required) this.#input.setAttribute("aria-required", "true");
    return h("div", { class: "field" }, h("label", { class: "field-name", for: this.id, dir: "auto" }, ...label), about, this.#input, this.#fault);
  }

  #select() {
    const options = this.question.options.map(({ label }) => h("option", { value: label }, label));
    const select = h("select", {}, h("option", { value: "" }, "Choose…"), ...options);
    select.value = String(this.value);
    select.addEventListener("change", () => {
      this.value = select.value;
      this.#changed();
    });
    return select;
  }

  #text() {
    const { type, minimum, maximum, maxLength = 0, minLength = 0, format } = this.field;
    const read = () => {
      this.value = this.#input?.value ?? "";
      this.#changed();
    };
    const isLong = maxLength > ONE_LINE || minLength > ONE_LINE / 2 || String(this.value).includes("\n");
    if (this.#type === "text" && isLong && !format) {
      const area = textarea(String(this.value), "", this.field.question, read);
      area.removeAttribute("aria-label");
      return area;
    }
    const step = this.#type !== "number" ? null : type === "integer" ? 1 : "any";
    const input = h("input", { type: this.#type, step, min: minimum, max: maximum, dir: "auto", autocomplete: "off" });
    input.value = String(this.value);
    input.addEventListener("input", read);
    // A wheel over a number would change it while the person only scrolls.
    input.addEventListener("wheel", () => input.blur(), { passive: true });
    return input;
  }

  /** The rules of the value, in words. */
  #rule() {
    const { type, minimum, maximum, minLength, maxLength, minItems, maxItems } = this.field;
    const range = (/** @type {number | undefined} */ least, /** @type {number | undefined} */ most, /** @type {string} */ unit) => {
      if (least === undefined && most === undefined) return "";
      const numbers = least === undefined ? `At most ${most}` : most === undefined ? `At least ${least}` : `${least} to ${most}`;
      return unit ? `${numbers} ${unit}` : numbers;
    };
    if (this.#type === "datetime-local") return `In your time zone, ${Intl.DateTimeFormat().resolvedOptions().timeZone}`;
    if (type === "choices") return range(minItems, maxItems, "of these") || "Choose any number";
    if (type === "string") return this.#type === "text" ? range(minLength, maxLength, "characters") : "";
    return range(minimum, maximum, "");
  }
}

/**
 * The default of a field.
 * @param {FormField} field
 * @param {Question} question
 * @returns {Value}
 */
function initial({ type, format, default: given }, { options }) {
  const labels = options.map(({ label }) => label);
  if (type === "choices") return [given].flat().filter((each) => typeof each === "string" && labels.includes(each)).map(String);
  if (type === "boolean") return given === true ? "Yes" : given === false ? "No" : "";
  if (given === undefined || given === null || typeof given === "object") return "";
  if (type === "choice") return labels.includes(String(given)) ? String(given) : "";
  return type === "string" && format === "date-time" ? localTime(String(given)) : String(given);
}

/** A time as an input for dates takes it: in the person's time zone, and without its name. @param {string} text */
function localTime(text) {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) return "";
  const two = (/** @type {number} */ number) => String(number).padStart(2, "0");
  return `${String(time.getFullYear()).padStart(4, "0")}-${two(time.getMonth() + 1)}-${two(time.getDate())}T${two(time.getHours())}:${two(time.getMinutes())}`;
}
