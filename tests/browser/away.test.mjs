// A person who is away is told so, and says with one press that they are back.
import assert from "node:assert/strict";
import { DATABASE } from "../lib/questions.mjs";
import { scenario } from "./lib/world.mjs";

const WORDS = "Decide yourself, and list what you decided";
const line = (page) => page.getByRole("region", { name: "Away" });

scenario("the line says until when, for what and in which words; the button ends it", async (world) => {
  await world.answerback("away", WORDS, "--for", "2h", "--kind", "question", "--kind", "permission");
  const page = await world.page({ viewport: { width: 390, height: 800 } });
  await line(page).waitFor();
  const said = await line(page).innerText();
  assert.match(said, /Away until .*\d\d.\d\d.*: questions and permission requests get your words/);
  assert.ok(said.includes(WORDS), said);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
  await page.getByRole("button", { name: "I am back" }).click();
  await line(page).waitFor({ state: "hidden" });
  const asked = await world.ask([DATABASE]);
  await page.locator(".card", { hasText: DATABASE.question }).waitFor();
  await world.answerback("answer", "SQLite");
  await asked.reply();
});

scenario("the line goes by itself at its time, and the page says whose words were sent", async (world) => {
  await world.answerback("away", WORDS, "--for", "6s");
  const page = await world.page();
  await line(page).waitFor();
  const { said } = world.hook({ hook_event_name: "PreToolUse", session_id: "s", tool_use_id: "t", cwd: "/home/me/shop", tool_name: "AskUserQuestion", tool_input: { questions: [DATABASE] } });
  assert.equal(JSON.parse(await said).hookSpecificOutput.updatedInput.answers[DATABASE.question], WORDS);
  await page.goto(`${world.url}/#/history`);
  await page.getByText("in your words while you were away").first().waitFor();
  await line(page).waitFor({ state: "hidden" });
});

scenario("hostile words are shown as text", async (world) => {
  const page = await world.page();
  const words = '<img src=x onerror=alert(1)>"><script>alert(2)</script>';
  await world.answerback("away", words, "--for", "2h");
  await page.reload();
  await line(page).waitFor();
  assert.ok((await line(page).innerText()).includes(words));
  assert.equal(await line(page).locator("img, script").count(), 0);
});
