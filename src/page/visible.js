// Shows characters that a person would not see: controls, marks that turn the direction of text, characters without a width, and letters
// that look like others.

import { h } from "./dom.js";

const UNSEEN = "\\p{Cc}\\p{Cf}\\p{Cs}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}\\u2800";
/** The joints inside an emoji. */
const EMOJI = "(?<=\\p{Extended_Pictographic})\\ufe0f|(?<=[\\p{Extended_Pictographic}\\p{Emoji_Modifier}\\ufe0f])\\u200d(?=\\p{Extended_Pictographic})";
/** Text for people. Emoji and wide spaces are fine there. */
const IN_PROSE = new RegExp(`(?:(?![\\n\\t]|${EMOJI})[${UNSEEN}])+`, "gu");
/** Text for machines: a space that is not the usual one means something else there. */
const IN_CODE = new RegExp(`(?:(?![\\n\\t ])[${UNSEEN}\\p{Zs}])+`, "gu");
/** Words that are written from right to left. */
const TURNED = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]+/gu;
/** A letter that looks like a Latin one, beside a Latin one: the word is not what it seems to be. */
const ALIKE = "\\p{sc=Cyrl}\\p{sc=Grek}\\p{sc=Armn}\\p{sc=Cher}\\p{sc=Copt}\\p{sc=Lisu}";
const FOREIGN = new RegExp(`(?<=\\p{sc=Latn})[${ALIKE}]+|(?<![${ALIKE}])[${ALIKE}]+(?=\\p{sc=Latn})`, "gu");
/** How many characters of a row of hidden ones are named. The others are counted. */
const NAMED = 8;

const OLDEST = "NUL SOH STX ETX EOT ENQ ACK BEL BS TAB LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US".split(" ");

/** @param {string} character */
function name(character) {
  const code = character.codePointAt(0) ?? 0;
  if (code < OLDEST.length) return OLDEST[code];
  return `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}

/** @param {string} run hidden characters */
function names(run) {
  const all = [...run];
  const rest = all.length > NAMED ? ` and ${all.length - NAMED} more` : "";
  return all.slice(0, NAMED).map(name).join(" ") + rest;
}

/** Browsers take very long for the directions in a long text. So each stretch of it begins a line, and has a direction of its own. */
const STRETCH = 4000;

/**
 * Shows a text, stretch by stretch.
 * @param {string} text
 * @param {(text: string) => DocumentFragment} show
 * @param {"auto" | "ltr"} dir
 */
export function stretches(text, show, dir = "auto") {
  if (!(text.length > STRETCH)) return show(text);
  const all = new DocumentFragment();
  for (let at = 0; at < text.length; ) {
    const most = text.slice(at, at + STRETCH);
    // It ends with a word, or else with a whole character.
    const isLast = at + STRETCH >= text.length;
    const size = isLast ? most.length : Math.max(most.lastIndexOf(" "), most.lastIndexOf("\n")) + 1 || STRETCH - Number(/[\ud800-\udbff]$/.test(most));
    all.append(h("span", { class: "stretch", dir }, show(most.slice(0, size))));
    at += size;
  }
  return all;
}

/**
 * Divides a text at the matches of a pattern.
 * @param {string} text
 * @param {RegExp} pattern
 * @param {(match: string) => Node} shown stands for a match
 * @param {(rest: string) => Node | string} plain what is between the matches
 */
function divide(text, pattern, shown, plain) {
  const parts = new DocumentFragment();
  let end = 0;
  for (const { 0: match, index } of text.matchAll(pattern)) {
    if (index > end) parts.append(plain(text.slice(end, index)));
    parts.append(shown(match));
    end = index + match.length;
  }
  if (end < text.length) parts.append(plain(text.slice(end)));
  return parts;
}

/** @param {string} run */
const mark = (run) => h("span", { class: "hidden-char", title: "Hidden characters" }, names(run));

/**
 * A text for people, as nodes.
 * @param {string} text
 */
export const prose = (text) => stretches(text, (all) => divide(all, IN_PROSE, mark, (rest) => rest));

/**
 * A text for machines, as nodes: a command, a path, an address. Each word from right to left stays in its place, so that nothing changes
 * places with its neighbour. Letters that only look like those beside them are marked.
 * @param {string} text
 */
export const code = (text) => stretches(text, (all) => divide(all, IN_CODE, mark, (rest) => divide(rest, TURNED, (word) => h("bdi", {}, word), letters)), "ltr");

/** @param {string} text */
const letters = (text) => divide(text, FOREIGN, (run) => h("span", { class: "foreign", title: `Not Latin letters: ${names(run)}` }, run, h("span", { class: "hidden-char" }, names(run))), (rest) => rest);

/**
 * A text for machines in one string, for names and rows.
 * @param {string} text
 */
export const codeText = (text) => text.replaceAll(IN_CODE, (run) => `⟨${names(run)}⟩`).replaceAll(FOREIGN, (run) => `${run}⟨${names(run)}⟩`);

/**
 * Whether a text for machines has characters that nobody sees.
 * @param {string} text
 */
export const hasHidden = (text) => text.search(IN_CODE) >= 0;
