// A scripted Responses API on loopback, for Copilot CLI: on the first request it makes one call, and then it says "done".
import { once } from "node:events";
import http from "node:http";
import { json } from "node:stream/consumers";
import { deferred } from "../../lib/until.mjs";

const USAGE = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };
const DONE = { type: "message", id: "msg_1", role: "assistant", status: "completed", content: [{ type: "output_text", text: "done", annotations: [] }] };

/** @typedef {{ input?: { type?: string, output?: unknown }[], tools?: unknown[] }} ModelRequest */

export class ResponsesApi {
  #server = http.createServer((request, response) => void this.#serve(request, response));
  #call;
  /** What the model was shown as the result of its call. */
  result = deferred();

  /**
   * @param {string} name
   * @param {object} input
   */
  constructor(name, input) {
    this.#call = { type: "function_call", id: "fc_1", call_id: "call_1", name, arguments: JSON.stringify(input) };
  }

  async start() {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
  }

  get url() {
    return `http://127.0.0.1:${/** @type {import("node:net").AddressInfo} */ (this.#server.address()).port}/v1`;
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
    if (request.method !== "POST") return void response.writeHead(404).end();
    const item = this.#reply(/** @type {ModelRequest} */ (await json(request)));
    const base = { id: "resp_1", object: "response", status: "in_progress", output: [] };
    const events = [
      { type: "response.created", response: base },
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.completed", response: { ...base, status: "completed", output: [item], usage: USAGE } },
    ];
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of events) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    response.end();
  }

  /** @param {ModelRequest} request */
  #reply({ input = [], tools = [] }) {
    const shown = input.find(({ type }) => type === "function_call_output");
    if (shown) this.result.resolve(shown.output);
    // Side requests, such as that for a title, carry no tools.
    return shown || tools.length === 0 ? DONE : this.#call;
  }
}
