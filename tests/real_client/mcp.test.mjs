// `answerback mcp` with the real Claude Code: the tool `ask_human` asks a person through the inbox.
import assert from "node:assert/strict";
import { agent } from "../lib/calls.mjs";
import { within } from "../lib/until.mjs";
import { Dialog } from "./lib/dialog.mjs";
import { ourRun, plainRun } from "./lib/drivers/runs.mjs";
import { expectIncludes } from "./lib/expect.mjs";
import { askHuman, served, serveWith, session } from "./lib/mcp/human.mjs";
import { interrupt, received } from "./lib/sessions.mjs";
import { scenario } from "./lib/world.mjs";

const DATABASE = { question: "Which database?", header: "Database", options: [{ label: "SQLite", description: "One file" }, { label: "PostgreSQL" }] };
const PARTS = { question: "Which parts?", options: [{ label: "Tests" }, { label: "Docs" }], multiSelect: true };
const NAME = { question: "Which name?" };
const CLAUDE_CODE = /^Claude Code \d/;
const ENDED = { code: 0, signal: null };
const ANSWERED = { question: DATABASE.question, answer: "SQLite" };

/** The ask of the only call that waits. @param {import("./lib/world.mjs").ClientWorld} world */
const opened = (world) => world.daemon.openedKind("question");

/**
 * Answers the question about the database.
 * @param {import("./lib/world.mjs").ClientWorld} world
 * @param {Ask} open
 */
const answer = (world, open) => world.daemon.answer(open, { [DATABASE.question]: "SQLite" });

scenario("MCP: a one-shot run asks, and the model gets every answer", async (world) => {
  const call = askHuman({ questions: [DATABASE, PARTS, NAME], timeout_seconds: 600 });
  const run = plainRun(world, await served(world), call);
  const open = await opened(world);
  assert.deepEqual([open.origin, open.project], ["program", world.project]);
  assert.match(open.asked_by ?? "", CLAUDE_CODE);
  assert.ok(open.expires_at);
  await world.daemon.answer(open, { [DATABASE.question]: "SQLite", [PARTS.question]: ["Tests", "Docs"], [NAME.question]: "shop" }, { [NAME.question]: "for now" });
  const { outcome, answers, by } = await received(world, call);
  assert.deepEqual([outcome, by.channel], ["answered", "token"]);
  assert.deepEqual(answers, [
    ANSWERED,
    { question: PARTS.question, answer: "Tests, Docs", choices: ["Tests", "Docs"] },
    { question: NAME.question, answer: "shop", note: "for now" },
  ]);
  assert.deepEqual(await within("claude -p ending", run.exited), ENDED);
});

scenario("MCP: dismissed, the model is told not to make up an answer", async (world) => {
  const call = askHuman({ questions: [DATABASE] });
  plainRun(world, await served(world), call);
  await world.daemon.dismiss(await opened(world), "ask Anna");
  const { outcome, answers, reason, message } = await received(world, call);
  assert.deepEqual([outcome, answers, reason], ["dismissed", [], "ask Anna"]);
  expectIncludes(message, "Do not make one up");
});

scenario("MCP: arguments that do not fit are an error that the model can read", async (world) => {
  const call = askHuman({ questions: [{ question: "Which?", options: ["A"] }] });
  plainRun(world, await served(world), call);
  const { text, isError } = (await world.shown(call)).result(call);
  assert.ok(isError);
  expectIncludes(text, "an object with a `label`");
});

scenario("MCP: a subagent can ask, too", async (world) => {
  const call = askHuman({ questions: [DATABASE] });
  const prompt = "Choose a database";
  world.model.onNextPrompt([call], prompt);
  plainRun(world, await served(world), agent(prompt, { background: false }));
  await answer(world, await opened(world));
  assert.deepEqual((await received(world, call)).answers, [ANSWERED]);
});

scenario("MCP: with answerback run, both servers are there", async (world) => {
  const call = askHuman({ questions: [DATABASE] });
  const run = ourRun(world, await served(world), call);
  await answer(world, await opened(world));
  assert.deepEqual((await received(world, call)).answers, [ANSWERED]);
  assert.deepEqual(await within("answerback run ending", run.exited), ENDED);
});

scenario("MCP: Esc takes the question back", async (world) => {
  const terminal = await session(world, askHuman({ questions: [DATABASE] }), await served(world));
  const open = await opened(world);
  await terminal.shows("Waiting for a person's answer in Answerback");
  await interrupt(terminal);
  assert.equal((await world.daemon.settled(open)).outcome.kind, "withdrawn");
});

scenario("MCP: a closed terminal takes the question back", async (world) => {
  const terminal = await session(world, askHuman({ questions: [DATABASE] }), await served(world));
  const open = await opened(world);
  await terminal.close();
  assert.equal((await world.daemon.settled(open)).outcome.kind, "withdrawn");
});

scenario("MCP: a daemon that is killed comes back, and the answer still arrives", async (world) => {
  const call = askHuman({ questions: [DATABASE] });
  plainRun(world, await served(world), call);
  const { key } = await opened(world);
  await world.daemon.restarted(await world.daemon.kill());
  const open = await opened(world);
  assert.equal(open.key, key);
  await answer(world, open);
  assert.deepEqual((await received(world, call)).answers, [ANSWERED]);
});

scenario("MCP: a call that takes longer than MCP_TOOL_TIMEOUT fails, and the question is taken back", async (world) => {
  world.extraEnv = { MCP_TOOL_TIMEOUT: "2000" };
  const call = askHuman({ questions: [DATABASE] });
  plainRun(world, await served(world), call);
  const open = await opened(world);
  const { text, isError } = (await world.shown(call)).result(call);
  assert.ok(isError);
  expectIncludes(text, "timed out");
  assert.equal((await world.daemon.settled(open)).outcome.kind, "withdrawn");
});

scenario("MCP: a call that was moved to the background still gets its answer", async (world) => {
  world.extraEnv = { CLAUDE_CODE_MCP_AUTO_BACKGROUND_MS: "2000" };
  const [call, next] = [askHuman({ questions: [DATABASE] }), askHuman({ questions: [NAME] })];
  await session(world, call, await served(world));
  const open = await opened(world);
  expectIncludes((await world.shown(call)).result(call).text, "moved to the background");
  assert.ok(await world.daemon.isOpen(open));
  // The model goes on when it is shown the answer.
  world.model.onNextPrompt([next], "SQLite");
  await answer(world, open);
  await world.daemon.answer(await opened(world), { [NAME.question]: "shop" });
  await world.shown(next);
});

/**
 * A test in a world in which forms come to Answerback, and in which our server shows forms.
 * @param {string} name
 * @param {(world: import("./lib/world.mjs").ClientWorld, flags: string[]) => Promise<void>} body
 * @param {...string} options
 */
function withForms(name, body, ...options) {
  scenario(`MCP with forms: ${name}`, async (world) => {
    await world.coverAll(...options);
    const flags = await served(world);
    await serveWith(world, "--elicitation");
    await body(world, flags);
    const { asks } = await world.daemon.get("/v1/asks?state=all");
    assert.deepEqual(asks.map((/** @type {Ask} */ ask) => ask.kind), ["question"], "nobody is asked twice");
  });
}

withForms("the terminal shows them, and an answer from elsewhere counts", async (world, flags) => {
  const call = askHuman({ questions: [DATABASE] });
  const terminal = await session(world, call, flags);
  const open = await opened(world);
  const dialog = await Dialog.form(terminal, DATABASE.question);
  await answer(world, open);
  await dialog.gone();
  assert.deepEqual((await received(world, call)).answers, [ANSWERED]);
}, "--mode", "hold");

withForms("filled in at the terminal", async (world, flags) => {
  const call = askHuman({ questions: [NAME] });
  const terminal = await session(world, call, flags);
  const open = await opened(world);
  const dialog = await Dialog.form(terminal, NAME.question);
  await dialog.fillIn("shop");
  const { answers, by } = await received(world, call);
  assert.deepEqual(answers, [{ question: NAME.question, answer: "shop" }]);
  assert.match(by.agent, CLAUDE_CODE);
  assert.equal((await world.daemon.settled(open)).outcome.kind, "answered");
});

withForms("declined at the terminal", async (world, flags) => {
  const call = askHuman({ questions: [NAME] });
  const terminal = await session(world, call, flags);
  await opened(world);
  await (await Dialog.form(terminal, NAME.question)).decline();
  assert.equal((await received(world, call)).outcome, "dismissed");
});

withForms("a run without a terminal waits for Answerback", async (world, flags) => {
  await world.configure('[permissions]\nunattended = "wait"\n');
  const call = askHuman({ questions: [DATABASE] });
  plainRun(world, flags, call);
  await answer(world, await opened(world));
  assert.deepEqual((await received(world, call)).answers, [ANSWERED]);
});
