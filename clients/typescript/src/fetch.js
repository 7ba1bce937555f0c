// The way to the daemon for browsers.
import { unreachable } from "./error.js";

/**
 * @param {import("../index.d.ts").ConnectOptions} options
 * @returns {import("../index.d.ts").Transport}
 */
export function fetchTransport({ url, token, hookToken }) {
  if (!url) throw new TypeError("connect needs the url of the daemon: only Node.js can find it by itself");
  return {
    async send({ method, path, headers, body, signal, isHook }) {
      const bearer = isHook ? hookToken : token;
      const authorization = bearer ? { authorization: `Bearer ${bearer}` } : undefined;
      const response = await fetch(new URL(path, url), { method, headers: { ...headers, ...authorization }, body, signal }).catch((error) => {
        throw signal?.aborted ? error : unreachable(url, error);
      });
      return { status: response.status, body: chunks(response.body) };
    },
  };
}

/** Not every browser can iterate over a stream. @param {ReadableStream<Uint8Array> | null} stream */
async function* chunks(stream) {
  const reader = stream?.getReader();
  if (!reader) return;
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    // Whoever stops early wants no more of it.
    await reader.cancel().catch(() => {});
  }
}
