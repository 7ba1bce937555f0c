// `claude` in a terminal with a person at it.
import fs from "node:fs/promises";
import path from "node:path";
import { Terminal } from "../terminal.mjs";

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
  await terminal.shows("❯");
  await prompt(terminal, "ask me");
  return terminal;
}

/** Types a prompt and sends it, once it is on the screen. */
export async function prompt(terminal, text) {
  await terminal.press(text);
  await terminal.shows(text);
  await terminal.press("Enter");
}
