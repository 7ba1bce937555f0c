// Drafts belong to an ask. Every tab of this browser has them, until the ask is settled. Only a form knows what is in its part of a draft.

import { lasting } from "./storage.js";

const PREFIX = "answerback.draft.";

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
    return JSON.parse(lasting.get(PREFIX + id) ?? "{}");
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
  else lasting.set(PREFIX + ask.id, JSON.stringify({ ...draft, key: ask.key }));
}

/** @param {Owner} owner */
export function forget({ id }) {
  lasting.remove(PREFIX + id);
}

export function forgetAll() {
  owners().forEach(forget);
}

/** All asks that have a draft. @returns {Owner[]} */
export function owners() {
  const ids = lasting.keys().filter((key) => key.startsWith(PREFIX)).map((key) => Number(key.slice(PREFIX.length)));
  return ids.map((id) => ({ id, key: saved(id).key ?? "" }));
}

/**
 * Says which ask has another draft now, because of another tab. A draft that is gone says nothing: its ask is settled, and only the daemon
 * knows how.
 * @param {(id: number) => void} changed
 */
export function onChange(changed) {
  addEventListener("storage", ({ key, newValue }) => newValue !== null && key?.startsWith(PREFIX) && changed(Number(key.slice(PREFIX.length))));
}
