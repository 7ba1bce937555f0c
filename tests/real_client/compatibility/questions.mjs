// Questions: in runs without a terminal, and at the terminal and elsewhere at once.
import assert from "node:assert/strict";
import { ask, TWO_DATABASES as DATABASE } from "../../lib/questions.mjs";
import { within } from "../../lib/until.mjs";
import { Dialog } from "../lib/dialog.mjs";
import { interactive } from "../lib/drivers/interactive.mjs";
import { ourRun, plainRun } from "../lib/drivers/runs.mjs";
import { measurement, withdrawal, yes } from "./measurement.mjs";

const TOOL = "AskUserQuestion";
const ANSWERS = { [DATABASE.question]: "SQLite" };
const CTRL_C_ROUNDS = 10;
const NOTE = "only until the move";
const NOTES = { [DATABASE.question]: NOTE };

measurement("a plain one-shot run", async (world) => {
  const { way } = await held(world, plainRun);
  return { plain: way };
});

measurement("a one-shot run with answerback run", async (world) => {
  const { way, note, receipt } = await held(world, ourRun);
  return { headless: way, headless_note: note, headless_receipt: receipt };
});

/** A one-shot run that asks, if it can, and is answered with a note: how that got to the model. */
async function held(world, start) {
  const call = ask(DATABASE);
  const run = start(world, [], call);
  const ended = within("claude -p ending", run.exited, 60_000);
  const opened = await Promise.race([world.daemon.opened(call), ended.then(() => null)]);
  if (!opened) {
    assert.equal(world.model.offered.includes(TOOL), false, "it had the tool, and asked nobody");
    return { way: "no tool", note: "no", receipt: "no" };
  }
  await world.daemon.answer(opened[0], ANSWERS, NOTES);
  const shown = await world.shown(call);
  assert.deepEqual(await ended, { code: 0, signal: null });
  await world.noHookLeft();
  // The hook that brings the receipt has ended before the run.
  const { outcome, receipt } = await world.daemon.seen(opened[0]);
  assert.equal(outcome.kind, "answered");
  return { way: wayOf(shown, call), note: yes(JSON.stringify(shown.blocks).includes(NOTE)), receipt: received(receipt) };
}

/** Where in what the model was shown the answer is. */
function wayOf(shown, call) {
  const { text, isError } = shown.result(call);
  if (!isError) return text.includes('="SQLite"') ? "result" : "nowhere";
  if (shown.contexts.some((context) => context.includes('"SQLite"'))) return "context";
  return text.includes('"SQLite"') ? "refusal" : "nowhere";
}

function received(receipt) {
  if (!receipt) return "no";
  assert.deepEqual(receipt.answers, ANSWERS);
  return yes(receipt.as_sent);
}

measurement("a one-shot run that nobody answers in time", async (world) => {
  await world.configure('timeout_seconds = 1\non_timeout = "defer"\n');
  const call = ask(DATABASE);
  const run = ourRun(world, ["--output-format", "json"], call);
  await within("claude -p ending", run.exited, 60_000);
  if (JSON.parse(run.stdout).stop_reason !== "tool_deferred") {
    assert.equal((await world.shown(call)).result(call).isError, true);
    // The question is closed: no answer is taken that would reach nobody.
    const [{ outcome }] = await world.daemon.history();
    return { defer: outcome.kind === "expired" ? "goes on" : outcome.kind };
  }
  assert.equal(world.model.wasShown(call), false);
  await world.answerback("answer", "SQLite");
  await world.answerback("resume");
  return { defer: wayOf(await world.shown(call), call) };
});

/** A session whose dialog for a call is open and listens to its keys. */
async function racing(world) {
  const call = ask(DATABASE);
  const terminal = await interactive(world, call);
  const [open] = await world.daemon.opened(call);
  assert.equal(open.racing, true);
  const dialog = await Dialog.of(terminal, DATABASE.question);
  assert.ok(await dialog.select("SQLite"));
  return { call, terminal, open, dialog };
}

measurement("a race that is won elsewhere", async (world) => {
  const { call, terminal, open, dialog } = await racing(world);
  await world.daemon.answer(open, ANSWERS, NOTES);
  const shown = await world.shown(call);
  await dialog.gone();
  await terminal.shows("→ SQLite");
  await terminal.shows("done");
  await world.noHookLeft();
  const { outcome, receipt } = await world.daemon.seen(open);
  assert.deepEqual([outcome.kind, outcome.answers], ["answered", ANSWERS]);
  const note = yes(JSON.stringify(shown.blocks).includes(NOTE));
  return { elsewhere: wayOf(shown, call), elsewhere_note: note, elsewhere_receipt: received(receipt) };
});

measurement("a race that is won at the terminal", async (world) => {
  const { call, terminal, open, dialog } = await racing(world);
  await dialog.choose("SQLite");
  const { outcome } = await world.daemon.settled(open);
  assert.deepEqual(outcome.answers, ANSWERS);
  assert.equal(wayOf(await world.shown(call), call), "result");
  await terminal.shows("done");
  await world.noHookLeft();
  return { terminal: outcome.kind };
});

measurement("Esc", async (world) => {
  const { call, open, dialog } = await racing(world);
  await dialog.leave("Escape");
  const kind = await withdrawal(world, open);
  assert.equal(world.model.wasShown(call), false);
  return { escape: kind };
});

measurement("Chat about this", async (world) => {
  const { call, open, dialog } = await racing(world);
  if (!(await dialog.offers("Chat about this"))) return { chat: "no such choice" };
  await dialog.choose("Chat about this");
  assert.equal(wayOf(await world.shown(call), call), "nowhere");
  return { chat: await withdrawal(world, open) };
});

measurement("a closed window", async (world) => {
  const { open, terminal } = await racing(world);
  await terminal.close();
  return { window: await withdrawal(world, open) };
});

measurement("Ctrl-C", async (world) => {
  const { open, terminal, dialog } = await racing(world);
  // Right after it has opened, a dialog may be deaf to this key and hear others. One that stays can still be answered.
  let stays = true;
  for (let round = 0; stays && round < CTRL_C_ROUNDS; round += 1) {
    await terminal.press("C-c", "C-c");
    stays = (await dialog.select("Postgres")) && (await dialog.select("SQLite"));
  }
  if (stays) await dialog.leave("Enter");
  const { outcome } = await world.daemon.settled(open);
  await world.noHookLeft();
  assert.equal(outcome.kind, stays ? "answered_in_terminal" : "withdrawn");
  return { ctrl_c: stays ? "dialog stays" : outcome.kind };
});

measurement("the end of the program", async (world) => {
  const { open, terminal } = await racing(world);
  await terminal.signal("SIGTERM");
  return { end: await withdrawal(world, open) };
});

measurement("the end of a Claude Code that is killed", async (world) => {
  const { open, terminal } = await racing(world);
  await terminal.signal("SIGKILL");
  return { kill: await withdrawal(world, open) };
});
