// Forms of MCP servers on the page: fields, values that the daemon refuses, and addresses to open.
import assert from "node:assert/strict";
import { DATABASE } from "../lib/questions.mjs";
import { SCHEMA } from "./lib/waits.mjs";
import { Elsewhere } from "./lib/elsewhere.mjs";
import { scenario } from "./lib/world.mjs";

const option = (page, label) => page.locator(".option", { hasText: label });
const button = (page, name) => page.getByRole("button", { name, exact: true });
/** @type {[string, import("./lib/browser.mjs").ProfileOptions][]} */
const WIDTHS = [["wide", {}], ["390 px", { phone: true, viewport: { width: 390, height: 844 } }]];

for (const [where, profile] of WIDTHS) {
  scenario(`${where}: defaults are filled in, a wrong number is refused at its field, and the right one is sent`, async (world) => {
    const asked = await world.form({ requested_schema: SCHEMA });
    const page = await world.page({ ...profile, timezoneId: "Europe/Berlin" });
    await page.getByRole("article", { name: "shop has a form: deployer" }).waitFor();
    assert.equal(await page.getByLabel("Host").inputValue(), "shop.example.org");
    assert.equal(await page.getByLabel("Share of the traffic").inputValue(), "0.5");
    await page.locator(".option[aria-checked=true]", { hasText: "Yes" }).waitFor();
    await page.locator(".option[aria-checked=true]", { hasText: "north" }).waitFor();
    for (const [label, type] of [["Port", "number"], ["Contact", "email"], ["Status page", "url"], ["First day", "date"], ["Start", "datetime-local"]]) {
      assert.equal(await page.getByLabel(label).getAttribute("type"), type);
    }
    await button(page, "Send the form").click();
    await page.locator(".field", { hasText: "Port" }).locator(".fault", { hasText: "This one is required." }).waitFor();
    await page.locator(".field", { hasText: "Size" }).locator(".fault", { hasText: "This one is required." }).waitFor();

    await page.getByLabel("Port").fill("70000");
    await option(page, "Large").click();
    await option(page, "south").click();
    await page.getByLabel("Contact").fill("me");
    await page.getByLabel("First day").fill("2027-02-03");
    await page.getByLabel("Start").fill("2027-02-03T09:30");
    await button(page, "Send the form").click();
    await page.locator(".field", { hasText: "Port" }).locator(".fault", { hasText: "Must be at most 65535." }).waitFor();
    await page.locator(".field", { hasText: "Contact" }).locator(".fault", { hasText: "Must be an e-mail address" }).waitFor();
    assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("type")), "number");
    assert.equal((await world.get(`/v1/asks/${asked.key}`)).state, "open");

    await page.getByLabel("Port").fill("8443");
    await page.getByLabel("Contact").fill("me@example.org");
    await button(page, "Send the form").click();
    const { action, content } = await asked.reply();
    assert.equal(action, "accept");
    assert.deepEqual(content, { host: "shop.example.org", port: 8443, ratio: 0.5, tls: true, size: "l", zones: ["north", "south"], mail: "me@example.org", day: "2027-02-03", at: "2027-02-03T08:30:00.000Z" });
    await page.locator(".card.settled", { hasText: "Sent" }).waitFor();
    world.complaints = world.complaints.filter((text) => !text.includes("status of 422"));
  });

  scenario(`${where}: a form is declined, in two steps`, async (world) => {
    const asked = await world.form({ requested_schema: SCHEMA });
    const page = await world.page(profile);
    await button(page, "Decline…").click();
    await page.getByText("Decline the form? The server gets no values.").waitFor();
    await button(page, "Cancel").click();
    await button(page, "Decline…").click();
    await button(page, "Decline").click();
    assert.deepEqual(await asked.reply(), { hookEventName: "Elicitation", action: "decline" });
    await page.locator(".card.settled", { hasText: "Declined" }).waitFor();
    await page.locator("#to-history").click();
    await page.locator(".entry", { hasText: /Declined[^]*Where does it run\?/ }).waitFor();
  });

  scenario(`${where}: an address is shown whole, opened only on a second click, and accepted`, async (world) => {
    const site = new Elsewhere();
    await site.start();
    try {
      site.pages = { "/pay?step=1": "<!doctype html><title>pay</title>" };
      const url = `${site.url}/pay?step=1`;
      const asked = await world.form({ url, message: "Pay first" });
      const page = await world.page(profile);
      assert.equal(await page.getByLabel("Address", { exact: true }).textContent(), url);
      await button(page, "Open the address…").click();
      const box = page.locator("dialog[open]");
      await box.locator("strong", { hasText: new URL(url).host }).waitFor();
      assert.equal(site.connections, 0);
      await box.getByRole("button", { name: "Cancel" }).click();
      await button(page, "Open the address…").click();
      const opened = page.context().waitForEvent("page");
      await box.getByRole("button", { name: "Open in a new tab" }).click();
      const tab = await opened;
      await tab.waitForLoadState();
      assert.equal(await tab.evaluate(() => globalThis.opener), null);
      assert.equal(await tab.evaluate(() => document.referrer), "");
      assert.equal((await world.get(`/v1/asks/${asked.key}`)).state, "open");
      await button(page, "Accept").click();
      assert.deepEqual(await asked.reply(), { hookEventName: "Elicitation", action: "accept" });
      await page.locator(".card.settled", { hasText: "Accepted" }).filter({ hasText: url }).waitFor();
    } finally {
      site.stop();
    }
  });
}

scenario("wide: a form that is refused stays where it is, and one that is taken makes room for the next question", async (world) => {
  const { port } = SCHEMA.properties;
  const asked = await world.form({ requested_schema: { type: "object", required: ["port"], properties: { port } } });
  await world.ask([DATABASE], { session: "session-2" });
  const page = await world.page({ wide: true });
  await page.getByLabel("Port").fill("70000");
  await button(page, "Send the form").click();
  await page.locator(".card:visible .fault", { hasText: "Must be at most 65535." }).waitFor();
  await page.locator(".card:visible").getByText("Not sent. A value does not fit its field.").waitFor();
  await page.getByLabel("Port").fill("8443");
  await button(page, "Send the form").click();
  assert.deepEqual((await asked.reply()).content, { port: 8443 });
  await page.locator(".card:visible", { hasText: DATABASE.question }).waitFor();
  world.complaints = world.complaints.filter((text) => !text.includes("status of 422"));
});

scenario("an address is declined", async (world) => {
  const asked = await world.form({ url: "https://pay.example.org/" });
  const page = await world.page();
  await button(page, "Decline…").click();
  await button(page, "Decline").click();
  assert.deepEqual(await asked.reply(), { hookEventName: "Elicitation", action: "decline" });
});

scenario("an address that is no web address cannot be opened from the page", async (world) => {
  const page = await world.page();
  for (const [index, url] of ["javascript:top.hit()", "data:text/html,x", "file:///etc/passwd", "not an address"].entries()) {
    const asked = await world.form({ url }, { session: `s-${index}` });
    await page.getByText("This is not a web address").waitFor();
    assert.equal(await button(page, "Open the address…").count(), 0);
    await button(page, "Decline…").click();
    await button(page, "Decline").click();
    assert.equal((await asked.reply()).action, "decline");
    await page.locator(".card.settled").getByRole("button", { name: "Close" }).click();
  }
});

scenario("keyboard: a form is filled in and sent", async (world) => {
  const requested_schema = { type: "object", required: ["name"], properties: { name: { type: "string", title: "Name" }, loud: { type: "boolean", title: "Loud" }, far: { type: "string", enum: ["a", "b", "c", "d", "e", "f", "g", "h"], title: "Far" } } };
  const asked = await world.form({ requested_schema });
  const page = await world.page();
  await page.locator(".card").waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.type("Oak 1");
  await page.keyboard.press("Tab");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Space");
  await page.keyboard.press("Tab");
  await page.keyboard.type("c");
  await page.keyboard.press("Control+Enter");
  assert.deepEqual((await asked.reply()).content, { name: "Oak 1", loud: false, far: "c" });
});

scenario("values outlive a reload, and a choice that is not required can be taken back", async (world) => {
  const asked = await world.form({ requested_schema: SCHEMA });
  const page = await world.page();
  await page.getByLabel("Port").fill("80");
  await option(page, "Small").click();
  await option(page, "Yes").click();
  await option(page, "north").click();
  await page.getByLabel("Share of the traffic").fill("");
  await page.reload();
  assert.equal(await page.getByLabel("Port").inputValue(), "80");
  assert.equal(await page.locator(".option[aria-checked=true]").count(), 1);
  await option(page, "Small").click();
  assert.equal(await page.locator(".option[aria-checked=true]").count(), 1, "a required choice stays");
  await button(page, "Send the form").click();
  assert.deepEqual((await asked.reply()).content, { host: "shop.example.org", port: 80, size: "s" });
});
