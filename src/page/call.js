// What a call of a tool would do: where, with what, and all of it.

import { diffDigits, diffRows, diffSize } from "./diff.js";
import { copy, h, icon } from "./dom.js";
import { Fold } from "./fold.js";
import { treeRows } from "./tree.js";
import { code } from "./visible.js";

/** The fields of the input that are shown by themselves, by what the subject has. @type {[keyof CallSubject, string[]][]} */
const SHOWN = [
  ["command", ["command"]],
  ["diff", ["file_path", "content", "old_string", "new_string", "edits"]],
  ["url", ["url"]],
];

/** What the person is asked. @param {CallSubject} subject */
export function callTitle({ command, diff, url, server }) {
  if (command !== undefined) return "Run this command?";
  if (diff) return diff.isNew ? "Create this file?" : diff.replacesUnseen ? "Replace this file?" : "Change this file?";
  if (url !== undefined) return "Fetch this address?";
  return server === undefined ? "Use this tool?" : "Use this MCP tool?";
}

/** The name of the tool, without that of its server. @param {CallSubject} subject */
export const toolName = ({ tool, server }) => (server !== undefined && tool.startsWith(`mcp__${server}__`) ? tool.slice(server.length + 7) : tool);

/** What the call is about, in one text. @param {CallSubject} subject */
export const callText = ({ command, path, url, input }) => command ?? path ?? url ?? (Object.keys(input).length > 0 ? JSON.stringify(input) : "");

export class CallView {
  /** @type {Fold[]} */
  #folds = [];

  /**
   * @param {CallSubject} subject
   * @param {() => void} [unfolded]
   */
  constructor(subject, unfolded = () => {}) {
    this.subject = subject;
    this.unfolded = unfolded;
    this.element = h("div", { class: "call" }, this.#facts(), this.#main(), this.#rest());
  }

  /** Whether all of the call is on the page. */
  get isWhole() {
    return this.#folds.every(({ isOpen }) => isOpen);
  }

  #facts() {
    const { server, directory, agent, path, diff } = this.subject;
    /** @type {[string, string | undefined][]} */
    const facts = [
      ["Server", server],
      ["Tool", toolName(this.subject)],
      ["File", path],
      ["Directory", directory],
      ["Subagent", agent && (agent.type ? `${agent.type} (${agent.id})` : agent.id)],
    ];
    const shown = facts.filter(([, value]) => value !== undefined);
    const size = diff && h("span", { class: "diff-size" }, diffSize(diff));
    return h("dl", { class: "facts" }, ...shown.flatMap(([name, value = ""]) => [h("dt", {}, name), h("dd", {}, code(value), name === "File" && size)]));
  }

  #main() {
    const { command, diff, url } = this.subject;
    if (command !== undefined) return this.#text("Command", command);
    if (url !== undefined) return this.#text("Address", url);
    if (!diff) return null;
    const body = h("tbody", { tabindex: -1 });
    const fold = this.#fold(body, diffRows(diff));
    const table = h("table", { class: "diff" }, h("caption", { class: "unseen" }, "The change, line by line"));
    table.style.setProperty("--digits", String(diffDigits(diff)));
    body.replaceWith(table);
    table.append(body);
    return fold.element;
  }

  /**
   * @param {string} label
   * @param {string} text
   */
  #text(label, text) {
    const lines = text.split("\n");
    const number = (/** @type {number} */ index) => lines.length > 1 && h("span", { class: "number", "aria-hidden": "true" }, String(index + 1));
    const show = (/** @type {number} */ index) => (/** @type {string} */ line) => h("span", { class: "line" }, number(index), h("span", { class: "code" }, code(line), "\n"));
    const holder = h("pre", { class: "exact", tabindex: 0, "aria-label": label });
    const button = h("button", { type: "button", class: "icon-button copy", "aria-label": `Copy the ${label.toLowerCase()}`, title: "Copy", on: { click: () => copy(button, text) } }, icon("copy"));
    const fold = this.#fold(holder, lines.map((line, index) => ({ text: line, show: show(index) })));
    return h("div", { class: "exact-frame" }, fold.element, button);
  }

  /** Everything in the input that is not shown above: a time limit, a prompt, a switch. */
  #rest() {
    const { input } = this.subject;
    const above = new Set(SHOWN.flatMap(([name, fields]) => (this.subject[name] === undefined ? [] : fields)));
    const rest = Object.entries(input).filter(([name]) => !above.has(name));
    if (rest.length === 0) return null;
    const holder = h("div", { class: "tree", tabindex: -1, role: "group", "aria-label": above.size > 0 ? "The rest of the input" : "Input" });
    return this.#fold(holder, treeRows(Object.fromEntries(rest))).element;
  }

  /**
   * @param {HTMLElement} holder
   * @param {import("./fold.js").Row[]} rows
   */
  #fold(holder, rows) {
    const fold = new Fold(holder, rows, this.unfolded);
    this.#folds.push(fold);
    return fold;
  }
}
