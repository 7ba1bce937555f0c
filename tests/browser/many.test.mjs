// Many asks at once: a list beside the chosen one, one after the other, filters, and five hundred of them.
import assert from "node:assert/strict";
import { DATABASE, LAYOUT, NAME, PLATFORMS } from "../lib/questions.mjs";
import { until } from "../lib/until.mjs";
import { longCommand, PLAN, remember } from "./lib/waits.mjs";
import { scenario } from "./lib/world.mjs";

const option = (page, label) => page.locator(".card:visible .option", { hasText: label });
const answers = async (asked) => (await asked.reply()).updatedInput.answers;
const rows = (page) => page.locator(".index .row");
const chosen = (page) => page.locator(".index .row[aria-current]");
/** A question of its own in a session of its own. */
const numbered = (number, question = DATABASE) => ({ ...question, question: `Question ${number}?` });
const ask = (world, number, options = {}) => world.ask([numbered(number)], { session: `session-${number}`, ...options });
const isOpen = async (world, { key }) => (await world.get(`/v1/asks/${key}`)).state === "open";

scenario("wide: asks are listed the longest waiting first, and the chosen one is beside them", async (world) => {
  const asked = [];
  for (const number of [1, 2, 3]) asked.push(await ask(world, number));
  const page = await world.page({ wide: true });
  assert.deepEqual(await page.locator(".index .row-text").allTextContents(), ["Question 1?", "Question 2?", "Question 3?"]);
  assert.match((await chosen(page).textContent()) ?? "", /Question 1/);
  assert.equal(await page.locator(".card:visible").count(), 1);
  // A new one comes last, and moves nothing.
  await ask(world, 4);
  await rows(page).nth(3).waitFor();
  assert.match((await chosen(page).textContent()) ?? "", /Question 1/);
  await rows(page).nth(2).click();
  await page.locator(".card:visible", { hasText: "Question 3?" }).waitFor();
  assert.ok(page.url().endsWith(`#/ask/${asked[2].key}`));
  await page.goBack();
  await page.locator(".card:visible", { hasText: "Question 1?" }).waitFor();
  // A narrow window shows a column of cards instead, and the other way round.
  await page.setViewportSize({ width: 800, height: 900 });
  await page.locator(".card:visible").nth(3).waitFor();
  assert.equal(await page.locator(".index:visible").count(), 0);
  await page.setViewportSize({ width: 1440, height: 900 });
  await rows(page).nth(3).waitFor();
});

scenario("wide: all asks are listed, however large they are", async (world) => {
  const large = { ...DATABASE, options: [{ label: "A", description: "x".repeat(900_000) }, { label: "B", description: "" }] };
  for (const number of [1, 2, 3, 4]) await world.ask([numbered(number, large)], { session: `session-${number}` });
  const list = await world.get("/v1/asks");
  assert.ok(list.asks.length < 4 && list.next !== null, "the list has several pages");
  const page = await world.page({ wide: true });
  await rows(page).nth(3).waitFor();
  assert.deepEqual(await page.locator(".index .row-text").allTextContents(), ["Question 1?", "Question 2?", "Question 3?", "Question 4?"]);
});

scenario("wide: after a choice the next one is there, and Undo in the list takes the choice back", async (world) => {
  const first = await ask(world, 1);
  const second = await ask(world, 2);
  const page = await world.page({ wide: true, unhurried: true });
  await option(page, "SQLite").click();
  await page.locator(".card:visible", { hasText: "Question 2?" }).waitFor();
  // The second click of a double click is not for the ask that has just come.
  await option(page, "SQLite").click();
  assert.equal(await page.locator(".card:visible .option[aria-checked=true]").count(), 0);
  const row = page.locator(".index .item", { hasText: "Question 1?" });
  await row.getByText("SQLite").waitFor();
  await row.getByRole("button", { name: "Undo" }).click();
  await page.locator(".card:visible", { hasText: "Question 1?" }).waitFor();
  assert.equal(await page.locator(".item[data-state=undo]").count(), 0);
  assert.ok(await isOpen(world, first));
  // With the keyboard: a digit goes on, Enter sends the choice at once, and the next digit is for the next ask.
  await page.keyboard.press("2");
  await page.locator(".card:visible", { hasText: "Question 2?" }).waitFor();
  await page.keyboard.press("Enter");
  assert.deepEqual(await answers(first), { "Question 1?": "PostgreSQL" });
  assert.equal(await page.locator(".fault:visible").count(), 0);
  assert.ok(await isOpen(world, second));
  await page.keyboard.press("3");
  await page.keyboard.press("u");
  await page.keyboard.press("1");
  await page.keyboard.press("Enter");
  assert.deepEqual(await answers(second), { "Question 2?": "SQLite" });
});

scenario("wide: a row names the answer that is being sent, however long its question is, and a deadline that is near", async (world) => {
  const long = "A very long question about the database. ".repeat(12).trim();
  await world.ask([{ ...DATABASE, question: long }], { session: "session-1" });
  await world.post("/v1/asks", { questions: [numbered(2)], timeout_seconds: 1800 });
  await world.post("/v1/asks", { questions: [numbered(3)], timeout_seconds: 90_000 });
  const page = await world.page({ wide: true, unhurried: true });
  assert.deepEqual(await rows(page).locator(".age").allTextContents(), ["just now", "closes in 29 min", "just now"]);
  await option(page, "PostgreSQL").click();
  const item = page.locator(".index .item[data-state=undo]");
  const answer = item.getByText("PostgreSQL");
  await answer.waitFor();
  const [row, line] = await Promise.all([item, answer].map((each) => each.boundingBox()));
  assert.ok(line.y + line.height <= row.y + row.height && row.height < 100, JSON.stringify({ row, line }));
});

scenario("keyboard only: twelve asks of all kinds, with at most three keys each", async (world) => {
  const asked = [];
  for (let number = 0; number < 6; number++) asked.push(await ask(world, number));
  asked.push(await world.permission("Bash", { command: "npm test" }, { session: "bash", extra: remember("npm test") }));
  asked.push(await world.plan(PLAN, { session: "plan" }));
  asked.push(await world.ask([DATABASE, LAYOUT], { session: "two" }));
  asked.push(await world.ask([PLATFORMS], { session: "several" }));
  asked.push(await world.permission("Write", { file_path: "/nowhere/new", content: "a\n" }, { session: "write" }));
  asked.push(await ask(world, 11));
  const page = await world.page({ wide: true });
  await rows(page).nth(11).waitFor();
  const keys = [...Array(6).fill("1"), "1", "Enter", "Enter", "1", "Enter", "Enter", "1", "2", "Enter", "2", "Enter", "2", "Enter", "Enter", "3"];
  const begun = performance.now();
  // As fast as a person can press one key again and again. What comes faster is a key that bounces.
  for (const key of keys) await page.keyboard.press(key, { delay: 100 });
  const outcomes = await Promise.all(asked.map(async ({ key }) => (await world.settled(key)).outcome));
  console.log(`12 asks, ${keys.length} keys, ${((performance.now() - begun) / 1000).toFixed(1)} s until the last answer was sent`);
  assert.ok(keys.length <= 3 * asked.length);
  assert.deepEqual(outcomes.map(({ kind, answers }) => [kind, ...Object.values(answers)].join(": ")), [
    ...Array(6).fill("answered: SQLite"),
    "answered: Allow once",
    "answered: Approve, accept edits",
    "answered: SQLite: One step after the other",
    "answered: macOS",
    "answered: Deny",
    "answered: Plain files",
  ]);
  await page.locator(".empty h2").waitFor();
});

scenario("column: a key goes on to the next card, a finger does not move the page", async (world) => {
  const first = await ask(world, 1);
  const second = await ask(world, 2);
  const page = await world.page();
  await page.keyboard.press("1");
  await page.keyboard.press("2");
  assert.deepEqual(await answers(first), { "Question 1?": "SQLite" });
  assert.deepEqual(await answers(second), { "Question 2?": "PostgreSQL" });
  await ask(world, 3);
  await ask(world, 4);
  const phone = await world.page({ phone: true });
  const card = phone.locator(".card", { hasText: "Question 3?" });
  await card.locator(".option", { hasText: "SQLite" }).tap();
  const place = await card.boundingBox();
  await card.getByRole("button", { name: "Undo" }).waitFor();
  assert.deepEqual(await card.boundingBox(), { ...place, height: (await card.boundingBox())?.height });
});

scenario("filters by project and kind are in the address, and what they hide is counted", async (world) => {
  await ask(world, 1, { cwd: "/home/me/radio" });
  await ask(world, 2);
  await world.permission("Bash", { command: longCommand(2) }, { session: "bash" });
  await ask(world, 4);
  await ask(world, 5, { cwd: "/home/me/radio" });
  const page = await world.page({ wide: true });
  const filter = page.locator(".filter");
  await filter.getByText("5 open").waitFor();
  await filter.getByLabel("Project").selectOption("/home/me/radio");
  await filter.getByText("2 of 5").waitFor();
  assert.deepEqual(await page.locator(".index .row-text").allTextContents(), ["Question 1?", "Question 5?"]);
  await page.reload();
  await filter.getByText("2 of 5").waitFor();
  assert.equal(await rows(page).count(), 2);
  // One that does not fit is counted, and not shown.
  await ask(world, 6);
  await filter.getByText("2 of 6").waitFor();
  assert.equal(await page.title(), "(6) Answerback");
  await filter.getByLabel("Project").selectOption("");
  // The arrow keys go through one list. That is one step for Back.
  await filter.getByLabel("Kind").focus();
  await filter.getByLabel("Kind").selectOption("question");
  await filter.getByText("5 of 6").waitFor();
  await filter.getByLabel("Kind").selectOption("permission");
  await filter.getByText("1 of 6").waitFor();
  await filter.getByLabel("Kind").blur();
  await page.goBack();
  await filter.getByText("6 open").waitFor();
  await page.goBack();
  await filter.getByText("2 of 6").waitFor();
  // After the last one that fits, the filter says that there are others.
  for (const key of ["1", "1"]) await page.keyboard.press(key, { delay: 100 });
  await filter.getByText("0 of 4").waitFor();
  await page.getByText("No open question fits.").waitFor();
  await page.getByRole("button", { name: "Show all" }).click();
  await filter.getByText("4 open").waitFor();
  assert.equal(await rows(page).count(), 4);
});

scenario("answered elsewhere while it is shown: it says so, and then the next one is there", async (world) => {
  const first = await ask(world, 1);
  const second = await ask(world, 2);
  const page = await world.page({ wide: true });
  await page.keyboard.press("j");
  await page.keyboard.press("k");
  await world.post(`/v1/asks/${first.key}/answer`, { answers: { "Question 1?": "SQLite" } });
  await page.locator(".card.settled:visible", { hasText: "Question 1?" }).waitFor();
  await page.keyboard.press("1");
  assert.equal(await page.locator(".item[data-state=undo]").count(), 0);
  await page.locator(".card.expanded:visible", { hasText: "Question 2?" }).waitFor();
  assert.ok(await isOpen(world, second));
});

scenario("wide: a digit is for nobody while the row of another question has the focus", async (world) => {
  const first = await ask(world, 1);
  const second = await ask(world, 2);
  const page = await world.page({ wide: true });
  await page.locator(".card:visible", { hasText: "Question 1?" }).waitFor();
  await rows(page).nth(1).focus();
  await page.keyboard.press("1");
  assert.equal(await page.locator(".item[data-state=undo]").count(), 0);
  await page.keyboard.press("Enter");
  await page.locator(".card:visible", { hasText: "Question 2?" }).waitFor();
  await page.keyboard.press("1");
  assert.deepEqual(await answers(second), { "Question 2?": "SQLite" });
  assert.ok(await isOpen(world, first));
});

scenario("many outcomes take one line each, and name the question and the answer", async (world) => {
  const asked = [];
  for (const number of [1, 2, 3, 4]) asked.push(await world.post("/v1/asks", { questions: [numbered(number)] }));
  const page = await world.page();
  await page.locator(".card").nth(3).waitFor();
  // A text that was not sent keeps the card where it is.
  for (const number of [1, 2, 3]) {
    const card = page.locator(".card", { hasText: `Question ${number}?` });
    await card.getByLabel("Another answer").fill(`draft ${number}`);
    await world.post(`/v1/asks/${asked[number - 1].key}/answer`, { answers: { [`Question ${number}?`]: "SQLite" } });
    await card.locator(".ended-answer", { hasText: "SQLite" }).waitFor();
    await card.locator(".ended-asked", { hasText: `Question ${number}?` }).waitFor();
  }
  const heights = await page.locator(".card.settled .ended").evaluateAll((all) => all.map((element) => element.getBoundingClientRect().height));
  assert.ok(heights.length === 3 && heights.every((height) => height < 64), heights.join());
});

for (const width of [390, 1024]) {
  scenario(`${width} px: many outcomes of long questions stay within their cards`, async (world) => {
    const questions = [1, 2, 3, 4].map((number) => numbered(number, { ...DATABASE, question: "" })).map((each) => ({ ...each, question: `${each.question} ${"and so on ".repeat(12)}`.trim() }));
    const asked = [];
    for (const question of questions) asked.push(await world.post("/v1/asks", { questions: [question] }));
    const page = await world.page({ phone: width === 390, viewport: { width, height: 800 } });
    await page.locator(".card").nth(3).waitFor({ state: "attached" });
    for (const index of [0, 1, 2]) {
      await page.locator(".card").nth(index).getByLabel("Another answer").fill("draft");
      await world.post(`/v1/asks/${asked[index].key}/answer`, { answers: { [questions[index].question]: "PostgreSQL" } });
      await page.locator(".card").nth(index).locator(".ended").waitFor();
    }
    for (const part of [".ended-answer", ".ended .icon-button"]) {
      const ends = await page.locator(`.card.settled ${part}`).evaluateAll((all) => all.map((element) => element.getBoundingClientRect().right));
      assert.ok(ends.length === 3 && ends.every((end) => end < width), `${part}: ${ends.join()}`);
    }
    const answers = await page.locator(".ended-answer").evaluateAll((all) => all.map((element) => element.scrollWidth <= element.clientWidth + 1));
    assert.deepEqual(answers, [true, true, true], "an answer that is short is whole");
  });
}

scenario("500 asks in a list: no key is dropped, and a filter shows its part", async (world) => {
  const open = Array.from({ length: 500 }, (_, index) => world.post("/v1/asks", { questions: [numbered(index, NAME)], project: index % 5 === 0 ? "/home/me/radio" : "/home/me/shop" }));
  const asked = (await Promise.all(open)).sort((a, b) => a.id - b.id);
  const page = await world.page({ wide: true });
  await rows(page).nth(499).waitFor({ state: "attached" });
  // As fast as the browser takes them.
  await Promise.all(Array.from({ length: 60 }, () => page.keyboard.press("j")));
  await page.locator(`.card:visible[data-key="${asked[60].key}"]`).waitFor();
  await page.locator(".filter").getByLabel("Project").selectOption("/home/me/radio");
  await page.locator(".filter").getByText("100 of 500").waitFor();
  assert.equal(await rows(page).count(), 100);
  await page.locator("#main").focus();
  await Promise.all(Array.from({ length: 99 }, () => page.keyboard.press("j")));
  const { key } = asked.filter(({ project }) => project === "/home/me/radio")[99];
  await page.locator(`.card:visible[data-key="${key}"]`).waitFor();
  await until("the chosen row to be in view", async () => {
    const box = await chosen(page).boundingBox();
    return box && box.y > 0 && box.y + box.height <= 900;
  });
});
