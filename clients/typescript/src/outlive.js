// Connections are lost when the daemon is restarted. Its asks are not.
import { AnswerbackError } from "./error.js";

/** How long a daemon may be away. */
const GRACE_MS = 30_000;
export const FIRST_PAUSE_MS = 100;
const LAST_PAUSE_MS = 2000;

/**
 * Tries again while there is no connection, for a while.
 * @template T
 * @param {() => Promise<T>} attempt
 * @param {AbortSignal} [signal]
 */
export async function outlive(attempt, signal) {
  const deadline = Date.now() + GRACE_MS;
  for (let pause = FIRST_PAUSE_MS; ; pause = longer(pause)) {
    try {
      return await attempt();
    } catch (error) {
      if (!isLost(error) || Date.now() > deadline) throw error;
    }
    await rest(pause, signal);
  }
}

/** Whether there was no connection, or it was lost. @param {unknown} error */
export function isLost(error) {
  return error instanceof AnswerbackError && error.status === 0;
}

/** The pause after this one. @param {number} pause */
export function longer(pause) {
  return Math.min(LAST_PAUSE_MS, pause * 2);
}

/**
 * Waits for about this long. Many clients do not come back at the same moment.
 * @param {number} millis
 * @param {AbortSignal} [signal]
 */
export function rest(millis, signal) {
  return /** @type {Promise<void>} */ (
    new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const abort = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener("abort", abort);
        resolve();
      }, millis * (0.8 + 0.4 * Math.random()));
      signal?.addEventListener("abort", abort, { once: true });
    })
  );
}
