// The hosts in clients/examples: canUseTool of both Agent SDKs, and stream-json. Each hands to Answerback what Claude Code asks it, and
// asks in its own terminal at the same time.
import assert from "node:assert/strict";
import fs from "node:fs/promises";
import path from "node:path";
import { EXAMPLES, exampleHost } from "./lib/drivers/example_host.mjs";
import { expectIncludes } from "./lib/expect.mjs";
import { LOCAL_SETTINGS } from "./lib/sessions.mjs";
import { scenario } from "./lib/world.mjs";
import { bash, exitPlanMode, write, writePlan } from "../lib/calls.mjs";
import { ask, TWO_DATABASES as DATABASE } from "../lib/questions.mjs";
import { within } from "../lib/until.mjs";

const COMMAND = "node -p 40+2";
const PLAN = "# Shop\n\n1. Add a basket\n";
const YES = { text: "42", isError: false };

const result = async (world, call) => (await world.shown(call)).result(call);

/** How all asks have ended, as soon as none is open. */
async function outcomes(world) {
  await world.daemon.noneOpen();
  return (await world.daemon.history()).map(({ outcome }) => outcome.kind);
}

/** What the model does in plan mode, and a call that needs no further permission after the approval. */
function planning(world) {
  const [writing, showing, making] = [writePlan(PLAN), exitPlanMode(), write(`${world.project}/basket.mjs`, "export {};\n")];
  world.model.then(writing, showing);
  world.model.then(showing, making);
  return { writing, showing, making };
}

for (const example of EXAMPLES) {
  /** A test in a world where only the host asks. */
  const alone = (name, body) =>
    scenario(`host: ${example}: ${name}`, async (world) => {
      await world.answerback("uninstall", "--project", world.project);
      await body(world);
    });

  /** A test in a world where the hook asks about everything, too, also in one-shot runs. */
  const withHook = (name, body) =>
    scenario(`host: ${example} and the hook: ${name}`, async (world) => {
      await world.configure('[permissions]\nunattended = "wait"\n');
      await world.coverAll();
      await body(world);
    });

  alone("a question with a note", async (world) => {
    const call = ask(DATABASE);
    const run = await exampleHost(world, example, [call]);
    const [open] = await world.daemon.opened(call);
    assert.deepEqual([open.kind, open.project, open.questions], ["question", world.project, call.input.questions]);
    await world.daemon.answer(open, { [DATABASE.question]: "SQLite" }, { [DATABASE.question]: "for now" });
    expectIncludes((await result(world, call)).text, `"${DATABASE.question}"="SQLite" notes: for now`);
    await run.finish();
  });

  alone("a permission is granted as a rule", async (world) => {
    const call = bash(COMMAND);
    const run = await exampleHost(world, example, [call]);
    const [open] = await world.daemon.opened(call);
    assert.deepEqual([open.kind, open.subject.command], ["permission", COMMAND]);
    await world.daemon.decide(open, `Always allow Bash(${COMMAND})`);
    assert.deepEqual(await result(world, call), YES);
    await run.finish();
    expectIncludes(await world.file(LOCAL_SETTINGS), `Bash(${COMMAND})`);
  });

  alone("a permission is edited, and another one denied with words", async (world) => {
    const [first, second] = [bash("node -p 1+1"), bash(COMMAND)];
    world.model.then(first, second);
    const run = await exampleHost(world, example, [first]);
    const [open] = await world.daemon.opened(first);
    await world.daemon.decide(open, "Allow once", { edited: { command: "node -p 20+1" } });
    expectIncludes((await result(world, first)).text, "21");
    const [other] = await world.daemon.opened(second);
    await world.daemon.decide(other, "Not in this run");
    const denied = await result(world, second);
    assert.equal(denied.isError, true);
    expectIncludes(denied.text, "Not in this run");
    await run.finish();
  });

  alone("a plan is approved, and its edits are accepted", async (world) => {
    const { writing, showing, making } = planning(world);
    const run = await exampleHost(world, example, [writing], "plan");
    const [open] = await world.daemon.opened(showing);
    assert.deepEqual([open.kind, open.subject.plan], ["plan", PLAN]);
    await world.daemon.decide(open, "Approve, accept edits");
    expectIncludes((await result(world, showing)).text, "User has approved your plan");
    await world.shown(making);
    assert.equal(await world.file("basket.mjs"), "export {};\n");
    await run.finish();
  });

  alone("what is handed back is decided by the host", async (world) => {
    const call = ask(DATABASE);
    const run = await exampleHost(world, example, [call]);
    const [open] = await world.daemon.opened(call);
    await world.daemon.release(open);
    await run.asks();
    run.say("Postgres");
    expectIncludes((await result(world, call)).text, `"${DATABASE.question}"="Postgres"`);
    await run.finish();
    assert.deepEqual(await outcomes(world), ["released"]);
  });

  alone("a host that is first takes its ask back", async (world) => {
    const call = bash(COMMAND);
    const run = await exampleHost(world, example, [call]);
    await world.daemon.opened(call);
    await run.asks();
    run.say("yes");
    assert.deepEqual(await result(world, call), YES);
    await run.finish();
    assert.deepEqual(await outcomes(world), ["withdrawn"]);
  });

  alone("a host that is cancelled by another hook takes its ask back", async (world) => {
    const decided = path.join(world.home, "decided");
    const decision = { hookSpecificOutput: { hookEventName: "PermissionRequest", decision: { behavior: "allow" } } };
    const script = `while [ ! -e ${decided} ]; do sleep 0.05; done; echo '${JSON.stringify(decision)}'`;
    const hooks = { PermissionRequest: [{ matcher: "*", hooks: [{ type: "command", command: script }] }] };
    await fs.mkdir(path.join(world.project, ".claude"), { recursive: true });
    await fs.writeFile(path.join(world.project, ".claude/settings.json"), JSON.stringify({ hooks }));
    const call = bash(COMMAND);
    const run = await exampleHost(world, example, [call]);
    await world.daemon.opened(call);
    await run.asks();
    await fs.writeFile(decided, "");
    assert.deepEqual(await result(world, call), YES);
    await run.finish();
    assert.deepEqual(await outcomes(world), ["withdrawn"]);
  });

  alone("a host that is killed takes its ask back", async (world) => {
    const call = ask(DATABASE);
    const run = await exampleHost(world, example, [call]);
    const [open] = await world.daemon.opened(call);
    run.host.child.kill("SIGKILL");
    assert.equal((await world.daemon.settled(open)).outcome.kind, "withdrawn");
    await within("the host ending", run.host.exited);
  });

  alone("an ask outlives the daemon", async (world) => {
    const call = bash(COMMAND);
    const run = await exampleHost(world, example, [call]);
    await world.daemon.opened(call);
    const pid = await world.daemon.kill();
    // The host waits for the daemon, and does not start one.
    await world.answerback("pending");
    await world.daemon.restarted(pid);
    const [open] = await world.daemon.opened(call);
    await world.daemon.decide(open, "Allow once");
    assert.deepEqual(await result(world, call), YES);
    await run.finish();
    assert.deepEqual(await outcomes(world), ["answered"]);
  });

  withHook("a question is asked once", async (world) => {
    const call = ask(DATABASE);
    const run = await exampleHost(world, example, [call]);
    const [open] = await world.daemon.opened(call);
    await world.daemon.answer(open, { [DATABASE.question]: "SQLite" });
    expectIncludes((await result(world, call)).text, `"${DATABASE.question}"="SQLite"`);
    await run.finish();
    assert.deepEqual(await outcomes(world), ["answered"]);
    assert.equal(run.host.stderr, "", "the host was not asked");
  });

  withHook("a question that is handed back goes to the host alone", async (world) => {
    const call = ask(DATABASE);
    const run = await exampleHost(world, example, [call]);
    const [open] = await world.daemon.opened(call);
    await world.daemon.release(open);
    await run.asks();
    run.say("Postgres");
    expectIncludes((await result(world, call)).text, `"${DATABASE.question}"="Postgres"`);
    await run.finish();
    assert.deepEqual(await outcomes(world), ["released"]);
  });

  withHook("a permission is asked once", async (world) => {
    const call = bash(COMMAND);
    const run = await exampleHost(world, example, [call]);
    const [open] = await world.daemon.opened(call);
    await run.asks();
    await world.daemon.decide(open, "Allow once");
    assert.deepEqual(await result(world, call), YES);
    await run.finish();
    assert.deepEqual(await outcomes(world), ["answered"]);
    await world.noHookLeft();
  });

  withHook("a host that is first ends the ask", async (world) => {
    const call = bash(COMMAND);
    const run = await exampleHost(world, example, [call]);
    await world.daemon.opened(call);
    await run.asks();
    run.say("yes");
    assert.deepEqual(await result(world, call), YES);
    await run.finish();
    const [outcome, ...others] = await outcomes(world);
    // It depends on whether the hook or the host has opened the ask, and on whether the report of the hook comes within the two seconds.
    assert.ok(["answered_in_terminal", "withdrawn"].includes(outcome), outcome);
    assert.deepEqual(others, []);
    await world.noHookLeft();
  });

  withHook("a plan is asked once", async (world) => {
    const { writing, showing, making } = planning(world);
    const run = await exampleHost(world, example, [writing], "plan");
    const [open] = await world.daemon.opened(showing);
    await run.asks();
    await world.daemon.decide(open, "Approve, accept edits");
    await world.shown(making);
    await run.finish();
    assert.deepEqual(await outcomes(world), ["answered"]);
    await world.noHookLeft();
  });
}
