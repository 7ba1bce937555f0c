// Drafts belong to an ask, and to who is signed in: nobody else sees them. Every tab of this browser has them, until the ask is settled. Only
// a form knows what is in its part of a draft.

import { owner } from "./api.js";
import { lasting } from "./storage.js";

const PREFIX = "answerback.draft.";
/** Where the drafts of this person are. */
const mine = () => `${PREFIX}${owner()}.`;

/** @typedef {{ form: unknown, reason: string }} Draft `form` is null if there is nothing in it; `reason` is that of a dismissal */
/** @typedef {{ id: number, key: string }} Owner the ask that a draft belongs to */

/**
 * The saved draft.
 * @param {Ask} ask
 * @returns {Draft}
 */
export function load(ask) {
  return { form: null, reason: "", ...saved(ask.id) };
}

/** @param {number} id @returns {Partial<Draft & Owner>} */
function saved(id) {
  try {
    return JSON.parse(lasting.get(mine() + id) ?? "{}");
  } catch {
    return {};
  }
}

/**
 * @param {Ask} ask
 * @param {Draft} draft
 */
export function save(ask, draft) {
  if (draft.form === null && !draft.reason.trim()) forget(ask);
  else lasting.set(mine() + ask.id, JSON.stringify({ ...draft, key: ask.key }));
}

/** @param {Owner} owner */
export function forget({ id }) {
  lasting.remove(mine() + id);
}

/** Removes what was left by others; by all, if nobody is signed in. */
export function forgetOthers() {
  for (const key of lasting.keys()) if (key.startsWith(PREFIX) && !(owner() && key.startsWith(mine()))) lasting.remove(key);
}

/** All asks that have a draft. @returns {Owner[]} */
export function owners() {
  const ids = lasting.keys().filter((key) => key.startsWith(mine())).map((key) => Number(key.slice(mine().length)));
  return ids.map((id) => ({ id, key: saved(id).key ?? "" }));
}

/**
 * Says which ask has another draft now, because of another tab. A draft that is gone says nothing: its ask is settled, and only the daemon
 * knows how.
 * @param {(id: number) => void} changed
 */
export function onChange(changed) {
  addEventListener("storage", ({ key, newValue }) => newValue !== null && key?.startsWith(mine()) && changed(Number(key.slice(mine().length))));
}
