// Marks what a search found.

import { h } from "./dom.js";

/**
 * Marks a text wherever it is in an element. If it is nowhere, the element says why it was found all the same.
 * @param {HTMLElement} element
 * @param {string} wanted
 */
export function markFound(element, wanted) {
  if (!wanted) return;
  // The search of the daemon ignores case, too.
  const pattern = new RegExp(wanted.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll(/\s+/g, "\\s+"), "giu");
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  /** @type {Text[]} */
  const texts = [];
  while (walker.nextNode()) if (!walker.currentNode.parentElement?.closest("header, button")) texts.push(/** @type {Text} */ (walker.currentNode));
  for (const text of texts) {
    const parts = [];
    let end = 0;
    for (const { 0: found, index } of text.data.matchAll(pattern)) {
      parts.push(text.data.slice(end, index), h("mark", {}, found));
      end = index + found.length;
    }
    if (parts.length === 0) continue;
    const marked = new DocumentFragment();
    for (const part of [...parts, text.data.slice(end)]) marked.append(part);
    text.replaceWith(marked);
  }
  if (!element.querySelector("mark")) element.append(h("p", { class: "hint" }, "The text is in a part that is folded, or in the directory of the project."));
}
