// Permissions, at the terminal and elsewhere at once.
import assert from "node:assert/strict";
import { bash } from "../../lib/calls.mjs";
import { asked, LOCAL_SETTINGS, promptFor } from "../lib/sessions.mjs";
import { measurement, result, withdrawal, yes } from "./measurement.mjs";

const COMMAND = "node -p 40+2";
const PRINTED = "42";
const WORDS = "use the calculator";

/** A measurement in a world where permissions come to us, in a session that asks for one. */
function permission(name, body, command = COMMAND) {
  measurement(`a permission: ${name}`, async (world) => {
    await world.cover("--permissions");
    const call = bash(command);
    return body(world, call, await asked(world, call));
  });
}

/** Whether the command has run, and the dialog has closed. */
async function ran(world, call, { terminal, dialog }) {
  const { text, isError } = await result(world, call);
  await dialog.gone();
  await terminal.shows("done");
  await world.noHookLeft();
  return yes(!isError && text.includes(PRINTED));
}

permission("allowed elsewhere", async (world, call, session) => {
  await world.daemon.decide(session.open, "Allow once");
  const permission_elsewhere = await ran(world, call, session);
  // The hook that brings the receipt has ended.
  const { outcome, receipt } = await world.daemon.seen(session.open);
  assert.equal(outcome.kind, "answered");
  return { permission_elsewhere, permission_receipt: yes(receipt?.as_sent) };
});

permission("edited and allowed elsewhere", async (world, call, session) => {
  await world.daemon.decide(session.open, "Allow once", { edited: { command: COMMAND } });
  return { permission_edited: await ran(world, call, session) };
}, "node -p 1+1");

permission("allowed for always elsewhere", async (world, call, session) => {
  const [{ label, rules }] = session.open.subject.grants;
  await world.daemon.decide(session.open, label);
  assert.equal(await ran(world, call, session), "yes");
  // Claude Code may write the rule after it has run the tool.
  await world.appears(LOCAL_SETTINGS);
  assert.deepEqual(JSON.parse(await world.file(LOCAL_SETTINGS)), { permissions: { allow: rules } });
  const same = bash(COMMAND);
  await promptFor(world, session.terminal, same, "once more");
  const { text } = await result(world, same);
  await world.noHookLeft();
  assert.equal((await world.daemon.history()).length, 1, "it was asked again");
  return { permission_always: yes(text.includes(PRINTED)) };
});

permission("denied elsewhere", async (world, call, { terminal, dialog, open }) => {
  await world.daemon.decide(open, WORDS);
  const { text, isError } = await result(world, call);
  await dialog.gone();
  await terminal.shows("done");
  await world.noHookLeft();
  const { outcome, receipt } = await world.daemon.seen(open);
  assert.equal(outcome.kind, "answered");
  return { permission_denied: yes(isError && text.includes(WORDS)), permission_denied_receipt: yes(receipt?.as_sent) };
});

permission("allowed in the terminal", async (world, call, session) => {
  await session.dialog.choose("Yes");
  assert.equal(await ran(world, call, session), "yes");
  const { outcome } = await world.daemon.settled(session.open);
  assert.deepEqual(Object.values(outcome.answers), ["Allowed"]);
  return { permission_terminal: outcome.kind };
});

permission("refused in the terminal, with words", async (world, call, { terminal, dialog, open }) => {
  await dialog.refuse(WORDS);
  const { text, isError } = await result(world, call);
  assert.ok(isError && text.includes(WORDS), text);
  await terminal.shows("done");
  const { outcome } = await world.daemon.settled(open);
  await world.noHookLeft();
  if (outcome.kind !== "answered_in_terminal") return { permission_refused: outcome.kind };
  const said = [Object.values(outcome.answers), Object.values(outcome.notes ?? {})];
  assert.deepEqual(said, [["Deny"], [WORDS]]);
  return { permission_refused: "yes" };
});

permission("left with Esc", async (world, call, { dialog, open }) => {
  await dialog.leave("Escape");
  const kind = await withdrawal(world, open);
  assert.equal(world.model.wasShown(call), false);
  return { permission_escape: kind };
});
