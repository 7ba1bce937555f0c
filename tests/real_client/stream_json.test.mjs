// `claude -p --input-format stream-json`: one process, many turns, and a host behind it.
import assert from "node:assert/strict";
import { Host } from "./lib/drivers/host.mjs";
import { streamJson } from "./lib/drivers/stream_json.mjs";
import { expectAnswered, expectIncludes } from "./lib/expect.mjs";
import { ask, TWO_DATABASES as DATABASE, TWO_LAYOUTS as LAYOUT, PLATFORMS } from "../lib/questions.mjs";
import { scenario } from "./lib/world.mjs";
import { deferred, within } from "../lib/until.mjs";

scenario("stream-json: several labels, then a second turn of the same session", async (world) => {
  const [first, second] = [ask(PLATFORMS), ask(DATABASE)];
  const client = streamJson(world);

  let turn = client.prompt(first);
  const [platforms] = await world.daemon.opened(first);
  assert.equal(platforms.session, client.session);
  await world.daemon.answer(platforms, { [PLATFORMS.question]: ["macOS", "Linux"] });
  expectAnswered(await world.shown(first), first, { [PLATFORMS.question]: ["macOS", "Linux"] });
  await turn.finish();

  turn = client.prompt(second);
  const [database] = await world.daemon.opened(second);
  assert.equal(database.session, client.session);
  await world.daemon.answer(database, { [DATABASE.question]: "Postgres" });
  expectAnswered(await world.shown(second), second, { [DATABASE.question]: "Postgres" });
  await turn.finish();
  await client.close();
});

scenario("stream-json: two identical asks in one message keep their own answers", async (world) => {
  const [first, second] = [ask(DATABASE), ask(DATABASE)];
  const client = streamJson(world);
  const turn = client.prompt(first, second);
  const [one, two] = await world.daemon.opened(first, second);
  await world.daemon.answer(two, { [DATABASE.question]: "SQLite" });
  await world.daemon.answer(one, { [DATABASE.question]: "Postgres" });
  const shown = await world.shown(first);
  await turn.finish();
  await client.close();
  expectAnswered(shown, first, { [DATABASE.question]: "Postgres" });
  expectAnswered(shown, second, { [DATABASE.question]: "SQLite" });
  assert.equal(shown.contexts.length, 2);
});

scenario("stream-json: a chosen option's preview", async (world) => {
  const call = ask(LAYOUT);
  const client = streamJson(world);
  const turn = client.prompt(call);
  const [open] = await world.daemon.opened(call);
  assert.deepEqual(open.questions, call.input.questions);
  await world.daemon.answer(open, { [LAYOUT.question]: "Columns" });
  const shown = await world.shown(call);
  await turn.finish();
  await client.close();
  expectAnswered(shown, call, { [LAYOUT.question]: "Columns" });
  expectIncludes(shown.result(call).text, `selected preview:\n${LAYOUT.options[0].preview}`);
});

scenario("stream-json: a tool_result on stdin answers nothing", async (world) => {
  const call = ask(DATABASE);
  const [asked, told] = [deferred(), deferred()];
  const decide = (_tool, input) => {
    asked.resolve(null);
    return told.promise.then(() => ({ behavior: "allow", updatedInput: { ...input, answers: { [DATABASE.question]: "SQLite" } } }));
  };
  await world.answerback("uninstall", "--project", world.project);
  const client = streamJson(world, { decide, verify() {} });
  const turn = client.prompt(call);
  await within("the host being asked", asked.promise);
  const content = [{ type: "tool_result", tool_use_id: call.id, content: `"${DATABASE.question}"="Postgres"` }];
  client.send({ type: "user", message: { role: "user", content } });
  // Another request goes there and back, so Claude Code has read what came before it.
  await client.control({ subtype: "set_permission_mode", mode: "default" });
  assert.equal(world.model.wasShown(call), false);
  told.resolve(null);
  expectIncludes((await world.shown(call)).result(call).text, `"${DATABASE.question}"="SQLite"`);
  await turn.finish();
});

scenario("stream-json: a released ask goes to the host", async (world) => {
  const call = ask(DATABASE);
  const host = Host.answering(call, { [DATABASE.question]: "SQLite" });
  const client = streamJson(world, host);
  const turn = client.prompt(call);
  const [open] = await world.daemon.opened(call);
  await world.daemon.release(open);
  const shown = await world.shown(call);
  await turn.finish();
  await client.close();
  expectIncludes(shown.result(call).text, `"${DATABASE.question}"="SQLite"`);
  assert.deepEqual(shown.contexts, []);
});
