// Waiting in tests: always for something, never for a while.
import { setTimeout as pause } from "node:timers/promises";

const POLL_MS = 20;
const DEADLINE_MS = 60_000;

/**
 * Polls `probe` until it returns something truthy. For conditions that nobody reports, such as files and other processes.
 * @template T
 * @param {string} what
 * @param {() => T | Promise<T>} probe
 * @param {number} [deadlineMs]
 */
export async function until(what, probe, deadlineMs = DEADLINE_MS) {
  const deadline = Date.now() + deadlineMs;
  for (;;) {
    const value = await probe();
    if (value) return /** @type {Exclude<T, null | undefined | false | "" | 0>} */ (value);
    if (Date.now() > deadline) throw new Error(`not within ${deadlineMs} ms: ${what}`);
    await pause(POLL_MS);
  }
}

/**
 * The value of `promise`, or a clear failure after the deadline.
 * @template T
 * @param {string} what
 * @param {Promise<T>} promise
 * @param {number} [deadlineMs]
 */
export async function within(what, promise, deadlineMs = DEADLINE_MS) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not within ${deadlineMs} ms: ${what}`)), deadlineMs);
  });
  try {
    return /** @type {T} */ (await Promise.race([promise, late]));
  } finally {
    clearTimeout(timer);
  }
}

/**
 * A promise with its resolvers outside (Node 20 has no `Promise.withResolvers`).
 * @template T
 * @returns {{ promise: Promise<T>, resolve(value: T): void, reject(error: unknown): void }}
 */
export function deferred() {
  /** @type {any} */
  const result = {};
  result.promise = new Promise((resolve, reject) => Object.assign(result, { resolve, reject }));
  return result;
}
