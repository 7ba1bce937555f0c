// The daemon's time: a phone's clock may be minutes off, and ages and deadlines are told in the daemon's.

let offset = 0;

/** The daemon's time, as far as it is known. */
export const now = () => Date.now() + offset;

/**
 * Learns from the date of a reply, which has whole seconds.
 * @param {string | null} date
 */
export function learn(date) {
  const difference = Date.parse(date ?? "") - Date.now();
  if (Number.isNaN(difference)) return;
  offset = Math.abs(difference) > 2000 ? difference : 0;
}
