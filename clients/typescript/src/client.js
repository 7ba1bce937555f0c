import { decisionOf, hookCall } from "./decide.js";
import { AnswerbackError, disconnected, refused } from "./error.js";
import { outlive } from "./outlive.js";
import { watch } from "./watch.js";

/** @typedef {import("../index.d.ts").Answerback} Declared */
/** @typedef {import("../index.d.ts").Ask} Ask */
/** @typedef {import("../index.d.ts").AskRef} AskRef */
/** @typedef {import("../index.d.ts").Settled} Settled */
/** @typedef {import("../index.d.ts").TransportRequest} TransportRequest */

const ASKS = "/v1/asks";
const HOOKS = "/v1/hooks/claude-code";
const AGENT = "answerback-typescript/0.1.0";
/** How long the daemon may take to reply, beyond what it is asked to wait. */
const PATIENCE_MS = 10_000;
/** How long one request waits for an outcome. */
const WAIT_SECONDS = 60;

/** @implements {Declared} */
export class Answerback {
  #transport;

  /** @param {import("../index.d.ts").Transport} transport */
  constructor(transport) {
    this.#transport = transport;
  }

  /**
   * @param {import("../index.d.ts").ListFilter} [filter]
   * @param {import("../index.d.ts").Abortable} [options]
   * @returns {Promise<import("../index.d.ts").AskList>}
   */
  async list(filter = {}, { signal } = {}) {
    /** @type {import("../index.d.ts").AskList} */
    const list = await this.#get(ASKS, filter, signal);
    const { state = "open", limit, since, wait, ...rest } = filter;
    // All open asks are one list. What changes meanwhile comes after the cursor of the first page.
    while (state === "open" && limit === undefined && list.next !== null) {
      /** @type {import("../index.d.ts").ListFilter} */
      const page = { ...rest, before: list.next };
      const { asks, next } = await this.#get(ASKS, page, signal);
      list.asks.push(...asks);
      list.next = next;
    }
    return list;
  }

  /**
   * @param {string} key
   * @param {import("../index.d.ts").Abortable & { wait?: number }} [options]
   * @returns {Promise<Ask>}
   */
  get(key, { wait, signal } = {}) {
    return this.#get(pathOf({ key }), { wait }, signal);
  }

  /** @param {import("../index.d.ts").WatchOptions} [options] */
  watch(options = {}) {
    return watch(this, (path, headers, signal) => this.#send({ method: "GET", path, headers, signal }), options);
  }

  /**
   * @param {AskRef} ask
   * @param {import("../index.d.ts").Answers} answers
   * @param {import("../index.d.ts").AnswerOptions} [options]
   */
  answer(ask, answers, options = {}) {
    return this.#settle(ask, "answer", { answers, ...options });
  }

  /**
   * @param {AskRef} ask
   * @param {string} [reason]
   */
  dismiss(ask, reason) {
    return this.#settle(ask, "dismiss", { reason });
  }

  /** @param {AskRef} ask */
  release(ask) {
    return this.#settle(ask, "release", {});
  }

  /**
   * @param {import("../index.d.ts").AskRequest} request
   * @param {import("../index.d.ts").Abortable} [options]
   * @returns {Promise<Settled>}
   */
  async ask(request, { signal } = {}) {
    signal?.throwIfAborted();
    // This is not aborted: then nobody would know which ask is to be withdrawn.
    /** @type {Ask} */
    const { key } = await this.#post(ASKS, request);
    try {
      for (;;) {
        signal?.throwIfAborted();
        const ask = await outlive(() => this.get(key, { wait: WAIT_SECONDS, signal }), signal);
        if (isSettled(ask)) return ask;
      }
    } catch (error) {
      // If it was settled at the same moment, there is nothing to withdraw.
      if (signal?.aborted) await this.#post(`${pathOf({ key })}/withdraw`, {}).catch(() => {});
      throw error;
    }
  }

  /**
   * @param {import("../index.d.ts").ToolCall} call
   * @param {import("../index.d.ts").Abortable} [options]
   */
  async decide(call, { signal } = {}) {
    signal?.throwIfAborted();
    const { headers, body } = hookCall(call);
    const handIn = () => this.#text({ method: "POST", path: HOOKS, headers, body: JSON.stringify(body), signal, isHook: true });
    const said = await handIn().catch((error) => {
      // The call may be stored already. The same call, sent again, waits for the same ask.
      if (error instanceof AnswerbackError && error.kind === "disconnected") return outlive(handIn, signal);
      throw error;
    });
    return decisionOf(call, said);
  }

  /**
   * @param {AskRef} ask
   * @param {"answer" | "dismiss" | "release"} action
   * @param {object} body
   * @returns {Promise<Ask>}
   */
  #settle(ask, action, body) {
    return this.#post(`${pathOf(ask)}/${action}`, { ...body, id: ask.id });
  }

  /**
   * @param {string} path
   * @param {{ wait?: number }} parameters
   * @param {AbortSignal} [signal]
   */
  async #get(path, parameters, signal) {
    const given = Object.entries(parameters).filter(([, value]) => value !== undefined);
    const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
    const patience = PATIENCE_MS + (parameters.wait ?? 0) * 1000;
    return JSON.parse(await this.#text({ method: "GET", path: given.length > 0 ? `${path}?${query}` : path, headers: {}, signal }, patience));
  }

  /**
   * @param {string} path
   * @param {object} body
   */
  async #post(path, body) {
    return JSON.parse(await this.#text({ method: "POST", path, headers: {}, body: JSON.stringify(body) }, PATIENCE_MS));
  }

  /**
   * The body of the reply. It must come within `patience` milliseconds, if that is given.
   * @param {TransportRequest} request
   * @param {number} [patience]
   */
  async #text({ signal, ...request }, patience) {
    const late = patience === undefined ? undefined : AbortSignal.timeout(patience);
    const either = AbortSignal.any([signal, late].filter((one) => one !== undefined));
    try {
      return await textOf(await this.#send({ ...request, signal: either }));
    } catch (error) {
      signal?.throwIfAborted();
      throw late?.aborted ? disconnected(error) : error;
    }
  }

  /** @param {TransportRequest} request */
  async #send({ headers, ...request }) {
    const json = request.body === undefined ? undefined : { "content-type": "application/json" };
    const reply = await this.#transport.send({ ...request, headers: { "user-agent": AGENT, ...json, ...headers } });
    if (reply.status >= 300) throw refused(reply.status, await textOf(reply));
    return reply;
  }
}

/** @param {import("../index.d.ts").TransportReply} reply */
async function textOf({ body }) {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of body) text += decoder.decode(chunk, { stream: true });
  return text + decoder.decode();
}

/** @param {AskRef} ask */
function pathOf({ key }) {
  return `${ASKS}/${encodeURIComponent(key)}`;
}

/** @param {Ask} ask @returns {ask is Settled} */
function isSettled(ask) {
  return ask.state === "settled";
}
