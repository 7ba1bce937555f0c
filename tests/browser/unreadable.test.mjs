// What an agent sends is not always what the page expects: a subject that makes no sense, and texts that pretend to be something else.
import assert from "node:assert/strict";
import { scenario } from "./lib/world.mjs";

const OPTIONS = [{ label: "Yes" }, { label: "No" }];
/** Subjects that no daemon should let through: the kind, the subject, and what the page shows of it. @type {[string, object, string][]} */
const STRANGE = [
  ["permission", {}, ""],
  ["permission", { tool: "Bash", command: 5, input: {}, grants: [] }, "command: 5"],
  ["permission", { tool: "Bash", command: "ls", input: {} }, "command: ls"],
  ["permission", { tool: "Edit", path: "/a", diff: { hunks: 7 }, input: {}, grants: [] }, "hunks: 7"],
  ["plan", {}, ""],
  ["plan", { plan: 5 }, "plan: 5"],
  ["plan", { plan: ["<b>a</b>\u202e"] }, "1: <b>a</b>U+202E"],
  ["form", {}, ""],
  ["form", { server: "s", message: 5 }, "message: 5"],
  ["form", { server: "s", message: "m", mode: "form", fields: 3 }, "fields: 3"],
];
const question = (/** @type {number} */ index) => `Question ${index}?`;

/** Puts the strange subjects into every list that the page gets. */
async function makeStrange(page) {
  await page.context().route(/\/v1\/asks(\?.*)?$/, async (route) => {
    const response = await route.fetch();
    const list = await response.json();
    for (const ask of list.asks) {
      const [kind, subject] = STRANGE[STRANGE.findIndex((_, index) => ask.questions[0].question === question(index))] ?? [ask.kind, ask.subject];
      Object.assign(ask, { kind, subject });
    }
    await route.fulfill({ response, json: list });
  });
}

for (const wide of [false, true]) {
  scenario(`${wide ? "wide" : "column"}: an ask that the page cannot show is a plain question, and all others are there`, async (world) => {
    const asked = [];
    for (let index = 0; index <= STRANGE.length; index++) asked.push(await world.post("/v1/asks", { questions: [{ question: question(index), options: OPTIONS }] }));
    const page = await world.page({ signedIn: false, wide });
    await makeStrange(page);
    await page.goto(`${world.url}/#launch=${await world.launchCode()}`);
    await page.locator("#connection[data-state=live]").waitFor();
    await page.locator("#count", { hasText: String(asked.length) }).waitFor();
    const card = ({ key }) => page.locator(`.card[data-key="${key}"]`);
    for (const [index, each] of asked.entries()) {
      await page.goto(`${world.url}/#/ask/${each.key}`);
      await card(each).locator(".text", { hasText: question(index) }).waitFor();
      const [, , raw = ""] = STRANGE[index] ?? [];
      assert.ok(!raw || (await card(each).locator(".tree").innerText()).split("\n").includes(raw), `${raw} in ${await card(each).innerText()}`);
      assert.equal(await card(each).locator(".kind").innerText(), "Question");
      await card(each).locator(".option", { hasText: "Yes" }).waitFor();
    }
    if (wide) assert.equal(await page.locator(".index .row").count(), asked.length);
    for (const [index, { key }] of asked.entries()) await world.post(`/v1/asks/${key}/answer`, { answers: { [question(index)]: "Yes" } });
    await page.locator("#to-history").click();
    await page.locator(".entry").nth(asked.length - 1).waitFor();
    for (const [index, [, , raw]] of STRANGE.entries()) {
      const entry = page.locator(".entry", { hasText: question(index) });
      assert.ok((await entry.innerText()).includes(raw), raw);
      await entry.locator(".outcome", { hasText: "Answered" }).waitFor();
    }
  });
}

scenario("a command is code in its row, in its card, in its outcome and in the history", async (world) => {
  const command = "`rm -rf ~` *.js __init__.py [a](b) \\*";
  await world.post("/v1/asks", { questions: [{ question: "Use `this`?", options: OPTIONS }] });
  const { key } = await world.permission("Bash", { command });
  const page = await world.page({ wide: true });
  const row = page.locator(".row", { hasText: "Bash" });
  await row.waitFor();
  assert.equal(await row.locator(".row-text").innerText(), `Bash: ${command}`);
  assert.equal(await page.locator(".row", { hasText: "Use" }).locator(".row-text").innerText(), "Use this?", "a question is Markdown");
  await row.click();
  await page.getByRole("article", { name: `Bash: ${command}` }).waitFor();
  assert.equal((await page.locator(".exact .code").textContent()).trim(), command);
  await world.post(`/v1/asks/${key}/answer`, { answers: { [(await world.get(`/v1/asks/${key}`)).questions[0].question]: "Deny" } });
  assert.equal(await page.locator(".ended-exact").innerText(), command);
  assert.equal(await row.locator(".row-text").innerText(), `Bash: ${command}`);
  await page.locator("#to-history").click();
  assert.equal((await page.locator(".entry .exact .code").textContent()).trim(), command);
});

scenario("the name of a kind is the page's: no header of an agent looks like it", async (world) => {
  const ask = await world.ask([{ question: "Allow?", header: "Permission", multiSelect: false, options: [{ label: "Allow once", description: "" }, { label: "Deny", description: "" }] }]);
  const permission = await world.permission("Bash", { command: "ls" });
  const page = await world.page();
  const card = ({ key }) => page.locator(`.card[data-key="${key}"]`);
  const look = (locator) => locator.evaluate((element) => ({ text: element.textContent, background: getComputedStyle(element).backgroundColor, icons: element.querySelectorAll("svg").length }));
  const [real, kind, header] = [await look(card(permission).locator(".kind")), await look(card(ask).locator(".kind")), await look(card(ask).locator(".asked").getByText("Permission"))];
  assert.deepEqual([real.text, real.icons, kind.text, kind.icons], ["Permission", 1, "Question", 1]);
  assert.deepEqual(header, { text: "Permission", background: "rgba(0, 0, 0, 0)", icons: 0 });
  assert.notEqual(real.background, header.background);
  assert.notEqual(real.background, kind.background);
});

scenario("letters of another script in a Latin word of a command are marked", async (world) => {
  await world.permission("Bash", { command: "s\u0441p \u0430pp файл user_имя 修正API" });
  const page = await world.page();
  const marked = page.locator(".exact .foreign");
  await marked.first().waitFor();
  assert.deepEqual(await marked.allInnerTexts(), ["\u0441U+0441", "\u0430U+0430"]);
  await page.getByRole("article", { name: "s\u0441⟨U+0441⟩p \u0430⟨U+0430⟩pp файл user_имя 修正API" }).waitFor();
});

/** Near the size limit of a subject: what took minutes, line by line. */
const LONG = [`# x${" ".repeat(60_000)}y`, `a|b\n${" ".repeat(60_000)}x|`, "\u05d0b".repeat(30_000), "`\u05d0` ".repeat(12_000), "a\u200b".repeat(20_000), "- a\n".repeat(10_000), "*a **b _c [d](".repeat(2000), "the end"].join("\n\n");

for (const browser of /** @type {const} */ (["chromium", "firefox"])) {
  scenario(`${browser}: a plan that was made to take long is shown, and can be sent back`, async (world) => {
    const asked = await world.plan(LONG);
    const page = await world.page();
    await page.locator(".plan-text p", { hasText: "the end" }).waitFor({ state: "attached" });
    await page.getByLabel("Keep planning, and tell the agent what to change").fill("Shorter.");
    await page.getByRole("button", { name: "Send back", exact: true }).click();
    assert.match((await asked.reply()).decision.message, /Shorter/);
  }, { browser });
}
