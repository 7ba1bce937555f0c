// A settings file that several people use: with Answerback, without it, and beside a file of one's own.
import assert from "node:assert/strict";
import { Dialog } from "./lib/dialog.mjs";
import { interactive } from "./lib/drivers/interactive.mjs";
import { expectAnswered } from "./lib/expect.mjs";
import { asked } from "./lib/sessions.mjs";
import { complaints, withoutAnswerback, withPathOfAnother } from "./lib/shared.mjs";
import { scenario } from "./lib/world.mjs";
import { bash } from "../lib/calls.mjs";
import { ask, TWO_DATABASES as DATABASE } from "../lib/questions.mjs";

const ANSWERS = { [DATABASE.question]: "SQLite" };

scenario("shared: without Answerback, Claude Code is as without the hook", async (world) => {
  await world.cover("--shared", "--permissions");
  await withoutAnswerback(world);
  assert.deepEqual(await complaints(world), []);
});

// This is what the shared form is for, and it proves that the test above would notice.
scenario("shared: with a path of another machine, Claude Code complains", async (world) => {
  await withPathOfAnother(world);
  await withoutAnswerback(world);
  const lines = await complaints(world);
  for (const event of ["UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd"]) {
    assert.ok(lines.some((line) => line.includes(event)), `${event}: ${lines.join("\n")}`);
  }
});

scenario("shared: with Answerback, the question comes and its answer arrives", async (world) => {
  await world.cover("--shared");
  await answeredOnce(world);
});

scenario("shared: beside one's own file, everything is asked once", async (world) => {
  await world.cover("--shared", "--permissions");
  await world.answerback("install", "--local", world.project, "--permissions");
  await answeredOnce(world);
  const call = bash("node -p 40+2");
  const { open, dialog } = await asked(world, call);
  await world.daemon.answer(open, { [open.questions[0].question]: "Allow once" });
  assert.match((await world.shown(call)).result(call).text, /42/);
  await dialog.gone();
  await world.noHookLeft();
  await world.daemon.noneOpen();
  assert.equal((await world.daemon.history()).length, 2, "something was asked twice");
});

/** A session at the terminal asks, and is answered elsewhere. */
async function answeredOnce(world) {
  const call = ask(DATABASE);
  const terminal = await interactive(world, call);
  const dialog = await Dialog.of(terminal);
  const [open] = await world.daemon.opened(call);
  await world.daemon.answer(open, ANSWERS);
  expectAnswered(await world.shown(call), call, ANSWERS);
  await dialog.gone();
  await terminal.shows("done");
  await world.noHookLeft();
  await terminal.close();
}
