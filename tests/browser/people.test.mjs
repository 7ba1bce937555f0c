// People and roles: what a person of a team sees on the page, and what they can do there.
import assert from "node:assert/strict";
import { unusedPort } from "../lib/ports.mjs";
import { DATABASE, LAYOUT } from "../lib/questions.mjs";
import { until } from "../lib/until.mjs";
import { scenario } from "./lib/world.mjs";

/** A page on a device of this person; on this one, if it is given. */
const pageOf = async (world, lan, person, given = null) => {
  const { code, id } = await world.admin("POST", "/v1/pairing", { person });
  const page = given ?? (await world.page({ signedIn: false, ignoreHTTPSErrors: true }));
  await page.goto(`https://127.0.0.1:${lan}/#pair=${code}`);
  const check = (await page.locator(".check").innerText()).replaceAll(/\s/g, "");
  await world.admin("POST", `/v1/pairing/${id}/confirm`, { check });
  await page.locator(".card").first().waitFor();
  return page;
};

scenario("people: a person sees their project, is named beside their answer, and follows their role", async (world) => {
  const lan = await unusedPort();
  await world.killDaemon();
  await world.configure(`lan_address = "0.0.0.0:${lan}"\n`);
  await world.startDaemon();
  const shop = await world.ask([DATABASE], { session: "shop", cwd: "/srv/shop" });
  const site = await world.ask([LAYOUT], { session: "site", cwd: "/srv/site" });
  const grants = [{ role: "answer", project: "/srv/shop" }];
  const { id } = await world.admin("POST", "/v1/people", { name: "Anna", grants });
  const page = await pageOf(world, lan, id);
  const card = ({ key }) => page.locator(`.card[data-key="${key}"]`);
  await card(shop).waitFor();
  assert.equal(await page.locator(".card").count(), 1);
  const other = await world.page();
  await other.locator(".card").nth(1).waitFor();
  await card(shop).locator(".option", { hasText: "SQLite" }).click();
  await other.locator(".card.settled", { hasText: "on the page (Anna, " }).waitFor();
  assert.equal((await world.settled(shop.key)).outcome.by.person, "Anna");

  // The page that is open follows what she may see.
  await world.admin("PUT", `/v1/people/${id}/grants`, { grants: [{ role: "view", project: "/srv/site" }] });
  await card(site).waitFor();
  await card(site).locator(".option").first().click();
  await page.getByText("Your role does not allow this.").first().waitFor();
  await world.answerback("people", "revoke", "Anna", "--yes");
  await page.getByText("This browser was signed out.").waitFor();
  world.complaints = world.complaints.filter((text) => !/status of 40[13]/.test(text));
});

scenario("people: whoever signs in next in the same browser does not see the drafts of the one before", async (world) => {
  const lan = await unusedPort();
  await world.killDaemon();
  await world.configure(`lan_address = "0.0.0.0:${lan}"\n`);
  await world.startDaemon();
  await world.ask([DATABASE], { session: "shop", cwd: "/srv/shop" });
  const grants = [{ role: "answer", project: "/srv/shop" }];
  const [anna, ben] = await Promise.all(["Anna", "Ben"].map((name) => world.admin("POST", "/v1/people", { name, grants })));
  const page = await pageOf(world, lan, anna.id);
  const field = (/** @type {import("playwright-core").Page} */ of) => of.getByLabel("Another answer");
  await field(page).fill("what Anna thinks");
  // Her own tabs have it.
  const other = await page.context().newPage();
  await other.goto(`https://127.0.0.1:${lan}/`);
  await until("the draft in the other tab", async () => (await field(other).inputValue()) === "what Anna thinks");

  await pageOf(world, lan, ben.id, page);
  assert.equal(await field(page).inputValue(), "");
  assert.doesNotMatch(await page.evaluate(() => JSON.stringify(localStorage)), /what Anna thinks/);
  await until("Anna's text to leave the other tab", async () => (await field(other).inputValue().catch(() => "")) === "");
  await field(page).fill("what Ben thinks");
  await until("Ben's draft in the other tab", async () => (await field(other).inputValue().catch(() => "")) === "what Ben thinks");

  await page.getByRole("button", { name: "Settings" }).click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await other.getByText("This browser was signed out.").waitFor();
  await pageOf(world, lan, anna.id, page);
  assert.equal(await field(page).inputValue(), "");
  world.complaints = world.complaints.filter((text) => !/status of 401/.test(text));
});
