// Writes the pictures of the documentation: node screenshots.mjs DIRECTORY (see run.sh --screenshots).
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { closeBrowsers } from "./lib/browser.mjs";
import { DATABASE, LAYOUT, NAME, PLATFORMS } from "../lib/questions.mjs";
import { PLAN, remember, SCHEMA } from "./lib/waits.mjs";
import { PageWorld } from "./lib/world.mjs";

const out = process.argv[2];
await fs.mkdir(out, { recursive: true });

// What people see on their own machines is their system's typeface; a bare one has none worth showing.
const fonts = path.join(await fs.mkdtemp(path.join(os.tmpdir(), "answerback-fonts-")), "fonts.conf");
const prefer = (family) => `<match><test name="family"><string>${family}</string></test><edit name="family" mode="prepend" binding="strong"><string>Inter</string></edit></match>`;
await fs.writeFile(fonts, `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig><include ignore_missing="yes">/etc/fonts/fonts.conf</include>${prefer("system-ui")}${prefer("sans-serif")}</fontconfig>`);
process.env.FONTCONFIG_FILE = fonts;

/** Takes a picture of the page as it is. */
const shootHere = async (page, name, full = false) => {
  // What has just come into view is painted only in the frame after the next one.
  await page.evaluate(() => new Promise((painted) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(painted)))));
  await page.screenshot({ path: path.join(out, `${name}.png`), fullPage: full, animations: "disabled" });
};

/** Takes a picture of the page from its top, with nothing under the pointer or in focus. */
const shoot = async (page, name, full = false) => {
  await page.evaluate(() => /** @type {any} */ (document.activeElement)?.blur());
  await page.mouse.move(0, 0);
  await page.evaluate(() => scrollTo(0, 0));
  await shootHere(page, name, full);
};

/** Shows open asks as if they had come one after the other within the last hours. */
async function spread(page) {
  await page.route(/\/v1\/asks$/, async (route) => {
    const response = await route.fetch();
    const list = await response.json();
    // The newest one comes first.
    const ages = [1, 3, 8, 12, 17, 22, 29, 38, 41, 52, 74, 131];
    for (const [index, ask] of list.asks.entries()) ask.opened_at = new Date(Date.parse(ask.opened_at) - ages[index] * 60_000).toISOString();
    await route.fulfill({ response, json: list });
  });
  await page.reload();
}

async function withWorld(body) {
  const world = await PageWorld.create();
  try {
    await body(world);
  } finally {
    await world.close();
  }
}

const PHONE = { phone: true, viewport: { width: 390, height: 780 } };

await withWorld(async (world) => {
  const page = await world.page({ colorScheme: "light", viewport: { width: 1000, height: 560 } });
  await page.locator(".steps").waitFor();
  await shoot(page, "first-run");
});

/** Twelve asks of three projects, of every kind. */
async function askTwelve(world) {
  const question = (header, text, ...labels) => ({ question: text, header, multiSelect: false, options: labels.map((label) => ({ label, description: "" })) });
  const extra = await world.transcript("The catalogue is in place. Before I write the storage layer I need to know where orders go. Three ways would work, and they differ in what has to run beside the shop.", "orders");
  const [shop, radio, garden] = ["shop", "radio", "garden"].map((name) => `/home/me/${name}`);
  const deploy = "npm run build && rsync -a dist/ shop.example.org:/srv/shop";
  await world.ask([DATABASE], { session: "s1", cwd: shop, extra });
  await world.permission("Bash", { command: deploy }, { session: "s2", cwd: shop, extra: remember(deploy) });
  await world.ask([PLATFORMS], { session: "s3", cwd: radio });
  await world.plan(PLAN, { session: "s4", cwd: shop });
  await world.ask([question("Units", "Should the sensors report °C or °F?", "°C", "°F")], { session: "s5", cwd: garden });
  const { host, port, size } = SCHEMA.properties;
  await world.form({ requested_schema: { ...SCHEMA, properties: { host, port, size } } }, { session: "s6", cwd: shop });
  await world.ask([question("Retries", "How often should a failed upload be tried again?", "Never", "Three times", "Until it works")], { session: "s7", cwd: radio });
  await world.permission("WebFetch", { url: "https://www.sqlite.org/fts5.html", prompt: "How are ranks computed?" }, { session: "s8", cwd: shop });
  await world.ask([NAME], { session: "s9", cwd: garden });
  await world.ask([question("Colour", "Which colour should the warning have?", "Amber", "Red")], { session: "s10", cwd: garden });
  await world.ask([LAYOUT], { session: "s11", cwd: shop });
  await world.ask([question("Licence", "Which licence should the firmware have?", "MIT", "Apache-2.0", "GPL-3.0")], { session: "s12", cwd: radio });
}

await withWorld(async (world) => {
  await askTwelve(world);
  for (const scheme of ["light", "dark"]) {
    const page = await world.page({ colorScheme: scheme, viewport: { width: 1280, height: 820 } });
    await spread(page);
    await page.locator(".branch:visible").first().waitFor();
    await shoot(page, scheme);
  }
  const phone = await world.page({ ...PHONE, colorScheme: "light" });
  await spread(phone);
  await phone.locator(".branch:visible").first().waitFor();
  await shoot(phone, "phone");
  await phone.locator(".card .row").first().scrollIntoViewIfNeeded();
  await shootHere(phone, "phone-rows");
});

await withWorld(async (world) => {
  const lines = Array.from({ length: 14 }, (_, index) => `${index + 1}. ${["Keep", "Move", "Rename", "Delete"][index % 4]} \`part${index + 1}\``);
  await world.ask([{ ...DATABASE, question: `Is this the right order of steps?\n\n${lines.join("\n")}`, options: [{ label: "Yes", description: "" }, { label: "No", description: "I will say what comes first." }] }]);
  const page = await world.page({ ...PHONE, colorScheme: "light" });
  await page.locator(".show-all:visible").first().waitFor();
  await shoot(page, "long-folded");
  await page.locator(".show-all:visible").first().tap();
  await shoot(page, "long-unfolded");
});

await withWorld(async (world) => {
  await world.ask([DATABASE]);
  const page = await world.page({ ...PHONE, colorScheme: "dark" });
  await page.getByLabel("Another answer").tap();
  // The keyboard takes the lower half of the screen, and the browser makes the page smaller for it.
  await page.setViewportSize({ width: 390, height: 440 });
  await page.keyboard.type("SQLite now, and PostgreSQL when there is a second machine");
  await shootHere(page, "writing");
});

await withWorld(async (world) => {
  await askTwelve(world);
  const page = await world.page({ colorScheme: "light", viewport: { width: 1000, height: 620 } });
  await spread(page);
  const { asks } = await world.get("/v1/asks");
  const open = (header) => asks.find(({ kind, questions }) => kind === "question" && questions[0].header === header);
  await page.locator(".card").nth(11).waitFor({ state: "attached" });
  await page.keyboard.press("1");
  for (const [header, answer] of [["Units", "°C"], ["Retries", "Three times"], ["Colour", "Amber"]]) {
    const { key, questions } = open(header);
    await world.post(`/v1/asks/${key}/answer`, { answers: { [questions[0].question]: answer } });
  }
  await page.keyboard.press("Enter");
  await page.locator(".many-ended").waitFor();
  await page.locator(".card.settled", { hasText: "SQLite" }).waitFor();
  await page.evaluate(() => scrollTo(0, document.querySelectorAll(".card.settled")[1].getBoundingClientRect().top + scrollY - 240));
  await shootHere(page, "settled");
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
  const page = await world.page({ colorScheme: "light", viewport: { width: 1000, height: 460 } });
  await page.keyboard.press("/");
  await page.locator(".entry").nth(3).waitFor();
  await page.keyboard.type("platforms");
  await page.locator("mark").first().waitFor();
  await shoot(page, "history-search");
});
/** A part of a program, in which one line is to change. */
const PRICES = Array.from({ length: 30 }, (_, index) => (index === 13 ? "    price * count" : index === 12 ? "fn total(price: u64, count: u64) -> u64 {" : index === 14 ? "}" : index < 12 ? `use shop::part${index};` : `// ${index}`)).join("\n");

/** Every other kind: how it is opened, and what is done before the picture. */
const WAITS = {
  permission: {
    open: (world) => world.permission("Bash", { command: "npm run build && rsync -a dist/ shop.example.org:/srv/shop", description: "Builds the shop and uploads it" }, { session: "3f2a9c1e", extra: remember("npm run build && rsync -a dist/ shop.example.org:/srv/shop") }),
    act: (page) => page.locator(".option", { hasText: "Allow once" }).click(),
  },
  change: {
    open: async (world) => {
      const file = path.join(world.project, "src/prices.rs");
      await fs.mkdir(path.dirname(file), { recursive: true });
      await fs.writeFile(file, PRICES);
      return world.permission("Edit", { file_path: file, old_string: "    price * count", new_string: "    let total = price * count;\n    if count >= 10 { total * 9 / 10 } else { total }" }, { session: "3f2a9c1e", cwd: world.project });
    },
    act: (page) => page.getByLabel("Deny, and tell the agent why").fill("The discount begins at 12."),
  },
  plan: {
    open: (world) => world.plan(PLAN, { session: "3f2a9c1e" }),
    act: async (page) => {
      await page.getByRole("button", { name: "Comment on line 11" }).evaluate((button) => button.click());
      await page.keyboard.type("In pages of 20.");
    },
  },
  form: {
    open: (world) => {
      const { host, port, tls, size, mail } = SCHEMA.properties;
      return world.form({ requested_schema: { ...SCHEMA, properties: { host, port, tls, size, mail } } }, { session: "3f2a9c1e" });
    },
    act: async (page) => {
      await page.getByLabel("Port").fill("70000");
      await page.locator(".option", { hasText: "Medium" }).click();
      await page.getByRole("button", { name: "Send the form" }).click();
      await page.getByText("Must be at most").waitFor();
    },
  },
};

const DEVICES = [{ place: "wide", phone: false, width: 1000 }, { place: "phone", phone: true, width: 390 }];

for (const [name, { open, act }] of Object.entries(WAITS)) {
  await withWorld(async (world) => {
    await open(world);
    for (const { place, phone, width } of DEVICES) {
      for (const colorScheme of ["light", "dark"]) {
        const page = await world.page({ phone, viewport: { width, height: 700 }, colorScheme });
        // The directory of this world is a scratch one. People read a path like their own.
        await page.route(/\/v1\/asks$/, async (route) => {
          const response = await route.fetch();
          await route.fulfill({ response, body: (await response.text()).replaceAll(world.project, "/home/me/shop") });
        });
        await page.reload();
        await page.locator(".card.expanded .form").waitFor();
        await act(page);
        // As high as the card.
        const height = await page.evaluate(() => document.querySelector("main").getBoundingClientRect().bottom + scrollY);
        await page.setViewportSize({ width, height: Math.ceil(height) - 40 });
        await shoot(page, `${name}-${place}-${colorScheme}`);
      }
    }
  });
}
await closeBrowsers();
