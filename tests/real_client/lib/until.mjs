import { setTimeout as pause } from "node:timers/promises";

const POLL_MS = 20;

/** Polls `probe` until it returns something truthy; for conditions nobody notifies us of (files, foreign processes). */
export async function until(what, probe, deadlineMs = 20_000) {
  const deadline = Date.now() + deadlineMs;
  for (;;) {
    const value = await probe();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`not within ${deadlineMs} ms: ${what}`);
    await pause(POLL_MS);
  }
}

/** `promise`, or a clear failure once the deadline has passed. */
export async function within(what, promise, deadlineMs = 20_000) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not within ${deadlineMs} ms: ${what}`)), deadlineMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
