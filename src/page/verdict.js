// How an ask ended, in the words of its kind: what was allowed or denied, which rule was granted, what was sent back.

import { callText, toolName } from "./call.js";
import { codeText } from "./visible.js";
import { OUTCOMES } from "./words.js";

/**
 * @typedef {object} Verdict
 * @property {string} word
 * @property {"good" | "bad" | "plain"} tone
 * @property {string[]} lines what was said: answers, words, granted rules
 * @property {string} [exact] the command, the path or the address that it is about
 */

/** @param {Ask} ask */
const outcomeOf = ({ outcome }) => /** @type {Outcome} */ (outcome);

/** @param {Ask} ask */
const isAnswered = (ask) => ["answered", "answered_in_terminal"].includes(outcomeOf(ask).kind);

/** The answer to the only question, and the note beside it. @param {Ask} ask */
function only(ask) {
  const { answers = {}, notes = {} } = outcomeOf(ask);
  const [label = ""] = Object.values(answers);
  const [note = ""] = Object.values(notes);
  return { label, note, isLabel: ask.questions[0].options.some((option) => option.label === label) };
}

/** What holds for every kind. @param {Ask} ask @returns {Verdict} */
export function verdictOnQuestion(ask) {
  const { kind, answers = {}, reason = "" } = outcomeOf(ask);
  const tone = isAnswered(ask) ? "good" : kind === "dismissed" ? "bad" : "plain";
  return { word: OUTCOMES[kind], tone, lines: [Object.values(answers).join(" · "), reason].filter(Boolean) };
}

/** @param {Ask} ask @returns {Verdict} */
export function verdictOnCall(ask) {
  const subject = /** @type {CallSubject} */ (ask.subject);
  const { edited } = outcomeOf(ask);
  const exact = edited ? Object.values(edited).map((value) => (typeof value === "string" ? value : JSON.stringify(value))).join("\n") : callText(subject) || toolName(subject);
  if (!isAnswered(ask)) return { ...verdictOnQuestion(ask), exact };
  const { label, note, isLabel } = only(ask);
  // Only a label allows. A call that was allowed in the terminal has a word of its own.
  const isAllowed = label !== "Deny" && (isLabel || outcomeOf(ask).kind === "answered_in_terminal");
  if (!isAllowed) return { word: "Denied", tone: "bad", lines: [isLabel ? note : label].filter(Boolean), exact };
  const grant = subject.grants.find((each) => each.label === label);
  const once = label === "Allow once" ? "Allowed once" : "Allowed";
  const word = edited ? `${once}, edited` : once;
  const granted = grant && `Granted: ${codeText(grant.rules.join(", "))} ${grant.file ? `(in ${grant.file})` : "(in this session)"}`;
  return { word, tone: "good", lines: granted ? [granted] : [], exact };
}

/** @param {Ask} ask @returns {Verdict} */
export function verdictOnPlan(ask) {
  if (!isAnswered(ask)) return verdictOnQuestion(ask);
  const { label, note, isLabel } = only(ask);
  const isApproved = label.startsWith("Approve") && (isLabel || outcomeOf(ask).kind === "answered_in_terminal");
  if (!isApproved) return { word: "Sent back", tone: "plain", lines: [isLabel ? "" : label, note].filter(Boolean) };
  const word = outcomeOf(ask).edited ? "Approved, edited" : "Approved";
  const mode = label.split(", ")[1];
  return { word, tone: "good", lines: mode ? [mode.charAt(0).toUpperCase() + mode.slice(1)] : [] };
}

/** @param {Ask} ask @returns {Verdict} */
export function verdictOnForm(ask) {
  const { url } = /** @type {FormSubject} */ (ask.subject);
  const plain = verdictOnQuestion(ask);
  if (outcomeOf(ask).kind === "dismissed") return { ...plain, word: "Declined", exact: url };
  if (!isAnswered(ask)) return { ...plain, exact: url };
  if (url === undefined) return { ...plain, word: "Sent" };
  const isAccepted = only(ask).label === "Accept";
  return { word: isAccepted ? "Accepted" : "Declined", tone: isAccepted ? "good" : "bad", lines: [], exact: url };
}
