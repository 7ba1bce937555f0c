// The form of a form: the values that a server of the agent asks for.

import { fill, h } from "./dom.js";
import { SchemaField } from "./schema_field.js";
import { code, prose } from "./visible.js";

/** @implements {Form} */
export class SchemaForm {
  keys = /^(ArrowDown|ArrowUp)$/;
  sendTone = /** @type {const} */ ("primary");
  sendLabel = "Send the form";
  sendsItself = false;
  isApproval = false;
  dismissal = { label: "Decline", hint: "Send nothing to the server", question: "Decline the form? The server gets no values." };
  aside = h("span", { class: "hint" });
  /** @type {FormSubject} */
  #subject;
  /** The values that are not the defaults. @type {Record<string, import("./schema_field.js").Value>} */
  #draft;
  /** @type {SchemaField[] | null} */
  #built = null;
  #element = h("div", { class: "form" });

  /**
   * @param {Ask} ask
   * @param {unknown} draft
   * @param {FormListener} listener
   */
  constructor(ask, draft, listener) {
    this.ask = ask;
    this.listener = listener;
    this.#subject = /** @type {FormSubject} */ (ask.subject);
    this.#draft = { .../** @type {Record<string, import("./schema_field.js").Value>} */ (draft ?? {}) };
  }

  get element() {
    void this.#fields;
    return this.#element;
  }

  get draft() {
    return Object.keys(this.#draft).length > 0 ? this.#draft : null;
  }

  get texts() {
    return Object.entries(this.#draft).filter(([, value]) => value.length > 0).map(([name, value]) => `${name}: ${[value].flat().join(", ")}`);
  }

  get summary() {
    return this.#fields.filter(({ isEmpty }) => !isEmpty).map(({ value }) => [value].flat().join(", ")).join(" · ");
  }

  get isComplete() {
    return this.#fields.every(({ fault }) => !fault);
  }

  answer() {
    const filled = this.#fields.filter(({ isEmpty }) => !isEmpty);
    return { answers: Object.fromEntries(filled.map(({ question, sent }) => [question.question, sent])), notes: {} };
  }

  focus() {
    this.#fields[0].focus();
  }

  undo() {}

  showFaults() {
    this.#blame((field) => field.fault);
  }

  /** @param {AnswerError[]} errors */
  blame(errors) {
    this.#blame(({ question }) => errors.filter((error) => error.question === question.question).map(({ problem }) => sentence(problem)).join(" "));
  }

  press() {
    if (!this.#element.inert) this.focus();
  }

  /** Says at each field what is wrong, and goes to the first one. @param {(field: SchemaField) => string} problem */
  #blame(problem) {
    for (const field of this.#fields) field.blame(problem(field));
    const first = this.#fields.find((field) => problem(field));
    first?.element.scrollIntoView({ block: "nearest" });
    first?.focus();
  }

  get #fields() {
    return (this.#built ??= this.#build());
  }

  #build() {
    const { server, message, fields = [] } = this.#subject;
    const listener = { changed: () => this.#changed(), submit: () => this.listener.submit() };
    const known = fields.flatMap((field) => {
      const question = this.ask.questions.find((each) => each.question === field.question);
      return question ? [new SchemaField(field, question, this.#draft[field.name], listener)] : [];
    });
    const required = known.some(({ field }) => field.required);
    this.aside.textContent = required ? "* required" : "";
    fill(
      this.#element,
      h(
        "section",
        { class: "question" },
        h("div", { class: "asked" }, h("h2", { class: "text", dir: "auto" }, prose(message || "Fill in this form")), h("p", { class: "hint" }, "For the MCP server ", h("bdi", {}, code(server)))),
        h("div", { class: "fields" }, ...known.map(({ element }) => element)),
      ),
    );
    this.#built = known;
    return known;
  }

  #changed() {
    this.#draft = Object.fromEntries(this.#fields.filter(({ isChanged }) => isChanged).map(({ field, value }) => [field.name, value]));
    this.listener.changed();
  }
}

/** @param {string} problem as the daemon says it */
const sentence = (problem) => `${problem.charAt(0).toUpperCase()}${problem.slice(1)}.`;
