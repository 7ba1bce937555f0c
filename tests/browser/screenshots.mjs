// Writes the pictures of the documentation: node screenshots.mjs DIRECTORY (see run.sh --screenshots).
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { closeBrowser } from "./lib/browser.mjs";
import { DATABASE, LAYOUT, NAME, PLATFORMS } from "../lib/questions.mjs";
import { PageWorld } from "./lib/world.mjs";

const out = process.argv[2];
await fs.mkdir(out, { recursive: true });

// What people see on their own machines is their system's typeface; a bare one has none worth showing.
const fonts = path.join(await fs.mkdtemp(path.join(os.tmpdir(), "answerback-fonts-")), "fonts.conf");
const prefer = (family) => `<match><test name="family"><string>${family}</string></test><edit name="family" mode="prepend" binding="strong"><string>Inter</string></edit></match>`;
await fs.writeFile(fonts, `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig><include ignore_missing="yes">/etc/fonts/fonts.conf</include>${prefer("system-ui")}${prefer("sans-serif")}</fontconfig>`);
process.env.FONTCONFIG_FILE = fonts;

const shoot = async (page, name, full = false) => {
  await page.evaluate(() => /** @type {any} */ (document.activeElement)?.blur());
  await page.mouse.move(0, 0);
  await page.evaluate(() => scrollTo(0, 0));
  await page.screenshot({ path: path.join(out, `${name}.png`), fullPage: full });
};

async function withWorld(body) {
  const world = await PageWorld.create();
  try {
    await body(world);
  } finally {
    await world.close();
  }
}

await withWorld(async (world) => {
  const page = await world.page({ colorScheme: "light", viewport: { width: 1000, height: 640 } });
  await page.locator(".empty h2").waitFor();
  await shoot(page, "empty");
});

await withWorld(async (world) => {
  const extra = await world.transcript("The catalogue is in place. Before I write the storage layer I need to know where orders go.", "orders");
  await world.ask([PLATFORMS], { session: "b81d04f7", cwd: "/home/me/radio", env: { CLAUDE_CODE_SESSION_ATTENDED: "0" } });
  await world.ask([DATABASE], { session: "3f2a9c1e", extra });
  for (const scheme of ["light", "dark"]) {
    const page = await world.page({ colorScheme: scheme, viewport: { width: 1000, height: 900 } });
    await page.locator(".branch:visible").first().waitFor();
    await shoot(page, scheme);
  }
  const phone = await world.page({ phone: true, colorScheme: "light" });
  await phone.locator(".branch:visible").first().waitFor();
  await shoot(phone, "phone");
});

await withWorld(async (world) => {
  await world.ask([DATABASE, LAYOUT, PLATFORMS, NAME], { session: "3f2a9c1e" });
  const page = await world.page({ colorScheme: "light", viewport: { width: 1000, height: 900 } });
  await page.keyboard.press("1");
  await page.keyboard.press("2");
  await page.locator(".progress", { hasText: "2 of 4" }).waitFor();
  await shoot(page, "four-questions", true);
});

await withWorld(async (world) => {
  const attended = { env: { CLAUDE_CODE_SESSION_ATTENDED: "1" } };
  const received = (asked, question, answer) => world.receive(asked, [question], { [question.question]: answer });
  const answer = async (asked, question, said, note) => {
    await world.post(`/v1/asks/${asked.key}/answer`, { answers: { [question.question]: said }, notes: note ? { [question.question]: note } : {} });
    await received(asked, question, [said].flat().join(", "));
  };
  await answer(await world.ask([PLATFORMS], { cwd: "/home/me/radio" }), PLATFORMS, ["Linux", "macOS"]);
  await answer(await world.ask([DATABASE]), DATABASE, "SQLite", "We can move later, if it ever hurts.");
  const { key } = await world.ask([LAYOUT]);
  await world.post(`/v1/asks/${key}/dismiss`, { reason: "Decide it yourself, and show me." });
  await received(await world.ask([NAME], attended), NAME, "Chestnut");
  const page = await world.page({ colorScheme: "light", viewport: { width: 1000, height: 820 } });
  await page.locator("#to-history").click();
  await page.locator(".entry").nth(3).waitFor();
  await shoot(page, "history");
});
await closeBrowser();
