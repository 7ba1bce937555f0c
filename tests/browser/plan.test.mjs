// Plans on the page: read, approved, edited, and sent back with comments.
import assert from "node:assert/strict";
import { PLAN } from "./lib/waits.mjs";
import { scenario } from "./lib/world.mjs";

const option = (page, label) => page.locator(".option", { hasText: label });
const button = (page, name) => page.getByRole("button", { name, exact: true });
const decision = async (asked) => (await asked.reply()).decision;
const mode = (name) => [{ type: "setMode", mode: name, destination: "session" }];
const passage = (page, text) => page.locator(".passage-text", { hasText: text });
/** @type {[string, import("./lib/browser.mjs").ProfileOptions][]} */
const WIDTHS = [["wide", {}], ["390 px", { phone: true, viewport: { width: 390, height: 844 } }]];

/** Begins a comment as a person does with this device. */
async function comment(page, text, words) {
  if (await page.evaluate(() => matchMedia("(pointer: coarse)").matches)) {
    await passage(page, text).locator("> :first-child").tap();
  } else {
    await passage(page, text).hover();
    await passage(page, text).getByRole("button", { name: /^Comment on/ }).click();
  }
  await page.keyboard.type(words);
}

for (const [where, profile] of WIDTHS) {
  scenario(`${where}: the plan is rendered, and fits`, async (world) => {
    await world.plan(PLAN);
    const page = await world.page(profile);
    await page.getByRole("article", { name: "shop has a plan: Add a search to the shop" }).waitFor();
    const text = page.locator(".plan-text");
    for (const [selector, words] of [["h3", "Add a search to the shop"], ["h4", "Steps"], ["ol > li", "Index the orders"], ["ol li ul li code", "customer_id"], ["strong", "order numbers"], ["td code", "src/store/search.rs"], ["pre", "CREATE VIRTUAL TABLE"], ["blockquote", "Nothing is deployed"], [".address", "https://www.sqlite.org/fts5.html"]]) {
      await text.locator(selector, { hasText: words }).first().waitFor();
    }
    assert.equal(await text.locator("a").count(), 0);
    const { scroll, client } = await page.evaluate(() => ({ scroll: document.documentElement.scrollWidth, client: document.documentElement.clientWidth }));
    assert.ok(scroll <= client, `${scroll} > ${client}`);
  });

  scenario(`${where}: approved, with edits accepted`, async (world) => {
    const asked = await world.plan(PLAN);
    const page = await world.page(profile);
    await option(page, "Approve, accept edits").click();
    await button(page, "Approve the plan").click();
    assert.deepEqual(await decision(asked), { behavior: "allow", updatedInput: {}, updatedPermissions: mode("acceptEdits") });
    await page.locator(".card.settled", { hasText: "Approved" }).filter({ hasText: "Accept edits" }).waitFor();
  });

  scenario(`${where}: edited and approved, asking before each edit`, async (world) => {
    const asked = await world.plan(PLAN);
    const page = await world.page(profile);
    await button(page, "Edit the plan").click();
    await page.getByLabel("The plan that is carried out instead").fill("# Only the index");
    await page.locator(".chip", { hasText: "edited" }).waitFor();
    assert.equal(await option(page, "Keep planning").first().isDisabled(), true);
    await option(page, "Approve, ask before each edit").click();
    await button(page, "Approve the edited plan").click();
    assert.deepEqual(await decision(asked), { behavior: "allow", updatedInput: { plan: "# Only the index" }, updatedPermissions: mode("default") });
    await page.locator(".card.settled", { hasText: "Approved, edited" }).waitFor();
    await page.locator("#to-history").click();
    await page.getByText("The plan as it was edited").click();
    await page.locator(".entry h3", { hasText: "Only the index" }).waitFor();
  });

  scenario(`${where}: sent back with two comments on passages, numbered and quoted`, async (world) => {
    const asked = await world.plan(PLAN);
    const page = await world.page(profile);
    await comment(page, "Show the results", "In pages of 20.");
    await comment(page, "on created_at", "Not needed.");
    assert.equal(await option(page, "Approve, accept edits").isDisabled(), true, "an approval would lose the comments");
    await page.getByLabel("Keep planning, and tell the agent what to change").fill("Nearly.");
    await button(page, "Send back with 2 comments").click();
    const { behavior, message } = await decision(asked);
    assert.equal(behavior, "deny");
    const said = JSON.parse(message.slice(message.indexOf('"')));
    assert.equal(said, "Nearly.\n\n1. On line 9 of the plan:\n>    - on `created_at`\nNot needed.\n\n2. On line 11 of the plan:\n> 3. Show the results\nIn pages of 20.");
    await page.locator(".card.settled", { hasText: "Sent back" }).waitFor();
    await page.locator("#to-history").click();
    await page.locator(".entry", { hasText: /Sent back[^]*Nearly\.[^]*Not needed\./ }).waitFor();
  });
}

scenario("a part of a passage is selected and commented on", async (world) => {
  const asked = await world.plan(PLAN);
  const page = await world.page();
  await page.locator(".plan-text strong").waitFor();
  await page.evaluate(() => getSelection()?.selectAllChildren(document.querySelector(".plan-text strong")));
  await page.getByRole("button", { name: "Comment on the selection" }).click();
  await page.locator(".comment blockquote", { hasText: "order numbers" }).waitFor();
  await page.keyboard.type("Only these.");
  await button(page, "Send back with 1 comment").click();
  assert.match((await decision(asked)).message, /1\. On line 3 of the plan:\\n> order numbers\\nOnly these\./);
});

scenario("a plan that got a draft from another tab before it was opened still offers to comment on the selection", async (world) => {
  await world.plan("# First");
  const second = await world.plan(PLAN, { session: "session-2" });
  const page = await world.page({ wide: true });
  await page.locator(".plan-text h3", { hasText: "First" }).waitFor();
  const other = await page.context().newPage();
  await other.goto(`${world.url}/#/ask/${second.key}`);
  await comment(other, "Show the results", "In pages of 20.");
  await page.locator(".row", { hasText: "Add a search" }).getByText("Draft").waitFor();
  // Any selection on the page: the second plan is not in the document yet.
  await page.evaluate(() => {
    const told = new Promise((resolve) => document.addEventListener("selectionchange", resolve, { once: true }));
    getSelection()?.selectAllChildren(document.querySelector(".plan-text h3"));
    return told;
  });
  await page.locator(".row", { hasText: "Add a search" }).click();
  const plan = page.locator(`.card[data-key="${second.key}"]`);
  await plan.locator(".plan-text strong").waitFor();
  await plan.locator(".plan-text strong").evaluate((element) => getSelection()?.selectAllChildren(element));
  await plan.getByRole("button", { name: "Comment on the selection" }).click();
  await plan.locator(".comment blockquote", { hasText: "order numbers" }).waitFor();
});

scenario("keyboard: every passage can be commented on, and no single key approves", async (world) => {
  const asked = await world.plan("# One\n\n- two\n- three");
  const page = await world.page();
  await page.keyboard.press("1");
  await page.locator(".option[aria-checked=true]", { hasText: "Approve, accept edits" }).waitFor();
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), "Approve the plan");
  assert.equal((await world.get(`/v1/asks/${asked.key}`)).state, "open");
  const buttons = page.getByRole("button", { name: /^Comment on line/ });
  assert.equal(await buttons.count(), 3);
  await buttons.nth(1).focus();
  await page.keyboard.press("Enter");
  await page.keyboard.type("Why two?");
  await page.keyboard.press("Control+Enter");
  assert.match((await decision(asked)).message, /1\. On line 3 of the plan:\\n> - two\\nWhy two\?/);
});

scenario("a plan that is edited is shown from its beginning", async (world) => {
  await world.plan(`# Start\n\n${Array.from({ length: 120 }, (_, index) => `- step ${index}`).join("\n")}`);
  const page = await world.page();
  await button(page, "Edit the plan").click();
  const field = page.getByLabel("The plan that is carried out instead");
  assert.deepEqual(await field.evaluate((area) => [/** @type {HTMLTextAreaElement} */ (area).selectionStart, area.scrollTop, area === document.activeElement]), [0, 0, true]);
});

scenario("comments outlive a reload, and can be removed", async (world) => {
  const asked = await world.plan(PLAN);
  const page = await world.page();
  await comment(page, "Show the results", "In pages.");
  await page.reload();
  assert.equal(await page.getByLabel("Comment on line 11").last().inputValue(), "In pages.");
  await button(page, "Send back with 1 comment").waitFor();
  await button(page, "Remove the comment").click();
  assert.equal(await page.locator(".comment").count(), 0);
  await option(page, "Approve, accept edits").click();
  await button(page, "Approve the plan").click();
  assert.equal((await decision(asked)).behavior, "allow");
});

scenario("a plan that nobody wrote down can be approved or sent back", async (world) => {
  const asked = await world.plan("");
  const page = await world.page();
  await page.getByText("The agent has not written its plan down.").waitFor();
  await option(page, "Keep planning").first().click();
  await button(page, "Send back").click();
  assert.deepEqual(await decision(asked), { behavior: "deny", message: "The user does not approve the plan yet. Stay in plan mode and revise it." });
});
