// `decide` of the TypeScript client: the call of a host, and what the host returns to Claude Code.
import assert from "node:assert/strict";
import { connect, firstDecision } from "../../clients/typescript/index.js";
import { bash, exitPlanMode } from "../lib/calls.mjs";
import { ask, DATABASE } from "../lib/questions.mjs";
import { failure, scenario } from "./lib.mjs";

const SUGGESTION = { type: "addRules", rules: [{ toolName: "Bash", ruleContent: "npm test" }], behavior: "allow", destination: "localSettings" };

/** The call of a host. */
const callOf = ({ id, tool, input }, more = {}) => ({ session: "s", toolUseId: id, tool, input, directory: "/home/me/shop", ...more });

scenario("typescript: decide returns what canUseTool must return", async (world) => {
  const client = await world.client();
  const plan = { ...exitPlanMode(), input: { plan: "# Shop", planFilePath: "/plan.md" } };
  const question = ask(DATABASE);
  const command = bash("npm test");
  const setMode = { type: "setMode", mode: "acceptEdits", destination: "session" };
  /** @type {[any, string, object, object][]} */
  const cases = [
    [question, "SQLite", {}, { behavior: "allow", updatedInput: { ...question.input, answers: { [DATABASE.question]: "SQLite" } } }],
    [command, "Allow once", {}, { behavior: "allow", updatedInput: command.input }],
    [command, "Always allow Bash(npm test)", {}, { behavior: "allow", updatedInput: command.input, updatedPermissions: [SUGGESTION] }],
    [command, "Allow once", { edited: { command: "pwd" } }, { behavior: "allow", updatedInput: { ...command.input, command: "pwd" } }],
    [command, "Use pnpm", {}, { behavior: "deny", message: 'The user denied this call and said: "Use pnpm"' }],
    [plan, "Approve, accept edits", {}, { behavior: "allow", updatedInput: {}, updatedPermissions: [setMode] }],
  ];
  for (const [call, label, more, expected] of cases) {
    const once = { ...call, id: `${call.id}${Math.random().toString(36).slice(2)}` };
    const deciding = client.decide(callOf(once, { suggestions: [SUGGESTION] }));
    const [open] = await world.daemon.opened(once);
    assert.deepEqual([open.project, open.session], ["/home/me/shop", "s"]);
    await world.daemon.decide(open, label, more);
    assert.deepEqual(await deciding, expected, label);
  }
});

scenario("typescript: what is handed back or dismissed", async (world) => {
  const client = await world.client();
  const [released, dismissed] = [ask(DATABASE), ask(DATABASE)];
  const deciding = client.decide(callOf(released));
  await world.daemon.release((await world.daemon.opened(released))[0]);
  assert.equal(await deciding, null);
  const refusing = client.decide(callOf(dismissed));
  await world.daemon.dismiss((await world.daemon.opened(dismissed))[0], "Not now.");
  const refused = await refusing;
  assert.ok(refused?.behavior === "deny" && refused.message.includes("Not now."), JSON.stringify(refused));
});

scenario("typescript: a decision that is aborted is withdrawn", async (world) => {
  const client = await world.client();
  const call = bash("npm test");
  const host = new AbortController();
  const deciding = client.decide(callOf(call), { signal: host.signal });
  const [open] = await world.daemon.opened(call);
  host.abort(new Error("interrupted"));
  await assert.rejects(deciding, /interrupted/);
  assert.equal((await world.daemon.settled(open)).outcome.kind, "withdrawn");
});

scenario("typescript: a decision outlives the daemon", async (world) => {
  const client = await world.client();
  const call = bash("npm test");
  const deciding = client.decide(callOf(call));
  await world.daemon.opened(call);
  await world.daemon.kill();
  await world.startDaemon();
  await world.daemon.decide((await world.daemon.opened(call))[0], "Deny");
  assert.deepEqual(await deciding, { behavior: "deny", message: "The user denied this call." });
});

scenario("typescript: an address needs the token of hooks", async (world) => {
  const { url, token, hook_token: hookToken } = /** @type {any} */ (await world.daemon.running());
  const call = bash("npm test");
  const without = await connect({ url, token });
  assert.equal((await failure(without.decide(callOf(call)))).kind, "unauthorized");
  const deciding = (await connect({ url, token, hookToken })).decide(callOf(call));
  await world.daemon.decide((await world.daemon.opened(call))[0], "Allow once");
  assert.equal((await deciding)?.behavior, "allow");
});

scenario("typescript: the first decision of several askers counts", async () => {
  const allow = { behavior: "allow", updatedInput: {} };
  const never = (signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  let stopped = 0;
  const stops = (signal) => never(signal).finally(() => (stopped += 1));
  const failing = async () => Promise.reject(new Error("not there"));
  assert.equal(await firstDecision([stops, async () => null, failing, async () => allow]), allow);
  assert.equal(await firstDecision([async () => null, async () => null]), null);
  await assert.rejects(firstDecision([async () => null, failing]), /not there/);
  const host = new AbortController();
  const waiting = firstDecision([stops, stops], { signal: host.signal });
  host.abort(new Error("interrupted"));
  await assert.rejects(waiting, /interrupted/);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(stopped, 3);
});
