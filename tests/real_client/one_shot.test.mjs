// `claude -p PROMPT`: the client ends with its one turn.
import assert from "node:assert/strict";
import { oneShot } from "./lib/drivers/one_shot.mjs";
import { expectAnswered, expectIncludes } from "./lib/expect.mjs";
import { ask, TWO_DATABASES as DATABASE, TWO_LAYOUTS as LAYOUT, LICENCE, PLATFORMS } from "../lib/questions.mjs";
import { scenario } from "./lib/world.mjs";

scenario("one-shot: a single choice", async (world) => {
  const call = ask(DATABASE);
  const run = oneShot(world, call);
  const [open] = await world.daemon.opened(call);
  const { session, tool_use_id, project, questions, state, outcome } = open;
  assert.deepEqual(
    { session, tool_use_id, project, questions, state, outcome },
    {
      session: run.session,
      tool_use_id: call.id,
      project: world.project,
      questions: call.input.questions,
      state: "open",
      outcome: null,
    },
  );
  assert.equal(open.key, `${run.session}__${call.id}`);

  await world.daemon.answer(open, { [DATABASE.question]: "SQLite" });
  const shown = await world.shown(call);
  await run.finish();
  expectAnswered(shown, call, { [DATABASE.question]: "SQLite" });
  expectIncludes(shown.result(call).text, "Your questions have been answered:");
  assert.equal(shown.contexts.length, 1);

  const { outcome: settled } = await world.daemon.settled(open);
  assert.equal(settled.kind, "answered");
  assert.deepEqual(settled.answers, { [DATABASE.question]: "SQLite" });
});

scenario("one-shot: an answer of one's own", async (world) => {
  const call = ask(DATABASE);
  const run = oneShot(world, call);
  const [open] = await world.daemon.opened(call);
  const answers = { [DATABASE.question]: 'Neither: "flat files", <b>§4</b>, please' };
  await world.daemon.answer(open, answers);
  const shown = await world.shown(call);
  await run.finish();
  expectAnswered(shown, call, answers);
  expectIncludes(shown.result(call).text, "follow what they actually say");
});

scenario("one-shot: four questions in one ask", async (world) => {
  const call = ask(DATABASE, PLATFORMS, LAYOUT, LICENCE);
  const run = oneShot(world, call);
  const [open] = await world.daemon.opened(call);
  const answers = {
    [DATABASE.question]: "Postgres",
    [PLATFORMS.question]: ["Linux", "Windows"],
    [LAYOUT.question]: "Stack",
    [LICENCE.question]: "No",
  };
  await world.daemon.answer(open, answers);
  const shown = await world.shown(call);
  await run.finish();
  expectAnswered(shown, call, answers);
});

scenario("one-shot: dismissed with a reason", async (world) => {
  const call = ask(DATABASE);
  const run = oneShot(world, call);
  const [open] = await world.daemon.opened(call);
  await world.daemon.dismiss(open, "Decide it yourself: the README names the database.");
  const shown = await world.shown(call);
  await run.finish();
  const { text, isError } = shown.result(call);
  assert.equal(isError, true);
  expectIncludes(text, "Decide it yourself: the README names the database.");
});
