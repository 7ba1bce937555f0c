// Forms of an MCP server. While the hook of a form waits, the terminal shows no dialog.
import assert from "node:assert/strict";
import { CLAUDE } from "./lib/clients.mjs";
import { Dialog } from "./lib/dialog.mjs";
import { interactive, prompt } from "./lib/drivers/interactive.mjs";
import { elicit, shop } from "./lib/mcp/shop.mjs";
import { scenario } from "./lib/world.mjs";
import { within } from "../lib/until.mjs";

const FORM = {
  message: "Where should the shop listen?",
  requestedSchema: {
    type: "object",
    properties: {
      host: { type: "string", title: "Host", minLength: 1, maxLength: 20 },
      port: { type: "integer", title: "Port", description: "A free one", minimum: 1024, maximum: 65535, default: 8080 },
      mail: { type: "string", format: "email" },
      tls: { type: "boolean", title: "TLS", default: false },
      stage: { type: "string", title: "Stage", enum: ["dev", "prod"], enumNames: ["Development", "Production"] },
      pages: { type: "array", title: "Pages", items: { type: "string", enum: ["shop", "basket", "admin"] }, minItems: 1, maxItems: 2 },
    },
    required: ["host", "port"],
  },
};
const ADDRESS = {
  mode: "url",
  message: "Sign in to the shop",
  url: "https://shop.example.test/sign-in?state=abc",
  elicitationId: "sign-in-1",
};

/** A test in a world where forms come to us although somebody is at the terminal. */
function held(name, body) {
  scenario(`form: ${name}`, async (world) => {
    await world.coverAll("--mode", "hold");
    await body(world);
  });
}

/** A session in which the server asks with this. */
function session(world, call) {
  const server = shop(world);
  return interactive(world, call, server.args.join(" "), server.ready);
}

/** A session in which the server waits for this form, and the ask of it. */
async function waiting(world, request) {
  const call = elicit(request);
  const terminal = await session(world, call);
  return { call, terminal, open: await world.daemon.openedKind("form") };
}

/** What the server got, as it told the model. */
async function received(world, call) {
  return JSON.parse((await world.shown(call)).result(call).text);
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
  const good = { Host: "localhost", Port: "9000" };
  for (const [wrong, field] of [
    [{ ...good, Port: "80" }, "Port"],
    [{ ...good, Port: "many" }, "Port"],
    [{ ...good, Port: "9000.5" }, "Port"],
    [{ Port: "9000" }, "Host"],
    [{ ...good, Host: "h".repeat(21) }, "Host"],
    [{ ...good, mail: "nobody" }, "mail"],
    [{ ...good, Stage: "test" }, "Stage"],
    [{ ...good, Pages: ["shop", "basket", "admin"] }, "Pages"],
  ]) {
    const { status, errors } = await world.daemon.refused(open, wrong);
    assert.deepEqual([status, errors.map(({ question }) => question)], [422, [field]], JSON.stringify([wrong, errors]));
  }
  assert.equal(world.model.wasShown(call), false);
  await world.daemon.answer(open, good);
  assert.deepEqual(await received(world, call), { action: "accept", content: { host: "localhost", port: 9000 } });
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
  const interrupted = (screen) => screen.includes("Interrupted");
  // A second Esc would make another key of the letter that follows it.
  await terminal.pressUntil("Escape", "the interruption", interrupted, interrupted);
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
  await world.daemon.answer(open, { Host: "localhost", Port: "9000" });
  assert.deepEqual(await received(world, call), { action: "accept", content: { host: "localhost", port: 9000 } });
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
  world.model.onNextPrompt([call]);
  const run = world.spawn(CLAUDE, ["-p", "ask me", ...shop(world).args]);
  const open = await world.daemon.openedKind("form");
  await world.daemon.answer(open, { Host: "localhost", Port: "9000" });
  assert.deepEqual(await received(world, call), { action: "accept", content: { host: "localhost", port: 9000 } });
  assert.deepEqual(await within("claude -p ending", run.exited), { code: 0, signal: null });
});

scenario("form: a one-shot run does not wait otherwise", async (world) => {
  await world.coverAll();
  const call = elicit(FORM);
  world.model.onNextPrompt([call]);
  const run = world.spawn(CLAUDE, ["-p", "ask me", ...shop(world).args]);
  assert.deepEqual(await received(world, call), { action: "cancel" });
  assert.deepEqual(await within("claude -p ending", run.exited), { code: 0, signal: null });
});
