// Writes the pictures of the documentation: node screenshots.mjs DIRECTORY (see run.sh --screenshots).
import fs from "node:fs/promises";
import path from "node:path";
import { closeBrowser } from "./lib/browser.mjs";
import { DATABASE, LAYOUT, NAME, PLATFORMS } from "./lib/questions.mjs";
import { World } from "./lib/world.mjs";

const out = process.argv[2];
await fs.mkdir(out, { recursive: true });

const shoot = async (page, name, full = false) => {
  await page.evaluate(() => /** @type {any} */ (document.activeElement)?.blur());
  await page.mouse.move(0, 0);
  await page.evaluate(() => scrollTo(0, 0));
  await page.screenshot({ path: path.join(out, `${name}.png`), fullPage: full });
};

async function withWorld(body) {
  const world = await World.create();
  try {
    await body(world);
  } finally {
    await world.close();
  }
}

await withWorld(async (world) => {
  const page = await world.page({ colorScheme: "light" });
  await page.locator(".empty h2").waitFor();
  await shoot(page, "empty");
});

await withWorld(async (world) => {
  const extra = await world.transcript("The catalogue is in place. Before I write the storage layer I need to know where orders go.", "orders");
  await world.ask([PLATFORMS], { session: "session-2", cwd: "/home/me/radio", env: { CLAUDE_CODE_SESSION_ATTENDED: "0" } });
  await world.ask([DATABASE], { session: "session-1", extra });
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
  await world.ask([DATABASE, LAYOUT, PLATFORMS, NAME]);
  const page = await world.page({ colorScheme: "light", viewport: { width: 1000, height: 900 } });
  await page.keyboard.press("1");
  await page.keyboard.press("2");
  await page.locator(".progress", { hasText: "2 of 4" }).waitFor();
  await shoot(page, "four-questions", true);
});

await withWorld(async (world) => {
  const settle = async (questions, answers, notes, options) => {
    const { key } = await world.ask(questions, options);
    await world.post(`/v1/asks/${key}/answer`, { answers, notes });
  };
  await settle([PLATFORMS], { [PLATFORMS.question]: ["Linux", "macOS"] }, {}, { cwd: "/home/me/radio" });
  await settle([DATABASE], { [DATABASE.question]: "SQLite" }, { [DATABASE.question]: "We can move later, if it ever hurts." }, {});
  const { key } = await world.ask([LAYOUT]);
  await world.post(`/v1/asks/${key}/dismiss`, { reason: "Decide it yourself, and show me." });
  await settle([NAME], { [NAME.question]: "Chestnut" }, {}, {});
  const page = await world.page({ colorScheme: "light", viewport: { width: 1000, height: 820 } });
  await page.locator("#to-history").click();
  await page.locator(".entry").nth(3).waitFor();
  await shoot(page, "history");
});
await closeBrowser();
