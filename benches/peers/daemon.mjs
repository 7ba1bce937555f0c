// A daemon as people write it with Node.js: a Map of promises. It keeps nothing on the disk.
//
//   node daemon.mjs SOCKET
import { createServer } from "node:http";

const asks = new Map();
const readers = new Set();
let cursor = 0;

function publish(type, ask) {
  cursor += 1;
  const data = JSON.stringify({ type, cursor: String(cursor), ask });
  const event = `id: ${cursor}\nevent: ${type}\ndata: ${data}\n\n`;
  for (const reader of readers) reader.write(event);
}

function send(response, value) {
  const body = JSON.stringify(value);
  response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
  response.end(body);
}

async function json(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString());
}

async function hook(request, response) {
  const call = await json(request);
  if (call.tool_name !== "AskUserQuestion") {
    response.writeHead(200, { "content-length": 0 });
    response.end();
    return;
  }
  const key = `${call.session_id}__${call.tool_use_id}`;
  const ask = { key, session: call.session_id, project: call.cwd, state: "open", questions: call.tool_input.questions };
  const answered = new Promise((resolve) => asks.set(key, { ask, resolve }));
  response.on("close", () => asks.delete(key));
  response.writeProcessing();
  publish("ask.opened", ask);
  const answers = await answered;
  const updatedInput = { questions: ask.questions, answers };
  send(response, { hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision: "allow", updatedInput } });
}

async function answer(key, request, response) {
  const { answers } = await json(request);
  const found = asks.get(key);
  if (!found) {
    response.writeHead(404, { "content-length": 0 });
    response.end();
    return;
  }
  asks.delete(key);
  found.resolve(answers);
  const settled = { ...found.ask, state: "settled", outcome: { kind: "answered", answers } };
  publish("ask.settled", settled);
  send(response, settled);
}

function events(response) {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  response.flushHeaders();
  readers.add(response);
  response.on("close", () => readers.delete(response));
}

const server = createServer(async (request, response) => {
  const { method, url } = request;
  const key = url.match(/^\/v1\/asks\/([^/]+)\/answer$/)?.[1];
  try {
    if (method === "POST" && url === "/v1/hooks/claude-code") await hook(request, response);
    else if (method === "POST" && key) await answer(key, request, response);
    else if (method === "GET" && url === "/v1/asks") {
      send(response, { asks: [...asks.values()].map((entry) => entry.ask).reverse(), cursor: String(cursor) });
    } else if (method === "GET" && url === "/v1/events") events(response);
    else {
      response.writeHead(404, { "content-length": 0 });
      response.end();
    }
  } catch (error) {
    response.writeHead(400, { "content-length": 0 });
    response.end();
  }
});
// A question may wait for hours.
server.requestTimeout = 0;
server.listen({ path: process.argv[2], backlog: 4096 });
