// The everyday flows in Firefox: what a person does on a desk and on a narrow screen, light and dark. The other files have the details, in
// Chromium.
import assert from "node:assert/strict";
import { until } from "../lib/until.mjs";
import { DATABASE, LAYOUT, NAME, PLATFORMS } from "../lib/questions.mjs";
import { expectAccessible } from "./lib/accessible.mjs";
import { Elsewhere } from "./lib/elsewhere.mjs";
import { countHits, expectUnreached, hostile, leave } from "./lib/hostile.mjs";
import { PLAN, remember, SCHEMA } from "./lib/waits.mjs";
import { scenario } from "./lib/world.mjs";

const inFirefox = (name, body) => scenario(`Firefox: ${name}`, body, { browser: "firefox" });
/** @type {import("./lib/browser.mjs").ProfileOptions} */
const WIDE = { colorScheme: "light", wide: true };
/** @type {import("./lib/browser.mjs").ProfileOptions} */
const NARROW = { colorScheme: "dark", reducedMotion: "reduce", phone: true, viewport: { width: 390, height: 844 } };
/** @type {[string, import("./lib/browser.mjs").ProfileOptions][]} */
const BOTH = [["wide, light", WIDE], ["390 px, dark", NARROW]];

const option = (page, label) => page.locator(".option", { hasText: label });
const button = (page, name) => page.getByRole("button", { name, exact: true });
const answers = async (asked) => (await asked.reply()).updatedInput.answers;
const decision = async (asked) => (await asked.reply()).decision;

async function expectFits(page, what) {
  const { scroll, client } = await page.evaluate(() => ({ scroll: document.documentElement.scrollWidth, client: document.documentElement.clientWidth }));
  assert.ok(scroll <= client, `${what}: ${scroll} > ${client}`);
}

inFirefox("sign-in: a code is good once, leaves the address, and the page stays signed in", async (world) => {
  await world.ask([DATABASE]);
  const code = await world.launchCode();
  const page = await world.page({ ...WIDE, signedIn: false });
  await page.getByText("This browser is not signed in").waitFor();
  await page.goto(`${world.url}/#launch=${code}`);
  await option(page, "SQLite").waitFor();
  assert.equal(page.url().includes(code), false);
  await page.reload();
  await option(page, "SQLite").waitFor();
  const stranger = await world.page({ ...WIDE, signedIn: false });
  await stranger.goto(`${world.url}/#launch=${code}`);
  await stranger.getByText("This code was used already, or is too old.").waitFor();
  assert.equal(await stranger.locator(".card").count(), 0);
});

for (const [where, profile] of BOTH) {
  inFirefox(`${where}: a choice is taken back, and another one sent`, async (world) => {
    const asked = await world.ask([DATABASE]);
    const page = await world.page({ ...profile, unhurried: true });
    assert.equal(await page.evaluate(() => matchMedia("(prefers-color-scheme: dark)").matches), profile.colorScheme === "dark");
    assert.equal(await page.evaluate(() => matchMedia("(pointer: coarse)").matches), profile.phone === true);
    await option(page, "PostgreSQL").click();
    await button(page, "Undo").click();
    assert.equal(await page.locator(".option[aria-checked=true]").count(), 0);
    await option(page, "SQLite").click();
    await button(page, "Send now").click();
    assert.deepEqual(await answers(asked), { [DATABASE.question]: "SQLite" });
    await page.locator(".card.settled", { hasText: "SQLite" }).waitFor();
  });

  inFirefox(`${where}: several questions with a preview and a text, one left out at first, and a draft that outlives a reload`, async (world) => {
    const asked = await world.ask([DATABASE, LAYOUT, PLATFORMS, NAME]);
    const page = await world.page(profile);
    await option(page, "SQLite").click();
    await option(page, "One step after the other").click();
    await page.locator(".preview pre", { hasText: "1 Basket" }).waitFor();
    await option(page, "Linux").click();
    await option(page, "macOS").click();
    await page.getByLabel("Another answer").last().fill("Plan 9");
    await button(page, "Send answers").click();
    await page.locator(".fault", { hasText: "This one needs an answer." }).waitFor();
    await page.reload();
    await page.locator(".option[aria-checked=true]", { hasText: "macOS" }).waitFor();
    assert.equal((await world.get(`/v1/asks/${asked.key}`)).state, "open");
    await page.getByLabel("Your answer").fill("Chestnut\nor Oak");
    await expectFits(page, "four questions");
    await button(page, "Send answers").click();
    assert.deepEqual(await answers(asked), {
      [DATABASE.question]: "SQLite",
      [LAYOUT.question]: "One step after the other",
      [PLATFORMS.question]: "Linux, macOS, Plan 9",
      [NAME.question]: "Chestnut\nor Oak",
    });
  });

  inFirefox(`${where}: a command is allowed in two steps`, async (world) => {
    const asked = await world.permission("Bash", { command: "npm test", timeout: 5000 }, { extra: remember("npm test") });
    const page = await world.page(profile);
    assert.equal((await page.getByLabel("Command", { exact: true }).textContent()).trim(), "npm test");
    await option(page, "Allow once").click();
    assert.equal(await page.locator(".pending").count(), 0, "nothing is about to be sent by itself");
    await expectFits(page, "a command");
    await button(page, "Allow once").click();
    assert.deepEqual(await decision(asked), { behavior: "allow" });
    await page.locator(".card.settled", { hasText: "Allowed once" }).waitFor();
  });

  inFirefox(`${where}: a plan is read and approved`, async (world) => {
    const asked = await world.plan(PLAN);
    const page = await world.page(profile);
    for (const [selector, words] of [["ol > li", "Index the orders"], ["td code", "src/store/search.rs"], ["pre", "CREATE VIRTUAL TABLE"]]) {
      await page.locator(`.plan-text ${selector}`, { hasText: words }).first().waitFor();
    }
    await expectFits(page, "a plan");
    await option(page, "Approve, accept edits").click();
    await button(page, "Approve the plan").click();
    assert.equal((await decision(asked)).behavior, "allow");
  });

  inFirefox(`${where}: a form with a wrong number is refused, and then sent`, async (world) => {
    const asked = await world.form({ requested_schema: SCHEMA });
    const page = await world.page({ ...profile, timezoneId: "Europe/Berlin" });
    await page.getByLabel("Port").fill("70000");
    await option(page, "Large").click();
    await page.getByLabel("First day").fill("2027-02-03");
    await page.getByLabel("Start").fill("2027-02-03T09:30");
    await button(page, "Send the form").click();
    await page.locator(".fault", { hasText: "Must be at most 65535." }).waitFor();
    assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("type")), "number");
    await expectFits(page, "a form");
    // Playwright's fill() adds to a number in Firefox.
    await page.getByLabel("Port").press("Control+A");
    await page.keyboard.type("8443");
    await button(page, "Send the form").click();
    const { action, content } = await asked.reply();
    assert.equal(action, "accept");
    assert.deepEqual(content, { host: "shop.example.org", port: 8443, ratio: 0.5, tls: true, size: "l", zones: ["north"], day: "2027-02-03", at: "2027-02-03T08:30:00.000Z" });
  });

  inFirefox(`${where}: axe finds nothing serious`, async (world) => {
    const page = await world.page(profile);
    const check = (state) => expectAccessible(page, `${where}, ${state}`);
    await page.locator(".empty h2").waitFor();
    await check("empty");
    const question = await world.ask([DATABASE, LAYOUT, NAME], { extra: await world.transcript("# So\n\nIt is `done`.", "main") });
    await option(page, "SQLite").click();
    await button(page, "Send answers").click();
    await page.locator(".fault", { hasText: "This one needs an answer." }).first().waitFor();
    await check("questions with faults");
    await world.post(`/v1/asks/${question.key}/dismiss`, {});
    await page.locator(".card.settled").waitFor();
    await check("settled");
    await page.locator("#to-history").click();
    await page.locator(".entry").first().waitFor();
    await check("history");
  });
}

inFirefox("keyboard: one key answers", async (world) => {
  const asked = await world.ask([DATABASE]);
  const page = await world.page(WIDE);
  await option(page, "SQLite").waitFor();
  await page.keyboard.press("2");
  assert.deepEqual(await answers(asked), { [DATABASE.question]: "PostgreSQL" });
});

inFirefox("keyboard: digits go from question to question, Space toggles, Enter sends", async (world) => {
  const asked = await world.ask([DATABASE, PLATFORMS]);
  const page = await world.page(WIDE);
  await option(page, "SQLite").waitFor();
  for (const key of ["1", "3", "ArrowUp", "Space", "Enter"]) await page.keyboard.press(key);
  assert.deepEqual(await answers(asked), { [DATABASE.question]: "SQLite", [PLATFORMS.question]: "macOS, Windows" });
});

inFirefox("keyboard: digits in a text of one's own are text, and Shift+Enter is a new line", async (world) => {
  const asked = await world.ask([DATABASE]);
  const page = await world.page(WIDE);
  await option(page, "SQLite").waitFor();
  await page.keyboard.press("4");
  await page.keyboard.type("1 or 2? j/k!");
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.type("Both.");
  await page.keyboard.press("Enter");
  assert.deepEqual(await answers(asked), { [DATABASE.question]: "1 or 2? j/k!\nBoth." });
});

inFirefox("keyboard: no single key allows, Enter goes to the button, and Enter on it allows", async (world) => {
  const asked = await world.permission("Bash", { command: "npm test" });
  const page = await world.page(WIDE);
  await option(page, "Allow once").waitFor();
  await page.keyboard.press("1");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), "Allow once");
  assert.equal((await world.get(`/v1/asks/${asked.key}`)).state, "open");
  await page.keyboard.press("Enter");
  assert.deepEqual(await decision(asked), { behavior: "allow" });
});

inFirefox("keyboard: / searches the history, and i goes back", async (world) => {
  for (const [question, answer] of /** @type {[Question, string][]} */ ([[DATABASE, "SQLite"], [LAYOUT, "Two columns"]])) {
    const { key } = await world.ask([question]);
    await world.post(`/v1/asks/${key}/answer`, { answers: { [question.question]: answer } });
  }
  const page = await world.page(WIDE);
  await page.keyboard.press("/");
  const [database, layout] = [DATABASE, LAYOUT].map(({ question }) => page.locator(".entry", { hasText: question }));
  await database.waitFor();
  await layout.waitFor();
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("type")), "search");
  await page.keyboard.type("two col");
  await database.waitFor({ state: "detached" });
  await layout.waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("i");
  await page.locator(".empty h2").waitFor();
});

inFirefox("the page finds a daemon that was killed and came back", async (world) => {
  const { key } = await world.post("/v1/asks", { questions: [DATABASE] });
  const page = await world.page(WIDE);
  await option(page, "SQLite").waitFor();
  await world.killDaemon();
  await world.startDaemon();
  await world.post(`/v1/asks/${key}/answer`, { answers: { [DATABASE.question]: "SQLite" } });
  await page.locator(".card.settled", { hasText: "SQLite" }).waitFor();
  await page.locator("#connection[data-state=live]").waitFor();
});

inFirefox("hostile strings run no script and reach nobody", async (world) => {
  const [open, outside] = [new Elsewhere(), new Elsewhere()];
  await Promise.all([open.start(), outside.start()]);
  try {
    // Where nothing stops them, they run code and get out.
    open.pages = { "/": "<!doctype html><title>careless</title>" };
    const careless = await world.page({ ...WIDE, signedIn: false });
    const control = await countHits(careless);
    await careless.goto(open.url);
    await careless.evaluate((strings) => strings.forEach((text) => document.body.insertAdjacentHTML("beforeend", text)), hostile(`${open.url}/leak`));
    await until("a hostile string to run where nothing stops it", () => control.hits > 0);
    await until("a hostile string to get out where nothing stops it", () => open.wasAskedFor("/leak"));
    await leave(careless);
    world.complaints = [];

    const strings = hostile(`${outside.url}/leak`).filter((text) => text.length < 500 && !text.includes("\0"));
    const all = strings.join("\n");
    const page = await world.page(WIDE);
    const counter = await countHits(page);
    await page.evaluate(() => addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`)));
    // As many questions as an ask can have, with many strings in each.
    const questions = Array.from({ length: 16 }, (_, index) => strings.filter((_, at) => at % 16 === index).join("\n")).map((text) => {
      return { question: text, header: text, multiSelect: false, options: [{ label: text, description: text, preview: text }, { label: "plain", description: "", preview: "plain" }] };
    });
    const asks = [
      () => world.ask(questions, { cwd: `/home/me/${strings[0].replaceAll("/", "")}` }),
      () => world.permission("Bash", { command: all, description: all }),
      () => world.plan(all),
    ];
    for (const open of asks) {
      const { key } = await open();
      await page.locator(".card.expanded .form").waitFor();
      for (let left = await page.locator(".unfold").count(); left > 0; left--) await page.locator(".unfold").first().click();
      // What has the focus shows its preview.
      await page.locator(".option").evaluateAll((all) => all.forEach((option) => option.focus()));
      const { questions } = await world.get(`/v1/asks/${key}`);
      await world.post(`/v1/asks/${key}/answer`, { answers: Object.fromEntries(questions.map(({ question }) => [question, "no"])) });
      await page.locator(".card.settled").getByRole("button", { name: "Close" }).click();
      await page.locator(".empty h2").waitFor();
    }
    await page.locator("#to-history").click();
    await page.locator(".entry").nth(asks.length - 1).waitFor();
    await expectUnreached(page, outside);
    assert.equal(counter.hits, 0);
    assert.equal(await page.evaluate(() => document.querySelectorAll("main script, main img, main object, main embed, main a[href]:not([href^='#'])").length), 0);
    // Firefox reports what it blocked in the frames of HTML previews. On the page itself there was nothing to block.
    world.complaints = world.complaints.filter((text) => text.includes("policy: ") || !/violates the following directive: “(img-src data:|default-src 'none'|style-src 'unsafe-inline')”/.test(text));
  } finally {
    open.stop();
    outside.stop();
  }
});

inFirefox("wide: a key right after Back is for the question that is shown, not for the one that had the focus", async (world) => {
  const asked = [];
  for (const number of [1, 2]) asked.push(await world.ask([{ ...DATABASE, question: `Question ${number}?` }], { session: `s${number}` }));
  const page = await world.page({ ...WIDE, unhurried: true });
  const shown = (number) => page.locator(".card:visible", { hasText: `Question ${number}?` });
  await page.locator(".index .row").nth(1).click();
  await shown(2).waitFor();
  // A browser takes the focus from what is hidden only with the next frame. The key comes before that.
  await page.evaluate(
    () =>
      new Promise((resolve) => {
        const press = () => document.activeElement?.dispatchEvent(new KeyboardEvent("keydown", { key: "1", bubbles: true }));
        addEventListener("hashchange", () => resolve(press()), { once: true });
        history.back();
      }),
  );
  await page.locator(".index .item", { hasText: "Question 1?" }).getByRole("button", { name: "Undo" }).waitFor();
  await page.keyboard.press("Enter");
  assert.deepEqual(await answers(asked[0]), { "Question 1?": "SQLite" });
  assert.equal((await world.get(`/v1/asks/${asked[1].key}`)).state, "open");
});

inFirefox("wide: a list beside the chosen one, one key each, Undo in the list, and Back", async (world) => {
  const asked = [];
  for (const number of [1, 2, 3]) asked.push(await world.ask([{ ...DATABASE, question: `Question ${number}?` }], { session: `s${number}` }));
  const page = await world.page({ ...WIDE, unhurried: true });
  const shown = (number) => page.locator(".card:visible", { hasText: `Question ${number}?` });
  await page.locator(".index .row").nth(2).click();
  await shown(3).waitFor();
  await page.evaluate(() => history.back());
  await shown(1).waitFor();
  await page.keyboard.press("1");
  await shown(2).waitFor();
  await page.keyboard.press("Enter");
  assert.deepEqual(await answers(asked[0]), { "Question 1?": "SQLite" });
  await page.keyboard.press("2");
  await shown(3).waitFor();
  await page.locator(".index .item", { hasText: "Question 2?" }).getByRole("button", { name: "Undo" }).click();
  await shown(2).waitFor();
  await page.keyboard.press("3");
  await shown(3).waitFor();
  for (const key of ["Enter", "1", "Enter"]) await page.keyboard.press(key);
  assert.deepEqual(await answers(asked[1]), { "Question 2?": "Plain files" });
  assert.deepEqual(await answers(asked[2]), { "Question 3?": "SQLite" });
});
