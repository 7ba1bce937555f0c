// The keyboard, as in Claude Code's own dialog. Keys do nothing here while the person types a text.

import { byId, dialog, h, isComposing } from "./dom.js";

const ACTS = /^([1-9ui?/]|Enter|Escape)$/;

const KEYS = [
  ["1 … 9", "choose an option of the current question"],
  ["↑ ↓", "move between options"],
  ["Tab", "move between questions, fields and buttons"],
  ["Space", "choose an option, or clear it"],
  ["Enter", "choose an option; send the chosen one at once, or go to the button that approves"],
  ["Ctrl Enter", "send what is chosen or written"],
  ["u Esc", "take back a choice before it is sent"],
  ["j k", "next and previous question"],
  ["/", "search the history"],
  ["i", "back to the inbox"],
  ["?", "this list"],
];

/**
 * @typedef {{ inbox: import("./inbox.js").Inbox, isInbox(): boolean, show(view: "inbox" | "history"): void }} Page
 * @param {Page} page
 * @param {AbortSignal} signal
 */
export function listen(page, signal) {
  const key = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.repeat && page.isInbox() && !document.querySelector("dialog[open]")) {
      event.preventDefault();
      const card = page.inbox.current;
      if (!card) return;
      if (page.inbox.aim.isNew(card)) return void page.inbox.sendNow();
      card.expand();
      return void card.submit();
    }
    if (event.ctrlKey || event.metaKey || event.altKey || isComposing(event) || event.defaultPrevented) return;
    if (document.querySelector("dialog[open]")) return;
    const target = /** @type {HTMLElement} */ (event.target);
    if (target.matches("input, textarea, select, [contenteditable]")) {
      // The focus goes to the card around the field, so the next key is for that card.
      if (event.key === "Escape") (/** @type {HTMLElement | null} */ (target.closest(".card")) ?? byId("main")).focus({ preventScroll: true });
      return;
    }
    // A key that acts does so once, even if it is held down.
    if (event.repeat && (ACTS.test(event.key) || (event.key === " " && target.matches("button")))) return event.preventDefault();
    if (event.key.length === 1 && page.inbox.aim.isLost(event.key)) return event.preventDefault();
    if (handle(page, event.key, target)) event.preventDefault();
  };
  document.addEventListener("keydown", key, { signal });
}

/**
 * Returns whether the key meant something.
 * @param {Page} page
 * @param {string} key
 * @param {HTMLElement} target
 */
function handle(page, key, target) {
  if (key === "?") return showKeys();
  if (key === "/") return show(page, "history");
  if (key === "u") return page.inbox.undo();
  if (key === "i" && !page.isInbox()) return show(page, "inbox");
  if (!page.isInbox()) return false;
  if (key === "Escape") return page.inbox.undo();
  if (key === "j" || key === "k") {
    page.inbox.move(key === "j" ? 1 : -1);
    return true;
  }
  const card = page.inbox.current;
  if (!card) return /^[1-9]$/.test(key) && page.inbox.showTop();
  if (key.startsWith("Arrow") && target.matches("button, a, summary")) return false;
  if (key !== "Enter") {
    page.inbox.aim.begin();
    return card.press(key);
  }
  // The browser turns Enter on a control into a click.
  if (target.matches("button:not([data-enter-sends]), a, summary")) return false;
  // After an answer the next card has the focus. Enter is still for that answer, until the person begins with the card or has seen it.
  if (page.inbox.aim.isNew(card) && (page.inbox.sendNow() || !page.inbox.aim.hasSeenIt)) return true;
  card.expand();
  card.enter();
  return true;
}

/**
 * @param {Page} page
 * @param {"inbox" | "history"} view
 */
function show(page, view) {
  page.show(view);
  return true;
}

export function showKeys() {
  dialog("Keyboard", h("dl", { class: "keys" }, ...KEYS.flatMap(([key, meaning]) => [h("dt", {}, ...key.split(" ").map((part) => h("kbd", {}, part))), h("dd", {}, meaning)])));
  return true;
}
