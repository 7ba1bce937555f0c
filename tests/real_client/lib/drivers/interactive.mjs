// `claude` in a terminal with a person at it.
import fs from "node:fs/promises";
import path from "node:path";
import { Terminal } from "../terminal.mjs";
import { until } from "../../../lib/until.mjs";

// Prompts are typed on a line that begins like this. A line of a dialog has a number behind it.
const PROMPT = /^ ?[❯>](?!\s*\d\.)/m;

/**
 * Starts the client and gives it a prompt on which the model makes these calls. Resolves to the terminal.
 * @param {import("../world.mjs").ClientWorld} world
 * @param {import("../../../lib/calls.mjs").Call | import("../../../lib/calls.mjs").Call[]} calls
 * @param {string} [flags]
 * @param {() => Promise<unknown>} [ready] what the prompt must wait for, such as an MCP server
 */
export async function interactive(world, calls, flags = "", ready = async () => {}) {
  world.model.onNextPrompt([calls].flat());
  const state = {
    hasCompletedOnboarding: true,
    theme: "dark",
    bypassPermissionsModeAccepted: true,
    customApiKeyResponses: { approved: ["dummy"], rejected: [] },
    projects: { [world.project]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } },
  };
  await fs.writeFile(path.join(world.home, ".claude.json"), JSON.stringify(state));
  const terminal = await Terminal.open(world, `IS_SANDBOX=1 claude ${flags}`, { columns: 120, rows: 50 });
  await terminal.shows(PROMPT);
  await ready();
  await prompt(world, terminal, "ask me");
  return terminal;
}

/**
 * Types a prompt and sends it. Resolves when the model has it.
 * @param {import("../world.mjs").ClientWorld} world
 * @param {Terminal} terminal
 * @param {string} text
 */
export async function prompt(world, terminal, text) {
  const before = world.model.requests;
  await terminal.press(text);
  await terminal.shows(text);
  await until(`the model being given ${JSON.stringify(text)}`, async () => {
    // While it is starting, the client may show the text and drop the key that sends it. The next round presses again.
    await terminal.press("Enter");
    return until("the prompt arriving", () => world.model.requests > before, 3_000).catch(() => false);
  }).catch(async (error) => {
    throw new Error(`${error.message}; the terminal shows:\n${await terminal.screen()}`);
  });
}
