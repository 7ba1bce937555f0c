// An interactive session: the terminal's own dialog and the daemon at once, and the first answer wins.
import assert from "node:assert/strict";
import { interactive, prompt } from "./lib/drivers/interactive.mjs";
import { expectAnswered, expectIncludes } from "./lib/expect.mjs";
import { ask, DATABASE, LICENCE } from "./lib/questions.mjs";
import { scenario } from "./lib/world.mjs";

const DIALOG = "Enter to select";

scenario("race: an answer from elsewhere closes the dialog", async (world) => {
  const call = ask(DATABASE);
  const terminal = await interactive(world, call);
  const [open] = await world.daemon.opened(call);
  assert.equal(open.racing, true);
  await terminal.shows(DIALOG);
  await world.daemon.answer(open, { [DATABASE.question]: "SQLite" }, { [DATABASE.question]: "for now" });
  const shown = await world.shown(call);
  expectAnswered(shown, call, { [DATABASE.question]: "SQLite" });
  expectIncludes(shown.result(call).text, "for now");
  await terminal.shows("done");
  const { receipt } = await world.daemon.received(open);
  assert.deepEqual([receipt.as_sent, receipt.answers], [true, { [DATABASE.question]: "SQLite" }]);
});

scenario("race: an answer at the terminal settles the ask, and the hook beside it ends", async (world) => {
  const call = ask(DATABASE);
  const terminal = await interactive(world, call);
  const [open] = await world.daemon.opened(call);
  await terminal.leave(DIALOG, "2");
  const { outcome } = await world.daemon.settled(open);
  assert.equal(outcome.kind, "answered_in_terminal");
  assert.deepEqual(outcome.answers, { [DATABASE.question]: "SQLite" });
  assert.equal(outcome.by.channel, "terminal");
  expectIncludes((await world.shown(call)).result(call).text, "SQLite");
  await world.noHookLeft();
});

scenario("race: Esc at the dialog withdraws the ask", async (world) => {
  const call = ask(DATABASE);
  const terminal = await interactive(world, call);
  const [open] = await world.daemon.opened(call);
  await terminal.leave(DIALOG, "Escape");
  assert.equal((await world.daemon.settled(open)).outcome.kind, "withdrawn");
  await world.noHookLeft();
});

scenario("race: a closed terminal withdraws the ask", async (world) => {
  const call = ask(DATABASE);
  const terminal = await interactive(world, call);
  const [open] = await world.daemon.opened(call);
  await terminal.shows(DIALOG);
  await terminal.close();
  assert.equal((await world.daemon.settled(open)).outcome.kind, "withdrawn");
  await world.noHookLeft();
});

scenario("race: Chat about this withdraws the ask at the end of the turn", async (world) => {
  const call = ask(DATABASE);
  const terminal = await interactive(world, call);
  const [open] = await world.daemon.opened(call);
  await terminal.leave(DIALOG, "4");
  assert.equal((await world.daemon.settled(open)).outcome.kind, "withdrawn");
  await world.noHookLeft();
});

scenario("race: a daemon that is killed comes back, and the dialog is still answered from elsewhere", async (world) => {
  const call = ask(DATABASE);
  const terminal = await interactive(world, call);
  await world.daemon.opened(call);
  await terminal.shows(DIALOG);
  await world.daemon.restarted(await world.daemon.kill());
  const [open] = await world.daemon.opened(call);
  await world.daemon.answer(open, { [DATABASE.question]: "Postgres" });
  expectAnswered(await world.shown(call), call, { [DATABASE.question]: "Postgres" });
  await terminal.shows("done");
});

scenario("race: two asks at once, one answered here and one there", async (world) => {
  const [first, second] = [ask(DATABASE), ask(LICENCE)];
  const terminal = await interactive(world, [first, second]);
  const [here] = await world.daemon.opened(first, second);
  await terminal.shows(DATABASE.question);
  await world.daemon.answer(here, { [DATABASE.question]: "SQLite" });
  await terminal.shows(LICENCE.question);
  await terminal.leave(DIALOG, "1");
  const shown = await world.shown(first);
  expectIncludes(shown.result(first).text, "SQLite");
  expectIncludes(shown.result(second).text, "Yes");
  await world.noHookLeft();
});

scenario("race: dismissed elsewhere, the dialog closes and the model is told why", async (world) => {
  const call = ask(DATABASE);
  const terminal = await interactive(world, call);
  const [open] = await world.daemon.opened(call);
  await terminal.shows(DIALOG);
  await world.daemon.dismiss(open, "Use what the README says.");
  expectIncludes((await world.shown(call)).result(call).text, "Use what the README says.");
});

// As root, bypassing permissions needs a sandbox, which the driver claims to have.
for (const mode of ["default", "plan", "acceptEdits", "bypassPermissions"]) {
  scenario(`race: in the permission mode ${mode}`, async (world) => {
    const call = ask(DATABASE);
    const skip = mode === "bypassPermissions" ? " --dangerously-skip-permissions" : "";
    const terminal = await interactive(world, call, `--permission-mode ${mode}${skip}`);
    const [open] = await world.daemon.opened(call);
    assert.equal(open.racing, true);
    await terminal.shows(DIALOG);
    await world.daemon.answer(open, { [DATABASE.question]: "Postgres" });
    expectAnswered(await world.shown(call), call, { [DATABASE.question]: "Postgres" });
  });
}

scenario("race: the same question again gets its own answer", async (world) => {
  const [first, second] = [ask(DATABASE), ask(DATABASE)];
  const terminal = await interactive(world, first);
  const [once] = await world.daemon.opened(first);
  await world.daemon.answer(once, { [DATABASE.question]: "SQLite" });
  await terminal.shows("done");
  world.model.onNextPrompt([second]);
  await prompt(terminal, "once more");
  const [again] = await world.daemon.opened(second);
  await terminal.shows(DIALOG);
  await world.daemon.answer(again, { [DATABASE.question]: "Postgres" });
  expectAnswered(await world.shown(second), second, { [DATABASE.question]: "Postgres" });
});
