// What an ask was about, as the history shows it.

import { CallView } from "./call.js";
import { h } from "./dom.js";
import { firstLine } from "./inline.js";
import { markdown } from "./markdown.js";
import { rawTree, treeRows } from "./tree.js";
import { verdictOnCall, verdictOnPlan } from "./verdict.js";
import { code, prose } from "./visible.js";

/**
 * Questions and their answers.
 * @param {Ask} ask
 * @returns {Node[]}
 */
export function pastQuestions({ questions, subject, outcome }) {
  const of = (/** @type {Record<string, string> | undefined} */ texts, /** @type {string} */ question) => (texts && Object.hasOwn(texts, question) ? texts[question] : "");
  const pairs = questions.flatMap(({ question }) => {
    const [answer, note] = [of(outcome?.answers, question), of(outcome?.notes, question)];
    return [h("dt", {}, markdown(question)), h("dd", { dir: "auto" }, answer && h("strong", {}, prose(answer)), note && h("span", { class: "past-note" }, prose(note)))];
  });
  return [...(subject ? [rawTree(subject)] : []), h("dl", {}, ...pairs)];
}

/**
 * What the person said. The history shows the reason of a dismissal by itself.
 * @param {import("./verdict.js").Verdict} verdict
 * @param {Outcome | null} outcome
 */
const said = ({ lines }, outcome) => lines.filter((line) => line !== outcome?.reason).map((line) => h("p", { class: "past-note", dir: "auto" }, prose(line)));

/** @param {Ask} ask @returns {Node[]} */
export function pastCall(ask) {
  const { subject, outcome } = ask;
  const words = said(verdictOnCall(ask), outcome);
  const call = new CallView(/** @type {CallSubject} */ (subject)).element;
  const edited = outcome?.edited;
  if (!edited) return [call, ...words];
  const rows = treeRows(edited).map((row) => row.show(row.text));
  return [call, h("p", { class: "hint" }, "Edited before it was allowed:"), h("div", { class: "tree" }, rows), ...words];
}

/** @param {Ask} ask @returns {Node[]} */
export function pastPlan(ask) {
  const { subject, outcome } = ask;
  const { plan } = /** @type {PlanSubject} */ (subject);
  const edited = outcome?.edited?.plan;
  /** @type {Node[]} */
  const shown = [fold(planTitle(plan), plan)];
  if (typeof edited === "string") shown.push(fold("The plan as it was edited", edited));
  return [...shown, ...said(verdictOnPlan(ask), outcome)];
}

/** @param {Ask} ask @returns {Node[]} */
export function pastForm(ask) {
  const { server, message, url } = /** @type {FormSubject} */ (ask.subject);
  const about = h("p", { dir: "auto" }, prose(message), " ", h("span", { class: "faint" }, "(", h("bdi", {}, code(server)), ")"));
  if (url !== undefined) return [about, h("pre", { class: "exact", tabindex: 0, "aria-label": "Address" }, code(url))];
  const answered = ask.questions.filter(({ question }) => Object.hasOwn(ask.outcome?.answers ?? {}, question));
  return [about, ...pastQuestions({ ...ask, subject: null, questions: answered })];
}

/** The first line of a plan, without the marks of a heading. @param {string} plan */
export const planTitle = (plan) => firstLine(plan.replaceAll(/^#+/gm, "")).trim() || "No plan was written";

/**
 * A text that is rendered when a person opens it.
 * @param {string} title
 * @param {string} text
 */
function fold(title, text) {
  const details = h("details", { class: "past-plan" }, h("summary", { dir: "auto" }, prose(title)));
  details.addEventListener("toggle", () => details.open && details.childElementCount === 1 && details.append(markdown(text)));
  return details;
}
