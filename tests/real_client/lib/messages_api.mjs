// A scripted Messages API on loopback: it plays the model, and keeps what the model was shown.
import { once } from "node:events";
import http from "node:http";
import { json } from "node:stream/consumers";
import { deferred } from "./deferred.mjs";
import { Shown } from "./shown.mjs";
import { writeEvents } from "./sse.mjs";

const TOOL = "AskUserQuestion";
const USAGE = { input_tokens: 10, output_tokens: 5 };

/** What the model is shown since it last spoke, as `{ role, ...block }`. */
function sinceLastAssistant(messages) {
  const last = messages.findLastIndex((message) => message.role === "assistant");
  return messages.slice(last + 1).flatMap(({ role, content }) => {
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
    return blocks.map((block) => ({ role, ...block }));
  });
}

export class MessagesApi {
  #server = http.createServer((request, response) => void this.#serve(request, response));
  #turns = [];
  #shown = new Map();
  #answered = new Set();
  #problems = [];
  #messages = 0;

  static async start() {
    const api = new MessagesApi();
    api.#server.listen(0, "127.0.0.1");
    await once(api.#server, "listening");
    return api;
  }

  /** On the next prompt the model makes these calls `{ id, input }`, all in one message. */
  onNextPrompt(calls) {
    this.#turns.push(calls);
    for (const { id } of calls) this.#shown.set(id, deferred());
  }

  get url() {
    return `http://127.0.0.1:${this.#server.address().port}`;
  }

  /** The names of the tools the client offered with its last prompt. */
  offered = [];

  /** How many prompts it was given. */
  prompts = 0;

  /** What went wrong on the model's side, for the report of a failed test. */
  get problems() {
    return this.#problems;
  }

  /** Resolves to what the model was shown together with the result of this call. */
  shown({ id }) {
    return this.#shown.get(id).promise;
  }

  /** Whether the model was shown a result of this call by now. */
  wasShown({ id }) {
    return this.#answered.has(id);
  }

  stop() {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #serve(request, response) {
    try {
      const path = request.url.split("?")[0];
      if (request.method !== "POST") return void response.writeHead(request.method === "HEAD" ? 200 : 404).end();
      const body = await json(request);
      if (path.endsWith("/count_tokens")) return sendJson(response, { input_tokens: 10 });
      if (!path.endsWith("/messages")) return void response.writeHead(404).end();
      const message = this.#reply(body);
      if (body.stream) writeEvents(response, message);
      else sendJson(response, message);
    } catch (error) {
      this.#problems.push(`${request.method} ${request.url}: ${error.stack}`);
      response.destroy();
    }
  }

  #reply({ model, messages, tools }) {
    const calls = this.#callsFor(messages, tools ?? []);
    const content = calls.length
      ? calls.map(({ id, input }) => ({ type: "tool_use", id, name: TOOL, input }))
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

  #callsFor(messages, tools) {
    // Side requests (titles, summaries) carry no tools and take no turn.
    if (tools.length === 0) return [];
    const blocks = sinceLastAssistant(messages);
    const results = blocks.filter((block) => block.type === "tool_result");
    if (results.length > 0) {
      for (const { tool_use_id } of results) {
        this.#answered.add(tool_use_id);
        this.#shown.get(tool_use_id)?.resolve(new Shown(blocks));
      }
      return [];
    }
    this.prompts += 1;
    this.offered = tools.map(({ name }) => name);
    if (!this.offered.includes(TOOL)) {
      this.#problems.push(`the client offers no ${TOOL}, only: ${this.offered.join(", ")}`);
      return [];
    }
    return this.#turns.shift() ?? [];
  }
}

function sendJson(response, value) {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
}
