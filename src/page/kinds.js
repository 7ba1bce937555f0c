// The kinds of asks: how the page talks about each, and which form answers it. To add a kind, add an entry to `KINDS`.

import { QuestionForm } from "./question_form.js";
import { projectName } from "./words.js";

/**
 * @typedef {object} Kind
 * @property {{ one: string, many: string }} noun
 * @property {string} verb what a project does with such an ask, as in "shop asks: …"
 * @property {(ask: Ask) => string} title a few words: the name of the card
 * @property {(ask: Ask) => string} text one line: the row, the history, the announcement
 * @property {(ask: Ask) => string} glimpse what a notification shows: anybody who passes by may read it
 * @property {(ask: Ask, draft: unknown, listener: FormListener) => Form} form
 */

/** @type {Kind} */
const QUESTION = {
  noun: { one: "question", many: "questions" },
  verb: "asks",
  title: ({ questions }) => questions.map(({ header, question }) => header || question).join(" · "),
  text: ({ questions }) => questions[0].question,
  glimpse: ({ questions }) => questions[0].header,
  form: (ask, draft, listener) => new QuestionForm(ask, draft, listener),
};

/** @type {Map<string | undefined, Kind>} */
const KINDS = new Map([["question", QUESTION]]);

/** Every ask has questions. So a kind that only a newer daemon knows can still be answered. @param {Ask} ask */
const kindOf = ({ kind }) => KINDS.get(kind) ?? QUESTION;

/**
 * @param {Ask} ask
 * @param {unknown} draft
 * @param {FormListener} listener
 */
export const formOf = (ask, draft, listener) => kindOf(ask).form(ask, draft, listener);

/** What is asked, in one line. @param {Ask} ask */
export const text = (ask) => kindOf(ask).text(ask);

/** The name of a card. @param {Ask} ask */
export const cardName = (ask) => `${projectName(ask.project)} ${kindOf(ask).verb}: ${kindOf(ask).title(ask)}`;

/** What a screen reader says when an ask arrives. @param {Ask} ask */
export const arrival = (ask) => `${projectName(ask.project)} ${kindOf(ask).verb}: ${text(ask)}`;

/** What is new, as a button says it. @param {Ask[]} asks */
export const newOnes = (asks) => `${asks.length} new ${noun(asks)}`;

/**
 * The words of a notification about these asks. The text of an ask stays on the page.
 * @param {Ask[]} asks at least one
 */
export function notification(asks) {
  if (asks.length > 1) return { title: `${asks.length} ${noun(asks)} wait`, body: "" };
  const [ask] = asks;
  return { title: `${projectName(ask.project)} has a ${noun(asks)}`, body: kindOf(ask).glimpse(ask) };
}

/** Asks of several kinds together are questions. @param {Ask[]} asks */
function noun(asks) {
  const kinds = new Set(asks.map(kindOf));
  const [kind] = kinds.size === 1 ? kinds : [QUESTION];
  return asks.length === 1 ? kind.noun.one : kind.noun.many;
}
