// What goes wrong between a person's hands and the page: slow replies, wrong moments, lost focus, many tabs.
import assert from "node:assert/strict";
import { DATABASE, LAYOUT, NAME, PLATFORMS } from "../lib/questions.mjs";
import { deferred, until, within } from "../lib/until.mjs";
import { scenario } from "./lib/world.mjs";

const option = (page, label) => page.locator(".option", { hasText: label });
const answers = async (asked) => (await asked.reply()).updatedInput.answers;
const live = (page) => page.locator("#connection[data-state=live]");

scenario("a card that was tapped leaves without a receipt", async (world) => {
  await world.post("/v1/asks", { questions: [DATABASE] });
  const page = await world.page({ phone: true });
  await option(page, "SQLite").tap();
  await page.getByRole("button", { name: "Send now" }).tap();
  await page.locator(".card.settled").waitFor();
  await page.locator(".empty h2").waitFor();
});

scenario("what is typed while a choice waits to be sent is not cut off", async (world) => {
  const asked = await world.ask([DATABASE]);
  const page = await world.page();
  await page.keyboard.press("1");
  await page.locator(".pending").waitFor();
  await page.keyboard.press("4");
  await page.locator(".pending").waitFor({ state: "detached" });
  await page.keyboard.type("Mongo, but only");
  await page.getByRole("button", { name: "Send answer" }).waitFor();
  await page.keyboard.type(" for now");
  await page.keyboard.press("Enter");
  assert.deepEqual(await answers(asked), { [DATABASE.question]: "Mongo, but only for now" });
});

scenario("Enter sends what is chosen, one question or several", async (world) => {
  const one = await world.ask([DATABASE], { session: "one" });
  const page = await world.page();
  await page.keyboard.press("1");
  await page.keyboard.press("Enter");
  await page.locator(".card.settled").waitFor({ timeout: 2000 });
  assert.deepEqual(await answers(one), { [DATABASE.question]: "SQLite" });
  await page.locator(".empty h2").waitFor();
  const two = await world.ask([DATABASE, LAYOUT], { session: "two" });
  await page.locator(".card.expanded").waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("1");
  await page.keyboard.press("2");
  await page.keyboard.press("Enter");
  assert.deepEqual(await answers(two), { [DATABASE.question]: "SQLite", [LAYOUT.question]: "One step after the other" });
});

scenario("u takes back the choice that was made last", async (world) => {
  const older = await world.ask([DATABASE], { session: "a" });
  const newer = await world.ask([{ ...DATABASE, question: "And the cache?" }], { session: "b" });
  const page = await world.page();
  // The first choice leads to the next card.
  await page.keyboard.press("1");
  await page.keyboard.press("2");
  await page.keyboard.press("u");
  assert.deepEqual(await answers(older), { [DATABASE.question]: "SQLite" });
  assert.equal((await world.get(`/v1/asks/${newer.key}`)).state, "open");
});

scenario("a key is not for a card that was not meant", async (world) => {
  const first = await world.ask([DATABASE], { session: "a" });
  const second = await world.ask([LAYOUT], { session: "b" });
  const page = await world.page();
  // The one in focus is answered elsewhere: what was meant for it is for nobody.
  await page.keyboard.press("j");
  await world.post(`/v1/asks/${first.key}/answer`, { answers: { [DATABASE.question]: "SQLite" } });
  await page.locator(".card.settled").waitFor();
  await page.keyboard.press("1");
  assert.equal(await page.locator(".pending").count(), 0);
  assert.equal((await world.get(`/v1/asks/${second.key}`)).state, "open");
});

scenario("a new question does not move what the mouse points at", async (world) => {
  await world.ask([DATABASE], { session: "a" });
  const page = await world.page();
  await option(page, "SQLite").hover();
  const before = await option(page, "SQLite").boundingBox();
  await world.ask([LAYOUT], { session: "b" });
  await page.locator(".card", { hasText: LAYOUT.question }).waitFor();
  assert.deepEqual(await option(page, "SQLite").boundingBox(), before);
});

scenario("on a phone, Undo is in reach of a long card", async (world) => {
  const long = { ...DATABASE, options: DATABASE.options.map((each) => ({ ...each, description: "words ".repeat(60) })) };
  await world.ask([long]);
  const page = await world.page({ phone: true, viewport: { width: 360, height: 640 } });
  await option(page, "SQLite").tap();
  const { y, height } = await page.getByRole("button", { name: "Undo" }).boundingBox();
  assert.ok(y + height <= 640, `Undo is at ${y}`);
});

scenario("signed out in one tab, the others are too", async (world) => {
  await world.ask([DATABASE]);
  const page = await world.page();
  const other = await page.context().newPage();
  await other.goto(world.url);
  await live(other).waitFor();
  await other.getByRole("button", { name: "Settings" }).click();
  await other.getByRole("button", { name: "Sign out" }).click();
  await page.getByText("This browser was signed out.").waitFor();
  assert.equal(await page.locator(".card").count(), 0);
  world.complaints = world.complaints.filter((text) => !text.includes("status of 401"));
});

scenario("eight tabs, and the first can still answer", async (world) => {
  const asked = await world.ask([DATABASE]);
  const page = await world.page();
  for (let n = 0; n < 7; n++) {
    const tab = await page.context().newPage();
    await tab.goto(world.url);
    await live(tab).waitFor();
  }
  await page.bringToFront();
  await option(page, "SQLite").click();
  await page.getByRole("button", { name: "Send now" }).click();
  assert.deepEqual(await answers(asked), { [DATABASE.question]: "SQLite" });
});

scenario("a failed answer keeps its button, a failed dismissal its reason", async (world) => {
  const { key } = await world.post("/v1/asks", { questions: [DATABASE] });
  const page = await world.page();
  await page.route("**/v1/asks/*/*", (route) => route.abort());
  await option(page, "SQLite").click();
  await page.getByRole("button", { name: "Send now" }).click();
  await page.locator(".card-foot", { hasText: /Not sent yet\..*SQLite/ }).waitFor();
  await page.getByRole("button", { name: "Do not send" }).click();
  await page.getByRole("button", { name: "Send answer" }).waitFor();
  await page.getByRole("button", { name: "Dismiss…" }).click();
  await page.getByLabel("Reason").fill("Ask somebody else.");
  await page.keyboard.press("Enter");
  await page.locator(".card-foot", { hasText: /Not sent yet\..*the dismissal/ }).waitFor();
  await page.getByRole("button", { name: "Do not send" }).click();
  assert.equal(await page.getByLabel("Reason").inputValue(), "Ask somebody else.");
  await page.unroute("**/v1/asks/*/*");
  await page.getByRole("button", { name: "Dismiss", exact: true }).click();
  assert.equal((await world.settled(key)).outcome.reason, "Ask somebody else.");
  world.complaints = world.complaints.filter((text) => !text.includes("ERR_FAILED"));
});

scenario("a link to a question opens it, however far down, or says how it ended", async (world) => {
  const asked = await Promise.all(Array.from({ length: 12 }, (_, n) => world.post("/v1/asks", { questions: [{ ...NAME, question: `Question ${n}?` }] })));
  const [first] = asked.sort((a, b) => b.id - a.id);
  const page = await world.page();
  const tab = await page.context().newPage();
  await tab.goto(`${world.url}/#ask=${first.key}`);
  await tab.locator(`.card.expanded[data-key="${first.key}"]`).waitFor();
  assert.equal(await tab.evaluate(() => /** @type {any} */ (document.activeElement)?.dataset.key), first.key);
  await world.post(`/v1/asks/${first.key}/answer`, { answers: { [first.questions[0].question]: "Oak" } });
  const later = await page.context().newPage();
  await later.goto(`${world.url}/#ask=${first.key}`);
  await later.locator(".card.settled", { hasText: "Oak" }).waitFor();
});

scenario("an HTML preview, a draft and a note outlast a look at the history, and clicks beside an empty note count", async (world) => {
  const html = "<div>A <b>mock-up</b></div>";
  await world.ask([{ ...PLATFORMS, options: [{ label: "A", description: "", preview: html }, { label: "B", description: "" }] }]);
  const page = await world.page();
  await page.frameLocator(".preview iframe").getByText("mock-up").waitFor();
  await option(page, "B").click();
  await option(page, "A").hover();
  await page.locator("#to-history").click();
  await page.locator("#to-inbox").click();
  await page.frameLocator(".preview iframe").getByText("mock-up").waitFor();
  await page.locator(".option[aria-checked=true]", { hasText: "B" }).waitFor();
  await page.getByRole("button", { name: "Add a note" }).click();
  await page.getByRole("button", { name: "Dismiss…" }).click();
  await page.getByLabel("Reason").waitFor();
  await page.keyboard.press("Escape");
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), "Dismiss…");
});

scenario("a draft is not lost when it cannot be known how its question ended", async (world) => {
  const asked = await world.ask([DATABASE]);
  const page = await world.page();
  await page.getByLabel("Another answer").fill("let me think");
  const tried = deferred();
  await page.route(`**/v1/asks/${asked.key}`, async (route) => {
    await route.abort();
    tried.resolve(undefined);
  });
  await page.context().setOffline(true);
  await world.answerback("answer", "SQLite");
  await page.context().setOffline(false);
  await within("the page asking how the question ended", tried.promise);
  await live(page).waitFor();
  await page.unroute(`**/v1/asks/${asked.key}`);
  assert.equal(await page.getByLabel("Another answer").inputValue(), "let me think");
  await page.context().setOffline(true);
  await page.context().setOffline(false);
  await page.locator(".unsent-text", { hasText: "let me think" }).waitFor();
  world.complaints = world.complaints.filter((text) => !/ERR_FAILED|ERR_INTERNET_DISCONNECTED/.test(text));
});

scenario("a browser that cannot notify shows questions all the same", async (world) => {
  const page = await world.page();
  await page.evaluate(() => {
    localStorage.setItem("answerback.preferences", JSON.stringify({ notify: true, sound: false }));
    Object.defineProperty(document, "hasFocus", { value: () => false });
    globalThis.Notification = /** @type {any} */ (
      class Mute {
        static permission = "granted";
        static tries = 0;
        constructor() {
          Mute.tries += 1;
          throw new TypeError("Illegal constructor");
        }
      }
    );
  });
  await world.ask([DATABASE]);
  await page.locator(".card", { hasText: DATABASE.question }).waitFor();
  await page.waitForFunction(() => /** @type {any} */ (Notification).tries > 0);
  await live(page).waitFor();
});

scenario("a browser that blocks notifications says so where they are turned on", async (world) => {
  const page = await world.page();
  await page.evaluate(() => {
    Notification.requestPermission = async () => "denied";
  });
  await page.getByRole("button", { name: "Settings" }).click();
  await page.getByLabel("Notify me in this browser").click();
  await page.getByRole("dialog").getByText("The browser blocks notifications of this page.").waitFor();
  assert.equal(await page.getByLabel("Notify me in this browser").isChecked(), false);
});

scenario("times are told in the daemon's clock", async (world) => {
  await world.ask([DATABASE]);
  const page = await world.page({ signedIn: false });
  await page.clock.setFixedTime(Date.now() + 6 * 60_000);
  await page.goto(`${world.url}/#launch=${await world.launchCode()}`);
  await page.locator(".age", { hasText: "just now" }).waitFor();
});

scenario("320 px without a connection, and with a deadline: nothing is cut off", async (world) => {
  await world.post("/v1/asks", { questions: [DATABASE], timeout_seconds: 86_400 * 3, project: `/home/me/${"long".repeat(8)}` });
  const page = await world.page({ phone: true, viewport: { width: 320, height: 640 } });
  const fits = (selector) => page.locator(selector).evaluateAll((all) => all.every((element) => element.getBoundingClientRect().right <= innerWidth && element.scrollWidth <= element.clientWidth + 1));
  assert.ok(await fits(".times, .age, .deadline, .card-head"));
  await page.context().setOffline(true);
  await page.getByText("The daemon does not answer.").waitFor();
  assert.ok(await fits(".bar-inner, nav, .banner"));
  assert.ok((await page.locator(".bar").boundingBox()).height < 70);
  world.complaints = world.complaints.filter((text) => !text.includes("ERR_INTERNET_DISCONNECTED"));
});

scenario("texts of 16 KiB, in scripts of many letters, are shown and sent whole", async (world) => {
  const text = "漢字と仮名".repeat(1090);
  const asked = await world.ask([{ ...NAME, question: text }]);
  const page = await world.page();
  const heading = page.locator(".text");
  assert.equal(await heading.textContent(), text);
  assert.ok((await heading.boundingBox()).height < 500);
  await page.getByLabel("Your answer").fill("語".repeat(6000));
  await page.getByRole("button", { name: "Send answer" }).click();
  await page.locator(".fault", { hasText: /too long, by about \d+ %/ }).waitFor();
  await page.getByLabel("Your answer").fill("語".repeat(5000));
  await page.getByRole("button", { name: "Send answer" }).click();
  assert.equal((await answers(asked))[text], "語".repeat(5000));
});

scenario("a question with a name of JavaScript's own is answered like any other", async (world) => {
  const asked = await world.ask([{ ...DATABASE, question: "__proto__" }]);
  const page = await world.page();
  await page.keyboard.press("1");
  await page.keyboard.press("Enter");
  const reply = await until("the reply", async () => asked.said);
  assert.match(reply, /"__proto__":"SQLite"/);
});

scenario("after Escape, keys stay with the card they were meant for, and after a send they are for the next", async (world) => {
  const upper = await world.ask([LAYOUT], { session: "b" });
  const lower = await world.ask([DATABASE], { session: "a" });
  const page = await world.page();
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("4");
  await page.keyboard.type("x");
  await page.keyboard.press("Escape");
  await page.keyboard.press("2");
  await page.keyboard.press("Enter");
  assert.deepEqual(await answers(lower), { [DATABASE.question]: "PostgreSQL" });
  await page.keyboard.press("2");
  assert.deepEqual(await answers(upper), { [LAYOUT.question]: "One step after the other" });
});

scenario("Tab after a choice takes nothing back, and leads to Undo and Send now", async (world) => {
  const asked = await world.ask([DATABASE]);
  const page = await world.page({ unhurried: true });
  await page.keyboard.press("1");
  await page.locator(".pending").waitFor();
  for (const name of ["Another answer", "Undo", "Send now"]) {
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement?.ariaLabel ?? document.activeElement?.textContent), name);
  }
  await page.keyboard.press("Enter");
  assert.deepEqual(await answers(asked), { [DATABASE.question]: "SQLite" });
});

scenario("the skip link of the history gives no keys to the inbox", async (world) => {
  const asked = await world.ask([DATABASE]);
  const page = await world.page();
  await page.locator("#to-history").click();
  await page.getByLabel("Search").waitFor();
  await page.locator(".skip").focus();
  await page.keyboard.press("Enter");
  await page.keyboard.press("1");
  assert.equal(await page.locator(".pending").count(), 0);
  assert.equal((await world.get(`/v1/asks/${asked.key}`)).state, "open");
});

scenario("a click is not for a card that has just come under the pointer", async (world) => {
  const upper = await world.ask([DATABASE], { session: "a" });
  const unseen = await world.ask([{ ...DATABASE, question: "Delete everything?" }], { session: "b" });
  const page = await world.page();
  const card = page.locator(".card", { hasText: "Delete everything?" });
  await card.waitFor();
  await page.mouse.move(1, 1);
  // On a busy machine, the click would come too late. So the page's clock stands still when the card has moved.
  await page.evaluate(() => {
    const now = performance.now.bind(performance);
    const stop = () => {
      if (document.querySelector(".card.settled")) return;
      const moved = now();
      performance.now = () => moved;
    };
    new MutationObserver(stop).observe(document.querySelector(".cards"), { childList: true });
    Object.assign(globalThis, { goOn: () => (performance.now = now) });
  });
  await world.post(`/v1/asks/${upper.key}/answer`, { answers: { [DATABASE.question]: "SQLite" } });
  // The card moves up when the outcome above it leaves.
  await page.locator(".card.settled").waitFor({ state: "detached" });
  const { x, y } = await card.locator(".option", { hasText: "SQLite" }).boundingBox();
  await page.mouse.click(x + 5, y + 5);
  assert.equal(await page.locator(".pending").count(), 0);
  assert.equal((await world.get(`/v1/asks/${unseen.key}`)).state, "open");
  // The click did hit an option of that card: a little later it counts.
  await page.evaluate(() => /** @type {any} */ (globalThis).goOn());
  await until("a click in the same place to choose", async () => {
    await page.mouse.click(x + 5, y + 5);
    return (await card.locator(".pending").count()) > 0;
  });
});

scenario("a card that is settled keeps its height while somebody is at another", async (world) => {
  const upper = await world.ask([LAYOUT], { session: "b" });
  const lower = await world.ask([DATABASE], { session: "a" });
  const page = await world.page();
  const target = option(page, "Plain files");
  await target.hover();
  const before = (await target.boundingBox()).y;
  await world.post(`/v1/asks/${upper.key}/answer`, { answers: { [LAYOUT.question]: "Two columns" } });
  await page.locator(".card.settled").waitFor();
  assert.equal((await target.boundingBox()).y, before);
  await target.click();
  await page.getByRole("button", { name: "Send now" }).click();
  assert.deepEqual(await answers(lower), { [DATABASE.question]: "Plain files" });
  await page.mouse.move(1, 1);
  await page.locator(".empty h2").waitFor();
});

scenario("a double click on Dismiss only opens it, and a choice closes it again", async (world) => {
  const asked = await world.ask([DATABASE]);
  const page = await world.page({ unhurried: true });
  await page.getByRole("button", { name: "Dismiss…" }).dblclick();
  await page.getByLabel("Reason").fill("hm");
  await option(page, "SQLite").click();
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByRole("button", { name: "Dismiss…" }).click();
  assert.equal(await page.getByLabel("Reason").inputValue(), "hm");
  await option(page, "SQLite").click();
  await page.getByRole("button", { name: "Send now" }).click();
  assert.deepEqual(await answers(asked), { [DATABASE.question]: "SQLite" });
});

scenario("a browser that forgets everything is signed out, and a tab that is signed out notices a sign-in", async (world) => {
  const page = await world.page();
  const other = await page.context().newPage();
  await other.goto(world.url);
  await live(other).waitFor();
  await other.evaluate(() => localStorage.clear());
  await page.getByText("This browser was signed out.").waitFor();
  await other.goto(`${world.url}/#launch=${await world.launchCode()}`);
  await live(other).waitFor();
  await live(page).waitFor();
  world.complaints = world.complaints.filter((text) => !text.includes("status of 401"));
});
