// query() of the Agent SDK: canUseTool is the host, and is left alone when the hook decides.
import assert from "node:assert/strict";
import { agentSdk } from "./lib/drivers/agent_sdk.mjs";
import { Host } from "./lib/drivers/host.mjs";
import { expectAnswered, expectIncludes } from "./lib/expect.mjs";
import { ask, TWO_DATABASES as DATABASE, TWO_LAYOUTS as LAYOUT, LICENCE, PLATFORMS } from "../lib/questions.mjs";
import { scenario } from "./lib/world.mjs";

scenario("SDK: an answer with a note", async (world) => {
  const call = ask(DATABASE);
  const run = agentSdk(world, [call]);
  const [open] = await world.daemon.opened(call);
  const { session, tool_use_id, project } = open;
  assert.deepEqual([session, tool_use_id, project], [run.session, call.id, world.project]);

  const note = "Keep the schema portable,\nwe may move later.";
  await world.daemon.answer(open, { [DATABASE.question]: "SQLite" }, { [DATABASE.question]: note });
  const shown = await world.shown(call);
  await run.finish();
  expectAnswered(shown, call, { [DATABASE.question]: "SQLite" });
  expectIncludes(shown.result(call).text, `notes: ${note}`);
  expectIncludes(shown.contexts[0], JSON.stringify(note));
});

scenario("SDK: two asks at once, a preview and a note beside a multi-select", async (world) => {
  const [layout, rest] = [ask(LAYOUT, LICENCE), ask(PLATFORMS)];
  const run = agentSdk(world, [layout, rest]);
  const [first, second] = await world.daemon.opened(layout, rest);
  const layoutAnswers = { [LAYOUT.question]: "Stack", [LICENCE.question]: "Yes" };
  await world.daemon.answer(second, { [PLATFORMS.question]: ["Windows"] });
  await world.daemon.answer(first, layoutAnswers, { [LICENCE.question]: "and Apache-2.0" });
  const shown = await world.shown(layout);
  await run.finish();
  expectAnswered(shown, layout, layoutAnswers);
  expectAnswered(shown, rest, { [PLATFORMS.question]: "Windows" });
  const { text } = shown.result(layout);
  expectIncludes(text, `"${LAYOUT.question}"="Stack" selected preview:\n${LAYOUT.options[1].preview}`);
  expectIncludes(text, `"${LICENCE.question}"="Yes" notes: and Apache-2.0`);
});

scenario("SDK: dismissed with a reason", async (world) => {
  const call = ask(DATABASE);
  const run = agentSdk(world, [call]);
  const [open] = await world.daemon.opened(call);
  await world.daemon.dismiss(open, "Not now.");
  const shown = await world.shown(call);
  await run.finish();
  assert.equal(shown.result(call).isError, true);
  expectIncludes(shown.result(call).text, "Not now.");
});

scenario("SDK: a released ask goes to canUseTool", async (world) => {
  const call = ask(DATABASE);
  const run = agentSdk(world, [call], Host.answering(call, { [DATABASE.question]: "Postgres" }));
  const [open] = await world.daemon.opened(call);
  await world.daemon.release(open);
  const shown = await world.shown(call);
  await run.finish();
  expectIncludes(shown.result(call).text, `"${DATABASE.question}"="Postgres"`);
  assert.deepEqual(shown.contexts, []);
});
