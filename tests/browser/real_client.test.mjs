// The whole way: the real Claude Code asks in a terminal, a person answers on a phone.
import assert from "node:assert/strict";
import { after } from "node:test";
import { Dialog } from "../real_client/lib/dialog.mjs";
import { interactive } from "../real_client/lib/drivers/interactive.mjs";
import { expectAnswered } from "../real_client/lib/expect.mjs";
import { ask, TWO_DATABASES as DATABASE } from "../lib/questions.mjs";
import { scenario } from "../real_client/lib/world.mjs";
import { browserContext, closeBrowser } from "./lib/browser.mjs";

after(closeBrowser);

scenario("page: answered at phone width, the dialog in the terminal closes, and Claude's receipt is shown", async (world) => {
  const call = ask(DATABASE);
  const terminal = await interactive(world, call);
  await world.daemon.opened(call);
  const dialog = await Dialog.of(terminal);

  const context = await browserContext({ phone: true });
  const page = await context.newPage();
  await page.goto((await world.answerback("open", "--print")).trim());
  await page.locator(".mode", { hasText: "terminal too" }).waitFor();
  await page.locator(".option", { hasText: "SQLite" }).tap();
  await page.getByRole("button", { name: "Send now" }).tap();

  const shown = await world.shown(call);
  expectAnswered(shown, call, { [DATABASE.question]: "SQLite" });
  assert.match(shown.contexts.join("\n"), /on the Answerback page/);
  await dialog.gone();
  await terminal.shows("done");
  await page.getByText("received by Claude").waitFor();
  await world.noHookLeft();
  await context.close();
});
