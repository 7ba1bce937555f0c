// The keyboard, as in Claude Code's own dialog. Never while somebody types.

import { dialog, h } from "./dom.js";

const KEYS = [
  ["1 … 9", "choose an option of the current question"],
  ["↑ ↓", "move between options"],
  ["Tab", "move between questions, fields and buttons"],
  ["Space", "choose, or choose no more"],
  ["Enter", "send"],
  ["u", "take back a choice before it is sent"],
  ["j k", "next and previous question"],
  ["/", "search the history"],
  ["i", "back to the inbox"],
  ["?", "this list"],
];

/** @param {{ inbox: import("./inbox.js").Inbox, isInbox(): boolean, show(view: string): void }} page */
export function listen(page) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return;
    if (document.querySelector("dialog[open]")) return;
    const target = /** @type {HTMLElement} */ (event.target);
    if (target.matches("input, textarea, select, [contenteditable]")) {
      if (event.key === "Escape") target.blur();
      return;
    }
    if (handle(page, event.key, target)) event.preventDefault();
  });
}

/**
 * Whether the key meant something.
 * @param {{ inbox: import("./inbox.js").Inbox, isInbox(): boolean, show(view: string): void }} page
 * @param {string} key
 * @param {HTMLElement} target
 */
function handle(page, key, target) {
  if (key === "?") return showKeys();
  if (key === "/") return show(page, "history");
  if (key === "i" && !page.isInbox()) return show(page, "inbox");
  if (!page.isInbox()) return false;
  const card = page.inbox.current;
  if (key === "j" || key === "k") {
    page.inbox.move(key === "j" ? 1 : -1);
  } else if (key === "u" || key === "Escape") {
    return page.inbox.undo();
  } else if (/^[1-9]$/.test(key) && card) {
    card.expand();
    card.current.pick(Number(key) - 1);
  } else if (key === "Enter" && card && !target.matches("button:not(.option), a, summary")) {
    // On an option that can be chosen alone, Enter chooses; the click of the browser does that.
    if (target.matches(".option[role=radio]")) return false;
    card.expand();
    void card.submit();
  } else {
    return false;
  }
  return true;
}

/**
 * @param {{ show(view: string): void }} page
 * @param {string} view
 */
function show(page, view) {
  page.show(view);
  return true;
}

export function showKeys() {
  dialog("Keyboard", h("dl", { class: "keys" }, ...KEYS.flatMap(([key, meaning]) => [h("dt", {}, ...key.split(" ").map((part) => h("kbd", {}, part))), h("dd", {}, meaning)])));
  return true;
}
