/** @type {typeof import("../index.d.ts").firstDecision} */
export async function firstDecision(askers, { signal } = {}) {
  const over = new AbortController();
  const either = signal ? AbortSignal.any([signal, over.signal]) : over.signal;
  /** @type {unknown[]} */
  const failures = [];
  try {
    return await new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true, signal: over.signal });
      const waiting = askers.map(async (asker) => {
        const decision = await asker(either).catch((error) => void failures.push(error));
        if (decision) resolve(decision);
      });
      void Promise.all(waiting).then(() => (failures.length > 0 ? reject(failures[0]) : resolve(null)));
    });
  } finally {
    over.abort();
  }
}
