// Drafts belong to an ask. Every tab of this browser has them, until the ask is settled. Only a form knows what is in its part of a draft.

import { lasting } from "./storage.js";

const PREFIX = "answerback.draft.";

/** @typedef {{ form: unknown, reason: string }} Draft `form` is null if there is nothing in it; `reason` is that of a dismissal */

/**
 * The saved draft.
 * @param {Ask} ask
 * @returns {Draft}
 */
export function load(ask) {
  try {
    return { form: null, reason: "", ...JSON.parse(lasting.get(PREFIX + ask.id) ?? "{}") };
  } catch {
    return { form: null, reason: "" };
  }
}

/**
 * @param {Ask} ask
 * @param {Draft} draft
 */
export function save(ask, draft) {
  if (draft.form === null && !draft.reason.trim()) forget(ask);
  else lasting.set(PREFIX + ask.id, JSON.stringify(draft));
}

/** @param {Ask} ask */
export function forget(ask) {
  lasting.remove(PREFIX + ask.id);
}

/** Forgets the drafts of all asks but these. @param {Iterable<number>} ids */
export function keepOnly(ids) {
  const kept = new Set([...ids].map((id) => PREFIX + id));
  for (const key of lasting.keys()) if (key.startsWith(PREFIX) && !kept.has(key)) lasting.remove(key);
}

/**
 * Says which ask has another draft now, because of another tab. A draft that is gone says nothing: its ask is settled, and only the daemon
 * knows how.
 * @param {(id: number) => void} changed
 */
export function onChange(changed) {
  addEventListener("storage", ({ key, newValue }) => newValue !== null && key?.startsWith(PREFIX) && changed(Number(key.slice(PREFIX.length))));
}
