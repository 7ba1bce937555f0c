// The form of a permission: all of what the agent wants to do, and what may be done about it.

import { ApprovalForm } from "./approval_form.js";
import { callTitle, CallView } from "./call.js";
import { Decision } from "./decision.js";
import { h } from "./dom.js";
import { Editor } from "./editor.js";

const DENY = "Deny";
const ALLOW_ONCE = "Allow once";
/** The fields that a person edits as text, and what they are. Everything else is edited as JSON. @type {[string, string, string][]} */
const TEXTS = [
  ["Bash", "command", "The command that runs instead"],
  ["Write", "content", "The content that is written instead"],
  ["Edit", "new_string", "The text that is put in instead"],
];

/** @typedef {{ decision: Decision, call: CallView, editor: Editor }} PermissionParts */

/**
 * @extends {ApprovalForm<PermissionParts>}
 * @implements {Form}
 */
export class PermissionForm extends ApprovalForm {
  /** @type {CallSubject} */
  #subject;
  /** @type {{ decision: import("./decision.js").DecisionDraft, edited: string | null }} */
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
    this.#subject = /** @type {CallSubject} */ (ask.subject);
    const { words = "", edited = null } = /** @type {{ words?: string, edited?: string }} */ (draft ?? {});
    // A choice does not outlive a reload: nobody should find a call half allowed.
    this.#draft = { decision: { chosen: null, words }, edited };
  }

  get sendLabel() {
    const label = this.parts.decision.label;
    if (label === null) return "Send decision";
    const isGrant = label !== DENY && label !== ALLOW_ONCE;
    return this.#isEdited && label !== DENY ? "Allow the edited call" : isGrant ? "Allow and add the rule" : label;
  }

  get sendTone() {
    return this.parts.decision.isRefusal ? "danger" : "primary";
  }

  get draft() {
    const { decision, edited } = this.#draft;
    const isUsed = decision.chosen !== null || decision.words.trim() !== "" || edited !== null;
    return isUsed ? { words: decision.words, edited } : null;
  }

  get texts() {
    const { decision, edited } = this.#draft;
    return [decision.words.trim(), edited ?? ""].filter(Boolean);
  }

  get isComplete() {
    const { decision } = this.parts;
    return !decision.fault && (decision.isRefusal || !this.#editFault);
  }

  answer() {
    const { decision } = this.parts;
    const edited = this.#isEdited && !decision.isRefusal ? this.#changes() : null;
    return { ...decision.answer(), ...(edited && Object.keys(edited).length > 0 && { edited }) };
  }

  showFaults() {
    const { decision, editor } = this.parts;
    decision.blame(decision.fault);
    if (!decision.isRefusal) editor.blame(this.#editFault);
    decision.element.scrollIntoView({ block: "nearest" });
    decision.focus();
  }

  /** @param {AnswerError[]} errors */
  blame(errors) {
    const { decision, editor } = this.parts;
    const problem = errors.map((error) => error.problem).join(" ");
    if (this.#isEdited) editor.blame(problem);
    else decision.blame(problem);
  }

  get #isEdited() {
    return this.parts.editor.isEdited;
  }

  /** The field that is edited as text. */
  get #text() {
    const { tool, input } = this.#subject;
    return TEXTS.find(([name, field]) => name === tool && typeof input[field] === "string");
  }

  #build() {
    const text = this.#text;
    const original = text ? String(this.#subject.input[text[1]]) : JSON.stringify(this.#subject.input, null, 2);
    const call = new CallView(this.#subject, () => this.changed());
    const editor = new Editor({ original, draft: this.#draft.edited, label: text?.[2] ?? "The input that is used instead, as JSON", isCode: true, changed: () => this.changed() });
    const decision = new Decision({
      question: this.ask.questions[0],
      draft: this.#draft.decision,
      describe: ({ label, description }) => this.#describe(label) ?? description,
      title: callTitle(this.#subject),
      refusal: DENY,
      placeholder: "Deny, and tell the agent why…",
      blocked: (label) => (label === DENY ? "" : !call.isWhole ? "You can allow this after you have unfolded all of it." : label !== ALLOW_ONCE && editor.isEdited ? "A rule is for the call as the agent wrote it. An edited call can be allowed once." : ""),
      note: () => this.#draft.decision.words.trim(),
      changed: () => this.changed(),
      filled: () => this.listener.filled(),
      submit: () => this.listener.submit(),
    });
    const element = h("section", { class: "question" }, h("div", { class: "asked" }, this.editedMark, decision.title), call.element, editor.element, decision.element);
    return { parts: { decision, call, editor }, element };
  }

  /** What a grant means. Its label has the rule. @param {string} label */
  #describe(label) {
    const grant = this.#subject.grants.find((each) => each.label === label);
    if (!grant) return null;
    return grant.file === null ? "Until this session ends" : `Adds the rule to ${grant.file}`;
  }

  #show() {
    const { decision, call, editor } = this.parts;
    this.#draft.edited = editor.isEdited ? editor.value : null;
    this.editedMark.hidden = !editor.isEdited;
    this.aside.textContent = editor.isOpen ? "Undo the edit" : "Edit before allowing";
    this.aside.disabled = !call.isWhole;
    if (!this.#editFault) editor.blame("");
    decision.show();
  }

  /** Why the edited text cannot be sent; empty if it can. */
  get #editFault() {
    if (!this.#isEdited) return "";
    const { editor } = this.parts;
    if (this.#text) return editor.value.trim() ? "" : "The text is empty. To stop the call, deny it.";
    try {
      const fields = JSON.parse(editor.value);
      const names = (/** @type {object} */ of) => Object.keys(of).sort().join(", ");
      const isSame = typeof fields === "object" && fields !== null && !Array.isArray(fields) && names(fields) === names(this.#subject.input);
      return isSame ? "" : `Values can change, but the fields stay the same: ${names(this.#subject.input)}.`;
    } catch (error) {
      return `This is not JSON. ${/** @type {Error} */ (error).message}`;
    }
  }

  /** The fields of the input that the person changed. @returns {Record<string, unknown>} */
  #changes() {
    const { value } = this.parts.editor;
    if (this.#text) return { [this.#text[1]]: value };
    const fields = Object.entries(JSON.parse(value));
    return Object.fromEntries(fields.filter(([name, each]) => JSON.stringify(each) !== JSON.stringify(this.#subject.input[name])));
  }
}
