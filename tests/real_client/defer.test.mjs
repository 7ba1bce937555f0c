// A one-shot run that nobody answers in time ends; its answer is kept, and the resumed run gets it.
import assert from "node:assert/strict";
import { CLAUDE } from "./lib/clients.mjs";
import { expectAnswered } from "./lib/expect.mjs";
import { ask, TWO_DATABASES as DATABASE } from "../lib/questions.mjs";
import { within } from "../lib/until.mjs";
import { scenario } from "./lib/world.mjs";

scenario("defer: the run ends, the daemon restarts, the resumed run gets the answer", async (world) => {
  await world.configure('timeout_seconds = 1\non_timeout = "defer"\n');
  const call = ask(DATABASE);
  world.model.onNextPrompt([call]);
  const flags = ["--permission-prompt-tool", "stdio", "--output-format", "json"];
  const first = world.spawn(CLAUDE, ["-p", "ask me", ...flags]);
  const { code } = await within("the first run ending", first.exited);
  const ended = JSON.parse(first.stdout);
  assert.deepEqual([code, ended.stop_reason, ended.deferred_tool_use?.id], [0, "tool_deferred", call.id], first.stdout);

  const [open] = await world.daemon.opened(call);
  assert.equal(open.deferred, true);
  await world.daemon.kill();
  await world.answerback("answer", "SQLite");

  await world.answerback("resume");
  expectAnswered(await world.shown(call), call, { [DATABASE.question]: "SQLite" });
  assert.equal((await world.daemon.received(open)).receipt.as_sent, true);
});

scenario("defer: as a mode of the project, the run ends at once", async (world) => {
  await world.answerback("install", "--project", world.project, "--mode", "defer");
  const call = ask(DATABASE);
  world.model.onNextPrompt([call]);
  const flags = ["--permission-prompt-tool", "stdio", "--output-format", "json"];
  const first = world.spawn(CLAUDE, ["-p", "ask me", ...flags]);
  await within("the first run ending", first.exited);
  assert.equal(JSON.parse(first.stdout).stop_reason, "tool_deferred", first.stdout);
  await world.answerback("answer", "Postgres");
  await world.answerback("resume");
  expectAnswered(await world.shown(call), call, { [DATABASE.question]: "Postgres" });
});
