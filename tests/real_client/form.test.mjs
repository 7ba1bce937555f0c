// Forms of an MCP server. While the hook of a form waits, the terminal shows no dialog.
import assert from "node:assert/strict";
import { Dialog } from "./lib/dialog.mjs";
import { prompt } from "./lib/drivers/interactive.mjs";
import { plainRun } from "./lib/drivers/runs.mjs";
import { elicit, shop } from "./lib/mcp/shop.mjs";
import { ADDRESS, CONTENT, FORM, interrupt, received, session, VALUES, waiting } from "./lib/sessions.mjs";
import { scenario } from "./lib/world.mjs";
import { within } from "../lib/until.mjs";

/** A test in a world where forms come to us although somebody is at the terminal. */
function held(name, body) {
  scenario(`form: ${name}`, async (world) => {
    await world.coverAll("--mode", "hold");
    await body(world);
  });
}

held("filled in, the server gets values of the right types", async (world) => {
  const { call, terminal, open } = await waiting(world, FORM);
  const { server, message, mode, fields } = open.subject;
  assert.deepEqual([server, message, mode], ["shop", FORM.message, "form"]);
  assert.deepEqual(fields.map(({ name, type, required }) => [name, type, required]), [
    ["host", "string", true],
    ["port", "integer", true],
    ["mail", "string", false],
    ["tls", "boolean", false],
    ["stage", "choice", false],
    ["pages", "choices", false],
  ]);
  await world.daemon.answer(open, { Host: "localhost", Port: "9000", TLS: "Yes", Stage: "Production", Pages: ["shop", "admin"] });
  assert.deepEqual(await received(world, call), {
    action: "accept",
    content: { host: "localhost", port: 9000, tls: true, stage: "prod", pages: ["shop", "admin"] },
  });
  await terminal.shows("done");
  assert.equal((await world.daemon.settled(open)).outcome.kind, "answered");
  await world.noHookLeft();
});

held("what breaks a rule is refused with the field, and can be corrected", async (world) => {
  const { call, open } = await waiting(world, FORM);
  for (const [wrong, field] of [
    [{ ...VALUES, Port: "80" }, "Port"],
    [{ ...VALUES, Port: "many" }, "Port"],
    [{ ...VALUES, Port: "9000.5" }, "Port"],
    [{ Port: "9000" }, "Host"],
    [{ ...VALUES, Host: "h".repeat(21) }, "Host"],
    [{ ...VALUES, mail: "nobody" }, "mail"],
    [{ ...VALUES, Stage: "test" }, "Stage"],
    [{ ...VALUES, Pages: ["shop", "basket", "admin"] }, "Pages"],
  ]) {
    const { status, errors } = await world.daemon.refused(open, wrong);
    assert.deepEqual([status, errors.map(({ question }) => question)], [422, [field]], JSON.stringify([wrong, errors]));
  }
  assert.equal(world.model.wasShown(call), false);
  await world.daemon.answer(open, VALUES);
  assert.deepEqual(await received(world, call), { action: "accept", content: CONTENT });
});

held("dismissed, the server is told that the person declined", async (world) => {
  const { call, terminal, open } = await waiting(world, FORM);
  await world.daemon.dismiss(open, "");
  assert.deepEqual(await received(world, call), { action: "decline" });
  await terminal.shows("done");
  assert.equal((await world.daemon.settled(open)).outcome.kind, "dismissed");
  await world.noHookLeft();
});

for (const [label, action] of [["Accept", "accept"], ["Decline", "decline"]]) {
  held(`an address, answered with ${label}`, async (world) => {
    const { call, open } = await waiting(world, ADDRESS);
    const { server, message, mode, url } = open.subject;
    assert.deepEqual({ server, message, mode, url }, { server: "shop", message: ADDRESS.message, mode: "url", url: ADDRESS.url });
    await world.daemon.decide(open, label);
    assert.equal((await received(world, call)).action, action);
    await world.noHookLeft();
  });
}

held("released, the terminal's own dialog opens", async (world) => {
  const { call, terminal, open } = await waiting(world, FORM);
  await world.daemon.release(open);
  const dialog = await Dialog.form(terminal, FORM.message);
  await dialog.decline();
  assert.deepEqual(await received(world, call), { action: "decline" });
  await world.noHookLeft();
});

held("after Esc it ends with the next prompt, and leaves no dialog behind", async (world) => {
  const { terminal, open } = await waiting(world, FORM);
  await interrupt(terminal);
  await prompt(world, terminal, "go on");
  assert.equal((await world.daemon.settled(open)).outcome.kind, "withdrawn");
  await world.noHookLeft();
  await terminal.shows("done");
  await terminal.showsNo("requests your input");
});

held("a closed terminal withdraws it", async (world) => {
  const { terminal, open } = await waiting(world, FORM);
  await terminal.close();
  assert.equal((await world.daemon.settled(open)).outcome.kind, "withdrawn");
  await world.noHookLeft();
});

held("a daemon that is killed comes back, and the form is still filled in from elsewhere", async (world) => {
  const { call, open: before } = await waiting(world, FORM);
  await world.daemon.restarted(await world.daemon.kill());
  const open = await world.daemon.openedKind("form");
  assert.equal(open.key, before.key);
  await world.daemon.answer(open, VALUES);
  assert.deepEqual(await received(world, call), { action: "accept", content: CONTENT });
  await world.noHookLeft();
});

scenario("form: left to a person at the terminal", async (world) => {
  await world.coverAll();
  const call = elicit(FORM);
  const terminal = await session(world, call);
  const dialog = await Dialog.form(terminal, FORM.message);
  assert.deepEqual(await world.daemon.history(), []);
  await dialog.decline();
  assert.deepEqual(await received(world, call), { action: "decline" });
  await world.noHookLeft();
});

scenario("form: a one-shot run waits if it was told to", async (world) => {
  await world.coverAll();
  await world.configure('[permissions]\nunattended = "wait"\n');
  const call = elicit(FORM);
  const run = plainRun(world, shop(world).args, call);
  const open = await world.daemon.openedKind("form");
  await world.daemon.answer(open, VALUES);
  assert.deepEqual(await received(world, call), { action: "accept", content: CONTENT });
  assert.deepEqual(await within("claude -p ending", run.exited), { code: 0, signal: null });
});

scenario("form: a one-shot run does not wait otherwise", async (world) => {
  await world.coverAll();
  const call = elicit(FORM);
  const run = plainRun(world, shop(world).args, call);
  assert.deepEqual(await received(world, call), { action: "cancel" });
  assert.deepEqual(await within("claude -p ending", run.exited), { code: 0, signal: null });
});
