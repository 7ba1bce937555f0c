// Somebody is away: their own words answer what Claude Code asks meanwhile, and approve nothing.
import assert from "node:assert/strict";
import { Dialog } from "./lib/dialog.mjs";
import { interactive } from "./lib/drivers/interactive.mjs";
import { oneShot } from "./lib/drivers/one_shot.mjs";
import { expectAnswered, expectIncludes } from "./lib/expect.mjs";
import { scenario } from "./lib/world.mjs";
import { bash, exitPlanMode, writePlan } from "../lib/calls.mjs";
import { ask, TWO_DATABASES as DATABASE } from "../lib/questions.mjs";

const WORDS = "Decide yourself, and list what you decided";

scenario("away: a question gets the words", async (world) => {
  await world.answerback("away", WORDS, "--for", "8h");
  const call = ask(DATABASE);
  const run = oneShot(world, call);
  expectAnswered(await world.shown(call), call, { [DATABASE.question]: WORDS });
  await run.finish();
  const [{ outcome }] = await world.daemon.history();
  assert.deepEqual([outcome.kind, outcome.by.channel], ["answered", "away"]);
});

scenario("away: a permission is not answered unless that was said, and a person still can", async (world) => {
  await world.coverAll();
  await world.answerback("away", WORDS, "--for", "8h");
  const call = bash("node -p 40+2");
  const terminal = await interactive(world, call, "--permission-mode default");
  const [open] = await world.daemon.opened(call);
  await Dialog.permission(terminal);
  assert.equal(world.model.wasShown(call), false);
  await world.daemon.decide(open, "Allow once");
  assert.equal((await world.shown(call)).result(call).text, "42");
});

/** The words were the answer to this call, and approved nothing. */
async function refusedWithWords(world, call) {
  const { text, isError } = (await world.shown(call)).result(call);
  assert.equal(isError, true, text);
  expectIncludes(text, WORDS);
  const [{ outcome }] = await world.daemon.history();
  assert.deepEqual([outcome.kind, outcome.by.channel], ["answered", "away"]);
  await world.noHookLeft();
}

scenario("away: the words deny a permission, if that was said", async (world) => {
  await world.coverAll();
  await world.answerback("away", WORDS, "--for", "8h", "--kind", "permission");
  const call = bash("node -p 40+2");
  const terminal = await interactive(world, call, "--permission-mode default");
  await refusedWithWords(world, call);
  await terminal.shows("done");
});

scenario("away: the words send a plan back, if that was said", async (world) => {
  await world.answerback("away", WORDS, "--for", "8h", "--kind", "plan");
  const [writing, showing] = [writePlan("# Shop\n"), exitPlanMode()];
  world.model.then(writing, showing);
  const terminal = await interactive(world, writing, "--permission-mode plan");
  await refusedWithWords(world, showing);
  await terminal.shows("done");
  await terminal.shows("plan mode on");
});

scenario("away: back again, a person is asked", async (world) => {
  await world.answerback("away", WORDS, "--for", "8h");
  await world.answerback("back");
  const call = ask(DATABASE);
  const run = oneShot(world, call);
  const [open] = await world.daemon.opened(call);
  await world.daemon.answer(open, { [DATABASE.question]: "SQLite" });
  expectAnswered(await world.shown(call), call, { [DATABASE.question]: "SQLite" });
  await run.finish();
});
