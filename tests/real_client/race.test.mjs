// An interactive session: the terminal's own dialog and the daemon at once, and the first answer wins.
import assert from "node:assert/strict";
import { Dialog } from "./lib/dialog.mjs";
import { interactive, prompt } from "./lib/drivers/interactive.mjs";
import { expectAnswered, expectIncludes } from "./lib/expect.mjs";
import { ask, TWO_DATABASES as DATABASE, LICENCE } from "../lib/questions.mjs";
import { until } from "../lib/until.mjs";
import { scenario } from "./lib/world.mjs";

const DECLINED = "User declined to answer questions";

/** A session whose dialog for this call is open, and the ask of it. */
async function racing(world, call, flags) {
  const terminal = await interactive(world, call, flags);
  const [open] = await world.daemon.opened(call);
  assert.equal(open.racing, true);
  return { terminal, open, dialog: await Dialog.of(terminal) };
}

/** The model and the terminal were shown this answer from elsewhere, and the ask says so. */
async function wonElsewhere(world, { terminal, open, dialog }, call, answers, notes = {}) {
  const shown = await world.shown(call);
  expectAnswered(shown, call, answers);
  for (const note of Object.values(notes)) expectIncludes(shown.result(call).text, note);
  await dialog.gone();
  await terminal.shows("Allowed by PermissionRequest hook");
  for (const [question, answer] of Object.entries(answers)) await terminal.shows(`${question} → ${answer}`);
  await terminal.shows("done");
  const { outcome, receipt } = await world.daemon.received(open);
  assert.deepEqual([outcome.kind, outcome.answers, outcome.notes ?? {}], ["answered", answers, notes]);
  assert.deepEqual([receipt.as_sent, receipt.answers], [true, answers]);
  await world.noHookLeft();
}

/** Nobody answered: the ask is withdrawn without a receipt, and no hook is left. */
async function withdrawn(world, open) {
  const { outcome, receipt } = await world.daemon.settled(open);
  assert.deepEqual([outcome.kind, receipt], ["withdrawn", null]);
  await world.noHookLeft();
}

scenario("race: an answer from elsewhere closes the dialog", async (world) => {
  const call = ask(DATABASE);
  const race = await racing(world, call);
  const [answers, notes] = [{ [DATABASE.question]: "SQLite" }, { [DATABASE.question]: "for now" }];
  await world.daemon.answer(race.open, answers, notes);
  await wonElsewhere(world, race, call, answers, notes);
});

scenario("race: an answer at the terminal settles the ask, and the hook beside it ends", async (world) => {
  const call = ask(DATABASE);
  const answers = { [DATABASE.question]: "SQLite" };
  const { terminal, open, dialog } = await racing(world, call);
  await dialog.leave("2");
  const { outcome, receipt } = await world.daemon.settled(open);
  assert.deepEqual([outcome.kind, outcome.answers, outcome.by.channel], ["answered_in_terminal", answers, "terminal"]);
  assert.deepEqual([receipt.as_sent, receipt.answers], [true, answers]);
  const shown = await world.shown(call);
  expectIncludes(shown.result(call).text, `"${DATABASE.question}"="SQLite"`);
  assert.deepEqual(shown.contexts, [], "the terminal has said it all");
  await terminal.shows(`${DATABASE.question} → SQLite`);
  await terminal.shows("done");
  await world.noHookLeft();
});

scenario("race: Esc at the dialog withdraws the ask", async (world) => {
  const call = ask(DATABASE);
  const { terminal, open, dialog } = await racing(world, call);
  await dialog.leave("Escape");
  await terminal.shows(DECLINED);
  await withdrawn(world, open);
  assert.equal(world.model.wasShown(call), false);
});

scenario("race: a closed terminal withdraws the ask", async (world) => {
  const call = ask(DATABASE);
  const { terminal, open } = await racing(world, call);
  await terminal.close();
  await withdrawn(world, open);
  assert.equal(world.model.wasShown(call), false);
});

scenario("race: Chat about this withdraws the ask at the end of the turn", async (world) => {
  const call = ask(DATABASE);
  const { terminal, open, dialog } = await racing(world, call);
  await dialog.choose("Chat about this");
  expectIncludes((await world.shown(call)).result(call).text, "wants to clarify these questions");
  await terminal.shows(DECLINED);
  await terminal.shows("done");
  await withdrawn(world, open);
});

scenario("race: Ctrl-C leaves the dialog open, and the end of the client withdraws the ask", async (world) => {
  const call = ask(DATABASE);
  const { terminal, open, dialog } = await racing(world, call);
  // A dialog that listens, two presses at once, and all the way around: it has heard them, and does not leave.
  assert.ok(await dialog.select("SQLite"));
  await terminal.press("C-c", "C-c");
  for (const label of ["Chat about this", "SQLite"]) assert.ok(await dialog.select(label));
  assert.equal((await world.daemon.seen(open)).state, "open");
  await terminal.signal("SIGTERM");
  await dialog.gone();
  await withdrawn(world, open);
  assert.equal(world.model.wasShown(call), false);
});

scenario("race: a daemon that is killed comes back, and the dialog is still answered from elsewhere", async (world) => {
  const call = ask(DATABASE);
  const race = await racing(world, call);
  await world.daemon.restarted(await world.daemon.kill());
  const [open] = await world.daemon.opened(call);
  await world.daemon.answer(open, { [DATABASE.question]: "Postgres" });
  await wonElsewhere(world, race, call, { [DATABASE.question]: "Postgres" });
});

scenario("race: two asks at once, one answered here and one there", async (world) => {
  const calls = [ask(DATABASE), ask(LICENCE)];
  const terminal = await interactive(world, calls);
  const asks = await world.daemon.opened(...calls);
  // Whose dialog comes first is up to the client.
  const dialog = await Dialog.of(terminal);
  const first = (await terminal.screen()).includes(DATABASE.question) ? 0 : 1;
  const [there, here] = [first, 1 - first];
  const questions = calls.map(({ input }) => input.questions[0]);
  const answers = questions.map(({ question, options }) => ({ [question]: options[1].label }));

  await world.daemon.answer(asks[there], answers[there]);
  await terminal.shows(questions[here].question);
  await dialog.choose(questions[here].options[1].label);
  const shown = await world.shown(calls[there]);
  expectAnswered(shown, calls[there], answers[there]);
  const [[question, answer]] = Object.entries(answers[here]);
  expectIncludes(shown.result(calls[here]).text, `"${question}"="${answer}"`);
  await terminal.shows("done");
  const ends = await Promise.all(asks.map((each) => world.daemon.received(each)));
  assert.deepEqual([ends[there].outcome.kind, ends[here].outcome.kind], ["answered", "answered_in_terminal"]);
  for (const [index, { outcome, receipt }] of ends.entries()) {
    assert.deepEqual([outcome.answers, receipt.answers, receipt.as_sent], [answers[index], answers[index], true]);
  }
  await world.noHookLeft();
});

scenario("race: dismissed elsewhere, the dialog closes and the model is told why", async (world) => {
  const call = ask(DATABASE);
  const { terminal, open, dialog } = await racing(world, call);
  await world.daemon.dismiss(open, "Use what the README says.");
  const { text, isError } = (await world.shown(call)).result(call);
  assert.equal(isError, true);
  expectIncludes(text, "Use what the README says.");
  await dialog.gone();
  await terminal.shows("Denied by PermissionRequest hook");
  await terminal.shows("done");
  const { outcome, receipt } = await world.daemon.settled(open);
  assert.deepEqual([outcome.kind, outcome.reason, receipt], ["dismissed", "Use what the README says.", null]);
  await world.noHookLeft();
});

scenario("race: a Claude Code that is killed takes its question along", async (world) => {
  const call = ask(DATABASE);
  const { terminal, open } = await racing(world, call);
  await terminal.signal("SIGKILL");
  await withdrawn(world, open);
});

// As root, bypassing permissions needs a sandbox, which the driver claims to have.
for (const mode of ["default", "plan", "acceptEdits", "auto", "bypassPermissions"]) {
  scenario(`race: in the permission mode ${mode}`, async (world) => {
    const call = ask(DATABASE);
    const skip = mode === "bypassPermissions" ? " --dangerously-skip-permissions" : "";
    const race = await racing(world, call, `--permission-mode ${mode}${skip}`);
    await world.daemon.answer(race.open, { [DATABASE.question]: "Postgres" });
    await wonElsewhere(world, race, call, { [DATABASE.question]: "Postgres" });
  });
}

scenario("race: the same question again gets its own answer", async (world) => {
  const [first, second] = [ask(DATABASE), ask(DATABASE)];
  const race = await racing(world, first);
  await world.daemon.answer(race.open, { [DATABASE.question]: "SQLite" });
  await wonElsewhere(world, race, first, { [DATABASE.question]: "SQLite" });
  world.model.onNextPrompt([second]);
  await prompt(world, race.terminal, "once more");
  const [open] = await world.daemon.opened(second);
  assert.equal(open.racing, true);
  const again = { ...race, open, dialog: await Dialog.of(race.terminal) };
  await world.daemon.answer(open, { [DATABASE.question]: "Postgres" });
  await wonElsewhere(world, again, second, { [DATABASE.question]: "Postgres" });
});

scenario("race: the session is known by its first prompt, and then by the title that the person gives it", async (world) => {
  const [first, second] = [ask(DATABASE), ask(LICENCE)];
  const { terminal, open } = await racing(world, first);
  const context = async ({ key }) => world.daemon.get(`/v1/asks/${key}/context`);
  // The client writes its records a little late.
  await until("the first prompt as the title", async () => (await context(open)).title === "ask me");
  assert.equal((await context(open)).terminal, true);
  await world.daemon.answer(open, { [DATABASE.question]: "SQLite" });
  await terminal.shows("done");
  await terminal.press("/rename The cart");
  await terminal.shows("/rename The cart");
  await terminal.press("Enter");
  await terminal.shows("Session renamed to: The cart");
  world.model.onNextPrompt([second]);
  await prompt(world, terminal, "ask once more");
  const [next] = await world.daemon.opened(second);
  assert.equal((await context(next)).title, "The cart");
});
