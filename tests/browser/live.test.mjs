// The page tells the truth: whoever answers, whatever happens to the daemon.
import assert from "node:assert/strict";
import { DATABASE, LAYOUT, PLATFORMS } from "../lib/questions.mjs";
import { deferred, within } from "../lib/until.mjs";
import { scenario } from "./lib/world.mjs";

const option = (page, label) => page.locator(".option", { hasText: label });
const answers = async (asked) => (await asked.reply()).updatedInput.answers;
/** What a lost daemon makes the browser say of itself. */
const forgiveLostConnection = (world) => {
  world.complaints = world.complaints.filter((text) => !/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE/.test(text));
};

/** What the command says if somebody else was faster. */
const LOST = /was answered|no question is open/;

scenario("a question appears by itself, with count in title and icon, and leaves when it is answered elsewhere", async (world) => {
  const page = await world.page();
  await page.locator(".empty h2").waitFor();
  const asked = await world.ask([DATABASE]);
  await page.locator(".card", { hasText: DATABASE.question }).waitFor();
  assert.equal(await page.title(), "(1) Answerback");
  assert.match((await page.locator("#favicon").getAttribute("href")) ?? "", /^data:image\/svg\+xml,.*1%3C%2Ftext/);
  await world.answerback("answer", "SQLite");
  await page.locator(".card.settled", { hasText: "with a command" }).waitFor();
  await page.locator(".empty h2").waitFor();
  assert.equal(await page.title(), "Answerback");
  await asked.reply();
});

scenario("two browsers and a command race: one wins, and everybody is told the same", async (world) => {
  const asked = await world.ask([DATABASE]);
  const pages = [await world.page(), await world.page()];
  await Promise.all(pages.map((page, index) => option(page, ["SQLite", "PostgreSQL"][index]).click()));
  // Whoever comes too late finds the card settled, or nothing to answer.
  const now = pages.map((page) => page.getByRole("button", { name: "Send now" }).or(page.locator(".card.settled")).first().click());
  const command = world.answerback("answer", "Plain files").catch((error) => assert.match(error.message, LOST));
  await Promise.all([...now, command]);
  const { answers } = (await asked.reply()).updatedInput;
  const winner = answers[DATABASE.question];
  assert.equal((await world.settled(asked.key)).outcome.answers[DATABASE.question], winner);
  for (const page of pages) await page.locator(".card.settled .ended-answer", { hasText: winner }).waitFor();
  // Who lost is told by a status that the browser logs.
  world.complaints = world.complaints.filter((text) => !text.includes("409"));
});

/** Answers, with the reply and the event in either order. `second` brings the later of the two. */
async function answerTwiceTold(page, asked, second) {
  await option(page, "SQLite").click();
  await page.getByRole("button", { name: "Send now" }).click();
  assert.deepEqual(await answers(asked), { [DATABASE.question]: "SQLite" });
  await page.locator(".card.settled").waitFor();
  assert.equal(await page.locator(".unsent").count(), 0);
  await second();
  assert.equal(await page.locator(".unsent").count(), 0);
  await page.mouse.move(0, 0);
  await page.locator(".empty h2").waitFor();
}

scenario("an answer is one's own also when its own event is faster, and its card leaves", async (world) => {
  const asked = await world.ask([DATABASE]);
  const page = await world.page();
  const replied = deferred();
  await page.route("**/v1/asks/*/answer", async (route) => {
    const response = await route.fetch();
    await page.locator(".card.settled").waitFor();
    await route.fulfill({ response });
    replied.resolve(response.status());
  });
  await answerTwiceTold(page, asked, async () => assert.equal(await within("the reply", replied.promise), 200));
});

scenario("an answer is one's own also when the reply is faster, and its card leaves", async (world) => {
  const asked = await world.ask([DATABASE]);
  const page = await world.page();
  const [held, released] = [deferred(), deferred()];
  await page.route("**/v1/events?*", async (route) => {
    held.resolve(route);
    await released.promise;
    await route.continue();
  });
  // The page begins a new stream, and that brings nothing for now.
  await page.evaluate(() => void dispatchEvent(new Event("online")));
  await within("a new stream", held.promise);
  await answerTwiceTold(page, asked, async () => {
    released.resolve(undefined);
    // Events come in order: with the card of a later question, the event of the answer is there too.
    const { key } = await world.post("/v1/asks", { questions: [LAYOUT] });
    await page.locator(".card.expanded", { hasText: LAYOUT.question }).waitFor();
    await world.post(`/v1/asks/${key}/dismiss`, {});
  });
});

scenario("answered in the terminal: the card says so, and a draft is not lost", async (world) => {
  const env = { CLAUDE_CODE_SESSION_ATTENDED: "1" };
  const asked = await world.ask([DATABASE], { env });
  const beside = await world.hook({ hook_event_name: "PermissionRequest", session_id: "session-1", tool_name: "AskUserQuestion", tool_input: { questions: [DATABASE] } }, env);
  const page = await world.page();
  await page.locator(".mode", { hasText: "terminal too" }).waitFor();
  assert.equal(await page.getByRole("button", { name: "To the terminal" }).count(), 0);
  await page.getByLabel("Another answer").fill("I was about to say");
  await world.receive(asked, [DATABASE], { [DATABASE.question]: "SQLite" });
  await page.locator(".card.settled", { hasText: "Answered in the terminal" }).waitFor();
  await page.locator(".unsent-text", { hasText: "I was about to say" }).waitFor();
  await page.getByRole("button", { name: "Close" }).click();
  await page.locator(".empty h2").waitFor();
  assert.equal(await beside.said, "");
});

scenario("Claude received something else than what was sent: the page warns and stays", async (world) => {
  const asked = await world.ask([DATABASE]);
  const page = await world.page();
  await option(page, "SQLite").click();
  await page.getByRole("button", { name: "Send now" }).click();
  await asked.reply();
  await world.receive(asked, [DATABASE], { [DATABASE.question]: "PostgreSQL" });
  await page.getByText("Another hook has changed the answer. Claude received: PostgreSQL").waitFor();
});

scenario("withdrawn by the agent: the card says so and leaves", async (world) => {
  const asked = await world.ask([DATABASE]);
  const page = await world.page();
  asked.child.kill("SIGTERM");
  await page.locator(".card.settled", { hasText: "nobody waits for it any more" }).waitFor();
  await page.locator(".empty h2").waitFor();
});

scenario("a new question does not push away what somebody is writing", async (world) => {
  await world.ask([DATABASE], { session: "a" });
  const page = await world.page();
  await page.getByLabel("Another answer").fill("let me think");
  const before = await page.getByLabel("Another answer").boundingBox();
  await world.ask([LAYOUT], { session: "b" });
  await page.locator(".card", { hasText: LAYOUT.question }).waitFor();
  assert.equal(await page.title(), "(2) Answerback");
  assert.deepEqual(await page.getByLabel("Another answer").first().boundingBox(), before);
});

scenario("the daemon is killed and comes back: the page shows the truth by itself, and loses no draft", async (world) => {
  const asked = await world.ask([PLATFORMS], { session: "stays" });
  const answered = await world.ask([DATABASE], { session: "goes" });
  const page = await world.page();
  await option(page, "macOS").click();
  await world.killDaemon();
  await world.startDaemon();
  // While the page may not know: it must find out by itself.
  await world.post(`/v1/asks/${answered.key}/answer`, { answers: { [DATABASE.question]: "SQLite" } });
  await page.locator(".card.settled", { hasText: "SQLite" }).waitFor();
  await page.locator("#connection[data-state=live]").waitFor();
  await page.locator(".option[aria-checked=true]", { hasText: "macOS" }).waitFor();
  await page.getByRole("button", { name: "Send answer" }).click();
  assert.deepEqual((await asked.reply()).updatedInput.answers, { [PLATFORMS.question]: "macOS" });
  forgiveLostConnection(world);
});

scenario("without a daemon an answer is kept, and sent when it is back", async (world) => {
  const { key } = await world.post("/v1/asks", { questions: [DATABASE] });
  const page = await world.page();
  await world.killDaemon();
  await page.locator("#connection[data-state=offline]").waitFor();
  await page.getByText("The daemon does not answer.").waitFor();
  await option(page, "SQLite").click();
  await page.getByRole("button", { name: "Send now" }).click();
  await page.getByText("Not sent yet. The page sends it as soon as it reaches the daemon.").waitFor();
  await world.startDaemon();
  const back = performance.now();
  await page.locator("#connection[data-state=live]").waitFor();
  console.log(`connected again ${(performance.now() - back).toFixed(0)} ms after the daemon was back`);
  // Nobody presses anything.
  assert.equal((await world.settled(key)).outcome.answers[DATABASE.question], "SQLite");
  await page.locator(".card.settled", { hasText: "SQLite" }).waitFor();
  forgiveLostConnection(world);
});

scenario("an answer that could not be sent is not sent after somebody else has answered", async (world) => {
  const { key } = await world.post("/v1/asks", { questions: [DATABASE] });
  const page = await world.page();
  await world.killDaemon();
  await page.getByLabel("Another answer").fill("Mongo");
  await page.getByRole("button", { name: "Send answer" }).click();
  await page.locator(".card-foot", { hasText: /Not sent yet\..*Mongo/ }).waitFor();
  // The page finds the daemon only after the other answer is there.
  await page.context().setOffline(true);
  await world.startDaemon();
  await world.answerback("answer", "PostgreSQL");
  await page.context().setOffline(false);
  await page.locator(".card.settled", { hasText: "PostgreSQL" }).waitFor();
  await page.locator(".unsent-text", { hasText: "Mongo" }).waitFor();
  assert.equal((await world.get(`/v1/asks/${key}`)).outcome.answers[DATABASE.question], "PostgreSQL");
  forgiveLostConnection(world);
  world.complaints = world.complaints.filter((text) => !/ERR_INTERNET_DISCONNECTED|409/.test(text));
});

scenario("a daemon that falls silent is not called live for long", async (world) => {
  const page = await world.page();
  const { pid } = await world.record();
  process.kill(pid, "SIGSTOP");
  try {
    const stopped = performance.now();
    await page.locator("#connection:not([data-state=live])").waitFor();
    console.log(`not live any more ${((performance.now() - stopped) / 1000).toFixed(1)} s after the daemon fell silent`);
  } finally {
    process.kill(pid, "SIGCONT");
  }
  await page.locator("#connection[data-state=live]").waitFor();
});

scenario("a network that comes back: what changed meanwhile is there", async (world) => {
  await world.ask([DATABASE], { session: "a" });
  const page = await world.page();
  await page.context().setOffline(true);
  await world.answerback("answer", "SQLite");
  await world.ask([LAYOUT], { session: "b" });
  await page.context().setOffline(false);
  await page.locator(".card", { hasText: LAYOUT.question }).waitFor();
  await page.locator(".card", { hasText: DATABASE.question }).waitFor({ state: "detached" });
  world.complaints = world.complaints.filter((text) => !text.includes("ERR_INTERNET_DISCONNECTED"));
});

scenario("500 open questions: all are there, keys answer at once, nothing waits for them", async (world) => {
  const open = Array.from({ length: 500 }, (_, index) => world.post("/v1/asks", { questions: [{ ...DATABASE, question: `Question ${index}?` }], project: "/home/me/shop" }));
  await Promise.all(open);
  const page = await world.page();
  await page.locator(".card").nth(499).waitFor({ state: "attached" });
  assert.equal(await page.title(), "(500) Answerback");
  // Frames while it is scrolled from end to end: none that a person would notice.
  const slowest = await page.evaluate(async () => {
    let worst = 0;
    let last = performance.now();
    for (let step = 0; step < 60; step++) {
      scrollTo(0, (document.documentElement.scrollHeight * step) / 60);
      await new Promise(requestAnimationFrame);
      worst = Math.max(worst, performance.now() - last);
      last = performance.now();
    }
    scrollTo(0, 0);
    return worst;
  });
  console.log(`the slowest frame of 60: ${slowest.toFixed(0)} ms`);
  await page.keyboard.press("1");
  await page.keyboard.press("Enter");
  await page.locator(".card.settled").waitFor();
  assert.equal(await page.title(), "(499) Answerback");
  await page.locator(".card .row").nth(300).click();
  assert.equal(await page.locator(".card.expanded").count(), 4);
});

scenario("after a break in the order of changes, the page lists the open questions again and goes on", async (world) => {
  await world.ask([DATABASE]);
  const page = await world.page();
  await option(page, "SQLite").waitFor();
  let lists = 0;
  page.on("request", (request) => (lists += Number(new URL(request.url()).pathname === "/v1/asks")));
  // One daemon alone never says this.
  const reset = `id: 99\nevent: reset\ndata: ${JSON.stringify({ type: "reset", cursor: "99" })}\n\n`;
  await page.route("**/v1/events*", (route) => route.fulfill({ contentType: "text/event-stream", body: `:\n\n${reset}` }), { times: 1 });
  await page.reload();
  await within("the second list", (async () => {
    while (lists < 2) await page.waitForRequest((request) => new URL(request.url()).pathname === "/v1/asks");
  })());
  // The stream after it is a real one.
  await world.ask([LAYOUT], { session: "later" });
  await page.locator(".card", { hasText: LAYOUT.question }).waitFor();
  await page.locator("#connection[data-state=live]").waitFor();
});
