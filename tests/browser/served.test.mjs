// The page as it is served: small, and meaning what its sources mean.
import assert from "node:assert/strict";
import fs from "node:fs/promises";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { test } from "node:test";
import { required } from "../lib/environment.mjs";
import { scenario } from "./lib/world.mjs";

const LIMIT = 73 * 1024;
const SOURCE = fileURLToPath(new URL("../../src/page/", import.meta.url));
const { parse } = await import(pathToFileURL(path.join(required("ANSWERBACK_TEST_BROWSER"), "node_modules/acorn/dist/acorn.mjs")).href);

/** What code means, without the places where it is written. @param {string} code */
function meaning(code) {
  const program = parse(code, { ecmaVersion: "latest", sourceType: "module" });
  return JSON.parse(JSON.stringify(program, (name, value) => (name === "start" || name === "end" ? undefined : value)));
}

scenario("served: the page is small on the wire, and every module is loaded once", async (world) => {
  const page = await world.page({ signedIn: false });
  await page.getByText("This browser is not signed in").waitFor();
  /** @type {import("playwright-core").Request[]} */
  const loaded = [];
  page.on("requestfinished", (request) => loaded.push(request));
  await page.reload({ waitUntil: "networkidle" });
  let size = 0;
  const paths = [];
  for (const request of loaded) {
    const { pathname } = new URL(request.url());
    const headers = await (await request.response()).allHeaders();
    // A very small part would not get smaller.
    if (["/", "/page/main.js", "/page/style.css"].includes(pathname)) assert.equal(headers["content-encoding"], "gzip", pathname);
    size += Number(headers["content-length"]);
    paths.push(pathname);
  }
  // The browser may load the icon twice, for the page and for its tab.
  const modules = (await fs.readdir(SOURCE)).filter((name) => name.endsWith(".js"));
  assert.deepEqual(paths.filter((name) => name.endsWith(".js")).sort(), modules.map((name) => `/page/${name}`).sort());
  assert.ok(paths.includes("/") && paths.includes("/page/style.css"), paths.join(" "));
  console.log(`the page: ${size} bytes in ${paths.length} parts`);
  assert.ok(size <= LIMIT, `the page has ${size} bytes, and may have ${LIMIT}`);
});

scenario("served: every module means what its source means", async (world) => {
  const names = (await fs.readdir(SOURCE)).filter((name) => name.endsWith(".js"));
  assert.ok(names.length > 10);
  for (const name of names) {
    const reply = await fetch(`${world.url}/page/${name}`);
    assert.equal(reply.status, 200, name);
    assert.deepEqual(meaning(await reply.text()), meaning(await fs.readFile(path.join(SOURCE, name), "utf8")), name);
  }
});

test("a difference in meaning is found", () => {
  assert.notDeepEqual(meaning("a\n(b)"), meaning("a;\n(b)"));
  assert.notDeepEqual(meaning("a = 'b'"), meaning("a = ' b'"));
  assert.deepEqual(meaning("a  =  'b' // c"), meaning("a='b';"));
});
