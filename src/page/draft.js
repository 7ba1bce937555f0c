// What a person has begun to answer outlives a reload of the page.

import { passing } from "./storage.js";

const PREFIX = "answerback.draft.";

/** @returns {QuestionDraft} */
export const emptyDraft = () => ({ chosen: [], other: "", note: "" });

/** @param {QuestionDraft} draft */
export function isEmpty(draft) {
  return draft.chosen.length === 0 && draft.other.trim() === "" && draft.note.trim() === "";
}

/**
 * @param {Ask} ask
 * @returns {QuestionDraft[]}
 */
export function load(ask) {
  try {
    const saved = JSON.parse(passing.get(PREFIX + ask.id) ?? "[]");
    return ask.questions.map((_, index) => ({ ...emptyDraft(), ...saved[index] }));
  } catch {
    return ask.questions.map(emptyDraft);
  }
}

/**
 * @param {Ask} ask
 * @param {QuestionDraft[]} drafts
 */
export function save(ask, drafts) {
  if (drafts.every(isEmpty)) forget(ask);
  else passing.set(PREFIX + ask.id, JSON.stringify(drafts));
}

/** @param {Ask} ask */
export function forget(ask) {
  passing.remove(PREFIX + ask.id);
}
