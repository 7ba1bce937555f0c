// The form of a plan: the whole plan to read, to comment on or to edit, and what may be done with it.

import { ApprovalForm } from "./approval_form.js";
import { Comments } from "./comments.js";
import { Decision } from "./decision.js";
import { h } from "./dom.js";
import { Editor } from "./editor.js";
import { code } from "./visible.js";

const KEEP_PLANNING = "Keep planning";

/** @typedef {{ decision: import("./decision.js").DecisionDraft, comments: import("./comments.js").Comment[], edited: string | null }} PlanDraft */

/** @typedef {{ decision: Decision, comments: Comments, editor: Editor }} PlanParts */

/**
 * @extends {ApprovalForm<PlanParts>}
 * @implements {Form}
 */
export class PlanForm extends ApprovalForm {
  sendTone = /** @type {const} */ ("primary");
  /** @type {PlanSubject} */
  #subject;
  /** @type {PlanDraft} */
  #draft;

  /**
   * @param {Ask} ask
   * @param {unknown} draft
   * @param {FormListener} listener
   */
  constructor(ask, draft, listener) {
    super(
      ask,
      listener,
      () => this.#build(),
      () => this.#show(),
    );
    this.#subject = /** @type {PlanSubject} */ (ask.subject);
    const { words = "", comments = [], edited = null } = /** @type {{ words?: string, comments?: import("./comments.js").Comment[], edited?: string }} */ (draft ?? {});
    this.#draft = { decision: { chosen: comments.length > 0 ? KEEP_PLANNING : null, words }, comments, edited };
  }

  get sendLabel() {
    const { decision, comments, editor } = this.parts;
    if (decision.label === null) return "Send decision";
    if (!decision.isRefusal) return editor.isEdited ? "Approve the edited plan" : "Approve the plan";
    const count = comments.written.length;
    return count === 0 ? "Send back" : `Send back with ${count} ${count === 1 ? "comment" : "comments"}`;
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

  get isComplete() {
    const { decision, editor } = this.parts;
    return !decision.fault && !(editor.isEdited && !editor.value.trim());
  }

  answer() {
    const { decision, editor } = this.parts;
    return { ...decision.answer(), ...(editor.isEdited && !decision.isRefusal && { edited: { plan: editor.value } }) };
  }

  showFaults() {
    const { decision, editor } = this.parts;
    decision.blame(decision.fault);
    if (editor.isEdited && !editor.value.trim()) editor.blame("The plan is empty.");
    decision.element.scrollIntoView({ block: "nearest" });
    decision.focus();
  }

  /** @param {AnswerError[]} errors */
  blame(errors) {
    this.parts.decision.blame(errors.map(({ problem }) => problem).join(" "));
  }

  #build() {
    const { plan, file } = this.#subject;
    const comments = new Comments(plan, this.#draft.comments, () => this.#commented());
    const editor = new Editor({ original: plan, draft: this.#draft.edited, label: "The plan that is carried out instead", isCode: false, changed: () => this.changed() });
    const decision = new Decision({
      question: this.ask.questions[0],
      draft: this.#draft.decision,
      title: "Approve this plan?",
      refusal: KEEP_PLANNING,
      placeholder: "Keep planning, and tell the agent what to change…",
      blocked: (label) => blocked(label, comments, editor),
      note: () => [this.#draft.decision.words.trim(), comments.feedback].filter(Boolean).join("\n\n"),
      changed: () => this.changed(),
      filled: () => this.listener.filled(),
      submit: () => this.listener.submit(),
    });
    const isEmpty = plan.trim() === "";
    const element = h(
      "section",
      { class: "question" },
      h("div", { class: "asked" }, this.editedMark, decision.title, file && h("p", { class: "hint path" }, code(file))),
      isEmpty ? h("p", { class: "faint" }, "The agent has not written its plan down.") : comments.element,
      editor.element,
      decision.element,
    );
    return { parts: { decision, comments, editor }, element };
  }

  #show() {
    const { decision, comments, editor } = this.parts;
    this.#draft.edited = editor.isEdited ? editor.value : null;
    this.editedMark.hidden = !editor.isEdited;
    this.aside.textContent = editor.isOpen ? "Undo the edit" : "Edit the plan";
    // A person comments on the agent's plan, or writes another one.
    this.aside.disabled = comments.written.length > 0;
    comments.element.hidden = editor.isOpen;
    if (editor.value.trim()) editor.blame("");
    decision.show();
  }

  /** A comment asks for another plan. */
  #commented() {
    const { decision } = this.#draft;
    const isCommented = this.parts.comments.written.length > 0;
    if (isCommented) decision.chosen = KEEP_PLANNING;
    else if (!decision.words.trim()) decision.chosen = null;
    this.changed();
  }
}

/**
 * Why an option cannot be chosen now; empty if it can.
 * @param {string} label
 * @param {Comments} comments
 * @param {Editor} editor
 */
function blocked(label, comments, editor) {
  if (label === KEEP_PLANNING && editor.isEdited) return "An edited plan can only be approved. Undo the edit to send the plan back.";
  if (label !== KEEP_PLANNING && comments.written.length > 0) return "Comments are sent with “Keep planning”. Remove them to approve the plan.";
  return "";
}
