// Forms of an MCP server, where they come to us although somebody is at the terminal.
import assert from "node:assert/strict";
import { prompt } from "../lib/drivers/interactive.mjs";
import { elicit } from "../lib/mcp/shop.mjs";
import { ADDRESS, CONTENT, FORM, interrupt, received, session, VALUES, waiting } from "../lib/sessions.mjs";
import { coversForms, measurement, NO_HOOKS, withdrawal, yes } from "./measurement.mjs";

/** A measurement of one cell. */
function form(cell, name, body) {
  measurement(`a form: ${name}`, async (world) => {
    if (!(await coversForms(world, "--mode", "hold"))) return { [cell]: NO_HOOKS };
    return { [cell]: await body(world) };
  });
}

form("form_address", "an address, accepted elsewhere", async (world) => {
  const call = elicit(ADDRESS);
  await session(world, call);
  const open = await Promise.race([world.daemon.openedKind("form"), world.shown(call).then(() => null)]);
  if (!open) {
    assert.match((await received(world, call)).error.message, /does not support URL-mode/);
    return "no addresses";
  }
  const { mode, url } = /** @type {FormSubject} */ (open.subject);
  assert.deepEqual([mode, url], ["url", ADDRESS.url]);
  await world.daemon.decide(open, "Accept");
  const { action } = await received(world, call);
  await world.noHookLeft();
  return yes(action === "accept");
});

form("form_filled", "filled in elsewhere", async (world) => {
  const { call, terminal, open } = await waiting(world, FORM);
  await world.daemon.answer(open, VALUES);
  assert.deepEqual(await received(world, call), { action: "accept", content: CONTENT });
  await terminal.shows("done");
  await world.noHookLeft();
  return "yes";
});

form("form_declined", "declined elsewhere", async (world) => {
  const { call, terminal, open } = await waiting(world, FORM);
  await world.daemon.dismiss(open, "");
  const { action } = await received(world, call);
  await terminal.shows("done");
  await world.noHookLeft();
  return yes(action === "decline");
});

form("form_escape", "left with Esc", async (world) => {
  const { terminal, open } = await waiting(world, FORM);
  await interrupt(terminal);
  await prompt(world, terminal, "go on");
  const kind = await withdrawal(world, open);
  await terminal.showsNo("requests your input");
  return kind;
});
