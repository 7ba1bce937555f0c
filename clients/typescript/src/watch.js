// Every change, once: the list first, and then the event stream from where the list ends. After a break in the order, the list comes again.
import { disconnected } from "./error.js";
import { FIRST_PAUSE_MS, isLost, longer, rest } from "./outlive.js";

/** How many times longer than the heartbeat a connection may be silent. */
const SILENCE = 2.5;

/** @typedef {import("../index.d.ts").AskEvent} AskEvent */
/** @typedef {import("../index.d.ts").ResetEvent} ResetEvent */
/** @typedef {(path: string, headers: Record<string, string>, signal: AbortSignal) => Promise<import("../index.d.ts").TransportReply>} Open */

/**
 * @param {Pick<import("../index.d.ts").Answerback, "list">} client
 * @param {Open} open
 * @param {import("../index.d.ts").WatchOptions} options
 * @returns {AsyncGenerator<import("../index.d.ts").ListEvent | AskEvent, never, void>}
 */
export async function* watch(client, open, { after, probes = false, heartbeat = 10, signal }) {
  let cursor = after;
  if (cursor === undefined) {
    const list = await client.list({ probes }, { signal });
    cursor = list.cursor;
    yield { type: "list", asks: list.asks, cursor };
  }
  let pause = FIRST_PAUSE_MS;
  let isBrokenOff = false;
  const path = `/v1/events?probes=${probes}&heartbeat=${heartbeat}`;
  for (;;) {
    try {
      if (isBrokenOff) {
        const list = await client.list({ probes }, { signal });
        [cursor, isBrokenOff] = [list.cursor, false];
        yield { type: "list", asks: list.asks, cursor };
      }
      for await (const event of connection(open, path, cursor, heartbeat * SILENCE * 1000, signal)) {
        pause = FIRST_PAUSE_MS;
        // It only shows that the daemon is there.
        if (event === null) continue;
        if (event.type === "reset") {
          // What was told before may be undone. The list says what is open now, and the next connection goes on from there.
          isBrokenOff = true;
          break;
        }
        cursor = event.cursor;
        yield event;
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (!isLost(error)) throw error;
    }
    await rest(pause, signal);
    pause = longer(pause);
  }
}

/**
 * The events of one connection, and `null` for everything else, such as a comment.
 * @param {Open} open
 * @param {string} path
 * @param {string} cursor
 * @param {number} silence how long nothing may come, in milliseconds
 * @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<AskEvent | ResetEvent | null, void, void>}
 */
async function* connection(open, path, cursor, silence, signal) {
  const dead = new AbortController();
  let timer = setTimeout(() => dead.abort(), silence);
  const either = signal ? AbortSignal.any([signal, dead.signal]) : dead.signal;
  try {
    const { body } = await open(path, { "last-event-id": cursor, accept: "text/event-stream" }, either);
    const decoder = new TextDecoder();
    let text = "";
    for await (const chunk of body) {
      clearTimeout(timer);
      const frames = (text + decoder.decode(chunk, { stream: true })).split("\n\n");
      // What is not complete yet.
      text = frames.pop() ?? "";
      for (const frame of frames) yield eventOf(frame);
      timer = setTimeout(() => dead.abort(), silence);
    }
  } catch (error) {
    throw dead.signal.aborted ? disconnected(error) : error;
  } finally {
    clearTimeout(timer);
    dead.abort();
  }
}

/** A comment has no data, and an event that is about no ask has no cursor. @param {string} frame */
function eventOf(frame) {
  const data = frame.split("\n").find((line) => line.startsWith("data: "));
  /** @type {AskEvent | ResetEvent | null} */
  const event = data === undefined ? null : JSON.parse(data.slice("data: ".length));
  return event?.cursor ? event : null;
}
