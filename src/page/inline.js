// Markdown inside a line: code, emphasis, and links as text with their address. Nothing that the agent wrote is left out.

import { h } from "./dom.js";
import { code, prose } from "./visible.js";

/** Marks do not nest deeper than this. */
const DEPTH = 4;

// Every part has a limit, so that no text takes long to search.
const PATTERN = new RegExp(
  [
    "\\\\(?<escaped>[!-/:-@[-`{-~])",
    "(?<!`)`(?<code>[^`]{1,1000})`(?!`)",
    "(?<!`)``(?!`)(?<codeToo>(?:[^`]|`(?!`)){1,1000})``(?!`)",
    "\\*\\*(?=[^\\s*])(?<strong>[^]{1,500}?)(?<=\\S)\\*\\*(?!\\*)",
    "(?<!\\w)__(?=[^\\s_])(?<strongToo>[^]{1,500}?)(?<=\\S)__(?!\\w)",
    "~~(?=[^\\s~])(?<struck>[^]{1,500}?)(?<=\\S)~~",
    "\\*(?=[^\\s*])(?<em>[^*]{1,500})(?<=\\S)\\*(?!\\*)",
    "(?<!\\w)_(?=[^\\s_])(?<emToo>[^_]{1,500})(?<=\\S)_(?!\\w)",
    "(?<image>!)?\\[(?<label>[^\\[\\]]{1,500})\\]\\((?<target>[^()\\s]{1,2000}(?:\\([^()\\s]{0,200}\\)[^()\\s]{0,2000})?)(?<title>\\s+\"[^\"]{0,500}\")?\\)",
  ].join("|"),
  "gu",
);

/** How much of a text a row shows at most. */
const ROW = 300;

/** The first line of a text, for a row. @param {string} text */
export const firstLine = (text) => (text.split("\n").find((line) => line.trim()) ?? "").slice(0, ROW);

/**
 * @param {string} text
 * @param {number} [depth]
 * @returns {DocumentFragment}
 */
export function inline(text, depth = 0) {
  if (depth >= DEPTH) return prose(text);
  const parts = new DocumentFragment();
  let end = 0;
  for (const found of text.matchAll(PATTERN)) {
    parts.append(prose(text.slice(end, found.index)), piece(/** @type {Record<string, string | undefined>} */ (found.groups), depth + 1));
    end = found.index + found[0].length;
  }
  parts.append(prose(text.slice(end)));
  return parts;
}

/**
 * @param {Record<string, string | undefined>} groups of the pattern
 * @param {number} depth
 * @returns {Node | string}
 */
function piece(groups, depth) {
  if (groups.escaped) return groups.escaped;
  const source = groups.code ?? groups.codeToo;
  if (source) return h("code", {}, code(source));
  const strong = groups.strong ?? groups.strongToo;
  if (strong) return h("strong", {}, inline(strong, depth));
  const em = groups.em ?? groups.emToo;
  if (em) return h("em", {}, inline(em, depth));
  if (groups.struck) return h("s", {}, inline(groups.struck, depth));
  return link(groups, depth);
}

/**
 * The target of a link is shown, but cannot be clicked: an agent wrote it.
 * @param {Record<string, string | undefined>} groups
 * @param {number} depth
 */
function link({ image, label = "", target = "", title = "" }, depth) {
  const shown = new DocumentFragment();
  const address = h("span", { class: "address" }, code(target));
  if (image) shown.append("Image: ");
  if (label === target) shown.append(address);
  else shown.append(inline(label, depth), " (", address, prose(title), ")");
  return shown;
}
