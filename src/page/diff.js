// A change of a file, line by line: numbers before and after, a sign, and the text. The signs say the same as the colours.

import { h } from "./dom.js";
import { code } from "./visible.js";

/** @type {Record<string, { name: string, sign: string, word: string }>} */
const SIGNS = {
  "+": { name: "added", sign: "+", word: "added" },
  "-": { name: "removed", sign: "−", word: "removed" },
  " ": { name: "same", sign: "", word: "" },
};

/**
 * @param {Diff} diff
 * @returns {import("./fold.js").Row[]}
 */
export function diffRows({ hunks }) {
  return hunks.flatMap((hunk, index) => [...(index > 0 ? [gap()] : []), ...hunkRows(hunk)]);
}

/** How many digits the largest number of a line has. @param {Diff} diff */
export function diffDigits({ hunks }) {
  const ends = hunks.flatMap(({ old, new: now, lines }) => [old ?? 0, now ?? 0].map((start) => start + lines.length));
  return String(ends.reduce((most, end) => Math.max(most, end), 99)).length;
}

/** How much changes, in one line. @param {Diff} diff */
export function diffSize({ isNew, replacesUnseen, hunks }) {
  const count = (/** @type {string} */ sign) => hunks.flatMap(({ lines }) => lines).filter((line) => line.startsWith(sign)).length;
  const [added, removed] = [count("+"), count("-")];
  if (replacesUnseen) return `+${added}, all of the file is replaced, and what is in it now cannot be shown`;
  const parts = [`+${added}`, ...(isNew ? ["a new file"] : [`−${removed}`])];
  return added + removed === 0 ? "no change of a line" : parts.join(", ");
}

/** @param {Hunk} hunk */
function hunkRows(hunk) {
  let { old, new: now } = hunk;
  return hunk.lines.map((line) => {
    const { name, sign, word } = SIGNS[line[0]] ?? SIGNS[" "];
    const before = name === "added" || old === null ? "" : String(old++);
    const after = name === "removed" || now === null ? "" : String(now++);
    const number = (/** @type {string} */ text) => h("td", { class: "number" }, text);
    const show = (/** @type {string} */ text) =>
      h("tr", { class: name }, number(before), number(after), h("td", { class: "sign" }, h("span", { "aria-hidden": "true" }, sign), word && h("span", { class: "unseen" }, word)), h("td", { class: "code" }, code(text)));
    return { text: line.slice(1), show };
  });
}

/** Stands for the lines between two changes. */
const gap = () => ({ text: "", show: () => h("tr", { class: "gap" }, h("td", { colspan: 4 }, h("span", { "aria-hidden": "true" }, "⋯"), h("span", { class: "unseen" }, "lines that stay as they are"))) });
