// What the forms of a permission and of a plan have in common: a decision, and an editor for what is approved.

import { fill, h } from "./dom.js";

/** @typedef {import("./decision.js").Decision} Decision */
/** @typedef {import("./editor.js").Editor} Editor */

/**
 * The parts of a form are built when it is first shown.
 * @template {{ decision: Decision, editor: Editor }} Parts
 */
export class ApprovalForm {
  keys = /^([1-9]|ArrowDown|ArrowUp)$/;
  dismissal = null;
  isApproval = true;
  sendsItself = false;
  aside = h("button", { type: "button", class: "quiet", on: { click: () => this.#toggleEditor() } });
  editedMark = h("span", { class: "chip warn", hidden: true }, "edited");
  #element = h("div", { class: "form" });
  /** @type {Parts | null} */
  #built = null;
  /** @type {() => { parts: Parts, element: Element }} */
  #build;
  /** @type {() => void} */
  #show;

  /**
   * @param {Ask} ask
   * @param {FormListener} listener
   * @param {() => { parts: Parts, element: Element }} build
   * @param {() => void} show brings the parts up to date
   */
  constructor(ask, listener, build, show) {
    this.ask = ask;
    this.listener = listener;
    this.#build = build;
    this.#show = show;
  }

  get element() {
    void this.parts;
    return this.#element;
  }

  get parts() {
    if (this.#built) return this.#built;
    const { parts, element } = this.#build();
    this.#built = parts;
    fill(this.#element, element);
    this.#show();
    return parts;
  }

  get summary() {
    return this.parts.decision.label ?? "";
  }

  focus() {
    this.parts.decision.focus();
  }

  undo() {}

  /** Takes back the choice of an option that approves. Words and edits stay. */
  forgetApproval() {
    const { decision } = this.parts;
    if (decision.label === null || decision.isRefusal) return;
    decision.draft.chosen = null;
    this.changed();
  }

  /** @param {string} key */
  press(key) {
    if (this.#element.inert) return;
    if (key.startsWith("Arrow")) this.focus();
    else this.parts.decision.pick(Number(key) - 1);
  }

  /** The person has changed something. */
  changed() {
    this.#show();
    this.listener.changed();
  }

  #toggleEditor() {
    const { editor } = this.parts;
    const isOpening = !editor.isOpen;
    if (isOpening) editor.open();
    else editor.close();
    this.changed();
    // Only now it can be focused: what was shown in its place is hidden.
    if (isOpening) editor.open();
    else this.aside.focus();
  }
}
