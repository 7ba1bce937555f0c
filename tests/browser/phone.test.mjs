// A phone: what is in reach while one writes, long texts, what happens by accident, and the first minutes after pairing.
import assert from "node:assert/strict";
import { unusedPort } from "../lib/ports.mjs";
import { DATABASE, NAME, PLATFORMS } from "../lib/questions.mjs";
import { scenario } from "./lib/world.mjs";

const option = (page, label) => page.locator(".option", { hasText: label });
const answers = async (asked) => (await asked.reply()).updatedInput.answers;

scenario("390 px: while one writes, Send is above the keyboard, at the end of the line and away from Dismiss", async (world) => {
  const long = { ...PLATFORMS, options: PLATFORMS.options.map((each) => ({ ...each, description: "words ".repeat(40) })) };
  const asked = await world.ask([long]);
  const page = await world.page({ phone: true, viewport: { width: 390, height: 800 } });
  const send = page.getByRole("button", { name: "Send answer" });
  await page.getByLabel("Another answer").tap();
  // The keyboard takes half of the screen. Chromium makes the page smaller for it.
  await page.setViewportSize({ width: 390, height: 400 });
  await page.keyboard.type("Plan 9");
  const [box, dismiss] = [await send.boundingBox(), await page.getByRole("button", { name: "Dismiss…" }).boundingBox()];
  assert.ok(box && dismiss);
  assert.ok(box.y >= 0 && box.y + box.height <= 400, `Send is at ${box.y}`);
  const field = await page.getByLabel("Another answer").boundingBox();
  assert.ok(field && field.y > 0 && field.y + field.height <= box.y, `the text ends at ${field && field.y + field.height}, Send begins at ${box.y}`);
  assert.ok(box.x + box.width > 390 - 40, `Send ends at ${box.x + box.width}`);
  assert.ok(box.x - (dismiss.x + dismiss.width) > 24 || dismiss.y + dismiss.height < box.y, "Send is beside Dismiss");
  await send.tap();
  assert.deepEqual(await answers(asked), { [PLATFORMS.question]: "Plan 9" });
});

scenario("a keyboard that covers the page does not cover Send", async (world) => {
  await world.ask([NAME]);
  const page = await world.page({ phone: true, viewport: { width: 390, height: 800 } });
  await page.getByLabel("Your answer").tap();
  // Safari leaves the page as it is, and only tells how much of it can be seen.
  await page.evaluate(() => {
    const visible = /** @type {VisualViewport} */ (window.visualViewport);
    Object.defineProperty(visible, "height", { value: 450 });
    visible.dispatchEvent(new Event("resize"));
  });
  const foot = page.locator(".card-foot");
  assert.equal(await foot.evaluate((element) => getComputedStyle(element).bottom), "350px");
});

scenario("390 px: long questions and options unfold, and nothing is cut without a sign", async (world) => {
  const question = Array.from({ length: 30 }, (_, line) => `Line ${line + 1} of a long question.`).join("\n");
  const long = { ...DATABASE, question, options: [{ label: "Short", description: "" }, { label: "Long", description: Array.from({ length: 12 }, (_, line) => `Reason ${line + 1}`).join("\n") }] };
  const asked = await world.ask([long]);
  const page = await world.page({ phone: true, viewport: { width: 390, height: 800 } });
  const all = page.getByRole("button", { name: /Show all \d+ lines/ });
  await all.nth(1).waitFor();
  const isCut = (selector) => page.locator(selector).evaluate((element) => element.scrollHeight > element.clientHeight + 2);
  assert.ok(await isCut(".text"));
  await page.getByRole("button", { name: "Show all 30 lines" }).tap();
  assert.ok(!(await isCut(".text")));
  assert.equal(await page.locator(".option[aria-checked=true]").count(), 0);
  await page.getByRole("button", { name: "Show all 13 lines" }).tap();
  assert.equal(await page.locator(".clamped").count(), 0);
  await page.getByRole("button", { name: "Show less" }).first().tap();
  assert.ok(await isCut(".text"));
  await option(page, "Long").tap();
  assert.deepEqual(await answers(asked), { [question]: "Long" });
});

scenario("Markdown in questions and descriptions is shown as such, and the answer is for the question as it was asked", async (world) => {
  const question = "Use `snake_case` or **camelCase**?\n\n```json\n{ \"order_id\": 1 }\n```\n\n- in the API\n- in the files";
  const asked = await world.ask([{ ...DATABASE, question, options: [{ label: "`a`", description: "As in *Rust*:\n```\nlet a_b;\n```" }, { label: "b", description: "" }] }]);
  const page = await world.page();
  const text = page.locator(".card .text");
  assert.equal(await text.locator("code").first().textContent(), "snake_case");
  assert.equal(await text.locator("strong").textContent(), "camelCase");
  assert.equal(await text.locator("pre").textContent(), '{ "order_id": 1 }');
  assert.equal(await text.locator("li").count(), 2);
  assert.equal(await page.locator(".description em").textContent(), "Rust");
  assert.equal(await page.locator(".description pre").textContent(), "let a_b;");
  // A label is what is sent, so it stays as it is.
  assert.equal(await page.locator(".label").first().textContent(), "`a`");
  await page.keyboard.press("1");
  await page.keyboard.press("Enter");
  assert.deepEqual(await answers(asked), { [question]: "`a`" });
});

scenario("390 px: the numbers of a list are not cut off, however long they are", async (world) => {
  const steps = (first, count) => Array.from({ length: count }, (_, index) => `${first + index}. step`).join("\n");
  const options = [{ label: "Yes", description: steps(8, 4) }, { label: "No", description: "" }];
  await world.ask([{ ...DATABASE, question: `In this order?\n\n${steps(1, 14)}\n\nAnd then?\n\n${steps(98, 5)}`, options }]);
  const page = await world.page({ phone: true, viewport: { width: 390, height: 800 } });
  const lists = page.locator(".card ol");
  await lists.nth(2).waitFor();
  const rooms = await lists.evaluateAll((all) => all.map((list) => {
    const last = Number(list.getAttribute("start") ?? 1) + list.children.length - 1;
    const number = document.createElement("span");
    number.style.cssText = "position: absolute; white-space: pre";
    number.textContent = `${last}. `;
    list.lastElementChild.append(number);
    const { width } = number.getBoundingClientRect();
    number.remove();
    return { last, width, room: Number.parseFloat(getComputedStyle(list).paddingInlineStart) };
  }));
  assert.deepEqual(rooms.map(({ last }) => last).sort((a, b) => a - b), [11, 14, 102]);
  for (const { last, width, room } of rooms) assert.ok(width > 0 && room >= width, `${last} needs ${width} px and has ${room}`);
});

scenario("To the terminal is offered where a terminal waits, and can be taken back", async (world) => {
  const alone = await world.ask([DATABASE], { session: "alone", env: { CLAUDE_CODE_SESSION_ATTENDED: "0" } });
  const page = await world.page();
  await option(page, "SQLite").waitFor();
  await world.post(`/v1/asks/${alone.key}/dismiss`, {});
  assert.equal(await page.getByRole("button", { name: "To the terminal" }).count(), 0);
  const held = await world.ask([DATABASE], { session: "held", env: { CLAUDE_CODE_SESSION_ATTENDED: "1" }, mode: "hold" });
  await page.getByRole("button", { name: "To the terminal" }).click();
  // The same is said to those who cannot see it, elsewhere on the page.
  await page.locator(".pending", { hasText: "Sending it to the terminal" }).waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  assert.equal((await world.get(`/v1/asks/${held.key}`)).state, "open");
  await page.getByRole("button", { name: "To the terminal" }).click();
  // Nothing else is pressed: it goes by itself after its three seconds.
  assert.equal(await held.said, "");
  assert.equal((await world.settled(held.key)).outcome.kind, "released");
});

scenario("a deadline says what happens then", async (world) => {
  await world.post("/v1/asks", { questions: [DATABASE], timeout_seconds: 3600 });
  const page = await world.page();
  await page.locator(".deadline", { hasText: /closes in (59|60) min, then the program gets no answer|closes in 1 h, then/ }).waitFor();
});

scenario("what the agent said before: two lines at first, all on a tap, and nothing where there is nothing", async (world) => {
  const said = Array.from({ length: 9 }, (_, line) => `- point ${line + 1}`).join("\n");
  await world.ask([DATABASE], { session: "a", extra: await world.transcript(said, "orders") });
  await world.ask([NAME], { session: "b" });
  const page = await world.page({ phone: true });
  const [first, second] = [page.locator(".card").first(), page.locator(".card").nth(1)];
  const text = first.locator(".said-text");
  await text.waitFor();
  const { line, height } = await text.evaluate((element) => ({ line: Number.parseFloat(getComputedStyle(element).lineHeight), height: element.clientHeight }));
  assert.ok(height <= 2.2 * line, `${height} px, ${line} px a line`);
  await first.locator(".said").getByRole("button", { name: /Show all/ }).tap();
  assert.ok((await text.evaluate((element) => element.clientHeight)) > 8 * line);
  await second.locator(".question").waitFor();
  assert.equal(await second.locator(".said:visible").count(), 0);
});

/** Whether a box ends in the middle of a line of its text. */
const cutsLine = (box) => box.evaluate((element) => {
  const { bottom } = element.getBoundingClientRect();
  const range = document.createRange();
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const lines = [];
  while (walker.nextNode()) {
    range.selectNode(walker.currentNode);
    lines.push(...range.getClientRects());
  }
  return lines.some((line) => line.width > 0 && line.top < bottom - 2 && line.bottom > bottom + 2);
});

scenario("a text is cut between two lines, and not through one", async (world) => {
  const said = "A paragraph with `code` in it.\n\nA second one.\n\n```\na third\n```\n\n- and\n- a\n- list";
  const question = Array.from({ length: 20 }, (_, line) => `Part ${line} with \`code\`.`).join("\n\n");
  await world.ask([{ ...DATABASE, question }], { extra: await world.transcript(said, "orders") });
  for (const phone of [true, false]) {
    const page = await world.page({ phone });
    for (const box of [page.locator(".said-text.clamped"), page.locator(".text.clamped")]) {
      await box.waitFor();
      assert.ok(!(await cutsLine(box)), phone ? "on a phone" : "on a desk");
    }
  }
});

scenario("390 px: what is about to be sent can be read, however long it is, and Undo and Send are below it", async (world) => {
  const options = [{ label: "Tonight at two, when nobody is there (Recommended)", description: "" }, { label: "word ".repeat(60).trim(), description: "" }];
  await world.ask([{ ...DATABASE, options }]);
  const page = await world.page({ phone: true, unhurried: true, viewport: { width: 390, height: 800 } });
  const pending = page.locator(".pending");
  const isCut = () => pending.evaluate((element) => element.scrollHeight > element.clientHeight + 2);
  await option(page, "Tonight").tap();
  await pending.waitFor();
  assert.ok(!(await isCut()));
  await page.getByRole("button", { name: "Undo" }).tap();
  await option(page, "word").tap();
  await page.getByText(/word…\s*…$/).waitFor();
  const [text, undo, send] = await Promise.all([pending, page.getByRole("button", { name: "Undo" }), page.getByRole("button", { name: "Send now" })].map((each) => each.boundingBox()));
  assert.ok(undo.y >= text.y + text.height && undo.y === send.y && send.x + send.width > 350, JSON.stringify({ text, undo, send }));
});

scenario("320 px: that an answer is not sent yet can be read, however long the answer is", async (world) => {
  await world.post("/v1/asks", { questions: [NAME] });
  const page = await world.page({ phone: true, viewport: { width: 320, height: 700 } });
  await page.route("**/answer", (route) => route.abort());
  await page.getByLabel("Your answer").fill("words ".repeat(40).trim());
  await page.getByRole("button", { name: "Send answer" }).tap();
  const state = page.getByText("Not sent yet. The page sends it as soon as it reaches the daemon.");
  await state.waitFor();
  assert.ok(await state.evaluate((element) => element.scrollHeight <= element.clientHeight + 2));
  await page.getByRole("button", { name: "Do not send" }).tap();
  world.complaints = world.complaints.filter((text) => !text.includes("ERR_FAILED"));
});

scenario("390 px: the field for a reason takes the whole line, and the button that dismisses is at the end", async (world) => {
  await world.ask([DATABASE]);
  const page = await world.page({ phone: true, viewport: { width: 390, height: 800 } });
  await page.getByRole("button", { name: "Dismiss…" }).tap();
  const [field, cancel, dismiss] = await Promise.all([page.getByLabel("Reason"), page.getByRole("button", { name: "Cancel" }), page.getByRole("button", { name: "Dismiss", exact: true })].map((each) => each.boundingBox()));
  assert.ok(field.width > 300 && cancel.y === dismiss.y && cancel.x < 60 && dismiss.x + dismiss.width > 350, JSON.stringify({ field, cancel, dismiss }));
});

scenario("390 px: an entry of the history begins with project, outcome and time in one line", async (world) => {
  const asked = await world.ask([DATABASE]);
  await world.post(`/v1/asks/${asked.key}/answer`, { answers: { [DATABASE.question]: "SQLite" } });
  await world.receive(asked, [DATABASE], { [DATABASE.question]: "SQLite" });
  const page = await world.page({ phone: true, viewport: { width: 390, height: 800 } });
  await page.getByRole("link", { name: "History" }).tap();
  const entry = page.locator(".entry");
  await entry.getByText("received by Claude").waitFor();
  const middle = async (selector) => {
    const { y, height } = await entry.locator(selector).boundingBox();
    return y + height / 2;
  };
  const first = await middle(".project");
  for (const selector of [".outcome", "time", ".copy"]) assert.ok(Math.abs((await middle(selector)) - first) < 4, selector);
  assert.ok((await middle(".entry-how")) > first + 10);
});

scenario("first run: three steps with their state, which are gone for good when they are done", async (world) => {
  const page = await world.page();
  const steps = page.locator(".steps li");
  await steps.nth(2).waitFor();
  assert.deepEqual(await page.locator(".steps .unseen").allTextContents(), [" (done)", " (to do)", " (to do)"]);
  await page.getByText("answerback install", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Ask me something" }).click();
  await option(page, "SQLite").click();
  await page.getByRole("button", { name: "Send now" }).click();
  await page.mouse.move(1, 1);
  await page.locator(".steps li.done").nth(1).waitFor();
  assert.deepEqual(await page.locator(".steps .unseen").allTextContents(), [" (done)", " (to do)", " (done)"]);
  const asked = await world.ask([DATABASE]);
  await option(page, "SQLite").click();
  await page.getByRole("button", { name: "Send now" }).click();
  await asked.reply();
  await page.mouse.move(1, 1);
  await page.getByText("Nothing is waiting for you").waitFor();
  await page.reload();
  await page.getByText("Nothing is waiting for you").waitFor();
  assert.equal(await steps.count(), 0);
});

scenario("after pairing, a phone is told how to keep the page at hand and how it learns of questions", async (world) => {
  const lan = await unusedPort();
  await world.killDaemon();
  await world.configure(`lan_address = "0.0.0.0:${lan}"\n`);
  await world.startDaemon();
  const { code, id } = await world.admin("POST", "/v1/pairing");
  const page = await world.page({ signedIn: false, phone: true, ignoreHTTPSErrors: true });
  await page.goto(`https://127.0.0.1:${lan}/#pair=${code}`);
  const check = (await page.locator(".check").innerText()).replaceAll(/\s/g, "");
  await world.admin("POST", `/v1/pairing/${id}/confirm`, { check });
  const card = page.getByRole("region", { name: "This device is signed in" });
  await card.getByRole("button", { name: "Add to home screen" }).tap();
  await card.getByText("Open the menu of the browser").waitFor();
  await card.getByText("To be told while it is closed, set up the ntfy app.").waitFor();
  await card.getByRole("button", { name: "Close" }).tap();
  assert.equal(await card.count(), 0);
  await page.reload();
  await page.locator("#connection[data-state=live]").waitFor();
  assert.equal(await card.count(), 0);
});
