// The form of a plan: the whole plan to read, to comment on or to edit, and what may be done with it.

import { Comments } from "./comments.js";
import { Decision } from "./decision.js";
import { fill, h } from "./dom.js";
import { Editor } from "./editor.js";
import { code } from "./visible.js";

const KEEP_PLANNING = "Keep planning";

/** @typedef {{ decision: import("./decision.js").DecisionDraft, comments: import("./comments.js").Comment[], edited: string | null }} PlanDraft */

/** @implements {Form} */
export class PlanForm {
  keys = /^([1-9]|ArrowDown|ArrowUp)$/;
  dismissal = null;
  isApproval = true;
  sendsItself = false;
  /** @type {PlanSubject} */
  #subject;
  /** @type {PlanDraft} */
  #draft;
  /** @type {{ decision: Decision, comments: Comments, editor: Editor } | null} */
  #built = null;
  #element = h("div", { class: "form" });
  #edit = h("button", { type: "button", class: "quiet", on: { click: () => this.#toggleEditor() } });
  #mark = h("span", { class: "chip warn", hidden: true }, "edited");

  /**
   * @param {Ask} ask
   * @param {unknown} draft
   * @param {FormListener} listener
   */
  constructor(ask, draft, listener) {
    this.ask = ask;
    this.listener = listener;
    this.#subject = /** @type {PlanSubject} */ (ask.subject);
    const { words = "", comments = [], edited = null } = /** @type {{ words?: string, comments?: import("./comments.js").Comment[], edited?: string }} */ (draft ?? {});
    this.#draft = { decision: { chosen: comments.length > 0 ? KEEP_PLANNING : null, words }, comments, edited };
  }

  get element() {
    void this.#parts;
    return this.#element;
  }

  get aside() {
    return this.#edit;
  }

  get sendLabel() {
    const { decision, comments, editor } = this.#parts;
    if (decision.label === null) return "Send decision";
    if (!decision.isRefusal) return editor.isEdited ? "Approve the edited plan" : "Approve the plan";
    const count = comments.written.length;
    return count === 0 ? "Send back" : `Send back with ${count} ${count === 1 ? "comment" : "comments"}`;
  }

  get sendTone() {
    return /** @type {const} */ ("primary");
  }

  get draft() {
    const { decision, comments, edited } = this.#draft;
    const isUsed = decision.chosen !== null || decision.words.trim() !== "" || comments.length > 0 || edited !== null;
    return isUsed ? { words: decision.words, comments: comments.filter(({ text }) => text.trim()), edited } : null;
  }

  get texts() {
    const { decision, comments, edited } = this.#draft;
    return [decision.words, ...comments.map(({ text }) => text), edited ?? ""].filter((text) => text.trim());
  }

  get summary() {
    return this.#parts.decision.label ?? "";
  }

  get isComplete() {
    const { decision, editor } = this.#parts;
    return !decision.fault && !(editor.isEdited && !editor.value.trim());
  }

  answer() {
    const { decision, editor } = this.#parts;
    return { ...decision.answer(), ...(editor.isEdited && !decision.isRefusal && { edited: { plan: editor.value } }) };
  }

  focus() {
    this.#parts.decision.focus();
  }

  undo() {}

  showFaults() {
    const { decision, editor } = this.#parts;
    decision.blame(decision.fault);
    if (editor.isEdited && !editor.value.trim()) editor.blame("The plan is empty.");
    decision.element.scrollIntoView({ block: "nearest" });
    decision.focus();
  }

  /** @param {AnswerError[]} errors */
  blame(errors) {
    this.#parts.decision.blame(errors.map(({ problem }) => problem).join(" "));
  }

  /** @param {string} key */
  press(key) {
    if (this.#element.inert) return;
    if (key.startsWith("Arrow")) this.focus();
    else this.#parts.decision.pick(Number(key) - 1);
  }

  get #parts() {
    return (this.#built ??= this.#build());
  }

  #build() {
    const { plan, file } = this.#subject;
    const comments = new Comments(plan, this.#draft.comments, () => this.#commented());
    const editor = new Editor({ original: plan, draft: this.#draft.edited, label: "The plan that is carried out instead", isCode: false, changed: () => this.#changed() });
    const decision = new Decision({
      question: this.ask.questions[0],
      draft: this.#draft.decision,
      title: "Approve this plan?",
      refusal: KEEP_PLANNING,
      placeholder: "Keep planning, and tell the agent what to change…",
      blocked: (label) => this.#blocked(label),
      note: () => [this.#draft.decision.words.trim(), comments.feedback].filter(Boolean).join("\n\n"),
      changed: () => this.#changed(),
      filled: () => this.listener.filled(),
      submit: () => this.listener.submit(),
    });
    this.#built = { decision, comments, editor };
    const isEmpty = plan.trim() === "";
    fill(
      this.#element,
      h(
        "section",
        { class: "question" },
        h("div", { class: "asked" }, h("span", { class: "chips" }, h("span", { class: "chip" }, "Plan"), this.#mark), decision.title, file && h("p", { class: "hint path" }, code(file))),
        isEmpty ? h("p", { class: "faint" }, "The agent has not written its plan down.") : comments.element,
        editor.element,
        decision.element,
      ),
    );
    this.#show();
    return this.#built;
  }

  /** @param {string} label */
  #blocked(label) {
    if (!this.#built) return "";
    const { comments, editor } = this.#built;
    if (label === KEEP_PLANNING && editor.isEdited) return "An edited plan can only be approved. Undo the edit to send the plan back.";
    if (label !== KEEP_PLANNING && comments.written.length > 0) return "Comments are sent with “Keep planning”. Remove them to approve the plan.";
    return "";
  }

  #show() {
    const { decision, comments, editor } = this.#parts;
    this.#draft.edited = editor.isEdited ? editor.value : null;
    this.#mark.hidden = !editor.isEdited;
    this.#edit.textContent = editor.isOpen ? "Undo the edit" : "Edit the plan";
    // One either comments on the agent's plan or writes another one.
    this.#edit.disabled = comments.written.length > 0;
    comments.element.hidden = editor.isOpen;
    if (editor.value.trim()) editor.blame("");
    decision.show();
  }

  #changed() {
    this.#show();
    this.listener.changed();
  }

  /** Who comments wants another plan. */
  #commented() {
    const { decision } = this.#draft;
    const isCommented = this.#parts.comments.written.length > 0;
    if (isCommented) decision.chosen = KEEP_PLANNING;
    else if (!decision.words.trim()) decision.chosen = null;
    this.#changed();
  }

  #toggleEditor() {
    const { editor } = this.#parts;
    const isOpening = !editor.isOpen;
    if (isOpening) editor.open();
    else editor.close();
    this.#changed();
    if (isOpening) editor.open();
    else this.#edit.focus();
  }
}
