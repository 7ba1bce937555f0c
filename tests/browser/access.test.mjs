// Signing in and out, accessibility, and the history.
import assert from "node:assert/strict";
import { unusedPort } from "../lib/ports.mjs";
import { DATABASE, LAYOUT, NAME, PLATFORMS } from "../lib/questions.mjs";
import { until } from "../lib/until.mjs";
import { expectAccessible } from "./lib/accessible.mjs";
import { longCommand, PLAN, remember, SCHEMA } from "./lib/waits.mjs";
import { scenario } from "./lib/world.mjs";

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
  const lan = await unusedPort();
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

/** @type {import("./lib/browser.mjs").ProfileOptions[]} */
const PROFILES = [{ colorScheme: "light" }, { colorScheme: "dark", phone: true }, { colorScheme: "dark", wide: true }];

scenario("axe finds nothing serious in any state, light and dark, wide and narrow", async (world) => {
  const check = expectAccessible;
  for (const options of PROFILES) {
    const name = JSON.stringify(options);
    const signedOut = await world.page({ signedIn: false, ...options, reducedMotion: "reduce" });
    await signedOut.getByText("This browser is not signed in").waitFor();
    await check(signedOut, `${name} signed out`);
    const page = await world.page({ ...options, reducedMotion: "reduce" });
    await page.locator(".empty h2").waitFor();
    await check(page, `${name} empty`);
    const several = await world.ask([DATABASE, LAYOUT, PLATFORMS, NAME], { session: "several", id: `toolu_${name.length}`, extra: await world.transcript("# So\n\nIt is `done`.", "main") });
    await page.locator(".said").waitFor();
    await page.locator(".option", { hasText: "SQLite" }).click();
    await page.getByRole("button", { name: "Send answers" }).click();
    await check(page, `${name} form with faults`);
    const single = await world.ask([DATABASE], { session: "single", id: `toolu_${name.length}` });
    const card = page.locator(`.card[data-key="${single.key}"]`);
    if (options.wide) await page.locator(".index .row").nth(1).click();
    // A click right after the card has come counts for nothing.
    await until("a click that counts", async () => {
      await card.locator(".option", { hasText: "SQLite" }).click();
      return page.getByRole("button", { name: "Undo" }).isVisible();
    });
    await check(page, `${name} undo`);
    if (options.wide) await page.keyboard.press("Enter");
    else await page.getByRole("button", { name: "Send now" }).click();
    await page.locator(".card.settled, .item[data-state=settled]").first().waitFor();
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

scenario("axe finds nothing serious in permissions, plans and forms, light and dark, wide and narrow", async (world) => {
  const check = expectAccessible;
  for (const [index, options] of PROFILES.entries()) {
    const name = JSON.stringify(options);
    const session = `s-${index}`;
    const page = await world.page({ ...options, reducedMotion: "reduce" });
    const settle = async (asked, how, body) => {
      await world.post(`/v1/asks/${asked.key}/${how}`, body);
      await page.locator(".card.settled").waitFor();
      await check(page, `${name} settled`);
      await page.getByRole("button", { name: "Close" }).click();
      await page.locator(".empty h2").waitFor();
    };
    const answer = async (asked, label) => settle(asked, "answer", { answers: { [(await world.get(`/v1/asks/${asked.key}`)).questions[0].question]: label } });

    const bash = await world.permission("Bash", { command: `echo \u202e\n${longCommand(40)}`, timeout: 1 }, { session, extra: remember("echo \u202e") });
    await page.locator(".unfold").waitFor();
    await check(page, `${name} folded command`);
    await page.locator(".unfold").click();
    await page.getByRole("button", { name: "Edit before allowing" }).click();
    await page.locator(".option", { hasText: "Allow once" }).click();
    await check(page, `${name} command being edited`);
    await answer(bash, "Allow once");

    const write = await world.permission("Write", { file_path: "/nowhere/new", content: "a\n\nb\n" }, { session });
    await page.locator(".diff").waitFor();
    await page.getByRole("button", { name: "Send decision" }).click();
    await check(page, `${name} change`);
    await answer(write, "Deny");

    const mcp = await world.permission("mcp__a__b", { list: [1, { deep: "text" }], nothing: null }, { session, extra: { agent_id: "x" } });
    await page.locator(".tree").waitFor();
    await check(page, `${name} input`);
    await answer(mcp, "Deny");

    const plan = await world.plan(PLAN, { session });
    await page.getByRole("button", { name: "Comment on line 11" }).focus();
    await page.keyboard.press("Enter");
    await page.keyboard.type("Why?");
    await check(page, `${name} plan with a comment`);
    await page.getByRole("button", { name: "Remove the comment" }).click();
    await page.getByRole("button", { name: "Edit the plan" }).click();
    await check(page, `${name} plan being edited`);
    await answer(plan, "Keep planning");

    const form = await world.form({ requested_schema: SCHEMA }, { session });
    await page.getByRole("button", { name: "Send the form" }).click();
    await check(page, `${name} form with faults`);
    await page.getByRole("button", { name: "Decline…" }).click();
    await check(page, `${name} form being declined`);
    await settle(form, "dismiss", {});

    const address = await world.form({ url: "http://pay.example.org/" }, { session });
    await page.getByRole("button", { name: "Open the address…" }).click();
    await check(page, `${name} address`);
    await page.keyboard.press("Escape");
    await settle(address, "dismiss", {});

    await page.locator("#to-history").click();
    await page.locator(".entry").nth(5).waitFor();
    await page.locator(".entry summary").first().click();
    await check(page, `${name} history`);
  }
});

for (const width of [320, 390, 1400]) {
  scenario(`${width} px: permissions, plans and forms fit, and what is tapped is large enough`, async (world) => {
    const page = await world.page({ phone: width < 500, viewport: { width, height: 800 } });
    const long = "w".repeat(300);
    const cards = [
      () => world.permission("Bash", { command: `${long} ${long}\n${longCommand(40)}` }, { extra: remember(long) }),
      () => world.permission("Write", { file_path: `/nowhere/${long}`, content: `${long}\n\tb\n` }),
      () => world.permission(`mcp__${long}__${long}`, { [long]: { [long]: [long] } }, { extra: { agent_id: long, agent_type: long } }),
      () => world.plan(`${PLAN}\n\n# ${long}\n\n\`${long}\`\n\n\`\`\`${long}\n${long}\n\`\`\`\n\n| ${long} | b |\n|---|---|\n| c | ${long} |\n\n[${long}](${long})`),
      () => world.form({ server: long, message: long, requested_schema: { type: "object", properties: { ...SCHEMA.properties, [long]: { type: "string", enum: [long, `${long}2`] } } } }),
      () => world.form({ url: `https://${long}.example/${long}` }),
    ];
    for (const [index, open] of cards.entries()) {
      const asked = await open();
      await page.locator(".card.expanded .form").waitFor();
      const tapped = page.locator("button:visible, a:visible, summary:visible, input:visible, select:visible, textarea:visible, .passage-text:visible");
      const small = await tapped.evaluateAll((all) =>
        all.map((element) => ({ name: element.textContent || element.ariaLabel || element.tagName, box: element.getBoundingClientRect(), isHidden: element.matches(".skip, .comment-on") })).filter(({ box, isHidden }) => !isHidden && (box.height < 43.9 || box.width < 40)).map(({ name, box }) => `${name}: ${box.width} x ${box.height}`),
      );
      if (width < 500) assert.deepEqual(small, [], `card ${index}`);
      for (const unfold of await page.locator(".unfold").all()) await unfold.click();
      const { scroll, client } = await page.evaluate(() => ({ scroll: document.documentElement.scrollWidth, client: document.documentElement.clientWidth }));
      assert.ok(scroll <= client, `card ${index}: ${scroll} > ${client}`);
      const { kind, questions } = await world.get(`/v1/asks/${asked.key}`);
      if (kind === "form") await world.post(`/v1/asks/${asked.key}/dismiss`, {});
      else await world.post(`/v1/asks/${asked.key}/answer`, { answers: { [questions[0].question]: "no" } });
      await page.locator(".card.settled").getByRole("button", { name: "Close" }).click();
      await page.locator(".empty h2").waitFor();
    }
  });
}

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
  await page.getByRole("search").getByLabel("Project").selectOption("/home/me/radio");
  await entries.filter({ hasText: "Two columns" }).waitFor();
  await entries.nth(1).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Copy as JSON" }).click();
  await page.locator(".copy.done").waitFor();
  const copied = JSON.parse(await page.evaluate(() => navigator.clipboard.readText()));
  assert.deepEqual(copied.outcome.answers, { [LAYOUT.question]: "Two columns" });
});
