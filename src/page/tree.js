// Any JSON as rows that a person can read: one for each value, and one for each line of a long text.

import { h } from "./dom.js";
import { Fold } from "./fold.js";
import { code } from "./visible.js";

/** The next levels of a deeper value are shown as JSON. */
const DEPTH = 12;

/**
 * @param {Record<string, unknown>} fields
 * @returns {import("./fold.js").Row[]}
 */
export const treeRows = (fields) => Object.entries(fields).flatMap(([name, value]) => rows(name, value, 0));

/** Any JSON as an element: what an ask is about, if the page cannot show it in another way. @param {object} fields */
export const rawTree = (fields) => new Fold(h("div", { class: "tree", tabindex: -1, role: "group", "aria-label": "What it is about" }), treeRows({ ...fields }), () => {}).element;

/**
 * @param {string} name
 * @param {unknown} value
 * @param {number} depth
 * @returns {import("./fold.js").Row[]}
 */
function rows(name, value, depth) {
  if (typeof value === "string" && value.includes("\n")) {
    return [row(name, "", "", depth), ...value.split("\n").map((line) => row(null, line, "text", depth + 1))];
  }
  if (typeof value === "string") return [row(name, value, "text", depth)];
  const inner = Object.entries(value !== null && typeof value === "object" ? value : {});
  if (inner.length === 0 || depth >= DEPTH) return [row(name, JSON.stringify(value), "value", depth)];
  // People count from one.
  const label = (/** @type {string} */ key) => (Array.isArray(value) ? String(Number(key) + 1) : key);
  return [row(name, "", "", depth), ...inner.flatMap(([key, each]) => rows(label(key), each, depth + 1))];
}

/**
 * @param {string | null} name
 * @param {string} text
 * @param {string} type how the value is written
 * @param {number} depth
 */
function row(name, text, type, depth) {
  const show = (/** @type {string} */ shown) => {
    const element = h("div", { class: "tree-row" }, name !== null && h("span", { class: "tree-name" }, code(name), ":"), name !== null && type !== "" && " ", type !== "" && h("span", { class: `tree-${type}` }, code(shown)));
    element.style.setProperty("--depth", String(depth));
    return element;
  };
  return { text, show };
}
