// Plans in an interactive session: the terminal's own dialog and the daemon at once, and the first answer wins.
import assert from "node:assert/strict";
import fs from "node:fs/promises";
import { Dialog } from "./lib/dialog.mjs";
import { interactive, prompt } from "./lib/drivers/interactive.mjs";
import { expectIncludes } from "./lib/expect.mjs";
import { ACCEPT_EDITS, ASK_FIRST, KEEP_PLANNING, PLAN, planned, planning, shownPlan } from "./lib/sessions.mjs";
import { scenario } from "./lib/world.mjs";
import { write } from "../lib/calls.mjs";

const BETTER = "# Shop\n\n1. Add a basket, in `basket.mjs`\n2. Test it with two people\n";

/** The plan was approved elsewhere, and the ask says so. Resolves to what the model was shown. */
async function approved(world, { terminal, open, dialog, showing }, label) {
  const { text, isError } = (await world.shown(showing)).result(showing);
  assert.equal(isError, false, text);
  expectIncludes(text, "User has approved your plan");
  await dialog.gone();
  await terminal.shows("Allowed by PermissionRequest hook");
  const { outcome, receipt } = await world.daemon.received(open);
  assert.deepEqual([outcome.kind, Object.values(outcome.answers), receipt.as_sent], ["answered", [label], true]);
  return text;
}

/** The plan was sent back elsewhere with these words. Its dialog may have been followed by that of the next plan. */
async function sentBack(world, { terminal, open, showing }, ...words) {
  const { text, isError } = (await world.shown(showing)).result(showing);
  assert.equal(isError, true, text);
  for (const each of words) expectIncludes(text, JSON.stringify(each).slice(1, -1));
  assert.equal((await world.daemon.settled(open)).outcome.kind, "answered");
  return terminal;
}

const newFile = (world) => write(`${world.project}/basket.mjs`, "export {};\n");

scenario("plan: the ask has the plan and its file", async (world) => {
  const { open } = await planned(world);
  const { plan, file } = open.subject;
  assert.equal(plan, PLAN);
  assert.equal(await fs.readFile(file, "utf8"), PLAN);
  assert.deepEqual(open.questions[0].options.map(({ label }) => label), [ACCEPT_EDITS, ASK_FIRST, KEEP_PLANNING]);
});

scenario("plan: approved with edits accepted, the next edit is not asked for", async (world) => {
  const writing = newFile(world);
  const session = await planned(world, writing);
  await world.daemon.decide(session.open, ACCEPT_EDITS);
  expectIncludes(await approved(world, session, ACCEPT_EDITS), `## Approved Plan:\n${PLAN}`);
  await world.shown(writing);
  assert.equal(await world.file("basket.mjs"), "export {};\n");
  await session.terminal.shows("accept edits on");
  await world.noHookLeft();
});

scenario("plan: approved with edits asked for, the next edit opens its dialog", async (world) => {
  const writing = newFile(world);
  const session = await planned(world, writing);
  await world.daemon.decide(session.open, ASK_FIRST);
  await approved(world, session, ASK_FIRST);
  await Dialog.permission(session.terminal, "basket.mjs");
  assert.equal(await world.file("basket.mjs"), null);
});

scenario("plan: edits are asked for even if they were accepted before the plan", async (world) => {
  const writing = newFile(world);
  const { writing: first, showing } = planning(world, PLAN, writing);
  const terminal = await interactive(world, [], "--permission-mode acceptEdits");
  await terminal.shows("done");
  const inPlanMode = (screen) => screen.includes("plan mode on");
  // The key goes on to the next mode each time it is heard.
  await terminal.pressUntil("BTab", "plan mode", inPlanMode, inPlanMode);
  world.model.onNextPrompt([first]);
  await prompt(world, terminal, "plan it");
  const session = { terminal, showing, ...(await shownPlan(world, terminal, showing)) };
  await world.daemon.decide(session.open, ASK_FIRST);
  await approved(world, session, ASK_FIRST);
  await Dialog.permission(terminal, "basket.mjs");
});

scenario("plan: edited and approved, the model and the file have the edited plan", async (world) => {
  const session = await planned(world);
  await world.daemon.decide(session.open, ASK_FIRST, { edited: { plan: BETTER } });
  expectIncludes(await approved(world, session, ASK_FIRST), `## Approved Plan (edited by user):\n${BETTER}`);
  assert.equal(await fs.readFile(session.open.subject.file, "utf8"), BETTER);
  assert.deepEqual((await world.daemon.seen(session.open)).outcome.edited, { plan: BETTER });
  await session.terminal.shows("done");
  await world.noHookLeft();
});

scenario("plan: sent back with two comments, revised, and approved", async (world) => {
  const writing = newFile(world);
  const again = planning(world, BETTER, writing);
  const session = await planned(world, again.writing);
  const comments = ['1. On "Add a basket": in which file?', '2. On "Test it": with two people.'];
  await world.daemon.decide(session.open, KEEP_PLANNING, { note: comments.join("\n") });
  const terminal = await sentBack(world, session, ...comments);

  const revised = { terminal, showing: again.showing, ...(await shownPlan(world, terminal, again.showing, "with two people")) };
  assert.equal(revised.open.subject.plan, BETTER);
  await world.daemon.decide(revised.open, ACCEPT_EDITS);
  await approved(world, revised, ACCEPT_EDITS);
  await world.shown(writing);
  assert.equal(await world.file("basket.mjs"), "export {};\n");
  await terminal.shows("accept edits on");
  await world.noHookLeft();
});

scenario("plan: words of one's own send it back", async (world) => {
  const session = await planned(world);
  await world.daemon.decide(session.open, "Approve, but first tell me about the basket");
  const terminal = await sentBack(world, session, "Approve, but first tell me about the basket");
  await session.dialog.gone();
  await terminal.shows("plan mode on");
  await terminal.shows("done");
  await world.noHookLeft();
});

scenario("plan: approved at the terminal", async (world) => {
  const { terminal, open, dialog, showing } = await planned(world);
  await dialog.approve();
  expectIncludes((await world.shown(showing)).result(showing).text, "User has approved your plan");
  const { outcome } = await world.daemon.settled(open);
  assert.deepEqual([outcome.kind, Object.values(outcome.answers)], ["answered_in_terminal", ["Approved"]]);
  await terminal.shows("done");
  await world.noHookLeft();
});

scenario("plan: sent back at the terminal", async (world) => {
  const { terminal, open, dialog, showing } = await planned(world);
  await dialog.sendBack("more tests please");
  expectIncludes((await world.shown(showing)).result(showing).text, "more tests please");
  const { outcome } = await world.daemon.settled(open);
  // Only the end of the turn tells, unless permissions are covered.
  assert.equal(outcome.kind, "withdrawn");
  await terminal.shows("done");
  await world.noHookLeft();
});

scenario("plan: sent back at the terminal, with permissions covered", async (world) => {
  await world.coverAll();
  const { open, dialog } = await planned(world);
  await dialog.sendBack("more tests please");
  const { outcome } = await world.daemon.settled(open);
  assert.deepEqual([outcome.kind, Object.values(outcome.notes ?? {})], ["answered_in_terminal", ["more tests please"]]);
  await world.noHookLeft();
});

scenario("plan: Esc withdraws it", async (world) => {
  const { terminal, open, dialog, showing } = await planned(world);
  await dialog.leave("Escape");
  await terminal.shows("User rejected Claude's plan");
  assert.equal((await world.daemon.settled(open)).outcome.kind, "withdrawn");
  await world.noHookLeft();
  assert.equal(world.model.wasShown(showing), false);
});

scenario("plan: a daemon that is killed comes back, and the plan is still approved from elsewhere", async (world) => {
  const session = await planned(world);
  await world.daemon.restarted(await world.daemon.kill());
  const [open] = await world.daemon.opened(session.showing);
  assert.equal(open.key, session.open.key);
  await world.daemon.decide(open, ASK_FIRST);
  await approved(world, session, ASK_FIRST);
  await session.terminal.shows("done");
  await world.noHookLeft();
});
