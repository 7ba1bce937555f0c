// `answerback mcp` with the client of the official MCP SDK, as other agents use it. The SDK checks every result against the schema of the tool.
import assert from "node:assert/strict";
import { deferred, within } from "../lib/until.mjs";
import { connected } from "./lib/mcp/sdk.mjs";
import { scenario } from "./lib/world.mjs";

const NAME = { question: "Which name?" };
const CALL = { name: "ask_human", arguments: { questions: [NAME] } };
/** Shorter than the time between three signs of life, and longer than between two. */
const TIMEOUT_MS = 8000;

scenario("MCP SDK: the tool is listed, and its result has the shape that it promises", async (world) => {
  const client = await connected(world);
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map(({ name }) => name), ["ask_human"]);
  const result = client.callTool(CALL);
  const open = await world.daemon.openedKind("question");
  assert.deepEqual([open.asked_by, open.project], ["an agent 1.0", world.project]);
  await world.daemon.answer(open, { [NAME.question]: "shop" });
  const { structuredContent, content, isError } = await within("the result", result);
  assert.deepEqual(structuredContent.answers, [{ question: NAME.question, answer: "shop" }]);
  assert.deepEqual([content[0].type, isError], ["text", false]);
});

scenario("MCP SDK: an outcome without an answer has that shape, too", async (world) => {
  const client = await connected(world);
  const { structuredContent } = await client.callTool({ ...CALL, arguments: { ...CALL.arguments, timeout_seconds: 1 } });
  assert.deepEqual([structuredContent.outcome, structuredContent.answers], ["expired", []]);
});

scenario("MCP SDK: signs of life keep a call from its timeout", async (world) => {
  const client = await connected(world);
  const third = deferred();
  let signs = 0;
  const onprogress = () => {
    signs += 1;
    if (signs === 3) third.resolve(null);
  };
  const result = client.callTool(CALL, undefined, { timeout: TIMEOUT_MS, resetTimeoutOnProgress: true, onprogress });
  const open = await world.daemon.openedKind("question");
  await within("three signs of life", third.promise);
  await world.daemon.answer(open, { [NAME.question]: "shop" });
  assert.equal((await within("the result", result)).structuredContent.outcome, "answered");
});

scenario("MCP SDK: without them, the timeout takes the question back", async (world) => {
  const client = await connected(world);
  const result = client.callTool(CALL, undefined, { timeout: 1000 });
  await assert.rejects(result, /timed out/);
  assert.equal((await world.daemon.settled(await the(world))).outcome.kind, "withdrawn");
});

scenario("MCP SDK: an aborted call takes its question back", async (world) => {
  const client = await connected(world);
  const abort = new AbortController();
  const result = client.callTool(CALL, undefined, { signal: abort.signal });
  const open = await world.daemon.openedKind("question");
  abort.abort("no longer needed");
  await assert.rejects(result);
  assert.equal((await world.daemon.settled(open)).outcome.kind, "withdrawn");
});

scenario("MCP SDK: a client that ends takes its question back", async (world) => {
  const client = await connected(world);
  client.callTool(CALL).catch(() => {});
  const open = await world.daemon.openedKind("question");
  await client.close();
  assert.equal((await world.daemon.settled(open)).outcome.kind, "withdrawn");
});

scenario("MCP SDK: a form in the client, filled in there", async (world) => {
  const shown = deferred();
  const client = await connected(world, {
    options: ["--elicitation"],
    elicit: async (request) => {
      shown.resolve(request);
      return { action: "accept", content: { answerback_1: "shop" } };
    },
  });
  const { structuredContent } = await within("the result", client.callTool(CALL));
  assert.deepEqual(structuredContent.answers, [{ question: NAME.question, answer: "shop" }]);
  const { params } = await shown.promise;
  assert.deepEqual(Object.keys(params.requestedSchema.properties), ["answerback_1"]);
});

scenario("MCP SDK: a form in the client is closed when the answer comes from elsewhere", async (world) => {
  const opened = deferred();
  const closed = deferred();
  const client = await connected(world, {
    options: ["--elicitation"],
    elicit: (_, { signal }) => {
      opened.resolve(true);
      return new Promise((resolve) => signal.addEventListener("abort", () => closed.resolve(resolve({ action: "cancel" }))));
    },
  });
  const result = client.callTool(CALL);
  const asked = await world.daemon.openedKind("question");
  // Without a form there is nothing to close.
  await within("the form", opened.promise);
  await world.daemon.answer(asked, { [NAME.question]: "shop" });
  assert.equal((await within("the result", result)).structuredContent.outcome, "answered");
  await within("the form being closed", closed.promise);
});

/** The only ask there is. */
async function the(world) {
  const { asks } = await world.daemon.get("/v1/asks?state=all");
  assert.equal(asks.length, 1);
  return asks[0];
}
