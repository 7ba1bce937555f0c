// `claude` in a terminal with a person at it.
import fs from "node:fs/promises";
import path from "node:path";
import { Terminal } from "../terminal.mjs";
import { until } from "../until.mjs";

// Where prompts are typed: a line that begins with this and has nothing to choose behind it.
const PROMPT = /^ ?[❯>](?!\s*\d\.)/m;

/** Starts it and gives it a prompt that makes the model call this, or all of these; resolves to the terminal. */
export async function interactive(world, calls, flags = "") {
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
  await prompt(world, terminal, "ask me");
  return terminal;
}

/** Types a prompt and sends it; resolves once the model has it. */
export async function prompt(world, terminal, text) {
  const before = world.model.prompts;
  await terminal.press(text);
  await terminal.shows(text);
  await until(`the model being given ${JSON.stringify(text)}`, async () => {
    // While it is still starting, the client may show what is typed and drop the key that sends it.
    await terminal.press("Enter");
    return until("the prompt arriving", () => world.model.prompts > before, 3_000).catch(() => false);
  }).catch(async (error) => {
    throw new Error(`${error.message}; the terminal shows:\n${await terminal.screen()}`);
  });
}
