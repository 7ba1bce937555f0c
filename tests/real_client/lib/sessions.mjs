// Interactive sessions in which Claude Code waits for a person: for a permission, for a plan, for a form.
import assert from "node:assert/strict";
import { exitPlanMode, writePlan } from "../../lib/calls.mjs";
import { Dialog } from "./dialog.mjs";
import { interactive, prompt } from "./drivers/interactive.mjs";
import { elicit, shop } from "./mcp/shop.mjs";

/** @typedef {import("../../lib/calls.mjs").Call} Call */
/** @typedef {import("./terminal.mjs").Terminal} Terminal */
/** @typedef {import("./world.mjs").ClientWorld} ClientWorld */

// Interactive sessions begin in the mode "auto" today. In this one, a person is asked.
export const ASKING = "--permission-mode default";
export const PLANNING = "--permission-mode plan";
export const LOCAL_SETTINGS = ".claude/settings.local.json";

export const PLAN = "# Shop\n\n1. Add a basket\n2. Test it\n\n| page | what |\n|---|---|\n| `/` | the shop |\n";
export const ACCEPT_EDITS = "Approve, accept edits";
export const ASK_FIRST = "Approve, ask before each edit";
export const KEEP_PLANNING = "Keep planning";

export const FORM = {
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
/** An answer to the form, and what the server then gets. */
export const VALUES = { Host: "localhost", Port: "9000" };
export const CONTENT = { host: "localhost", port: 9000 };
export const ADDRESS = {
  mode: "url",
  message: "Sign in to the shop",
  url: "https://shop.example.test/sign-in?state=abc",
  elicitationId: "sign-in-1",
};

// The end of this line may be hidden behind a message.
const INTERRUPTIBLE = /esc to inter/;

/**
 * A session whose dialog for this call is open, and the ask of it.
 * @param {ClientWorld} world
 * @param {Call} call
 * @param {string} [flags]
 */
export async function asked(world, call, flags = ASKING) {
  const terminal = await interactive(world, call, flags);
  const [open] = await world.daemon.opened(call);
  assert.deepEqual([open.kind, open.racing], ["permission", true]);
  return { terminal, open: /** @type {Ask & { subject: CallSubject }} */ (open), dialog: await Dialog.permission(terminal) };
}

/**
 * Gives the session a prompt on which the model makes this call.
 * @param {ClientWorld} world
 * @param {Terminal} terminal
 * @param {Call} call
 * @param {string} text
 */
export async function promptFor(world, terminal, call, text) {
  world.model.onNextPrompt([call]);
  await prompt(world, terminal, text);
}

/**
 * The calls of a model that writes this plan down and shows it. After that it makes the other calls.
 * @param {ClientWorld} world
 * @param {string} plan
 * @param {...Call} others
 */
export function planning(world, plan, ...others) {
  const [writing, showing] = [writePlan(plan), exitPlanMode()];
  world.model.then(writing, showing);
  if (others.length > 0) world.model.then(showing, ...others);
  return { writing, showing };
}

/**
 * A session whose dialog for the plan is open, and the ask of it.
 * @param {ClientWorld} world
 * @param {...Call} others the calls that the model makes after it
 */
export async function planned(world, ...others) {
  const { writing, showing } = planning(world, PLAN, ...others);
  const terminal = await interactive(world, writing, PLANNING);
  return { terminal, showing, ...(await shownPlan(world, terminal, showing)) };
}

/**
 * The dialog for the plan of this call, and the ask of it.
 * @param {ClientWorld} world
 * @param {Terminal} terminal
 * @param {Call} showing
 * @param {string} [about] what only this plan has
 */
export async function shownPlan(world, terminal, showing, about) {
  const [open] = await world.daemon.opened(showing);
  assert.deepEqual([open.kind, open.racing], ["plan", true]);
  return { open: /** @type {Ask & { subject: PlanSubject }} */ (open), dialog: await Dialog.plan(terminal, about) };
}

/**
 * A session in which the MCP server asks with this call.
 * @param {ClientWorld} world
 * @param {Call} call
 */
export function session(world, call) {
  const server = shop(world);
  return interactive(world, call, server.args.join(" "), server.ready);
}

/**
 * A session in which the MCP server waits for this form, and the ask of it.
 * @param {ClientWorld} world
 * @param {import("../../lib/calls.mjs").Input} request
 */
export async function waiting(world, request) {
  const call = elicit(request);
  const terminal = await session(world, call);
  const open = await world.daemon.openedKind("form");
  return { call, terminal, open: /** @type {Ask & { subject: FormSubject }} */ (open) };
}

/** Interrupts the session while the MCP server waits. @param {Terminal} terminal */
export async function interrupt(terminal) {
  await terminal.shows(INTERRUPTIBLE);
  const interrupted = (/** @type {string} */ screen) => !INTERRUPTIBLE.test(screen);
  // A second Esc would make another key of the letter that follows it.
  await terminal.pressUntil("Escape", "the interruption", interrupted, interrupted);
}

/**
 * What the server got, as it told the model.
 * @param {ClientWorld} world
 * @param {Call} call
 */
export async function received(world, call) {
  return JSON.parse((await world.shown(call)).result(call).text);
}
