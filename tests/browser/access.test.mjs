// Signing in and out, accessibility, and the history.
import assert from "node:assert/strict";
import fs from "node:fs/promises";
import { axeSource } from "./lib/browser.mjs";
import { DATABASE, LAYOUT, NAME, PLATFORMS } from "../lib/questions.mjs";
import { freePort, scenario } from "./lib/world.mjs";

const statusesExpected = (world, ...statuses) => {
  world.complaints = world.complaints.filter((text) => !statuses.some((status) => text.includes(`status of ${status}`)));
};

scenario("sign-in: a code is good once, leaves the address, and the page stays signed in", async (world) => {
  await world.ask([DATABASE]);
  const code = await world.launchCode();
  const page = await world.page({ signedIn: false });
  await page.getByText("This browser is not signed in").waitFor();
  await page.getByText("answerback open", { exact: true }).waitFor();
  await page.goto(`${world.url}/#launch=${code}`);
  await page.locator(".card").waitFor();
  assert.equal(new URL(page.url()).hash.includes(code), false);
  await page.reload();
  await page.locator(".card").waitFor();

  const stranger = await world.page({ signedIn: false });
  await stranger.goto(`${world.url}/#launch=${code}`);
  await stranger.getByText("This code was used already, or is too old.").waitFor();
  assert.equal(await stranger.locator(".card").count(), 0);
  statusesExpected(world, 410);
});

scenario("sign-in: signing out counts here and at the daemon", async (world) => {
  const page = await world.page();
  const token = await page.evaluate(() => localStorage.getItem("answerback.token"));
  await page.getByRole("button", { name: "Settings" }).click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByText("This browser was signed out.").waitFor();
  const reply = await fetch(`${world.url}/v1/asks`, { headers: { authorization: `Bearer ${token}` } });
  assert.equal(reply.status, 401);
  assert.equal(await page.evaluate(() => localStorage.getItem("answerback.token")), null);
  statusesExpected(world, 401);
});

scenario("sign-in: a revoked browser is signed out while the page is open", async (world) => {
  await world.ask([DATABASE]);
  const page = await world.page();
  await page.locator(".card").waitFor();
  await world.answerback("devices", "revoke", "--all");
  await page.getByText("This browser was signed out.").waitFor();
  assert.equal(await page.locator(".card").count(), 0);
  statusesExpected(world, 401);
});

scenario("pairing: over TLS the device shows six digits, and is in once they were typed; revoked, it is out", async (world) => {
  const lan = await freePort();
  await world.killDaemon();
  await world.configure(`lan_address = "0.0.0.0:${lan}"\n`);
  await world.startDaemon();
  await world.ask([DATABASE]);
  const { code, id } = await world.admin("POST", "/v1/pairing");
  const page = await world.page({ signedIn: false, phone: true, ignoreHTTPSErrors: true });
  await page.goto(`https://127.0.0.1:${lan}/`);
  await page.getByText("answerback pair", { exact: true }).waitFor();
  await page.goto(`https://127.0.0.1:${lan}/#pair=${code}`);
  const check = (await page.locator(".check").innerText()).replaceAll(/\s/g, "");
  assert.match(check, /^\d{6}$/);
  assert.equal(await page.locator(".card").count(), 0);
  await world.admin("POST", `/v1/pairing/${id}/confirm`, { check });
  await page.locator(".option", { hasText: "SQLite" }).tap();
  await page.locator(".card.settled", { hasText: "SQLite" }).waitFor();
  const { devices } = JSON.parse(await world.answerback("devices", "--json"));
  const [phone] = devices.filter(({ kind }) => kind === "paired");
  await world.answerback("devices", "revoke", phone.id);
  await page.getByText("This browser was signed out.").waitFor();
  statusesExpected(world, 401);
});

scenario("axe finds nothing serious in any state, light and dark, wide and narrow", async (world) => {
  const axe = await fs.readFile(axeSource, "utf8");
  const check = async (page, state) => {
    // Through the debugger, because the page lets no foreign script in.
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => /** @type {any} */ (globalThis).axe.run(document, { resultTypes: ["violations"] }));
    const found = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
    assert.deepEqual(found.map(({ id, nodes }) => `${state}: ${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join("\n")}`), []);
  };
  /** @type {import("./lib/browser.mjs").ProfileOptions[]} */
  const profiles = [{ colorScheme: "light" }, { colorScheme: "dark", phone: true }];
  for (const options of profiles) {
    const name = JSON.stringify(options);
    const signedOut = await world.page({ signedIn: false, ...options, reducedMotion: "reduce" });
    await signedOut.getByText("This browser is not signed in").waitFor();
    await check(signedOut, `${name} signed out`);
    const page = await world.page({ ...options, reducedMotion: "reduce" });
    await page.locator(".empty h2").waitFor();
    await check(page, `${name} empty`);
    const several = await world.ask([DATABASE, LAYOUT, PLATFORMS, NAME], { session: "several", id: `toolu_${name.length}`, extra: await world.transcript("# So\n\nIt is `done`.", "main") });
    await page.locator(".said").waitFor();
    await page.getByText("What the agent said before").click();
    await page.locator(".option", { hasText: "SQLite" }).click();
    await page.getByRole("button", { name: "Send answers" }).click();
    await check(page, `${name} form with faults`);
    const single = await world.ask([DATABASE], { session: "single", id: `toolu_${name.length}` });
    const more = page.getByRole("button", { name: "1 new question" });
    await more.waitFor();
    await check(page, `${name} held`);
    await more.click();
    await page.locator(".card", { hasText: DATABASE.question }).first().locator(".option", { hasText: "SQLite" }).click();
    await page.getByRole("button", { name: "Undo" }).waitFor();
    await check(page, `${name} undo`);
    await page.getByRole("button", { name: "Send now" }).click();
    await page.locator(".card.settled").waitFor();
    await check(page, `${name} settled`);
    await single.reply();
    await page.keyboard.press("?");
    await check(page, `${name} keys`);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Settings" }).click();
    await check(page, `${name} settings`);
    await page.keyboard.press("Escape");
    await page.locator("#to-history").click();
    await page.locator(".entry").first().waitFor();
    await check(page, `${name} history`);
    several.child.kill("SIGKILL");
    await world.settled(several.key);
  }
});

scenario("history: search, filters, who and where, and JSON to copy", async (world) => {
  const settle = async (question, answer, cwd) => {
    const { key } = await world.ask([question], { cwd });
    await world.post(`/v1/asks/${key}/answer`, { answers: { [question.question]: answer }, notes: { [question.question]: `about ${answer}` } });
  };
  await settle(DATABASE, "SQLite", "/home/me/shop");
  await settle(LAYOUT, "Two columns", "/home/me/radio");
  const { key } = await world.ask([PLATFORMS]);
  await world.post(`/v1/asks/${key}/dismiss`, { reason: "not now" });
  const page = await world.page();
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.keyboard.press("/");
  const entries = page.locator(".entry");
  await entries.nth(2).waitFor();
  await page.keyboard.type("two col");
  await entries.nth(1).waitFor({ state: "detached" });
  await entries.filter({ hasText: "about Two columns" }).filter({ hasText: "by a program" }).waitFor();
  await page.getByLabel("Search").fill("");
  await entries.nth(2).waitFor();
  await page.getByLabel("Outcome").selectOption("dismissed");
  await entries.filter({ hasText: "not now" }).waitFor();
  await entries.nth(1).waitFor({ state: "detached" });
  await page.getByLabel("Outcome").selectOption("");
  await page.getByLabel("Project").selectOption("/home/me/radio");
  await entries.filter({ hasText: "Two columns" }).waitFor();
  await entries.nth(1).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Copy as JSON" }).click();
  await page.locator(".copy.done").waitFor();
  const copied = JSON.parse(await page.evaluate(() => navigator.clipboard.readText()));
  assert.deepEqual(copied.outcome.answers, { [LAYOUT.question]: "Two columns" });
});
