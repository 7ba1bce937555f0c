// Drafts survive a reload of the page. Only a form knows what is in its draft.

import { passing } from "./storage.js";

const PREFIX = "answerback.draft.";

/**
 * The saved draft, or null.
 * @param {Ask} ask
 * @returns {unknown}
 */
export function load(ask) {
  try {
    return JSON.parse(passing.get(PREFIX + ask.id) ?? "null");
  } catch {
    return null;
  }
}

/**
 * @param {Ask} ask
 * @param {unknown} draft null if there is nothing to keep
 */
export function save(ask, draft) {
  if (draft === null) forget(ask);
  else passing.set(PREFIX + ask.id, JSON.stringify(draft));
}

/** @param {Ask} ask */
export function forget(ask) {
  passing.remove(PREFIX + ask.id);
}
