// The tape of the README shows what the programs print today, moves, and stands still for people who want that.
import assert from "node:assert/strict";
import fs from "node:fs/promises";
import { after, test } from "node:test";
import { browserContext, closeBrowsers } from "../browser/lib/browser.mjs";
import { COLUMNS, record } from "./record.mjs";
import { svg } from "./svg.mjs";

const TAPE = new URL("../../docs/images/tape.svg", import.meta.url);

after(closeBrowsers);

/** Every word on a tape once, in the order in which it appears, without what differs from run to run. @param {string} tape */
function words(tape) {
  const texts = [...tape.matchAll(/<text [^>]*>([^<]*)<\/text>/g)].map(([, text]) => text);
  const steady = texts
    .join(" ")
    .replaceAll(/\b[0-9a-f]{6}\b/g, "KEY")
    .replaceAll(/\bdemo-[0-9a-f]+/g, "SESSION")
    .replaceAll(/\b\d{4}-\d\d-\d\d \d\d:\d\d\b/g, "TIME")
    .replaceAll(/\b[\d.]+\s+(s|ms)\b/g, "DURATION");
  return [...new Set(steady.split(/\s+/))];
}

test("the tape shows what the programs print today (if not, run tests/browser/run.sh --tape)", async () => {
  const now = svg(await record(async () => {}), COLUMNS);
  assert.deepEqual(words(await fs.readFile(TAPE, "utf8")), words(now));
});

test("the tape moves from the first command to the last and begins again, and where nothing may move it is the last screen", async () => {
  const shown = async (/** @type {"reduce" | "no-preference"} */ reducedMotion) => {
    const context = await browserContext({ reducedMotion });
    const page = await context.newPage();
    await page.goto(TAPE.href);
    /** What is seen at a time. @param {number} part of the whole, from 0 to 1 */
    const at = (part) =>
      page.evaluate((part) => {
        const root = /** @type {SVGSVGElement} */ (/** @type {unknown} */ (document.documentElement));
        root.pauseAnimations();
        root.setCurrentTime(part * /** @type {SVGAnimateElement} */ (/** @type {unknown} */ (document.getElementById("t"))).getSimpleDuration());
        return [...document.querySelectorAll("text")].filter((text) => getComputedStyle(text).visibility === "visible").map((text) => text.textContent).join(" ");
      }, part);
    const seen = [await at(0), await at(0.5), await at(0.99), await at(1.01)];
    await context.close();
    return seen;
  };
  const [first, middle, last, again] = await shown("no-preference");
  assert.equal(first.replaceAll(/\s+/g, " ").trim(), "~/shop $");
  assert.match(middle, /What should be there from the first day\?/);
  assert.doesNotMatch(middle, /All is well/);
  assert.match(last, /answerback demo[^]*All is well/);
  assert.equal(again, first);
  assert.deepEqual(await shown("reduce"), [last, last, last, last]);
});

test("the tape is small", async () => {
  const { size } = await fs.stat(TAPE);
  assert.ok(size < 150 * 1024, `${size} bytes`);
});
