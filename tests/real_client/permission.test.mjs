// Permissions in an interactive session: the terminal's own dialog and the daemon at once, and the first answer wins.
import assert from "node:assert/strict";
import { Dialog } from "./lib/dialog.mjs";
import { interactive } from "./lib/drivers/interactive.mjs";
import { expectIncludes } from "./lib/expect.mjs";
import { note, shop } from "./lib/mcp/shop.mjs";
import { asked, ASKING, LOCAL_SETTINGS, promptFor } from "./lib/sessions.mjs";
import { scenario } from "./lib/world.mjs";
import { agent, bash, edit, read, webFetch, write } from "../lib/calls.mjs";
import { until } from "../lib/until.mjs";

const COMMAND = "node -p 40+2";
const RULE = `Bash(${COMMAND})`;
const REJECTED = "Not run · rejected";

/** A test in a world where permissions come to us. */
function covered(name, body) {
  scenario(`permission: ${name}`, async (world) => {
    await world.coverAll();
    await body(world);
  });
}

/** The tool ran as it was allowed elsewhere, and the ask says so. Resolves to the ask. */
async function allowed(world, { terminal, open, dialog }, call, label = "Allow once") {
  const { text, isError } = (await world.shown(call)).result(call);
  assert.equal(isError, false, text);
  await dialog.gone();
  await terminal.shows("Allowed by PermissionRequest hook");
  await terminal.shows("done");
  const ask = await world.daemon.received(open);
  assert.deepEqual([ask.outcome.kind, Object.values(ask.outcome.answers)], ["answered", [label]]);
  assert.equal(ask.receipt.as_sent, true);
  await world.noHookLeft();
  return ask;
}

/** The tool did not run, the model was told these words, and the ask says so. */
async function denied(world, { terminal, open, dialog }, call, words) {
  const { text, isError } = (await world.shown(call)).result(call);
  assert.equal(isError, true, text);
  expectIncludes(text, words);
  await dialog.gone();
  await terminal.shows("Denied by PermissionRequest hook");
  await terminal.shows("done");
  const { outcome, receipt } = await world.daemon.received(open);
  assert.deepEqual([outcome.kind, receipt.as_sent], ["answered", true]);
  await world.noHookLeft();
  return outcome;
}

/** These rules, and nothing else, are in the settings. Claude Code may write them after it has run the tool. */
async function granted(world, ...rules) {
  await world.appears(LOCAL_SETTINGS);
  assert.deepEqual(JSON.parse(await world.file(LOCAL_SETTINGS)), { permissions: { allow: rules } });
}

const result = async (world, call) => (await world.shown(call)).result(call).text;

covered("allowed elsewhere, the dialog closes and the command runs", async (world) => {
  const call = bash(COMMAND);
  const session = await asked(world, call);
  const { subject } = session.open;
  assert.deepEqual(
    [subject.tool, subject.command, subject.directory, subject.input],
    ["Bash", COMMAND, world.project, call.input],
  );
  await world.daemon.decide(session.open, "Allow once");
  await allowed(world, session, call);
  assert.equal(await result(world, call), "42");
  assert.equal(await world.file(LOCAL_SETTINGS), null);
  const [{ outcome }] = await world.daemon.history();
  assert.equal(outcome.by.channel, "token");
});

covered("a long command arrives whole", async (world) => {
  const command = `node -p '"${"x".repeat(40_000)}".length'`;
  const call = bash(command);
  const session = await asked(world, call);
  assert.equal(session.open.subject.command, command);
  assert.ok(session.open.questions[0].question.length < 20_000);
  await world.daemon.decide(session.open, "Allow once");
  await allowed(world, session, call);
  assert.equal(await result(world, call), "40000");
});

covered("edited and allowed, the edited command runs and the model is told", async (world) => {
  const call = bash("node -p 1+1");
  const session = await asked(world, call);
  await world.daemon.decide(session.open, "Allow once", { edited: { command: COMMAND } });
  const { outcome } = await allowed(world, session, call);
  assert.deepEqual(outcome.edited, { command: COMMAND });
  assert.equal(await result(world, call), "42");
  const { blocks } = await world.shown(call);
  assert.ok(blocks.some(({ text }) => text?.includes("The user edited the input") && text.includes(COMMAND)), JSON.stringify(blocks));
});

covered("always: the rule is written, the same command asks no more, and another one does", async (world) => {
  const [first, same, other] = [bash(COMMAND), bash(COMMAND), bash("node -p 1+1")];
  const session = await asked(world, first);
  const [grant] = session.open.subject.grants;
  assert.deepEqual(session.open.subject.grants, [{ label: `Always allow ${RULE}`, rules: [RULE], file: LOCAL_SETTINGS }]);
  await world.daemon.decide(session.open, grant.label);
  await allowed(world, session, first, grant.label);
  await granted(world, RULE);

  await promptFor(world, session.terminal, same, "once more");
  assert.equal(await result(world, same), "42");
  await promptFor(world, session.terminal, other, "another one");
  const [open] = await world.daemon.opened(other);
  await world.daemon.decide(open, "Deny");
  assert.equal((await world.shown(other)).result(other).isError, true);
});

covered("always, and revoked: the next session asks again", async (world) => {
  const [first, again] = [bash(COMMAND), bash(COMMAND)];
  const session = await asked(world, first);
  const label = `Always allow ${RULE}`;
  await world.daemon.decide(session.open, label);
  await allowed(world, session, first, label);
  await granted(world, RULE);
  await session.terminal.close();
  expectIncludes(await world.answerback("grants"), RULE);
  await world.answerback("grants", "revoke", RULE);
  assert.deepEqual(JSON.parse(await world.file(LOCAL_SETTINGS)).permissions?.allow ?? [], []);
  const next = await asked(world, again);
  await world.daemon.decide(next.open, "Allow once");
  await allowed(world, next, again);
});

covered("denied with words of one's own", async (world) => {
  const call = bash(COMMAND);
  const session = await asked(world, call);
  await world.daemon.decide(session.open, "Use the calculator instead");
  await denied(world, session, call, "Use the calculator instead");
});

covered("denied with a note", async (world) => {
  const call = bash(COMMAND);
  const session = await asked(world, call);
  await world.daemon.decide(session.open, "Deny", { note: "Not on a Friday" });
  const outcome = await denied(world, session, call, "Not on a Friday");
  assert.deepEqual(Object.values(outcome.notes), ["Not on a Friday"]);
});

covered("words that look like a label deny too", async (world) => {
  const call = bash(COMMAND);
  const session = await asked(world, call);
  await world.daemon.decide(session.open, "allow once, please");
  await denied(world, session, call, "allow once, please");
});

covered("dismissed, the call is denied with the reason", async (world) => {
  const call = bash(COMMAND);
  const { terminal, open, dialog } = await asked(world, call);
  await world.daemon.dismiss(open, "I do not know this command.");
  const { text, isError } = (await world.shown(call)).result(call);
  assert.equal(isError, true);
  expectIncludes(text, "I do not know this command.");
  await dialog.gone();
  await terminal.shows("done");
  assert.equal((await world.daemon.settled(open)).outcome.kind, "dismissed");
  await world.noHookLeft();
});

covered("yes at the terminal settles the ask, and the hook beside it ends", async (world) => {
  const call = bash(COMMAND);
  const { terminal, open, dialog } = await asked(world, call);
  await dialog.choose("Yes");
  assert.equal(await result(world, call), "42");
  await terminal.shows("done");
  const { outcome } = await world.daemon.settled(open);
  assert.deepEqual([outcome.kind, Object.values(outcome.answers), outcome.by.channel], ["answered_in_terminal", ["Allowed"], "terminal"]);
  await world.noHookLeft();
});

covered("yes at the terminal to a command that fails", async (world) => {
  const call = bash("node -e 'process.exit(3)'");
  const { open, dialog } = await asked(world, call);
  await dialog.choose("Yes");
  expectIncludes(await result(world, call), "Exit code 3");
  const { outcome } = await world.daemon.settled(open);
  assert.deepEqual([outcome.kind, Object.values(outcome.answers)], ["answered_in_terminal", ["Allowed"]]);
  await world.noHookLeft();
});

covered("no with words at the terminal settles the ask with these words", async (world) => {
  const call = bash(COMMAND);
  const { terminal, open, dialog } = await asked(world, call);
  await dialog.refuse("use the calculator");
  expectIncludes(await result(world, call), "use the calculator");
  await terminal.shows(REJECTED);
  await terminal.shows("done");
  const { outcome } = await world.daemon.settled(open);
  assert.deepEqual([outcome.kind, Object.values(outcome.answers)], ["answered_in_terminal", ["Deny"]]);
  assert.deepEqual(Object.values(outcome.notes), ["use the calculator"]);
  await world.noHookLeft();
});

for (const name of ["Esc", "no without words"]) {
  covered(`${name} at the terminal withdraws the ask`, async (world) => {
    const call = bash(COMMAND);
    const { open, dialog } = await asked(world, call);
    await (name === "Esc" ? dialog.leave("Escape") : dialog.choose("No"));
    assert.equal((await world.daemon.settled(open)).outcome.kind, "withdrawn");
    await world.noHookLeft();
    assert.equal(world.model.wasShown(call), false);
  });
}

covered("a closed terminal withdraws the ask", async (world) => {
  const { terminal, open } = await asked(world, bash(COMMAND));
  await terminal.close();
  assert.equal((await world.daemon.settled(open)).outcome.kind, "withdrawn");
  await world.noHookLeft();
});

for (const word of ["Deny", "Always"]) {
  covered(`"${word}" does nothing to a command that the terminal has let run`, async (world) => {
    // The command tells that it runs, and ends when the test says so.
    const call = bash(`${COMMAND}; touch runs; until [ -e end ]; do sleep 0.05; done; echo over`);
    const { terminal, open, dialog } = await asked(world, call);
    const { label } = open.questions[0].options.find((option) => option.label.startsWith(word));
    await dialog.choose("Yes");
    await world.appears("runs");
    await world.daemon.decide(open, label);
    await world.put("end", "");
    expectIncludes(await result(world, call), "over");
    await terminal.shows("done");
    assert.equal(await world.file(LOCAL_SETTINGS), null);
    const { outcome, receipt } = await world.daemon.received(open);
    assert.deepEqual([outcome.kind, receipt.as_sent], ["answered", word !== "Deny"]);
    await world.noHookLeft();
  });
}

covered("a call that is made again needs its own answer", async (world) => {
  const [first, second] = [bash(COMMAND), bash(COMMAND)];
  const session = await asked(world, first);
  await world.daemon.decide(session.open, "Allow once");
  await allowed(world, session, first);
  await promptFor(world, session.terminal, second, "once more");
  const [open] = await world.daemon.opened(second);
  await Dialog.permission(session.terminal);
  assert.equal(world.model.wasShown(second), false);
  await world.daemon.decide(open, "Deny");
  assert.equal((await world.shown(second)).result(second).isError, true);
});

covered("two calls in one message, allowed and denied one after the other", async (world) => {
  const calls = [bash("node -p 1+1"), bash(COMMAND)];
  const terminal = await interactive(world, calls, ASKING);
  for (const [index, label] of [[0, "Deny"], [1, "Allow once"]]) {
    const [open] = await world.daemon.opened(calls[index]);
    await world.daemon.decide(open, label);
  }
  const shown = await world.shown(calls[1]);
  assert.deepEqual(calls.map((call) => shown.result(call).isError), [true, false]);
  await terminal.shows("done");
  await world.noHookLeft();
});

covered("two at once, one allowed here and one there", async (world) => {
  const server = shop(world);
  const calls = [note({ text: "tea" }), note({ text: "coffee" })];
  const terminal = await interactive(world, calls, `${ASKING} ${server.args.join(" ")}`, server.ready);
  const asks = await world.daemon.opened(...calls);
  // Whose dialog comes first is up to the client.
  const dialog = await Dialog.permission(terminal);
  const first = (await terminal.screen()).includes("tea") ? 0 : 1;
  const [there, here] = [first, 1 - first];
  await world.daemon.decide(asks[there], "Allow once");
  await terminal.shows(calls[here].input.text);
  await dialog.choose("Yes");
  const shown = await world.shown(calls[there]);
  for (const call of calls) assert.deepEqual(JSON.parse(shown.result(call).text), call.input);
  await terminal.shows("done");
  const ends = await Promise.all(asks.map((each) => world.daemon.settled(each)));
  assert.deepEqual([ends[there].outcome.kind, ends[here].outcome.kind], ["answered", "answered_in_terminal"]);
  await world.noHookLeft();
});

covered("an edit shows the change with its line numbers", async (world) => {
  const file = await world.put("shop.txt", "one\ntwo\nthree\n");
  const [reading, editing] = [read(file), edit(file, "two", "zwei")];
  world.model.then(reading, editing);
  const terminal = await interactive(world, reading, ASKING);
  const [open] = await world.daemon.opened(editing);
  const { path, diff, grants } = open.subject;
  assert.deepEqual([path, grants], [file, []]);
  assert.deepEqual(diff, { isNew: false, replacesUnseen: false, hunks: [{ old: 1, new: 1, lines: [" one", "-two", "+zwei", " three"] }] });
  const session = { terminal, open, dialog: await Dialog.permission(terminal) };
  await world.daemon.decide(open, "Allow once");
  await allowed(world, session, editing);
  assert.equal(await world.file("shop.txt"), "one\nzwei\nthree\n");
});

covered("a new file, edited before it is written", async (world) => {
  const call = write(`${world.project}/new.txt`, "one\n");
  const session = await asked(world, call);
  assert.deepEqual(session.open.subject.diff, { isNew: true, replacesUnseen: false, hunks: [{ old: 1, new: 1, lines: ["+one"] }] });
  await world.daemon.decide(session.open, "Allow once", { edited: { content: "two\n" } });
  await allowed(world, session, call);
  assert.equal(await world.file("new.txt"), "two\n");
});

covered("a page shows its whole address", async (world) => {
  const call = webFetch("https://docs.example.test/guide?page=2#top");
  const session = await asked(world, call);
  const { url, grants } = session.open.subject;
  assert.equal(url, call.input.url);
  assert.deepEqual(grants.map(({ rules }) => rules), [["WebFetch(domain:docs.example.test)"]]);
  // An allowed call would leave this machine.
  await world.daemon.decide(session.open, "Deny");
  await denied(world, session, call, "denied");
});

covered("a tool of an MCP server shows the server and the input", async (world) => {
  const server = shop(world);
  const call = note({ text: "tea", lines: [1, { sugar: true }] });
  const terminal = await interactive(world, call, `${ASKING} ${server.args.join(" ")}`, server.ready);
  const [open] = await world.daemon.opened(call);
  assert.deepEqual([open.subject.server, open.subject.input], ["shop", call.input]);
  const label = `Always allow ${call.tool}`;
  const session = { terminal, open, dialog: await Dialog.permission(terminal) };
  await world.daemon.decide(open, label);
  await allowed(world, session, call, label);
  await granted(world, call.tool);
});

covered("with edits accepted, only the command asks", async (world) => {
  const [writing, running] = [write(`${world.project}/new.txt`, "one\n"), bash(COMMAND)];
  world.model.then(writing, running);
  const terminal = await interactive(world, writing, "--permission-mode acceptEdits");
  const [open] = await world.daemon.opened(running);
  assert.equal(await world.file("new.txt"), "one\n");
  const session = { terminal, open, dialog: await Dialog.permission(terminal) };
  await world.daemon.decide(open, "Allow once");
  await allowed(world, session, running);
});

covered("a daemon that is killed comes back, and the call is still allowed from elsewhere", async (world) => {
  const call = bash(COMMAND);
  const session = await asked(world, call);
  await world.daemon.restarted(await world.daemon.kill());
  const [open] = await world.daemon.opened(call);
  assert.equal(open.key, session.open.key);
  await world.daemon.decide(open, "Allow once");
  await allowed(world, session, call);
});

const PART = "look into the shop";

/** A session whose background subagent wants to run this command. */
async function withSubagent(world, call) {
  world.model.onNextPrompt([call], PART);
  const start = agent(PART);
  const terminal = await interactive(world, start, ASKING);
  await world.shown(start);
  return terminal;
}

covered("a background subagent is left to a person at the terminal", async (world) => {
  const call = bash(COMMAND);
  const terminal = await withSubagent(world, call);
  const dialog = await Dialog.permission(terminal, "from the general-purpose agent");
  assert.deepEqual(await world.daemon.history(), []);
  await dialog.choose("Yes");
  assert.equal(await result(world, call), "42");
  await world.noHookLeft();
});

scenario("permission: held, a background subagent's request outlives the end of the main turn", async (world) => {
  await world.coverAll("--mode", "hold");
  const call = bash(COMMAND);
  const terminal = await withSubagent(world, call);
  const [open] = await world.daemon.opened(call);
  assert.equal(open.racing, false);
  expectIncludes(JSON.stringify(open.subject), '"type":"general-purpose"');
  await terminal.shows("Waiting for 1 background agent to finish");
  assert.equal((await world.daemon.seen(open)).state, "open");
  await world.daemon.decide(open, "Allow once");
  assert.equal(await result(world, call), "42");
  assert.equal((await world.daemon.received(open)).receipt.as_sent, true);
  await world.noHookLeft();
});

// Newer versions run subagents in the foreground only if they must.
scenario("permission: held, Esc at a foreground subagent's dialog ends the ask", async (world) => {
  await world.coverAll("--mode", "hold");
  const call = bash(COMMAND);
  world.extraEnv = { CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: "1" };
  world.model.onNextPrompt([call], PART);
  const terminal = await interactive(world, agent(PART), ASKING);
  const [open] = await world.daemon.opened(call);
  const dialog = await Dialog.permission(terminal);
  await dialog.leave("Escape");
  const { outcome } = await world.daemon.settled(open);
  assert.notEqual(outcome.kind, "answered");
  expectIncludes(await result(world, call), "was denied");
  await world.noHookLeft();
});

scenario("permission: not covered, nothing about other tools changes and no process is started for them", async (world) => {
  const heard = await world.listenToHooks();
  await world.answerback("install", "--project", world.project);
  const call = bash(COMMAND);
  const terminal = await interactive(world, call, ASKING);
  const dialog = await Dialog.permission(terminal, COMMAND);
  await dialog.choose("Yes");
  assert.equal(await result(world, call), "42");
  await terminal.shows("done");
  await until("the end of the turn", async () => (await heard()).includes("Stop"));
  assert.deepEqual([...new Set(await heard())].sort(), ["Stop", "UserPromptSubmit"]);
  assert.equal(await world.daemon.record(), null, "no daemon was needed");
});
