// `answerback mcp` with the real Claude Code: the tool `ask_human` asks the person through the inbox.
import assert from "node:assert/strict";
import { prompt } from "./lib/drivers/interactive.mjs";
import { plainRun } from "./lib/drivers/runs.mjs";
import { askHuman, served } from "./lib/mcp/human.mjs";
import { scenario } from "./lib/world.mjs";
import { within } from "../lib/until.mjs";

const QUESTION = { question: "Which database?", header: "Database", options: [{ label: "SQLite", description: "One file" }, { label: "PostgreSQL" }] };

scenario("MCP: a one-shot run asks, and gets the answer", async (world) => {
  const call = askHuman({ questions: [QUESTION] });
  const run = plainRun(world, await served(world), call);
  const open = await world.daemon.openedKind("question");
  console.log(JSON.stringify(open));
  await world.daemon.answer(open, { "Which database?": "SQLite" });
  const shown = await world.shown(call);
  console.log(JSON.stringify(shown.blocks));
  assert.deepEqual(await within("claude -p ending", run.exited), { code: 0, signal: null });
});

scenario("MCP: dismissed", async (world) => {
  const call = askHuman({ questions: [QUESTION] });
  const run = plainRun(world, await served(world), call);
  const open = await world.daemon.openedKind("question");
  await world.daemon.dismiss(open, "no");
  const shown = await world.shown(call);
  console.log(JSON.stringify(shown.blocks));
  assert.deepEqual(await within("claude -p ending", run.exited), { code: 0, signal: null });
});
