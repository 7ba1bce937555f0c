// Addresses: Back, a reload and a link lead to where people expect. Drafts go along.
import assert from "node:assert/strict";
import { DATABASE, LAYOUT, NAME, PLATFORMS } from "../lib/questions.mjs";
import { scenario } from "./lib/world.mjs";

const live = (page) => page.locator("#connection[data-state=live]");
const answers = async (asked) => (await asked.reply()).updatedInput.answers;

async function settle(world, question, answer, options) {
  const { key } = await world.ask([question], options);
  await world.post(`/v1/asks/${key}/answer`, { answers: { [question.question]: answer } });
}

scenario("a search is in the address: it survives a reload, marks what it found, and Back leads out of it", async (world) => {
  await settle(world, DATABASE, "SQLite");
  await settle(world, LAYOUT, "Two columns", { cwd: "/home/me/radio" });
  const page = await world.page();
  await page.keyboard.press("/");
  await page.locator(".entry").nth(1).waitFor();
  await page.keyboard.type("two COL");
  await page.locator(".entry").nth(1).waitFor({ state: "detached" });
  assert.deepEqual(await page.locator("mark").allTextContents(), ["Two col"]);
  await page.reload();
  await page.locator(".entry", { hasText: "Two columns" }).waitFor();
  assert.equal(await page.getByLabel("Search").inputValue(), "two COL");
  assert.equal(await page.locator(".entry").count(), 1);
  await page.getByLabel("Search").fill("");
  await page.locator(".entry").nth(1).waitFor();
  const kind = page.getByRole("search").getByLabel("Kind");
  await kind.selectOption("plan");
  await page.getByText("Nothing was found.").waitFor();
  await page.goBack();
  await page.locator(".entry").nth(1).waitFor();
  assert.equal(await kind.inputValue(), "");
  await page.goBack();
  await page.locator(".inbox").waitFor();
  assert.equal(await page.locator(".history:visible").count(), 0);
});

scenario("/ and i are steps that Back takes back, and the inbox is where it was", async (world) => {
  await world.ask([DATABASE], { session: "a" });
  const second = await world.ask([LAYOUT], { session: "b" });
  const page = await world.page({ wide: true });
  await page.locator(".index .row").nth(1).click();
  await page.locator(".card:visible", { hasText: LAYOUT.question }).waitFor();
  await page.keyboard.press("/");
  await page.getByLabel("Search").waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("i");
  await page.locator(`.card:visible[data-key="${second.key}"]`).waitFor();
  await page.goBack();
  await page.getByLabel("Search").waitFor();
  await page.goBack();
  await page.locator(`.card:visible[data-key="${second.key}"]`).waitFor();
  await page.goBack();
  await page.locator(".card:visible", { hasText: DATABASE.question }).waitFor();
});

scenario("on a phone, Back closes what was opened", async (world) => {
  for (let number = 0; number < 6; number++) await world.ask([{ ...NAME, question: `Question ${number}?` }], { session: `s${number}` });
  const page = await world.page({ phone: true });
  const last = page.locator(".card", { hasText: "Question 5?" });
  await last.locator(".row").tap();
  await last.getByLabel("Your answer").waitFor();
  await page.goBack();
  await last.locator(".row").waitFor();
  assert.equal(await last.getByLabel("Your answer").count(), 0);
  // What was begun stays open.
  await last.locator(".row").tap();
  await last.getByLabel("Your answer").fill("Oak");
  await page.goBack();
  await page.locator(".card").first().waitFor();
  assert.equal(await last.getByLabel("Your answer").inputValue(), "Oak");
});

scenario("a draft is in every tab of the browser until its question is settled", async (world) => {
  const asked = await world.ask([PLATFORMS]);
  const page = await world.page();
  await page.locator(".option", { hasText: "macOS" }).click();
  await page.getByLabel("Another answer").fill("Plan 9");
  const tab = await page.context().newPage();
  await tab.goto(world.url);
  await live(tab).waitFor();
  assert.equal(await tab.getByLabel("Another answer").inputValue(), "Plan 9");
  // What is written in one tab is in the other.
  await tab.getByLabel("Another answer").fill("Plan 9, later");
  await page.waitForFunction(() => /** @type {any} */ (document.querySelector(".option.other textarea"))?.value === "Plan 9, later");
  await tab.getByRole("button", { name: "Send answer" }).click();
  assert.deepEqual(await answers(asked), { [PLATFORMS.question]: "macOS, Plan 9, later" });
  // The other tab does not say that it was not sent.
  await page.locator(".card.settled").waitFor();
  assert.equal(await page.locator(".unsent").count(), 0);
  assert.deepEqual(await page.evaluate(() => Object.keys(localStorage).filter((key) => key.startsWith("answerback.draft."))), []);
});

scenario("a text for a question that was settled elsewhere is shown until it is closed, also after a reload or another visit", async (world) => {
  const [first, second] = await Promise.all([world.ask([NAME], { session: "a" }), world.ask([PLATFORMS], { session: "b" })]);
  const page = await world.page();
  await page.getByLabel("Your answer").fill("Chestnut, for the wood");
  await page.locator(".option", { hasText: "macOS" }).click();
  await world.post(`/v1/asks/${first.key}/answer`, { answers: { [NAME.question]: "Oak" } });
  const unsent = page.locator(".unsent", { hasText: "Chestnut, for the wood" });
  await unsent.waitFor();
  await page.reload();
  await unsent.waitFor();
  await page.locator(".card.settled .ended-answer", { hasText: "Oak" }).waitFor();
  // The same for one that was settled while nobody looked.
  await page.goto("about:blank");
  await world.post(`/v1/asks/${second.key}/dismiss`, {});
  await page.goto(world.url);
  await unsent.waitFor();
  await page.locator(".unsent", { hasText: "macOS" }).waitFor();
  for (let left = 2; left > 0; left--) await page.getByRole("button", { name: "Close" }).first().click();
  await page.locator(".empty h2").waitFor();
  await page.reload();
  await page.locator(".empty h2").waitFor();
  assert.deepEqual(await page.evaluate(() => Object.keys(localStorage).filter((key) => key.startsWith("answerback.draft."))), []);
});

scenario("drafts do not outlive a sign-out", async (world) => {
  await world.ask([NAME]);
  const page = await world.page();
  await page.getByLabel("Your answer").fill("between us");
  await page.getByRole("button", { name: "Settings" }).click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByText("This browser was signed out.").waitFor();
  assert.ok(!JSON.stringify(await page.evaluate(() => ({ ...localStorage }))).includes("between us"));
  world.complaints = world.complaints.filter((text) => !text.includes("status of 401"));
});
