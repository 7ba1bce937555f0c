// Plans, at the terminal and elsewhere at once.
import assert from "node:assert/strict";
import { write } from "../../lib/calls.mjs";
import { Dialog } from "../lib/dialog.mjs";
import { ACCEPT_EDITS, ASK_FIRST, KEEP_PLANNING, planned } from "../lib/sessions.mjs";
import { measurement, result, yes } from "./measurement.mjs";

const APPROVED = "User has approved your plan";
const BETTER = "# Shop\n\n1. Add a basket, in `basket.mjs`\n";
const WORDS = "first the tests";
const FILE = "basket.mjs";

/** A call that makes a new file. */
const making = (world) => write(`${world.project}/${FILE}`, "export {};\n");

/** The model was told that the plan is approved. Resolves to the words. */
async function approved(world, { showing, dialog }) {
  const { text, isError } = await result(world, showing);
  assert.ok(!isError && text.includes(APPROVED), text);
  await dialog.gone();
  return text;
}

measurement("a plan: approved elsewhere, edits accepted", async (world) => {
  const edit = making(world);
  const session = await planned(world, edit);
  await world.daemon.decide(session.open, ACCEPT_EDITS);
  await approved(world, session);
  const { isError } = await result(world, edit);
  await session.terminal.shows("accept edits on");
  await world.noHookLeft();
  const { receipt } = await world.daemon.seen(session.open);
  return { plan_accepted: yes(!isError && (await world.file(FILE))), plan_receipt: yes(receipt?.as_sent) };
});

measurement("a plan: approved elsewhere, edits asked for", async (world) => {
  const session = await planned(world, making(world));
  await world.daemon.decide(session.open, ASK_FIRST);
  await approved(world, session);
  await Dialog.permission(session.terminal, FILE);
  await world.noHookLeft();
  return { plan_asked: yes((await world.file(FILE)) === null) };
});

measurement("a plan: edited and approved elsewhere", async (world) => {
  const session = await planned(world);
  await world.daemon.decide(session.open, ASK_FIRST, { edited: { plan: BETTER } });
  const text = await approved(world, session);
  await session.terminal.shows("done");
  await world.noHookLeft();
  return { plan_edited: yes(text.includes(BETTER)) };
});

measurement("a plan: sent back elsewhere", async (world) => {
  const { terminal, showing, dialog, open } = await planned(world);
  await world.daemon.decide(open, KEEP_PLANNING, { note: WORDS });
  const { text, isError } = await result(world, showing);
  await dialog.gone();
  await terminal.shows("plan mode on");
  await terminal.shows("done");
  await world.noHookLeft();
  return { plan_sent_back: yes(isError && text.includes(WORDS)) };
});

measurement("a plan: approved in the terminal", async (world) => {
  const session = await planned(world);
  await session.dialog.approve();
  await approved(world, session);
  const { outcome } = await world.daemon.settled(session.open);
  assert.deepEqual(Object.values(outcome.answers), ["Approved"]);
  await session.terminal.shows("done");
  await world.noHookLeft();
  return { plan_terminal: outcome.kind };
});
