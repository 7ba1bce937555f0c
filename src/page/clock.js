// The daemon's clock. The clock of a phone may be minutes off, but ages and deadlines come from the daemon.

let offset = 0;

/** The time on the daemon's clock. */
export const now = () => Date.now() + offset;

/**
 * Compares the clocks by the date of a reply. That has whole seconds, so a small difference means nothing.
 * @param {string | null} date
 */
export function learn(date) {
  const difference = Date.parse(date ?? "") - Date.now();
  if (Number.isNaN(difference)) return;
  offset = Math.abs(difference) > 2000 ? difference : 0;
}
