// A scripted Messages API on loopback. It plays the model, and keeps what the model was shown.
import { once } from "node:events";
import http from "node:http";
import { json } from "node:stream/consumers";
import { deferred } from "../../lib/until.mjs";
import { Shown } from "./shown.mjs";
import { writeEvents } from "./sse.mjs";

const USAGE = { input_tokens: 10, output_tokens: 5 };

/** @typedef {import("../../lib/calls.mjs").Call} Call */
/** @typedef {{ role: string, content: string | object[] }} ChatMessage */
/** @typedef {{ model: string, messages: ChatMessage[], tools?: { name: string }[], stream?: boolean }} ModelRequest */

/**
 * What the model is shown since it last spoke.
 * @param {ChatMessage[]} messages
 */
function sinceLastAssistant(messages) {
  const last = messages.findLastIndex((message) => message.role === "assistant");
  return messages.slice(last + 1).flatMap(({ role, content }) => {
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
    return blocks.map((block) => /** @type {import("./shown.mjs").Block} */ ({ role, ...block }));
  });
}

export class MessagesApi {
  #server = http.createServer((request, response) => void this.#serve(request, response));
  /** @type {{ prompt: string, calls: Call[] }[]} */
  #turns = [];
  /** The calls that follow the result of a call. @type {Map<string, Call[]>} */
  #next = new Map();
  /** @type {Map<string, ReturnType<typeof deferred<Shown>>>} */
  #shown = new Map();
  /** @type {Set<string>} */
  #answered = new Set();
  #messages = 0;
  /** What went wrong on the model's side, for the report of a failed test. @type {string[]} */
  problems = [];
  /** The names of the tools the client offered with its last prompt. @type {string[]} */
  offered = [];
  /** How many requests it was sent that let it call tools. */
  requests = 0;

  async start() {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
  }

  /**
   * On the next prompt the model makes these calls, all in one message.
   * @param {Call[]} calls
   * @param {string} [prompt] only on a prompt with this text in it, as a subagent's
   */
  onNextPrompt(calls, prompt = "") {
    this.#turns.push({ prompt, calls });
    this.#expect(calls);
  }

  /**
   * When the model is shown the result of `call`, it goes on with these calls, all in one message.
   * @param {Call} call
   * @param {...Call} calls
   */
  then(call, ...calls) {
    this.#next.set(call.id, calls);
    this.#expect(calls);
  }

  /** @param {Call[]} calls */
  #expect(calls) {
    for (const { id } of calls) this.#shown.set(id, deferred());
  }

  get url() {
    return `http://127.0.0.1:${/** @type {import("node:net").AddressInfo} */ (this.#server.address()).port}`;
  }

  /** Resolves to what the model was shown together with the result of this call. @param {Call} call */
  async shown({ id }) {
    const shown = this.#shown.get(id);
    if (!shown) throw new Error(`the model was never told to make the call ${id}`);
    return shown.promise;
  }

  /** Whether the model was shown a result of this call by now. @param {Call} call */
  wasShown({ id }) {
    return this.#answered.has(id);
  }

  stop() {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /**
   * @param {http.IncomingMessage} request
   * @param {http.ServerResponse} response
   */
  async #serve(request, response) {
    try {
      const path = (request.url ?? "").split("?")[0];
      if (request.method !== "POST") return void response.writeHead(request.method === "HEAD" ? 200 : 404).end();
      const body = /** @type {ModelRequest} */ (await json(request));
      if (path.endsWith("/count_tokens")) return sendJson(response, { input_tokens: 10 });
      if (!path.endsWith("/messages")) return void response.writeHead(404).end();
      const message = this.#reply(body);
      if (body.stream) writeEvents(response, message);
      else sendJson(response, message);
    } catch (error) {
      this.problems.push(`${request.method} ${request.url}: ${/** @type {Error} */ (error).stack}`);
      response.destroy();
    }
  }

  /**
   * @param {ModelRequest} request
   * @returns {import("./sse.mjs").Message}
   */
  #reply(request) {
    const { model, messages, tools } = request;
    const calls = this.#callsFor(messages, tools ?? []);
    /** @type {import("./sse.mjs").Content[]} */
    const content = calls.length
      ? calls.map(({ id, tool, input }) => ({ type: "tool_use", id, name: tool, input: typeof input === "function" ? input(JSON.stringify(request)) : input }))
      : [{ type: "text", text: "done" }];
    this.#messages += 1;
    return {
      id: `msg_${this.#messages}`,
      type: "message",
      role: "assistant",
      model,
      content,
      stop_reason: calls.length ? "tool_use" : "end_turn",
      stop_sequence: null,
      usage: USAGE,
    };
  }

  /**
   * @param {ChatMessage[]} messages
   * @param {{ name: string }[]} tools
   */
  #callsFor(messages, tools) {
    // Side requests (titles, summaries) carry no tools and take no turn.
    if (tools.length === 0) return [];
    this.requests += 1;
    const blocks = sinceLastAssistant(messages);
    const results = blocks.filter((block) => block.type === "tool_result");
    const calls = results.length > 0 ? this.#afterResults(blocks, results) : this.#onPrompt(blocks, tools);
    const missing = calls.filter(({ tool }) => !tools.some(({ name }) => name === tool));
    if (missing.length === 0) return calls;
    const names = missing.map(({ tool }) => tool);
    this.problems.push(`the client offers no ${names}, only: ${tools.map(({ name }) => name)}`);
    return [];
  }

  /**
   * @param {import("./shown.mjs").Block[]} blocks
   * @param {import("./shown.mjs").Block[]} results
   */
  #afterResults(blocks, results) {
    return results.flatMap(({ tool_use_id = "" }) => {
      this.#answered.add(tool_use_id);
      this.#shown.get(tool_use_id)?.resolve(new Shown(blocks));
      return this.#next.get(tool_use_id) ?? [];
    });
  }

  /**
   * @param {import("./shown.mjs").Block[]} blocks
   * @param {{ name: string }[]} tools
   */
  #onPrompt(blocks, tools) {
    this.offered = tools.map(({ name }) => name);
    // A turn that waits for a certain prompt goes before one that takes any.
    const asked = this.#turns.findIndex(({ prompt }) => prompt && blocks.some(({ text }) => text?.includes(prompt)));
    const index = asked >= 0 ? asked : this.#turns.findIndex(({ prompt }) => !prompt);
    return index < 0 ? [] : this.#turns.splice(index, 1)[0].calls;
  }
}

/**
 * @param {http.ServerResponse} response
 * @param {unknown} value
 */
function sendJson(response, value) {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
}
