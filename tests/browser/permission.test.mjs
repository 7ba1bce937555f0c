// Permissions on the page: what is shown, and what the hook tells Claude Code in the end.
import assert from "node:assert/strict";
import fs from "node:fs/promises";
import path from "node:path";
import { until } from "../lib/until.mjs";
import { longCommand, remember } from "./lib/waits.mjs";
import { scenario } from "./lib/world.mjs";

const option = (page, label) => page.locator(".option", { hasText: label });
const button = (page, name) => page.getByRole("button", { name, exact: true });
const decision = async (asked) => (await asked.reply()).decision;
const isOpen = async (world, { key }) => (await world.get(`/v1/asks/${key}`)).state === "open";
const PHONE = { phone: true, viewport: { width: 390, height: 844 } };
const RULE = { type: "addRules", rules: [{ toolName: "Bash", ruleContent: "npm test" }], behavior: "allow", destination: "localSettings" };

for (const [where, profile] of /** @type {[string, object][]} */ ([["wide", {}], ["390 px", PHONE]])) {
  scenario(`${where}: a command is shown with its directory and allowed once, in two steps`, async (world) => {
    const asked = await world.permission("Bash", { command: "npm test", timeout: 5000 }, { extra: remember("npm test") });
    const page = await world.page(profile);
    await page.getByRole("article", { name: "shop asks for permission: Bash" }).waitFor();
    await page.getByText("Run this command?").waitFor();
    assert.equal((await page.getByLabel("Command", { exact: true }).textContent()).trim(), "npm test");
    assert.match(await page.locator(".facts").innerText(), /Bash\s+Directory\s+\/home\/me\/shop/);
    await page.locator(".tree", { hasText: "timeout: 5000" }).waitFor();
    await option(page, "Allow once").click();
    assert.equal(await page.locator(".pending").count(), 0, "nothing is about to be sent by itself");
    await button(page, "Allow once").click();
    assert.deepEqual(await decision(asked), { behavior: "allow" });
    await page.locator(".card.settled", { hasText: "Allowed once" }).filter({ hasText: "npm test" }).waitFor();
  });

  scenario(`${where}: a rule is granted with its file, and the history says so`, async (world) => {
    const asked = await world.permission("Bash", { command: "npm test" }, { extra: remember("npm test") });
    const page = await world.page(profile);
    const grant = option(page, "Always allow Bash(npm test)");
    assert.match(await grant.innerText(), /Adds the rule to \.claude\/settings\.local\.json/);
    await grant.click();
    await button(page, "Allow and add the rule").click();
    assert.deepEqual(await decision(asked), { behavior: "allow", updatedPermissions: [RULE] });
    await page.locator(".card.settled", { hasText: "Granted: Bash(npm test) (in .claude/settings.local.json)" }).waitFor();
    await page.locator("#to-history").click();
    await page.locator(".entry", { hasText: /Allowed[^]*npm test[^]*Granted: Bash\(npm test\) \(in \.claude\/settings\.local\.json\)/ }).waitFor();
  });

  scenario(`${where}: an edited command is allowed, and the card and the history say that it was edited`, async (world) => {
    const asked = await world.permission("Bash", { command: "npm test", timeout: 5000 }, { extra: remember("npm test") });
    const page = await world.page(profile);
    await button(page, "Edit before allowing").click();
    await page.getByLabel("The command that runs instead").fill("npm test -- --quick");
    await page.locator(".chip", { hasText: "edited" }).waitFor();
    assert.equal(await option(page, "Always allow").isDisabled(), true, "a rule is for the call of the agent");
    await option(page, "Allow once").click();
    await button(page, "Allow the edited call").click();
    assert.deepEqual(await decision(asked), { behavior: "allow", updatedInput: { command: "npm test -- --quick", timeout: 5000 } });
    await page.locator(".card.settled", { hasText: "Allowed once, edited" }).filter({ hasText: "npm test -- --quick" }).waitFor();
    await page.locator("#to-history").click();
    await page.locator(".entry", { hasText: /Allowed once, edited[^]*Edited before it was allowed:\s*command: npm test -- --quick/ }).waitFor();
  });

  scenario(`${where}: words deny, whatever they are`, async (world) => {
    const asked = await world.permission("Bash", { command: "npm test" });
    const page = await world.page(profile);
    await page.getByLabel("Deny, and tell the agent why").fill("Allow once");
    await button(page, "Deny").click();
    const { behavior, message } = await decision(asked);
    assert.equal(behavior, "deny");
    assert.match(message, /said: "Allow once"/);
    await page.locator(".card.settled", { hasText: "Denied" }).filter({ hasText: "Allow once" }).filter({ hasText: "npm test" }).waitFor();
  });

  scenario(`${where}: a folded command cannot be allowed before all of it was shown`, async (world) => {
    const asked = await world.permission("Bash", { command: `${longCommand(39)}\nrm -rf ~` }, { extra: remember("x") });
    const page = await world.page(profile);
    assert.equal(await page.getByText("rm -rf ~").count(), 0);
    for (const label of ["Allow once", "Always allow"]) assert.equal(await option(page, label).isDisabled(), true, label);
    assert.equal(await button(page, "Edit before allowing").isDisabled(), true);
    await page.keyboard.press("1");
    await page.keyboard.press("Control+Enter");
    await page.getByText("Choose what to do.").waitFor();
    assert.ok(await isOpen(world, asked));
    await button(page, "Show all 40 lines").click();
    await page.getByText("rm -rf ~").waitFor();
    await option(page, "Allow once").click();
    await button(page, "Allow once").click();
    assert.deepEqual(await decision(asked), { behavior: "allow" });
  });
}

scenario("a single long line is folded too, and so is the rest of the input", async (world) => {
  const text = Array.from({ length: 60 }, (_, index) => `line ${index}`).join("\n");
  const asked = await world.permission("Bash", { command: `echo ${"x".repeat(5000)} THE-END`, description: text });
  const page = await world.page();
  await page.getByRole("button", { name: "Show all 5013 characters" }).click();
  await page.getByText("THE-END").waitFor();
  assert.equal(await option(page, "Allow once").isDisabled(), true, "the description is still folded");
  await page.getByRole("button", { name: /Show all \d+ lines/ }).click();
  await page.getByText("line 59").waitFor();
  await option(page, "Allow once").click();
  await button(page, "Allow once").click();
  assert.deepEqual(await decision(asked), { behavior: "allow" });
});

scenario("a folded command can be denied", async (world) => {
  const asked = await world.permission("Bash", { command: longCommand(40) });
  const page = await world.page();
  await option(page, "Deny").first().click();
  await button(page, "Deny").click();
  assert.deepEqual(await decision(asked), { behavior: "deny", message: "The user denied this call." });
});

scenario("keyboard: no single key allows, Enter goes to the button, and Enter on it allows", async (world) => {
  const asked = await world.permission("Bash", { command: "npm test" }, { extra: remember("npm test") });
  const page = await world.page();
  await page.keyboard.press("1");
  await page.locator(".option[aria-checked=true]", { hasText: "Allow once" }).waitFor();
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), "Allow once");
  assert.equal(await page.evaluate(() => document.activeElement?.classList.contains("send")), true);
  // More than the three seconds after which a question would be sent.
  await page.waitForTimeout(3500);
  assert.ok(await isOpen(world, asked));
  await page.keyboard.press("Enter");
  assert.deepEqual(await decision(asked), { behavior: "allow" });
});

scenario("keyboard: Ctrl+Enter sends what is chosen, in the field for words too", async (world) => {
  const page = await world.page();
  const first = await world.permission("Bash", { command: "npm test" }, { session: "a", extra: remember("npm test") });
  await option(page, "Always allow").focus();
  await page.keyboard.press("Control+Enter");
  await page.getByText("Choose what to do.").waitFor();
  await page.keyboard.press("2");
  await page.keyboard.press("Control+Enter");
  assert.deepEqual(await decision(first), { behavior: "allow", updatedPermissions: [RULE] });
  const second = await world.permission("Bash", { command: "npm publish" }, { session: "b" });
  const words = page.getByLabel("Deny, and tell the agent why");
  await words.fill("not today");
  await page.keyboard.press("Control+Enter");
  assert.match((await decision(second)).message, /"not today"/);
});

scenario("a choice to allow does not outlive a reload, but words and edits do", async (world) => {
  await world.permission("Bash", { command: "npm test" });
  const page = await world.page();
  await option(page, "Allow once").click();
  await page.reload();
  await option(page, "Allow once").waitFor();
  assert.equal(await page.locator(".option[aria-checked=true]").count(), 0);
  await button(page, "Edit before allowing").click();
  await page.getByLabel("The command that runs instead").fill("npm test -- -q");
  await page.getByLabel("Deny, and tell the agent why").fill("wait");
  await page.reload();
  assert.equal(await page.getByLabel("The command that runs instead").inputValue(), "npm test -- -q");
  assert.equal(await page.getByLabel("Deny, and tell the agent why").inputValue(), "wait");
  await button(page, "Undo the edit").click();
  assert.equal(await page.getByLabel("The command that runs instead").isVisible(), false);
});

scenario("an edit of a file is shown line by line with both numbers and signs, and what is put in can be changed", async (world) => {
  const file = path.join(world.project, "price.js");
  await fs.writeFile(file, Array.from({ length: 40 }, (_, index) => `line ${index + 1}\n`).join(""));
  const input = { file_path: file, old_string: "line 20\nline 21", new_string: "line twenty", replace_all: false };
  const asked = await world.permission("Edit", input, { cwd: world.project });
  const page = await world.page();
  await page.getByText("Change this file?").waitFor();
  const rows = await page.locator(".diff tr").evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent)));
  assert.deepEqual(rows, [
    ["17", "17", "", "line 17"],
    ["18", "18", "", "line 18"],
    ["19", "19", "", "line 19"],
    ["20", "", "−removed", "line 20"],
    ["21", "", "−removed", "line 21"],
    ["", "20", "+added", "line twenty"],
    ["22", "21", "", "line 22"],
    ["23", "22", "", "line 23"],
    ["24", "23", "", "line 24"],
  ]);
  assert.match(await page.locator(".facts").innerText(), new RegExp(`${file}\\s*\\+1, −2`));
  await page.locator(".tree", { hasText: "replace_all: false" }).waitFor();
  await button(page, "Edit before allowing").click();
  await page.getByLabel("The text that is put in instead").fill("line 20, rewritten");
  await option(page, "Allow once").click();
  await button(page, "Allow the edited call").click();
  assert.deepEqual((await decision(asked)).updatedInput, { ...input, new_string: "line 20, rewritten" });
});

scenario("numbers of lines stay in one line, however large they are", async (world) => {
  const file = path.join(world.project, "long.js");
  await fs.writeFile(file, Array.from({ length: 12_400 }, (_, index) => `line ${index + 1}\n`).join(""));
  await world.permission("Edit", { file_path: file, old_string: "line 12345\n", new_string: "another line\n" }, { cwd: world.project });
  for (const phone of [false, true]) {
    const page = await world.page({ phone });
    const number = page.locator(".diff .number", { hasText: "12345" }).first();
    await number.waitFor();
    const isWhole = await number.evaluate((cell) => cell.scrollWidth <= cell.clientWidth && cell.getBoundingClientRect().height < 30);
    assert.ok(isWhole, phone ? "on a phone" : "on a desk");
  }
});

scenario("a new file, and its content changed", async (world) => {
  const input = { file_path: "/home/me/shop/new.txt", content: "one\ntwo\n" };
  const asked = await world.permission("Write", input);
  const page = await world.page();
  await page.getByText("Create this file?").waitFor();
  assert.equal(await page.locator(".diff .added").count(), 2);
  await page.locator(".facts", { hasText: "a new file" }).waitFor();
  await button(page, "Edit before allowing").click();
  await page.getByLabel("The content that is written instead").fill("three\n");
  await option(page, "Allow once").click();
  await button(page, "Allow the edited call").click();
  assert.deepEqual((await decision(asked)).updatedInput, { ...input, content: "three\n" });
});

scenario("a file that cannot be shown is replaced, and not created", async (world) => {
  const file = path.join(world.project, "binary");
  await fs.writeFile(file, Buffer.from([0xff, 0xfe]));
  await world.permission("Write", { file_path: file, content: "one\n" }, { cwd: world.project });
  const page = await world.page();
  await page.getByText("Replace this file?").waitFor();
  await page.locator(".facts", { hasText: "what is in it now cannot be shown" }).waitFor();
});

scenario("a fetch shows the whole address and what is looked for", async (world) => {
  const url = `https://example.org/${"deep/".repeat(20)}?q=1#end`;
  const rule = { type: "addRules", rules: [{ toolName: "WebFetch", ruleContent: "domain:example.org" }], behavior: "allow", destination: "localSettings" };
  const asked = await world.permission("WebFetch", { url, prompt: "Find the price" }, { extra: { permission_suggestions: [rule] } });
  const page = await world.page();
  assert.equal((await page.getByLabel("Address", { exact: true }).textContent()).trim(), url);
  await page.locator(".tree", { hasText: "prompt: Find the price" }).waitFor();
  await option(page, "Always allow WebFetch(domain:example.org)").click();
  await button(page, "Allow and add the rule").click();
  assert.deepEqual((await decision(asked)).updatedPermissions, [rule]);
});

scenario("a tool of an MCP server in a subagent: server, tool, input as a tree, and values changed as JSON", async (world) => {
  const input = { repo: "shop", labels: ["bug", "slow"], body: "One\n\nTwo", draft: false };
  const asked = await world.permission("mcp__github__create_issue", input, { extra: { agent_id: "a1", agent_type: "Explore" } });
  const page = await world.page();
  assert.match(await page.locator(".facts").innerText(), /Server\s+github\s+Tool\s+create_issue\s+Directory[^]*Subagent\s+Explore \(a1\)/);
  const rows = await page.locator(".tree-row").allTextContents();
  assert.deepEqual(rows, ["repo: shop", "labels:", "1: bug", "2: slow", "body:", "One", "", "Two", "draft: false"]);
  await button(page, "Edit before allowing").click();
  const field = page.getByLabel("The input that is used instead, as JSON");
  await option(page, "Allow once").click();
  for (const [wrong, problem] of [["{", /This is not JSON/], [JSON.stringify({ ...input, more: 1 }), /the fields stay the same: body, draft, labels, repo/], ["[]", /the fields stay the same/]]) {
    await field.fill(String(wrong));
    await button(page, "Allow the edited call").click();
    await page.locator(".fault", { hasText: problem }).waitFor();
  }
  assert.ok(await isOpen(world, asked));
  await field.fill(JSON.stringify({ ...input, draft: true }));
  await button(page, "Allow the edited call").click();
  assert.deepEqual((await decision(asked)).updatedInput, { ...input, draft: true });
  assert.deepEqual((await world.settled(asked.key)).outcome.edited, { draft: true });
});

scenario("hidden characters are shown, in the command, in the field for changes and in the rule", async (world) => {
  const command = "echo \u202eb\u200b\u00a0c \u001b[31m # \u05d0\u05d1 x \u05d2";
  await world.permission("Bash", { command }, { extra: remember(command) });
  const page = await world.page();
  const shown = (await page.getByLabel("Command", { exact: true }).textContent()).trim();
  assert.equal(shown, "echo U+202EbU+200B U+00A0c ESC[31m # \u05d0\u05d1 x \u05d2");
  assert.equal(await page.locator(".exact-frame bdi").count(), 2, "each word from right to left stays in its place");
  assert.match(await option(page, "Always allow").innerText(), /U\+202E/);
  await button(page, "Edit before allowing").click();
  await page.locator(".editor-shown", { hasText: "U+202E" }).waitFor();
  await page.getByLabel("The command that runs instead").fill("echo b");
  await page.locator(".editor-shown").waitFor({ state: "hidden" });
});

scenario("answered in the terminal first: the card says what was decided there", async (world) => {
  const asked = await world.permission("Bash", { command: "npm test" });
  const page = await world.page();
  await page.getByLabel("Deny, and tell the agent why").fill("my words");
  const [session_id, tool_use_id] = asked.key.split("__");
  await world.hook({ hook_event_name: "PostToolUse", session_id, tool_use_id, tool_name: "Bash", tool_input: { command: "npm test" }, tool_response: {} }, { CLAUDE_CODE_ENTRYPOINT: "cli", CLAUDE_CODE_SESSION_ATTENDED: "1" }).said;
  const card = page.locator(".card.settled", { hasText: "Allowed in the terminal" });
  await card.filter({ hasText: "my words" }).waitFor();
  await page.locator("#to-history").click();
  await page.locator(".entry", { hasText: /Allowed\s*in the terminal/ }).waitFor();
});

scenario("perhaps answered in the terminal: a command that runs there is told, and changes nothing else", async (world) => {
  // An agent that runs a command when it is told to.
  const agent = world.spawn("/bin/sh", ["-c", "read go; /bin/bash -c 'sleep 60; :'"], { stdin: "pipe" });
  const env = { CLAUDE_CODE_ENTRYPOINT: "cli", CLAUDE_CODE_SESSION_ATTENDED: "1", CLAUDE_PID: String(agent.child.pid) };
  const asked = await world.permission("Bash", { command: "sleep 60" }, { env });
  const page = await world.page();
  await page.locator(".mode", { hasText: "terminal too" }).waitFor();
  await option(page, "Deny").first().click();
  agent.child.stdin.write("\n");
  await page.locator(".mode", { hasText: "perhaps answered in the terminal" }).waitFor();
  await page.locator(".option[aria-checked=true]", { hasText: "Deny" }).waitFor();
  assert.ok(await isOpen(world, asked));
});

scenario("two permissions: the second one arrives while the first is being decided, and is not hit", async (world) => {
  const first = await world.permission("Bash", { command: "echo one" }, { session: "a" });
  const page = await world.page();
  await option(page, "Allow once").click();
  const second = await world.permission("Bash", { command: "rm -rf two" }, { session: "b" });
  const cards = page.locator(".card");
  await cards.filter({ hasText: "rm -rf two" }).waitFor();
  await cards.filter({ hasText: "echo one" }).locator(".send").click();
  assert.deepEqual(await decision(first), { behavior: "allow" });
  await until("the second one to be shown", () => page.getByText("rm -rf two").count());
  assert.ok(await isOpen(world, second));
});
