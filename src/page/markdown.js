// Renders the part of Markdown that agents use. It makes no links, loads nothing, and shows HTML as text.

import { h } from "./dom.js";
import { inline } from "./inline.js";
import { code, prose } from "./visible.js";

/** Lists and quotations do not nest deeper than this. */
const DEPTH = 8;
/** A text with more lines than a person reads goes on as it is written. */
const LINES = 50_000;

// An agent may write any line, and any number of them. So no pattern here may try a part of a line again and again.
const FENCE = /^\s{0,12}(`{3,}|~{3,})(.*)$/s;
const HEADING = /^\s{0,3}(#{1,6})\s+(.*)$/s;
const RULE = /^\s{0,3}([-*_])(\s*\1){2,}\s*$/;
const QUOTE = /^\s{0,3}>\s?/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])(\s+|$)/;
const BLANK = /^\s*$/;

/** @typedef {{ text: string, number: number }} Line a line and its number in the whole text, from 1 */
/** @typedef {(block: HTMLElement, first: number, last: number) => HTMLElement} Passage what stands on the page for a block of these lines */

/**
 * @param {string} text
 * @param {Passage} [passage]
 * @returns {HTMLElement}
 */
export function markdown(text, passage = (block) => block) {
  const lines = text.split(/\r?\n/).map((line, index) => ({ text: line, number: index + 1 }));
  const rest = lines.splice(LINES);
  return h("div", { class: "markdown" }, blocks(lines, passage, 0), rest.length > 0 && whole(rest, plain, passage));
}

/**
 * Markdown inside a button: nothing in it can have the focus.
 * @param {string} text
 */
export function flatMarkdown(text) {
  const element = markdown(text);
  for (const each of element.querySelectorAll("[tabindex]")) each.removeAttribute("tabindex");
  return element;
}

/**
 * @param {Line[]} lines
 * @param {Passage} passage
 * @param {number} depth
 * @returns {HTMLElement[]}
 */
function blocks(lines, passage, depth) {
  const found = [];
  const isDeep = depth >= DEPTH;
  let at = 0;
  /** How many lines from here on match. @param {(text: string) => boolean} matches */
  const count = (matches) => {
    let end = at;
    while (end < lines.length && matches(lines[end].text)) end++;
    return end - at;
  };
  const take = (/** @type {number} */ size) => lines.slice(at, (at += Math.max(1, size)));
  while (at < lines.length) {
    const { text } = lines[at];
    if (BLANK.test(text)) {
      at++;
    } else if (FENCE.test(text)) {
      found.push(whole(take(fenced(lines, at)), fence, passage));
    } else if (RULE.test(text)) {
      at++;
      found.push(h("hr"));
    } else if (HEADING.test(text)) {
      found.push(whole(take(1), heading, passage));
    } else if (QUOTE.test(text) && !isDeep) {
      const inner = take(count((line) => QUOTE.test(line))).map((line) => ({ ...line, text: line.text.replace(QUOTE, "") }));
      found.push(h("blockquote", {}, blocks(inner, passage, depth + 1)));
    } else if (ITEM.test(text) && !isDeep) {
      const isOrdered = /\d/.test(text.match(ITEM)?.[2] ?? "");
      const items = list(lines, at, isOrdered);
      const start = isOrdered ? Number.parseInt(text.trimStart()) : null;
      at += items.reduce((sum, item) => sum + item.length, 0);
      const element = h(isOrdered ? "ol" : "ul", { start: start === 1 ? null : start }, items.map((item) => listItem(item, passage, depth)));
      if (start !== null) element.style.setProperty("--digits", String(`${start + items.length - 1}`.length));
      found.push(element);
    } else if (text.includes("|") && isDivider(lines[at + 1]?.text ?? "")) {
      found.push(whole(take(count((line) => line.includes("|"))), table, passage));
    } else {
      // The first line is part of it, whatever it is.
      let end = at + 1;
      while (end < lines.length && !BLANK.test(lines[end].text) && (isDeep || !begins(lines[end].text))) end++;
      found.push(whole(take(end - at), (part) => h("p", { dir: "auto" }, inline(part.map((line) => line.text.trimStart()).join("\n"))), passage));
    }
  }
  return found;
}

/** Whether a line ends the paragraph before it. @param {string} line */
const begins = (line) => FENCE.test(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line) || (ITEM.test(line) && !/^\s*\S+\s*$/.test(line));

/**
 * @param {Line[]} lines
 * @param {(lines: Line[]) => HTMLElement} make
 * @param {Passage} passage
 */
const whole = (lines, make, passage) => passage(make(lines), lines[0].number, lines[lines.length - 1].number);

/**
 * The number of lines of a block of code, with its fences.
 * @param {Line[]} lines
 * @param {number} at
 */
function fenced(lines, at) {
  const mark = lines[at].text.match(FENCE)?.[1] ?? "";
  let end = at + 1;
  while (end < lines.length && !closes(lines[end].text, mark)) end++;
  return Math.min(end + 1, lines.length) - at;
}

/**
 * @param {string} line
 * @param {string} mark of the fence that is open
 */
const closes = (line, mark) => line.trim().startsWith(mark) && line.trim().replaceAll(mark[0], "") === "";

/** @param {Line[]} lines */
const plain = (lines) => h("pre", { tabindex: 0, dir: "ltr" }, code(lines.map(({ text }) => text).join("\n")));

/** @param {Line[]} lines */
function fence(lines) {
  const [, mark, info] = lines[0].text.match(FENCE) ?? [];
  const isClosed = lines.length > 1 && closes(lines[lines.length - 1].text, mark);
  const pre = plain(lines.slice(1, isClosed ? -1 : undefined));
  return info.trim() ? h("figure", {}, h("figcaption", {}, prose(info.trim())), pre) : pre;
}

/** @param {Line[]} lines */
function heading([{ text }]) {
  const [, marks, words] = text.match(HEADING) ?? [];
  // The page has two levels of its own.
  const level = /** @type {"h3" | "h4" | "h5" | "h6"} */ (`h${Math.min(6, marks.length + 2)}`);
  // Marks at the end close the heading.
  return h(level, { dir: "auto" }, inline(words.trim().replace(/(^|\s)#+$/, "").trim()));
}

/**
 * The items of a list: each with the lines that belong to it.
 * @param {Line[]} lines
 * @param {number} at
 * @param {boolean} isOrdered
 */
function list(lines, at, isOrdered) {
  const outer = indent(lines[at].text);
  /** @type {Line[][]} */
  const items = [];
  for (let index = at; index < lines.length; index++) {
    const { text } = lines[index];
    const isAfterBlank = index > at && BLANK.test(lines[index - 1].text);
    const marker = text.match(ITEM);
    if (BLANK.test(text)) {
      items[items.length - 1]?.push(lines[index]);
      continue;
    }
    const isItem = marker !== null && !RULE.test(text) && indent(text) <= outer + 1;
    if (isItem && /\d/.test(marker[2]) !== isOrdered) break;
    if (isItem && indent(text) < outer) break;
    if (isItem) items.push([lines[index]]);
    // Text that is not indented goes on in the item only right after it.
    else if (indent(text) > outer || (!isAfterBlank && !begins(text))) items[items.length - 1].push(lines[index]);
    else break;
  }
  return items;
}

/** @param {string} text */
const indent = (text) => text.replaceAll("\t", "    ").search(/\S|$/);

/**
 * @param {Line[]} lines
 * @param {Passage} passage
 * @param {number} depth
 */
function listItem(lines, passage, depth) {
  const marker = lines[0].text.match(ITEM)?.[0] ?? "";
  const offset = indent(marker.replaceAll("\t", "    ").replaceAll(/\S/g, " ") + "x");
  const box = lines[0].text.slice(marker.length).match(/^\[([ xX])\]\s+/);
  const first = { ...lines[0], text: (box ? (box[1] === " " ? "☐ " : "☑ ") : "") + lines[0].text.slice(marker.length + (box?.[0].length ?? 0)) };
  // The lines of an item are indented by its marker, or by less if somebody was lazy.
  const rest = lines.slice(1).map((line) => {
    const text = line.text.replaceAll("\t", "    ");
    return { ...line, text: text.slice(Math.min(offset, text.search(/[^ ]|$/))) };
  });
  return h("li", {}, blocks([first, ...rest], passage, depth + 1));
}

/** @param {Line[]} lines */
function table(lines) {
  const [head, , ...rows] = lines.map(({ text }) => cells(text));
  const row = (/** @type {string[]} */ texts, /** @type {"th" | "td"} */ name) => h("tr", {}, texts.map((text) => h(name, { dir: "auto" }, inline(text))));
  const element = h("table", {}, h("thead", {}, row(head, "th")), h("tbody", {}, rows.map((texts) => row(texts, "td"))));
  return h("div", { class: "table", tabindex: 0, role: "group", "aria-label": "Table" }, element);
}

/** @param {string} line */
const cells = (line) => line.trim().replace(/^\|/, "").replace(/(?<!\\)\|$/, "").split(/(?<!\\)\|/).map((cell) => cell.replaceAll("\\|", "|").trim());

/** Whether a line divides the head of a table from its rows. @param {string} line */
const isDivider = (line) => line.includes("|") && cells(line).every((cell) => /^:?-+:?$/.test(cell));
