// A small MCP server on stdin and stdout, for the real client to talk to: node server.mjs READY
// It creates the file READY as soon as the client knows its tools.
//
// `note` does nothing but say what it was given. `elicit` asks the person with its own input, and says what the person replied.
import fs from "node:fs";
import readline from "node:readline";

const [ready] = process.argv.slice(2);
const ANYTHING = { type: "object", additionalProperties: true };
const TOOLS = [
  // The client makes several of these calls at once.
  { name: "note", description: "Takes a note", inputSchema: ANYTHING, annotations: { readOnlyHint: true } },
  { name: "elicit", description: "Asks the person", inputSchema: ANYTHING },
];

/** What to do with the response to each request of ours. @type {Map<string, (response: object) => void>} */
const waiting = new Map();
let asked = 0;

/** @param {object} message */
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);

/** @type {Record<string, (params: any) => object | Promise<object>>} */
const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "answerback-test", version: "1.0.0" },
  }),
  ping: () => ({}),
  "tools/list": () => ({ tools: TOOLS }),
  "tools/call": async (call) => {
    const said = call.name === "elicit" ? await elicit(call.arguments) : call.arguments;
    return { content: [{ type: "text", text: JSON.stringify(said) }] };
  },
};

/** @param {object} params @returns {Promise<object>} */
function elicit(params) {
  asked += 1;
  const id = `elicit-${asked}`;
  return new Promise((resolve) => {
    waiting.set(id, resolve);
    send({ id, method: "elicitation/create", params });
  });
}

readline.createInterface({ input: process.stdin }).on("line", async (line) => {
  const { id, method, params, result, error } = JSON.parse(line);
  if (!method) return void waiting.get(id)?.(result ?? { error });
  // The client tells us things that need no answer.
  if (id === undefined) return;
  const answer = METHODS[method];
  if (!answer) return void send({ id, error: { code: -32601, message: `no such method: ${method}` } });
  send({ id, result: await answer(params) });
  if (method === "tools/list") fs.writeFileSync(ready, "");
}).on("close", () => process.exit(0));
