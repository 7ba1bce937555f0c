// The words for times, places and outcomes. Words that depend on the kind of ask are in kinds.js.

import { now } from "./clock.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/**
 * A length of time in its largest unit.
 * @param {number} millis
 */
export function span(millis) {
  if (millis < MINUTE) return `${Math.max(0, Math.floor(millis / 1000))} s`;
  if (millis < HOUR) return `${Math.floor(millis / MINUTE)} min`;
  if (millis < DAY) return `${Math.floor(millis / HOUR)} h`;
  const days = Math.floor(millis / DAY);
  return days === 1 ? "1 day" : `${days} days`;
}

/** @param {Ask} ask */
export function age(ask) {
  const waited = now() - Date.parse(ask.opened_at);
  return waited < 10_000 ? "just now" : `waiting ${span(waited)}`;
}

/**
 * When the time for an answer is over, and what happens then.
 * @param {Ask} ask
 * @param {AskContext | null} context null if it is not known yet
 */
export function deadline({ expires_at, racing, origin }, context) {
  if (!expires_at) return "";
  const left = Date.parse(expires_at) - now();
  const then = origin === "program" ? "the program gets no answer" : racing ? "only the terminal asks" : context && afterwards(context);
  return left > 0 ? `closes in ${span(left)}${then ? `, then ${then}` : ""}` : "closing";
}

/** The time that is left for an answer, if it is less than an hour; otherwise empty. @param {Ask} ask */
export function closesSoon({ expires_at }) {
  const left = expires_at ? Date.parse(expires_at) - now() : HOUR;
  if (left >= HOUR) return "";
  return left > 0 ? `closes in ${span(left)}` : "closing";
}

/** @param {AskContext} context */
function afterwards({ terminal, on_timeout }) {
  if (on_timeout === "defer") return "the run ends, and can be resumed";
  return terminal && on_timeout === "native" ? "the terminal asks" : "the agent gets no answer";
}

/**
 * A time of day, with the date unless it is today.
 * @param {string} time
 */
export function moment(time) {
  const at = new Date(time);
  const clock = at.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  const isToday = at.toDateString() === new Date().toDateString();
  return isToday ? clock : `${at.toLocaleDateString([], { day: "numeric", month: "short" })}, ${clock}`;
}

/**
 * The last part of a directory.
 * @param {string | null} project
 */
export function projectName(project) {
  return project?.split("/").filter(Boolean).pop() ?? "no project";
}

/** What is special about an ask, in a few words; empty if nothing is. @param {Ask} ask */
export function mode(ask) {
  if (ask.deferred) return { word: "run has ended", title: "The run has ended. Your answer is kept until `answerback resume` continues the run." };
  if (ask.perhaps_answered) return { word: "perhaps answered in the terminal", title: "The agent has started a command since it asked. Somebody may have allowed this in the terminal. If so, your answer changes nothing." };
  if (ask.racing) return { word: "terminal too", title: "This is open in the terminal too. The first answer wins." };
  if (ask.asked_by) return { word: `from ${ask.asked_by}`, title: `${ask.asked_by} asks.` };
  if (ask.origin === "program") return { word: "from a program", title: "A program asks, not an agent." };
  return { word: "", title: "" };
}

/** @type {Record<string, string>} */
const PLACES = {
  page: "on the page",
  token: "by a program",
  socket: "with a command",
  terminal: "in the terminal",
  notification: "from a notification",
  away: "in your words while you were away",
  hub: "by a hub",
};

/** @param {Source | null} by */
export function place(by) {
  if (!by) return "";
  const where = PLACES[by.channel] ?? `through ${by.channel}`;
  const who = [by.person, by.device].filter(Boolean).join(", ");
  return [where, who && `(${who})`, by.hub && `through ${by.hub}`].filter(Boolean).join(" ");
}

/** @type {Record<OutcomeKind, string>} */
export const OUTCOMES = {
  answered: "Answered",
  answered_in_terminal: "Answered in the terminal",
  dismissed: "Dismissed",
  released: "Handed to the terminal",
  expired: "Expired",
  withdrawn: "Withdrawn",
};

/**
 * How an ask ended, in a sentence without its answers.
 * @param {Outcome} outcome
 * @param {string} word the word of its kind for that
 */
export function ending({ kind, by }, word) {
  if (kind === "withdrawn" && by?.channel === "hub") return "Withdrawn: nothing was heard from the machine that asked";
  if (kind === "withdrawn") return "Withdrawn: nobody waits for it any more";
  if (kind === "expired") return "Expired: nobody answered in time";
  if (kind === "answered_in_terminal") return word === OUTCOMES[kind] ? word : `${word} in the terminal`;
  return [word, place(by)].filter(Boolean).join(" ");
}
