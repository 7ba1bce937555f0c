// The mode that bypasses permissions. Claude Code still asks about a few commands, and blocks them after two minutes.
import assert from "node:assert/strict";
import { Dialog } from "./lib/dialog.mjs";
import { interactive } from "./lib/drivers/interactive.mjs";
import { expectIncludes } from "./lib/expect.mjs";
import { scenario } from "./lib/world.mjs";
import { bash } from "../lib/calls.mjs";
import { within } from "../lib/until.mjs";

const BYPASSING = "--permission-mode bypassPermissions --dangerously-skip-permissions";
// The home of the world, which is a scratch directory.
const CRITICAL = "rm -rf ~";
const BLOCKED_AFTER_MS = 120_000;
// `tests/run.sh nightly` waits for that.
const IS_PATIENT = process.env.ANSWERBACK_TEST_PATIENCE === "1";

async function asked(world, call) {
  await world.coverAll();
  const terminal = await interactive(world, call, BYPASSING);
  const [open] = await world.daemon.opened(call);
  await Dialog.permission(terminal, CRITICAL);
  return { terminal, open };
}

scenario("bypass: a critical command is asked about, and denied from elsewhere", async (world) => {
  const call = bash(CRITICAL);
  const { terminal, open } = await asked(world, call);
  assert.deepEqual(open.questions[0].options.map(({ label }) => label), ["Allow once", "Deny"]);
  await world.daemon.decide(open, "Not my home");
  expectIncludes((await world.shown(call)).result(call).text, "Not my home");
  await terminal.shows("done");
  await world.noHookLeft();
});

if (IS_PATIENT) scenario("bypass: what Claude Code blocks after two minutes leaves the inbox, and nobody is said to have denied it", async (world) => {
  const call = bash(CRITICAL);
  const { terminal, open } = await asked(world, call);
  const shown = await within("the command being blocked", world.model.shown(call), BLOCKED_AFTER_MS + 20_000);
  expectIncludes(shown.result(call).text, "not by the user");
  await terminal.shows("done");
  assert.equal((await world.daemon.settled(open)).outcome.kind, "withdrawn");
  await world.noHookLeft();
});
