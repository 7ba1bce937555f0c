// Lets a person change a text before they approve it. The text as the agent wrote it can be put back.

import { fill, h } from "./dom.js";
import { code, hasHidden } from "./visible.js";

export class Editor {
  #field;
  #shown = h("div", { class: "editor-shown", hidden: true });
  #fault = h("p", { class: "fault", role: "alert" });

  /**
   * @param {object} spec
   * @param {string} spec.original
   * @param {string | null} spec.draft the edited text; null if nothing was edited
   * @param {string} spec.label
   * @param {boolean} spec.isCode whether it is for machines
   * @param {() => void} spec.changed
   */
  constructor({ original, draft, label, isCode, changed }) {
    this.isCode = isCode;
    this.#field = h("textarea", { "aria-label": label, class: isCode ? "code" : "", spellcheck: isCode ? "false" : "true", dir: isCode ? "ltr" : "auto", rows: 3, autocapitalize: "off" });
    this.#field.value = original;
    // The field has line breaks of its own.
    this.original = this.#field.value;
    this.#field.value = draft ?? original;
    this.#field.addEventListener("input", () => {
      this.#show();
      changed();
    });
    this.element = h("div", { class: "editor", hidden: draft === null }, h("p", { class: "editor-label" }, label), this.#field, this.#shown, this.#fault);
    this.#show();
  }

  get isOpen() {
    return !this.element.hidden;
  }

  get value() {
    return this.#field.value;
  }

  get isEdited() {
    return this.isOpen && this.value !== this.original;
  }

  open() {
    this.element.hidden = false;
    // The caret is at the end of a text that was put in. The person begins to read at the beginning.
    this.#field.setSelectionRange(0, 0);
    this.#field.scrollTop = 0;
    this.#field.focus({ preventScroll: true });
    this.element.scrollIntoView({ block: "nearest" });
  }

  /** Puts the agent's text back. */
  close() {
    this.element.hidden = true;
    this.#field.value = this.original;
    this.#show();
    this.blame("");
  }

  /** @param {string} problem empty if there is none */
  blame(problem) {
    this.#fault.textContent = problem;
  }

  /** A field does not show hidden characters, so the text is shown once more below it. */
  #show() {
    const isNeeded = this.isCode && hasHidden(this.value);
    this.#shown.hidden = !isNeeded;
    if (isNeeded) fill(this.#shown, h("p", { class: "hint" }, "With its hidden characters:"), h("pre", { class: "exact", tabindex: 0 }, code(this.value)));
  }
}
