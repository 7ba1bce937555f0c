// Markdown inside a line: code, emphasis, and links as text with their address. Nothing that the agent wrote is left out.
//
// A text is read once, from left to right. So the time for it grows as its length does, whatever is in it.

import { h } from "./dom.js";
import { code, prose, stretches } from "./visible.js";

/** How many marks wait for their other half. Beyond that, the oldest one is text. So nothing nests deeper. */
const OPEN = 8;
/** A longer row of marks is text. */
const LONGEST = 3;

const TOKEN = /\\[!-/:-@[-`{-~]|`+|\*+|_+|~+|!?\[|\]/g;
/** What follows the label of a link. */
const TARGET = /\]\(([^()\s]+(?:\([^()\s]*\)[^()\s]*)?)(\s+"[^"]*")?\)/y;

/** How much of a text a row shows at most. */
const ROW = 300;

/** The first line of a text, for a row. @param {string} text */
export const firstLine = (text) => (text.split("\n").find((line) => line.trim()) ?? "").slice(0, ROW);

/**
 * @param {string} text
 * @returns {DocumentFragment}
 */
export const inline = (text) => stretches(text, (all) => new Reader(all).read());

/** @typedef {string | Node} Part */
/** @typedef {{ mark: string, count: number, part: number, end: number }} Opener marks that wait: how many, which part they are, and where they end in the text */

class Reader {
  /** @type {Part[]} */
  #parts = [];
  /** @type {Opener[]} */
  #openers = [];
  /** What was read so far. */
  #end = 0;

  /** @param {string} text */
  constructor(text) {
    this.text = text;
    this.twins = twins(text);
  }

  read() {
    for (;;) {
      TOKEN.lastIndex = this.#end;
      const found = TOKEN.exec(this.text);
      this.#parts.push(this.text.slice(this.#end, found?.index));
      if (!found) return joined(this.#parts);
      const { 0: token, index } = found;
      this.#end = index + token.length;
      if (token[0] === "\\") this.#parts.push(token[1]);
      else if (token[0] === "`") this.#code(token, index);
      else if (token === "]") this.#link(index);
      else if (token.endsWith("[")) this.#open(token, "[", 1);
      else this.#marks(token, index);
    }
  }

  /**
   * @param {string} token
   * @param {string} mark
   * @param {number} count
   */
  #open(token, mark, count) {
    const part = this.#parts.push(token) - 1;
    if (this.#openers.push({ mark, count, part, end: this.#end }) > OPEN) this.#openers.shift();
  }

  /** Takes out what stands after an opener. What was opened there is text. @param {Opener} opener */
  #since(opener) {
    this.#openers.length = this.#openers.indexOf(opener) + 1;
    return joined(this.#parts.splice(opener.part + 1));
  }

  /**
   * @param {string} token
   * @param {number} index
   */
  #code(token, index) {
    const twin = this.twins.get(index);
    if (twin === undefined) return this.#parts.push(token);
    this.#parts.push(h("code", {}, code(this.text.slice(this.#end, twin))));
    this.#end = twin + token.length;
  }

  /** The target of a link is shown, but cannot be clicked: an agent wrote it. @param {number} index */
  #link(index) {
    const opener = this.#openers.findLast(({ mark }) => mark === "[");
    TARGET.lastIndex = index;
    const found = opener && opener.end < index && TARGET.exec(this.text);
    if (!found) {
      if (opener) this.#openers.splice(this.#openers.indexOf(opener), 1);
      return this.#parts.push("]");
    }
    const [all, target, title = ""] = found;
    const address = h("span", { class: "address" }, code(target));
    const label = this.#since(opener);
    this.#openers.pop();
    const isImage = this.#parts.pop() === "![";
    this.#parts.push(isImage ? "Image: " : "");
    if (this.text.slice(opener.end, index) === target) this.#parts.push(address);
    else this.#parts.push(label, " (", address, title, ")");
    this.#end = index + all.length;
  }

  /**
   * Emphasis. A row of marks closes what is open, and opens something with the marks that are left.
   * @param {string} token
   * @param {number} index
   */
  #marks(token, index) {
    const [mark] = token;
    const [before = " ", after = " "] = [this.text[index - 1], this.text[this.#end]];
    const isMark = mark === "~" ? token.length === 2 : token.length <= LONGEST;
    // In the middle of a word, this one is a part of a name.
    const canClose = isMark && /\S/.test(before) && !(mark === "_" && /\w/.test(after));
    const canOpen = isMark && /\S/.test(after) && !(mark === "_" && /\w/.test(before));
    let count = token.length;
    while (canClose && count > 0) {
      // One mark is no half of two.
      const opener = this.#openers.findLast((each) => each.mark === mark && each.count + count !== 3);
      if (!opener) break;
      const used = Math.min(2, count, opener.count);
      const inner = this.#since(opener);
      opener.count -= used;
      count -= used;
      this.#parts[opener.part] = mark.repeat(opener.count);
      this.#parts.push(h(mark === "~" ? "s" : used === 2 ? "strong" : "em", {}, inner));
      if (opener.count === 0) this.#openers.pop();
    }
    if (canOpen && count > 0) this.#open(mark.repeat(count), mark, count);
    else this.#parts.push(mark.repeat(count));
  }
}

/** For each row of backticks, where the next one of the same length is. @param {string} text */
function twins(text) {
  /** @type {Map<number, number>} */
  const found = new Map();
  /** @type {Map<number, number>} */
  const latest = new Map();
  for (const { 0: run, index } of text.matchAll(/`+/g)) {
    const before = latest.get(run.length);
    if (before !== undefined) found.set(before, index);
    latest.set(run.length, index);
  }
  return found;
}

/** Parts in a row, as nodes. @param {Part[]} parts */
function joined(parts) {
  const all = new DocumentFragment();
  let words = "";
  for (const part of parts) {
    if (typeof part === "string") words += part;
    else {
      all.append(prose(words), part);
      words = "";
    }
  }
  all.append(prose(words));
  return all;
}
