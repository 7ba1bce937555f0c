// Our own commands around the real client: install (every world does), run, answer, doctor.
import assert from "node:assert/strict";
import path from "node:path";
import { CLAUDE } from "./lib/clients.mjs";
import { oneShot } from "./lib/drivers/one_shot.mjs";
import { expectAnswered, expectIncludes } from "./lib/expect.mjs";
import { ask, TWO_DATABASES as DATABASE, LICENCE } from "../lib/questions.mjs";
import { Terminal } from "./lib/terminal.mjs";
import { within } from "../lib/until.mjs";
import { scenario } from "./lib/world.mjs";

const TOOL = "AskUserQuestion";

scenario("answerback run: a one-shot run asks, answerback answer answers", async (world) => {
  const call = ask(DATABASE, LICENCE);
  world.model.onNextPrompt([call]);
  const args = ["run", "--", "claude", "-p", "ask me"];
  const run = world.spawn(path.join(world.bin, "answerback"), args, { env: world.personsEnv });
  await world.daemon.opened(call);
  await world.answerback("answer", "-a", "Database=sqlite", "--text", "Licence=Neither", "--note", "Database=for now");
  const shown = await world.shown(call);
  expectAnswered(shown, call, { [DATABASE.question]: "SQLite", [LICENCE.question]: "Neither" });
  expectIncludes(shown.result(call).text, "for now");
  assert.deepEqual(await within("the run ending", run.exited), { code: 0, signal: null });
  assert.equal(run.stdout.trim(), "done");
});

scenario("answerback answer: chosen with the keys of the picker", async (world) => {
  const call = ask(DATABASE);
  const run = oneShot(world, call);
  await world.daemon.opened(call);
  const terminal = await Terminal.open(world, "answerback answer");
  await terminal.shows("SQLite");
  await terminal.press("Down", "Enter");
  const shown = await world.shown(call);
  await run.finish();
  expectAnswered(shown, call, { [DATABASE.question]: "SQLite" });
});

scenario("a plain one-shot run has no tool to ask with, and doctor says so", async (world) => {
  const run = world.spawn(CLAUDE, ["-p", "ask me"]);
  assert.deepEqual(await within("claude -p ending", run.exited), { code: 0, signal: null });
  assert.ok(world.model.offered.length > 0 && !world.model.offered.includes(TOOL), world.model.offered.join());
  const report = JSON.parse(await world.answerback("doctor", "--json"));
  const headless = report.findings.find(({ check }) => check === "headless");
  assert.equal(report.ok, true, JSON.stringify(report, null, 1));
  expectIncludes(headless.message, "cannot ask questions");
  expectIncludes(headless.fix, "answerback run");
});
