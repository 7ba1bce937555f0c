// The whole way: the real Claude Code asks in a terminal, a person answers on a phone.
import assert from "node:assert/strict";
import { after } from "node:test";
import { Dialog } from "../real_client/lib/dialog.mjs";
import { interactive, prompt } from "../real_client/lib/drivers/interactive.mjs";
import { plainRun } from "../real_client/lib/drivers/runs.mjs";
import { expectAnswered, expectIncludes } from "../real_client/lib/expect.mjs";
import { askHuman, served } from "../real_client/lib/mcp/human.mjs";
import { elicit, shop } from "../real_client/lib/mcp/shop.mjs";
import { received } from "../real_client/lib/sessions.mjs";
import { bash, exitPlanMode, write, writePlan } from "../lib/calls.mjs";
import { ask, TWO_DATABASES as DATABASE } from "../lib/questions.mjs";
import { until, within } from "../lib/until.mjs";
import { scenario } from "../real_client/lib/world.mjs";
import { browserContext, closeBrowsers } from "./lib/browser.mjs";

after(closeBrowsers);

/** A phone on which the inbox of this world is open. */
async function phone(world) {
  const context = await browserContext({ phone: true });
  const page = await context.newPage();
  await page.goto((await world.answerback("open", "--print")).trim());
  return { page, context };
}

const option = (page, label) => page.locator(".option", { hasText: label });
const button = (page, name) => page.getByRole("button", { name, exact: true });

scenario("page: answered at phone width, the dialog in the terminal closes, and Claude's receipt is shown", async (world) => {
  const call = ask(DATABASE);
  const terminal = await interactive(world, call);
  await world.daemon.opened(call);
  const dialog = await Dialog.of(terminal);

  const { page, context } = await phone(world);
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

scenario("page: a command is allowed for good at phone width, runs, and the next one like it is not asked for", async (world) => {
  await world.coverAll();
  const [first, same] = [bash("node -p 40+2"), bash("node -p 40+2")];
  const terminal = await interactive(world, first, "--permission-mode default");
  await world.daemon.opened(first);
  const dialog = await Dialog.permission(terminal);

  const { page, context } = await phone(world);
  assert.equal((await page.getByLabel("Command", { exact: true }).textContent()).trim(), "node -p 40+2");
  await option(page, "Always allow Bash(node -p 40+2)").tap();
  await button(page, "Allow and add the rule").tap();
  assert.equal((await world.shown(first)).result(first).text, "42");
  await dialog.gone();
  await page.locator(".card.settled", { hasText: "Granted: Bash(node -p 40+2)" }).filter({ hasText: "received by Claude" }).waitFor();
  await terminal.shows("done");

  world.model.onNextPrompt([same]);
  await prompt(world, terminal, "once more");
  assert.equal((await world.shown(same)).result(same).text, "42");
  await page.locator("#to-history").tap();
  await page.locator(".entry", { hasText: /Allowed[^]*on the page/ }).waitFor();
  await context.close();
});

scenario("page: a plan goes back with two comments on passages, and the revised one is approved with edits accepted", async (world) => {
  const edits = write(`${world.project}/basket.mjs`, "export {};\n");
  const [draft, showDraft, better, showBetter] = [writePlan("# Shop\n\n1. Add a basket\n2. Test it\n"), exitPlanMode(), writePlan("# Shop\n\n1. Add a basket, in `basket.mjs`\n"), exitPlanMode()];
  world.model.then(draft, showDraft);
  world.model.then(showDraft, better);
  world.model.then(better, showBetter);
  world.model.then(showBetter, edits);
  const terminal = await interactive(world, draft, "--permission-mode plan");
  await world.daemon.opened(showDraft);
  await Dialog.plan(terminal);

  const { page, context } = await phone(world);
  for (const [passage, words] of [["Add a basket", "In which file?"], ["Test it", "With two people."]]) {
    await page.locator(".passage-text p", { hasText: passage }).tap();
    await page.keyboard.type(words);
  }
  await button(page, "Send back with 2 comments").tap();
  const { text, isError } = (await world.shown(showDraft)).result(showDraft);
  assert.equal(isError, true);
  expectIncludes(text, JSON.stringify("1. On line 3 of the plan:\n> 1. Add a basket\nIn which file?\n\n2. On line 4 of the plan:\n> 2. Test it\nWith two people.").slice(1, -1));

  await world.daemon.opened(showBetter);
  await page.getByRole("button", { name: "Close" }).tap();
  await page.locator(".plan-text code", { hasText: "basket.mjs" }).waitFor();
  // The card moved up when the one above it was closed. A tap right after that counts for nothing.
  await until("a tap that counts", async () => {
    await option(page, "Approve, accept edits").tap();
    return button(page, "Approve the plan").isVisible();
  });
  await button(page, "Approve the plan").tap();
  expectIncludes((await world.shown(showBetter)).result(showBetter).text, "User has approved your plan");
  await world.shown(edits);
  assert.equal(await world.file("basket.mjs"), "export {};\n");
  await terminal.shows("accept edits on");
  await context.close();
});

scenario("page: a form of an MCP server is filled in at phone width, and a wrong number is refused at its field", async (world) => {
  await world.coverAll("--mode", "hold");
  const requestedSchema = { type: "object", required: ["port"], properties: { port: { type: "integer", title: "Port", minimum: 1024 }, tls: { type: "boolean", title: "TLS", default: false } } };
  const call = elicit({ message: "Where should the shop listen?", requestedSchema });
  const server = shop(world);
  const terminal = await interactive(world, call, server.args.join(" "), server.ready);
  await world.daemon.openedKind("form");

  const { page, context } = await phone(world);
  await page.getByLabel("Port").fill("80");
  await button(page, "Send the form").tap();
  await page.locator(".field", { hasText: "Port" }).locator(".fault", { hasText: "Must be at least 1024." }).waitFor();
  await page.getByLabel("Port").fill("8080");
  await option(page, "Yes").tap();
  await button(page, "Send the form").tap();
  assert.deepEqual(JSON.parse((await world.shown(call)).result(call).text), { action: "accept", content: { port: 8080, tls: true } });
  await terminal.shows("done");
  await context.close();
});

scenario("page: Claude calls ask_human through MCP, and a person answers at phone width", async (world) => {
  const call = askHuman({ questions: [{ question: "Which database?", options: [{ label: "SQLite" }, { label: "PostgreSQL" }] }] });
  const run = plainRun(world, await served(world), call);
  await world.daemon.openedKind("question");

  const { page, context } = await phone(world);
  await page.getByText("Claude Code").first().waitFor();
  await option(page, "SQLite").tap();
  await button(page, "Send now").tap();
  const { outcome, answers, by } = await received(world, call);
  assert.deepEqual([outcome, answers, by.channel], ["answered", [{ question: "Which database?", answer: "SQLite" }], "page"]);
  assert.deepEqual(await within("claude -p ending", run.exited), { code: 0, signal: null });
  await context.close();
});
