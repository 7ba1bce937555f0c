// Every kind of question, answered by mouse, by keyboard and by touch: what the hook returns is what was meant.
import assert from "node:assert/strict";
import { DATABASE, LAYOUT, NAME, PLATFORMS } from "../lib/questions.mjs";
import { scenario } from "./lib/world.mjs";

const option = (page, label) => page.locator(".option", { hasText: label });
const answers = async (asked) => (await asked.reply()).updatedInput.answers;

scenario("mouse: a single choice is sent by itself, and Claude's receipt is shown", async (world) => {
  const asked = await world.ask([DATABASE]);
  const page = await world.page();
  await option(page, "PostgreSQL").click();
  await page.locator(".pending", { hasText: "PostgreSQL" }).waitFor();
  assert.deepEqual(await answers(asked), { [DATABASE.question]: "PostgreSQL" });
  await page.locator(".card.settled", { hasText: "PostgreSQL" }).waitFor();
  assert.equal((await world.settled(asked.key)).outcome.by.channel, "page");
  await world.receive(asked, [DATABASE], { [DATABASE.question]: "PostgreSQL" });
  await page.getByText("received by Claude").waitFor();
  await page.mouse.move(0, 0);
  await page.locator(".empty h2").waitFor();
});

scenario("mouse: a choice can be taken back before it is sent, or sent at once", async (world) => {
  const asked = await world.ask([DATABASE]);
  const page = await world.page({ unhurried: true });
  await option(page, "PostgreSQL").click();
  await page.getByRole("button", { name: "Undo" }).click();
  assert.equal(await page.locator(".option[aria-checked=true]").count(), 0);
  await option(page, "SQLite").click();
  await page.getByRole("button", { name: "Send now" }).click();
  assert.deepEqual(await answers(asked), { [DATABASE.question]: "SQLite" });
});

scenario("mouse: several choices, one of them one's own, and a note", async (world) => {
  const asked = await world.ask([PLATFORMS]);
  const page = await world.page();
  await option(page, "Windows").click();
  await option(page, "Linux").click();
  await option(page, "macOS").click();
  await option(page, "macOS").click();
  await page.getByLabel("Another answer").fill("Plan 9");
  await page.getByRole("button", { name: "Add a note" }).click();
  await page.getByLabel("Note").fill("in this order");
  await page.getByRole("button", { name: "Send answer" }).click();
  const reply = await asked.reply();
  assert.deepEqual(reply.updatedInput.answers, { [PLATFORMS.question]: "Linux, Windows, Plan 9" });
  assert.equal(reply.updatedInput.annotations[PLATFORMS.question].notes, "in this order");
});

scenario("mouse: four questions with previews, one left out at first", async (world) => {
  const asked = await world.ask([DATABASE, LAYOUT, PLATFORMS, NAME]);
  const page = await world.page();
  await option(page, "SQLite").click();
  await option(page, "Two columns").hover();
  await page.locator(".preview pre", { hasText: "Your basket" }).waitFor();
  await option(page, "One step after the other").click();
  await page.locator(".preview pre", { hasText: "1 Basket" }).waitFor();
  await option(page, "Linux").click();
  await page.getByRole("button", { name: "Send answers" }).click();
  await page.locator(".fault", { hasText: "This one needs an answer." }).waitFor();
  assert.equal((await world.get(`/v1/asks/${asked.key}`)).state, "open");
  await page.getByLabel("Your answer").fill("Chestnut");
  await page.getByRole("button", { name: "Send answers" }).click();
  const reply = await asked.reply();
  assert.deepEqual(reply.updatedInput.answers, {
    [DATABASE.question]: "SQLite",
    [LAYOUT.question]: "One step after the other",
    [PLATFORMS.question]: "Linux",
    [NAME.question]: "Chestnut",
  });
  assert.match(reply.updatedInput.annotations[LAYOUT.question].preview, /1 Basket/);
});

scenario("keyboard: one key answers", async (world) => {
  const asked = await world.ask([DATABASE]);
  const page = await world.page();
  await page.keyboard.press("2");
  assert.deepEqual(await answers(asked), { [DATABASE.question]: "PostgreSQL" });
});

scenario("keyboard: u takes back, arrows move and choose nothing, Enter chooses, Enter again sends", async (world) => {
  const asked = await world.ask([DATABASE]);
  const page = await world.page();
  await page.keyboard.press("2");
  await page.keyboard.press("u");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  assert.equal(await page.locator(".option[aria-checked=true]").count(), 0);
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await page.locator(".pending", { hasText: "PostgreSQL" }).waitFor();
  assert.deepEqual(await answers(asked), { [DATABASE.question]: "PostgreSQL" });
});

scenario("keyboard: digits go from question to question, Space toggles, Enter sends", async (world) => {
  const asked = await world.ask([DATABASE, PLATFORMS]);
  const page = await world.page();
  await page.keyboard.press("1");
  await page.keyboard.press("3");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Space");
  await page.keyboard.press("Enter");
  assert.deepEqual(await answers(asked), { [DATABASE.question]: "SQLite", [PLATFORMS.question]: "macOS, Windows" });
});

scenario("keyboard: the digit after the last option is a text of one's own, and digits in it are text", async (world) => {
  const asked = await world.ask([DATABASE]);
  const page = await world.page();
  await page.keyboard.press("4");
  await page.keyboard.type("1 or 2? j/k!");
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.type("Both.");
  await page.keyboard.press("Enter");
  assert.deepEqual(await answers(asked), { [DATABASE.question]: "1 or 2? j/k!\nBoth." });
});

scenario("keyboard: j and k move between cards, and the digit goes to the one in focus", async (world) => {
  const first = await world.ask([DATABASE], { session: "older" });
  const second = await world.ask([LAYOUT], { session: "newer" });
  const page = await world.page();
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("k");
  await page.keyboard.press("j");
  await page.keyboard.press("2");
  assert.deepEqual(await answers(second), { [LAYOUT.question]: "One step after the other" });
  assert.equal((await world.get(`/v1/asks/${first.key}`)).state, "open");
});

scenario("keyboard: ? lists the keys, / searches the history, i goes back", async (world) => {
  const page = await world.page();
  await page.keyboard.press("?");
  await page.locator("dialog[open]", { hasText: "take back a choice" }).waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("/");
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("type")), "search");
  await page.keyboard.type("i?");
  await page.keyboard.press("Escape");
  await page.keyboard.press("i");
  await page.locator(".empty h2").waitFor();
});

scenario("touch, 360 px: single, several, free text", async (world) => {
  const single = await world.ask([DATABASE], { session: "a" });
  const page = await world.page({ phone: true });
  await option(page, "Plain files").tap();
  assert.deepEqual(await answers(single), { [DATABASE.question]: "Plain files" });
  const several = await world.ask([PLATFORMS, NAME], { session: "b" });
  await option(page, "Linux").tap();
  await option(page, "macOS").tap();
  await page.getByLabel("Your answer").tap();
  await page.keyboard.type("Oak");
  await page.getByRole("button", { name: "Send answers" }).tap();
  assert.deepEqual(await answers(several), { [PLATFORMS.question]: "Linux, macOS", [NAME.question]: "Oak" });
});

scenario("touch: with previews a tap shows, and a button sends", async (world) => {
  const asked = await world.ask([LAYOUT]);
  const page = await world.page({ phone: true });
  await option(page, "Two columns").tap();
  await page.locator(".preview pre", { hasText: "Your basket" }).waitFor();
  await option(page, "One step after the other").tap();
  await page.locator(".preview pre", { hasText: "1 Basket" }).waitFor();
  await page.getByRole("button", { name: "Send answer" }).tap();
  assert.deepEqual(await answers(asked), { [LAYOUT.question]: "One step after the other" });
});

scenario("touch: nothing is wider than a phone of 320 px, and what is tapped is large enough", async (world) => {
  const long = { ...DATABASE, question: `${"w".repeat(400)}?`, header: "A".repeat(40) };
  await world.ask([long, LAYOUT, PLATFORMS, NAME], { cwd: `/home/me/${"deep".repeat(30)}` });
  const page = await world.page({ phone: true, viewport: { width: 320, height: 640 } });
  const { scroll, client } = await page.evaluate(() => ({ scroll: document.documentElement.scrollWidth, client: document.documentElement.clientWidth }));
  assert.ok(scroll <= client, `${scroll} > ${client}`);
  const small = await page.locator("button:visible, a:visible, textarea:visible").evaluateAll((all) =>
    all.map((element) => ({ name: element.textContent || element.ariaLabel, box: element.getBoundingClientRect() })).filter(({ box, name }) => name !== "Skip to the questions" && (box.height < 40 || box.width < 40)).map(({ name, box }) => `${name}: ${box.width} x ${box.height}`),
  );
  assert.deepEqual(small, []);
});

scenario("dismissed with a reason, and released to the terminal", async (world) => {
  const dismissed = await world.ask([DATABASE], { session: "a" });
  const page = await world.page();
  await page.getByRole("button", { name: "Dismiss…" }).click();
  await page.getByLabel("Reason").fill("Read the README.");
  await page.getByRole("button", { name: "Dismiss", exact: true }).click();
  const reply = await dismissed.reply();
  assert.equal(reply.permissionDecision, "deny");
  assert.match(reply.permissionDecisionReason, /Read the README\./);
  const released = await world.ask([DATABASE], { session: "b", env: { CLAUDE_CODE_SESSION_ATTENDED: "1" }, mode: "hold" });
  await page.getByRole("button", { name: "To the terminal" }).click();
  await page.getByRole("button", { name: "Send now" }).click();
  assert.equal(await released.said, "");
  assert.equal((await world.settled(released.key)).outcome.kind, "released");
});

scenario("without free text there are only the options, for the mouse and the keyboard", async (world) => {
  const page = await world.page();
  const only = (question) => world.post("/v1/asks", { questions: [{ ...question, freeText: false }] });
  const single = await only(DATABASE);
  await option(page, "SQLite").waitFor();
  assert.equal(await page.getByLabel("Another answer").count(), 0);
  // The place after the last option is nothing, and arrows go from the last to the first.
  await page.keyboard.press("4");
  await option(page, "Plain files").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  assert.deepEqual((await world.settled(single.key)).outcome.answers, { [DATABASE.question]: "SQLite" });
  const multi = await only(PLATFORMS);
  await option(page, "Linux").click();
  await option(page, "Windows").click();
  await page.getByRole("button", { name: "Send answer" }).click();
  assert.deepEqual((await world.settled(multi.key)).outcome.answers, { [PLATFORMS.question]: "Linux, Windows" });
});

scenario("an ask of a kind that only a newer daemon knows is answered by its questions", async (world) => {
  const { key } = await world.post("/v1/asks", { questions: [DATABASE], project: "/home/me/shop" });
  const page = await world.page({ signedIn: false });
  await page.route(/\/v1\/asks$/, async (route) => {
    const response = await route.fetch();
    const list = await response.json();
    await route.fulfill({ response, json: { ...list, asks: list.asks.map((ask) => ({ ...ask, kind: "constructor", subject: { new: true } })) } });
  });
  await page.goto(`${world.url}/#launch=${await world.launchCode()}`);
  await page.getByRole("article", { name: "shop asks: Database" }).waitFor();
  await page.keyboard.press("1");
  await page.keyboard.press("Enter");
  assert.deepEqual((await world.settled(key)).outcome.answers, { [DATABASE.question]: "SQLite" });
});

scenario("a draft outlives a reload of the page", async (world) => {
  const asked = await world.ask([PLATFORMS]);
  const page = await world.page();
  await option(page, "macOS").click();
  await page.getByLabel("Another answer").fill("Plan 9");
  await page.reload();
  await page.locator(".option[aria-checked=true]", { hasText: "macOS" }).waitFor();
  await page.getByRole("button", { name: "Send answer" }).click();
  assert.deepEqual(await answers(asked), { [PLATFORMS.question]: "macOS, Plan 9" });
});

scenario("a choice is sent also when the page is left before it was", async (world) => {
  const asked = await world.ask([DATABASE]);
  const page = await world.page();
  await option(page, "SQLite").click();
  await page.close({ runBeforeUnload: false });
  assert.deepEqual(await answers(asked), { [DATABASE.question]: "SQLite" });
});

scenario("what the agent said before, and its branch", async (world) => {
  const extra = await world.transcript("The **catalogue** is in place.\n\n- one\n- two", "orders");
  await world.ask([DATABASE], { extra });
  const page = await world.page();
  await page.locator(".branch", { hasText: "orders" }).waitFor();
  await page.locator(".said-text strong", { hasText: "catalogue" }).waitFor();
  assert.equal(await page.locator(".said-text li").count(), 2);
});

scenario("keyboard: the demo, the page as `answerback open` opens it, and what the agent would be told", async (world) => {
  const told = world.answerback("demo", "--wait");
  const page = await world.page({ signedIn: false });
  await page.goto((await world.answerback("open", "--print")).trim());
  await page.locator(".card").waitFor();
  await page.keyboard.press("1");
  await page.keyboard.press("3");
  await page.keyboard.press("Enter");
  assert.match(await told, /Answer: "SQLite"[^]*Answer: "Backups"/);
});

scenario("the demo of the empty page is a question like any other", async (world) => {
  const page = await world.page();
  await page.getByRole("button", { name: "Ask me something" }).click();
  await option(page, "SQLite").click();
  await page.getByRole("button", { name: "Send now" }).click();
  await page.locator(".card.settled", { hasText: "SQLite" }).waitFor();
});

scenario("a program is called by its name, which cannot pass for anything else", async (world) => {
  const name = `<b>Codex</b> ${"long ".repeat(40)}`.trim();
  const { key } = await world.post("/v1/asks", { questions: [DATABASE], project: "/home/me/shop", asked_by: name });
  const page = await world.page({ viewport: { width: 360, height: 640 } });
  const fits = () => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);
  await page.locator(".card .mode", { hasText: `from ${name}` }).waitFor();
  assert.ok(await fits(), "it fits on a phone");
  await world.post(`/v1/asks/${key}/dismiss`, {});
  await page.getByRole("link", { name: "History" }).click();
  await page.locator(".entry", { hasText: `from ${name}` }).waitFor();
  assert.ok(await fits());
  assert.equal(await page.locator(".entry b, .card b").count(), 0);
});
