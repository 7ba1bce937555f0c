// The kinds of asks: how the page talks about each, and which form answers it. To add a kind, add an entry to `KINDS`.

import { AddressForm } from "./address_form.js";
import { callText, toolName } from "./call.js";
import { h, icon } from "./dom.js";
import { askerName } from "./hosts.js";
import { firstLine, inline } from "./inline.js";
import { pastCall, pastForm, pastPlan, pastQuestions, planTitle } from "./past.js";
import { PermissionForm } from "./permission_form.js";
import { PlanForm } from "./plan_form.js";
import { QuestionForm } from "./question_form.js";
import { SchemaForm } from "./schema_form.js";
import { verdictOnCall, verdictOnForm, verdictOnPlan, verdictOnQuestion } from "./verdict.js";
import { code, codeText, prose } from "./visible.js";

/**
 * @typedef {object} Kind
 * @property {{ one: string, many: string }} noun
 * @property {string} name one word, for rows and filters
 * @property {string} verb what a project does with such an ask, as in "shop asks: …"
 * @property {(ask: Ask) => string} title a few words: the name of the card
 * @property {(ask: Ask) => string} text all of what is asked: the announcement
 * @property {(ask: Ask) => Node[]} line the beginning of it: the row
 * @property {(ask: Ask) => string} glimpse what a notification shows: anybody who passes by may read it
 * @property {(ask: Ask, draft: unknown, listener: FormListener) => Form} form
 * @property {(ask: Ask) => import("./verdict.js").Verdict} verdict how it ended
 * @property {(ask: Ask) => Node[]} past what it was about, for the history
 */

/** @type {Kind} */
const QUESTION = {
  noun: { one: "question", many: "questions" },
  name: "Question",
  verb: "asks",
  title: ({ questions }) => questions.map(({ header, question }) => header || question).join(" · "),
  text: ({ questions }) => questions[0].question,
  line: ({ questions }) => [inline(firstLine(questions[0].question))],
  glimpse: ({ questions }) => questions[0].header,
  form: (ask, draft, listener) => new QuestionForm(ask, draft, listener),
  verdict: verdictOnQuestion,
  past: pastQuestions,
};

/** @param {Ask} ask */
const call = ({ subject }) => /** @type {CallSubject} */ (subject);

/** @type {Kind} */
const PERMISSION = {
  noun: { one: "permission request", many: "permission requests" },
  name: "Permission",
  verb: "asks for permission",
  title: (ask) => codeText(toolName(call(ask))),
  text: (ask) => codeText(`${toolName(call(ask))}: ${callText(call(ask))}`),
  line: (ask) => [h("bdi", {}, code(toolName(call(ask)))), prose(": "), h("code", {}, code(firstLine(callText(call(ask)))))],
  glimpse: (ask) => codeText(toolName(call(ask))),
  form: (ask, draft, listener) => new PermissionForm(ask, draft, listener),
  verdict: verdictOnCall,
  past: pastCall,
};

/** @param {Ask} ask */
const plan = ({ subject }) => planTitle(/** @type {PlanSubject} */ (subject).plan);

/** @type {Kind} */
const PLAN = {
  noun: { one: "plan", many: "plans" },
  name: "Plan",
  verb: "has a plan",
  title: plan,
  text: plan,
  line: (ask) => [inline(plan(ask))],
  glimpse: () => "",
  form: (ask, draft, listener) => new PlanForm(ask, draft, listener),
  verdict: verdictOnPlan,
  past: pastPlan,
};

/** @param {Ask} ask */
const schema = ({ subject }) => /** @type {FormSubject} */ (subject);

/** @type {Kind} */
const FORM = {
  noun: { one: "form", many: "forms" },
  name: "Form",
  verb: "has a form",
  title: (ask) => codeText(schema(ask).server),
  text: (ask) => `${codeText(schema(ask).server)}: ${schema(ask).message}`,
  line: (ask) => [h("bdi", {}, code(schema(ask).server)), prose(`: ${firstLine(schema(ask).message)}`)],
  glimpse: (ask) => codeText(schema(ask).server),
  form: (ask, draft, listener) => (schema(ask).mode === "url" ? new AddressForm(ask) : new SchemaForm(ask, draft, listener)),
  verdict: verdictOnForm,
  past: pastForm,
};

/** @type {Map<string, Kind>} */
const KINDS = new Map([["question", QUESTION], ["permission", PERMISSION], ["plan", PLAN], ["form", FORM]]);

/** The asks about something that the page cannot show. @type {Set<number>} */
const unreadable = new Set();

/** Every ask has questions. So it can be answered even if only a newer daemon knows its kind, or if its subject is not what it should be. @param {Ask} ask */
const kindOf = ({ id, kind = "", subject }) => (subject && !unreadable.has(id) ? KINDS.get(kind) : null) ?? QUESTION;

/**
 * Does something with the kind of an ask. If that fails, the ask is a plain question from then on, and its subject is shown as it is. So one
 * strange ask does not take the others off the page.
 * @template T
 * @param {Ask} ask
 * @param {(kind: Kind) => T} use
 * @param {(kind: Kind) => T} [again] after a failure, if it is not the same
 * @returns {T}
 */
export function guarded(ask, use, again = use) {
  try {
    return use(kindOf(ask));
  } catch (error) {
    if (kindOf(ask) === QUESTION && again === use) throw error;
    console.warn(`The page cannot show ${ask.key} as a ${kindKey(ask)}.`, error);
    unreadable.add(ask.id);
    return again(kindOf(ask));
  }
}

/** The name of a kind for machines. @param {Ask} ask */
export const kindKey = (ask) => [...KINDS].find(([, kind]) => kind === kindOf(ask))?.[0] ?? "question";

/** The name of a kind for people. @param {string} key */
export const kindName = (key) => (KINDS.get(key) ?? QUESTION).name;

/** All kinds, by their names for machines. */
export const kindKeys = () => [...KINDS.keys()];

/**
 * @param {Ask} ask
 * @param {unknown} draft
 * @param {FormListener} listener
 */
export const formOf = (ask, draft, listener) => guarded(ask, (kind) => kind.form(ask, draft, listener));

/** What is asked, in words. @param {Ask} ask */
export const text = (ask) => guarded(ask, (kind) => kind.text(ask));

/** What is asked, in one line of a row. @param {Ask} ask */
export const line = (ask) => guarded(ask, (kind) => kind.line(ask));

/** The kind of an ask. No text of an agent looks like this. @param {Ask} ask */
export const kindMark = (ask) => h("span", { class: "kind", "data-kind": kindKey(ask) }, icon(kindKey(ask)), kindOf(ask).name);

/** How a settled ask ended. @param {Ask} ask */
export const verdict = (ask) => guarded(ask, (kind) => kind.verdict(ask));

/** What a settled ask was about. @param {Ask} ask */
export const past = (ask) => guarded(ask, (kind) => kind.past(ask));

/** The name of a card. @param {Ask} ask */
export const cardName = (ask) => guarded(ask, (kind) => `${askerName(ask)} ${kind.verb}: ${kind.title(ask)}`);

/** What a screen reader says when an ask arrives. @param {Ask} ask */
export const arrival = (ask) => guarded(ask, (kind) => `${askerName(ask)} ${kind.verb}: ${kind.text(ask)}`);

/**
 * The words of a notification about these asks. The text of an ask stays on the page.
 * @param {Ask[]} asks at least one
 */
export function notification(asks) {
  if (asks.length > 1) return { title: `${asks.length} ${noun(asks)} wait`, body: "" };
  const [ask] = asks;
  const body = guarded(ask, (kind) => kind.glimpse(ask));
  return { title: `${askerName(ask)} has a ${noun(asks)}`, body };
}

/** Asks of several kinds together are questions. @param {Ask[]} asks */
function noun(asks) {
  const kinds = new Set(asks.map(kindOf));
  const [kind] = kinds.size === 1 ? kinds : [QUESTION];
  return asks.length === 1 ? kind.noun.one : kind.noun.many;
}
