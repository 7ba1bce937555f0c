// Asks of two machines: each is named beside its project, and there is a filter. With one machine, nothing of that is there.
import assert from "node:assert/strict";
import path from "node:path";
import { DATABASE, LAYOUT } from "../lib/questions.mjs";
import { within } from "../lib/until.mjs";
import { expectAccessible } from "./lib/accessible.mjs";
import { scenario } from "./lib/world.mjs";

const SHOP = "/home/me/shop";
const RADIO = "/home/me/radio";
/** @type {[string, import("./lib/browser.mjs").BrowserName, import("./lib/browser.mjs").ProfileOptions][]} */
const PLACES = [
  ["1,440 px", "chromium", { wide: true }],
  ["390 px", "chromium", { phone: true, viewport: { width: 390, height: 844 } }],
  ["Firefox, 1,440 px", "firefox", { wide: true }],
  ["Firefox, 390 px", "firefox", { phone: true, viewport: { width: 390, height: 844 } }],
];

/** A program asks. @returns {Promise<string>} the key */
async function ask(world, question, project = SHOP) {
  return (await world.post("/v1/asks", { questions: [{ ...DATABASE, question }], project })).key;
}

/** Writes the name of another machine into the store while no daemon runs. A daemon that would take over what is open is not let. */
const MOVE = `
import sqlite3, sys
store, host, *keys = sys.argv[1:]
with sqlite3.connect(store) as connection:
    for key in keys:
        connection.execute("UPDATE asks SET host = ? WHERE key = ?", (host, key))
    connection.execute(f"CREATE TRIGGER keep BEFORE UPDATE OF host ON asks WHEN old.host = '{host}' BEGIN SELECT RAISE(IGNORE); END")
`;

async function move(world, host, ...keys) {
  await world.killDaemon();
  const store = path.join(world.home, ".local/state/answerback/asks.db");
  const run = world.spawn("python3", ["-c", MOVE, store, host, ...keys]);
  assert.equal((await within("the move", run.exited)).code, 0, run.stderr);
  await world.startDaemon();
}

async function expectFits(page, what) {
  const { scroll, client } = await page.evaluate(() => ({ scroll: document.documentElement.scrollWidth, client: document.documentElement.clientWidth }));
  assert.ok(scroll <= client, `${what}: ${scroll} > ${client}`);
}

/** The host and the project of each ask that is shown, in the order of the page. A hidden host is not there. */
const askers = (page) =>
  page.locator(".row-head:visible, .card-head:visible .project").evaluateAll((heads) =>
    heads.map((head) => {
      const [host, project] = head.querySelectorAll("bdi");
      return `${getComputedStyle(host).display === "none" ? "" : host.textContent}:${project.textContent}`;
    }),
  );
/** In alphabetical order: the one for all comes first on the page, and the others in the order in which they came up. */
const optionsOf = async (select) => (await select.locator("option").allTextContents()).sort();

for (const [where, browser, profile] of PLACES) {
  scenario(`hosts, ${where}: named on cards and rows, and filtered`, async (world) => {
    const there = [await ask(world, "First?"), await ask(world, "Second?", RADIO)];
    for (const question of ["Third?", "Fourth?", "Fifth?"]) await ask(world, question);
    await move(world, "build-7", ...there);
    const { here } = await world.get("/v1/projects");
    const page = await world.page(profile);
    const filter = page.locator(".filter");
    await filter.getByText("5 open").waitFor();
    const all = ["build-7:shop", "build-7:radio", ...Array(3).fill(`${here}:shop`)];
    const isWide = profile.wide === true;
    const seen = await askers(page);
    // Beside the list is the first card.
    assert.deepEqual(isWide ? seen.slice(0, 5) : seen, all);
    assert.equal(isWide ? seen[5] : seen[0], "build-7:shop");
    assert.equal(await page.locator(".card:visible").first().getAttribute("aria-label"), "build-7:shop asks: Database. First?");
    await expectFits(page, "the inbox");
    await expectAccessible(page, "two hosts");

    const [host, project] = [filter.getByLabel("Machine"), filter.getByLabel("Project")];
    assert.deepEqual(await optionsOf(host), ["All machines", "build-7 (2)", `${here} (3)`].sort());
    assert.deepEqual(await optionsOf(project), ["All projects", "build-7:radio (1)", "build-7:shop (1)", `${here}:shop (3)`].sort());
    await host.selectOption("build-7");
    await filter.getByText("2 of 5").waitFor();
    assert.equal(new URL(page.url()).hash, "#/?host=build-7");
    await page.reload();
    await filter.getByText("2 of 5").waitFor();
    assert.deepEqual((await askers(page)).slice(0, 2), all.slice(0, 2));
    // A project belongs to its machine.
    await project.selectOption({ label: `${here}:shop (3)` });
    await filter.getByText("3 of 5").waitFor();
    assert.equal(await host.inputValue(), here);
    await host.selectOption("build-7");
    await filter.getByText("1 of 5").waitFor();
    assert.equal(await project.inputValue(), `build-7:${SHOP}`);
    await host.selectOption("");
    await filter.getByText("5 open").waitFor();
    assert.equal(await project.inputValue(), "");
    // Several choices in the same list are one step for Back.
    await page.goBack();
    await filter.getByText("3 of 5").waitFor();
    await project.selectOption(`build-7:${SHOP}`);
    await filter.getByText("1 of 5").waitFor();

    // Answered here, it is answered there, and the history tells both apart.
    await page.locator(".option:visible", { hasText: "SQLite" }).click();
    assert.equal((await world.settled(there[0])).host, "build-7");
    await page.locator("#to-history").click();
    const entry = page.locator(".entry");
    await entry.locator(".machine:visible", { hasText: "build-7" }).waitFor();
    const search = page.getByRole("search");
    const { width } = await search.getByLabel("Search").boundingBox();
    assert.ok(width > 200, `the field for a search is ${width} px wide`);
    assert.deepEqual(await optionsOf(search.getByLabel("Machine")), ["All machines", "build-7", here].sort());
    await search.getByLabel("Machine").selectOption(here);
    await page.getByText("Nothing was found.").waitFor();
    await search.getByLabel("Project").selectOption(`build-7:${SHOP}`);
    await entry.waitFor();
    assert.match(new URL(page.url()).hash, /host=build-7/);
    await page.reload();
    await entry.waitFor();
    assert.equal(await search.getByLabel("Machine").inputValue(), "build-7");
    await expectFits(page, "the history");
    await expectAccessible(page, "the history of two hosts");
  }, { browser });

  scenario(`hosts, ${where}: nothing of them with one machine`, async (world) => {
    for (const question of ["First?", "Second?", "Third?"]) await ask(world, question);
    await ask(world, "Fourth?", RADIO);
    const settled = await ask(world, LAYOUT.question);
    await world.post(`/v1/asks/${settled}/answer`, { answers: { [LAYOUT.question]: "SQLite" } });
    const page = await world.page(profile);
    await page.locator(".filter").getByText("4 open").waitFor();
    const { here } = await world.get("/v1/projects");
    const expectNothing = async () => {
      assert.equal(await page.locator(".machine:visible").count(), 0);
      assert.equal(await page.getByLabel("Machine").locator("visible=true").count(), 0);
      assert.ok(!(await page.locator("body").innerText()).includes(here));
    };
    await expectNothing();
    assert.deepEqual(await optionsOf(page.locator(".filter").getByLabel("Project")), ["All projects", "radio (1)", "shop (3)"]);
    await page.locator("#to-history").click();
    await page.locator(".entry").waitFor();
    await expectNothing();
  }, { browser });
}
