// The time that an agent's text takes grows as its length does, whatever is in it. The modules of the page run here without a browser, and
// the time is that of the processor, so that a busy machine changes nothing.
import assert from "node:assert/strict";
import { test } from "node:test";
import "./lib/no_browser.mjs";

const page = (/** @type {string} */ name) => import(new URL(`../../src/page/${name}.js`, import.meta.url).href);
const [{ markdown }, { firstLine, inline }, visible, { diffDigits, diffRows, diffSize }, { CallView }, { treeRows }, { preview }, { planTitle }, { projectName }] = await Promise.all(
  ["markdown", "inline", "visible", "diff", "call", "tree", "preview", "past", "words"].map(page),
);
const { Comments } = await page("comments");

/** From one size to the next, the time may grow by this much more than the text does. A square is 4 times too much. */
const STEP = 4;
const SLACK = 3;
/** Less than this says nothing about the next size. */
const LEAST_MS = 5;
const SIZES = [512, 2048, 8192, 32_768];

const CHARACTERS = [..." \t\r\u2028a`*_~[]()!|#>-+:\\\"<1.\u200b\u0430\u05d0\u0301\n"];
const NESTS = ["**a ", "a** ", "*a **b _c [d](", "[a](", "](a \"", "[a](b(", "![", "> ", "- ", "1. ", "- - ", "`` a ", "`a``b", "~~a ", "_a ", "|a", "| - ", ":-|", "\\`", "\u{1f600}\u200d", "a\u0430", "\u0430a", "```\n", "~~~~\n", "- a\n", "> a\n", "|-|\n", "# a\n", "\t- a\n"];
const FRAMES = [["", ""], ["# x", "y"], ["# ", "#"], ["a|b\n", "x|"], ["```", "x\u2028y"], ["- ", "y"], ["**", "**"], ["[", "](a)"]];
const PLAIN = [...CHARACTERS, ...NESTS];
const FRAMED = [...PLAIN, ...CHARACTERS.flatMap((each) => [`${each}a`, `a${each}`, `${each} `])];

const ask = (/** @type {string} */ text) => ({ key: "a__b", questions: [{ question: "Which?", options: [{ label: "A", preview: text }] }] });
const diffOf = (/** @type {string} */ text) => ({ isNew: false, hunks: text.split("\n").map((line) => ({ old: 1, new: 1, lines: [`+${line}`] })) });
const shown = (/** @type {import("../../src/page/fold.js").Row[]} */ rows) => rows.forEach((row) => row.show(row.text));

/** What reads the text of an agent. @type {[string, (text: string) => unknown, string[], string[][]][]} */
const READERS = [
  ["markdown", markdown, FRAMED, FRAMES],
  ["inline", inline, FRAMED, FRAMES.slice(-2)],
  ["code", visible.code, FRAMED, FRAMES.slice(0, 1)],
  ["prose", visible.prose, FRAMED, FRAMES.slice(0, 1)],
  ["text for machines", (text) => [visible.codeText(text), visible.hasHidden(text)], PLAIN, FRAMES.slice(0, 1)],
  ["titles and rows", (text) => [planTitle(text), firstLine(text), projectName(text)], PLAIN, FRAMES.slice(0, 2)],
  ["a change", (text) => [diffDigits(diffOf(text)), diffSize(diffOf(text)), shown(diffRows(diffOf(text)))], PLAIN, FRAMES.slice(0, 1)],
  ["a call", (text) => new CallView({ tool: text, command: text, path: text, input: { text } }), PLAIN, FRAMES.slice(0, 1)],
  ["an input", (text) => shown(treeRows({ [text]: text, list: text.split("\n") })), PLAIN, FRAMES.slice(0, 1)],
  ["a preview", (text) => preview(ask(text), 0, 0), PLAIN, [["", ""], ["# a\n", ""], ["<", ""]]],
  ["a plan with comments", (text) => new Comments(text, [], () => {}), PLAIN, FRAMES.slice(0, 1)],
];

/** Processor time, in milliseconds. @param {() => unknown} work */
function cost(work) {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** The least of a few tries, as soon as it is small enough. @param {() => unknown} work @param {number} enough */
function leastCost(work, enough) {
  let least = Infinity;
  for (let left = 3; left > 0 && least > enough; left--) least = Math.min(least, cost(work));
  return least;
}

for (const [name, read, units, frames] of READERS) {
  test(`linear: ${name}`, () => {
    for (const [before, after] of frames) {
      for (const unit of units) {
        let last = LEAST_MS;
        for (const size of SIZES) {
          const text = before + unit.repeat(Math.ceil(size / unit.length)) + after;
          const most = STEP * SLACK * last;
          const took = leastCost(() => read(text), most);
          assert.ok(took <= most, `${JSON.stringify(before + unit)}… ${JSON.stringify(after)}: ${size} characters take ${Math.round(took)} ms, and a quarter of them ${Math.round(last)} ms`);
          last = Math.max(LEAST_MS, took);
        }
      }
    }
  });
}

test("linear: as many lines as there can be", () => {
  const lines = 150_000;
  shown(diffRows(diffOf("a\n".repeat(lines))));
  for (const line of ["a\n\n", "- a\n", "|a|\n|-|\n", "> a\n\n"]) markdown(line.repeat(lines));
});
