// Permissions, plans and forms in runs without a terminal, which wait because they were told to.
import assert from "node:assert/strict";
import { bash, exitPlanMode, write, writePlan } from "../../lib/calls.mjs";
import { within } from "../../lib/until.mjs";
import { ourRun, plainRun } from "../lib/drivers/runs.mjs";
import { elicit, shop } from "../lib/mcp/shop.mjs";
import { CONTENT, FORM, received, VALUES } from "../lib/sessions.mjs";
import { coversForms, measurement, NO_HOOKS, result, yes } from "./measurement.mjs";

const WAIT = '[permissions]\nunattended = "wait"\n';

async function ended(world, run) {
  assert.deepEqual(await within("the run ending", run.exited, 60_000), { code: 0, signal: null });
  await world.noHookLeft();
}

/** A run that needs a permission and gets it elsewhere: whether the command has run, or "refused" if nobody was asked. */
async function permitted(world, start) {
  const heard = await world.listenToHooks();
  await world.cover("--permissions");
  await world.configure(WAIT);
  const call = bash("node -p 40+2");
  const run = start(world, [], call);
  const opened = await Promise.race([world.daemon.opened(call), world.shown(call).then(() => null)]);
  if (opened) await world.daemon.decide(opened[0], "Allow once");
  const { text, isError } = await result(world, call);
  await ended(world, run);
  if (opened) return yes(text.includes("42"));
  assert.equal(isError, true, text);
  assert.equal((await heard()).includes("PermissionRequest"), false, "its hook ran, and asked nobody");
  return "refused";
}

measurement("a permission: allowed elsewhere in a plain one-shot run", async (world) => {
  return { permission_plain: await permitted(world, plainRun) };
});

measurement("a permission: allowed elsewhere in a run with answerback run", async (world) => {
  return { permission_run: await permitted(world, ourRun) };
});

measurement("a plan: approved elsewhere in a run with answerback run", async (world) => {
  const [writing, showing, making] = [writePlan("# Shop\n"), exitPlanMode(), write(`${world.project}/basket.mjs`, "export {};\n")];
  world.model.then(writing, showing);
  world.model.then(showing, making);
  const run = ourRun(world, ["--permission-mode", "plan"], writing);
  const [open] = await world.daemon.opened(showing);
  await world.daemon.decide(open, "Approve, accept edits");
  const made = await result(world, making);
  await ended(world, run);
  assert.equal(made.isError, false, made.text);
  return { plan_run: yes((await world.file("basket.mjs")) === "export {};\n") };
});

/** A run in which an MCP server asks with a form that is filled in elsewhere: whether it got the values. */
async function filled(world, start) {
  if (!(await coversForms(world))) return NO_HOOKS;
  await world.configure(WAIT);
  const call = elicit(FORM);
  const run = start(world, shop(world).args, call);
  await world.daemon.answer(await world.daemon.openedKind("form"), VALUES);
  const { action, content } = await received(world, call);
  await ended(world, run);
  assert.deepEqual(content, CONTENT);
  return yes(action === "accept");
}

measurement("a form: filled in elsewhere in a plain one-shot run", async (world) => {
  return { form_plain: await filled(world, plainRun) };
});
