// Permissions and plans in runs without a terminal.
import assert from "node:assert/strict";
import { Host } from "./lib/drivers/host.mjs";
import { ourRun, plainRun } from "./lib/drivers/runs.mjs";
import { streamJson } from "./lib/drivers/stream_json.mjs";
import { expectAnswered, expectIncludes } from "./lib/expect.mjs";
import { scenario } from "./lib/world.mjs";
import { bash, exitPlanMode, write, writePlan } from "../lib/calls.mjs";
import { ask, TWO_DATABASES as DATABASE } from "../lib/questions.mjs";
import { within } from "../lib/until.mjs";

const COMMAND = "node -p 40+2";
const PLAN = "# Shop\n\n1. Add a basket\n";
const WAIT = '[permissions]\nunattended = "wait"\n';

/** A test in a world where permissions come to us. */
function covered(name, body) {
  scenario(`unattended: ${name}`, async (world) => {
    await world.coverAll();
    await body(world);
  });
}

async function ended(world, run) {
  assert.deepEqual(await within("the run ending", run.exited), { code: 0, signal: null });
  assert.equal(run.stdout.trim(), "done");
  await world.noHookLeft();
}

const result = async (world, call) => (await world.shown(call)).result(call);

covered("a plain run is refused at once, as without us", async (world) => {
  const call = bash(COMMAND);
  const run = plainRun(world, [], call);
  const { text, isError } = await result(world, call);
  assert.equal(isError, true);
  expectIncludes(text, "requires approval");
  await ended(world, run);
  assert.deepEqual(await world.daemon.history(), [], "nothing was asked");
});

covered("a plain run waits if it was told to, and is allowed", async (world) => {
  await world.configure(WAIT);
  const call = bash(COMMAND);
  const run = plainRun(world, [], call);
  const [open] = await world.daemon.opened(call);
  assert.deepEqual([open.kind, open.racing], ["permission", false]);
  await world.daemon.decide(open, "Allow once");
  assert.deepEqual(await result(world, call), { text: "42", isError: false });
  assert.equal((await world.daemon.received(open)).receipt.as_sent, true);
  await ended(world, run);
});

covered("a plain run waits if it was told to, and is denied", async (world) => {
  await world.configure(WAIT);
  const call = bash(COMMAND);
  const run = plainRun(world, [], call);
  const [open] = await world.daemon.opened(call);
  await world.daemon.decide(open, "Not in this run");
  const { text, isError } = await result(world, call);
  assert.equal(isError, true);
  expectIncludes(text, "Not in this run");
  await ended(world, run);
});

covered("a plain run that waits outlives its daemon", async (world) => {
  await world.configure(WAIT);
  const call = bash(COMMAND);
  const run = plainRun(world, [], call);
  await world.daemon.opened(call);
  await world.daemon.restarted(await world.daemon.kill());
  // The daemon may have been killed before it could tell the hook that its call is stored. Then the call comes in again.
  await world.daemon.decide(await world.daemon.openedKind("permission"), "Allow once");
  assert.deepEqual(await result(world, call), { text: "42", isError: false });
  await ended(world, run);
});

covered("answerback run: a permission waits and is allowed", async (world) => {
  const call = bash(COMMAND);
  const run = ourRun(world, [], call);
  const [open] = await world.daemon.opened(call);
  await world.daemon.decide(open, "Allow once");
  assert.deepEqual(await result(world, call), { text: "42", isError: false });
  await ended(world, run);
});

covered("answerback run: a permission is edited and allowed", async (world) => {
  const call = bash("node -p 1+1");
  const run = ourRun(world, [], call);
  const [open] = await world.daemon.opened(call);
  await world.daemon.decide(open, "Allow once", { edited: { command: COMMAND } });
  expectIncludes((await result(world, call)).text, "42");
  await ended(world, run);
});

covered("answerback run: a permission is denied with words", async (world) => {
  const call = bash(COMMAND);
  const run = ourRun(world, [], call);
  const [open] = await world.daemon.opened(call);
  await world.daemon.decide(open, "Not in this run");
  const { text, isError } = await result(world, call);
  assert.equal(isError, true);
  expectIncludes(text, "Not in this run");
  await ended(world, run);
});

covered("answerback run: a plan waits, is approved, and its edits are accepted", async (world) => {
  const [writing, showing, making] = [writePlan(PLAN), exitPlanMode(), write(`${world.project}/basket.mjs`, "export {};\n")];
  world.model.then(writing, showing);
  world.model.then(showing, making);
  const run = ourRun(world, ["--permission-mode", "plan"], writing);
  const [open] = await world.daemon.opened(showing);
  assert.equal(open.subject.plan, PLAN);
  await world.daemon.decide(open, "Approve, accept edits");
  expectIncludes((await result(world, showing)).text, "User has approved your plan");
  await world.shown(making);
  assert.equal(await world.file("basket.mjs"), "export {};\n");
  await ended(world, run);
});

covered("answerback run: a plan is sent back with words", async (world) => {
  const [writing, showing] = [writePlan(PLAN), exitPlanMode()];
  world.model.then(writing, showing);
  const run = ourRun(world, ["--permission-mode", "plan"], writing);
  const [open] = await world.daemon.opened(showing);
  await world.daemon.decide(open, "Keep planning", { note: "tests first" });
  expectIncludes((await result(world, showing)).text, "tests first");
  await ended(world, run);
});

covered("answerback run: two at once, one allowed and one denied", async (world) => {
  const [first, second] = [bash(COMMAND), bash("node -p 1+1")];
  const run = ourRun(world, [], first, second);
  const [open] = await world.daemon.opened(first);
  await world.daemon.decide(open, "Allow once");
  const [other] = await world.daemon.opened(second);
  await world.daemon.decide(other, "Deny");
  assert.deepEqual(await result(world, first), { text: "42", isError: false });
  assert.equal((await result(world, second)).isError, true);
  await ended(world, run);
});

covered("answerback run: what is handed back to a terminal is denied, because there is none", async (world) => {
  const call = bash(COMMAND);
  const run = ourRun(world, [], call);
  const [open] = await world.daemon.opened(call);
  await world.daemon.release(open);
  const { text, isError } = await result(world, call);
  assert.equal(isError, true);
  expectIncludes(text, "this run has no terminal");
  await ended(world, run);
});

covered("answerback run: a run that is killed takes its question back", async (world) => {
  const call = bash(COMMAND);
  const run = ourRun(world, [], call);
  const [open] = await world.daemon.opened(call);
  run.child.kill("SIGKILL");
  await within("the run ending", run.exited);
  assert.equal((await world.daemon.settled(open)).outcome.kind, "withdrawn");
  await world.noHookLeft();
});

covered("answerback run: a permission outlives its daemon", async (world) => {
  const call = bash(COMMAND);
  const run = ourRun(world, [], call);
  await world.daemon.opened(call);
  await world.daemon.restarted(await world.daemon.kill());
  const [open] = await world.daemon.opened(call);
  await world.daemon.decide(open, "Allow once");
  assert.deepEqual(await result(world, call), { text: "42", isError: false });
  await ended(world, run);
});

scenario("unattended: answerback run: with permissions not covered, they are denied at once", async (world) => {
  const call = bash(COMMAND);
  const run = ourRun(world, [], call);
  const { text, isError } = await result(world, call);
  assert.equal(isError, true);
  expectIncludes(text, "answerback install --permissions");
  await ended(world, run);
});

covered("answerback run: a question still gets its answer", async (world) => {
  const call = ask(DATABASE);
  const run = ourRun(world, [], call);
  const [open] = await world.daemon.opened(call);
  await world.daemon.answer(open, { [DATABASE.question]: "SQLite" });
  expectAnswered(await world.shown(call), call, { [DATABASE.question]: "SQLite" });
  await ended(world, run);
});

covered("a host that allows at once leaves no ask behind", async (world) => {
  await world.configure(WAIT);
  const call = bash(COMMAND);
  const client = streamJson(world, Host.allowing(call));
  const turn = client.prompt(call);
  assert.deepEqual(await result(world, call), { text: "42", isError: false });
  await turn.finish();
  await world.noHookLeft();
  await world.daemon.noneOpen();
  await client.close();
});

covered("beside a host that takes its time, an answer from us wins", async (world) => {
  await world.configure(WAIT);
  const call = bash(COMMAND);
  const client = streamJson(world, Host.silent(call));
  const turn = client.prompt(call);
  const [open] = await world.daemon.opened(call);
  await world.daemon.decide(open, "Allow once");
  assert.deepEqual(await result(world, call), { text: "42", isError: false });
  await turn.finish();
  assert.equal((await world.daemon.received(open)).receipt.as_sent, true);
  await client.close();
});
