// A text of people, of which the first lines are shown until the person wants all of it. What the agent wants to do is folded by fold.js,
// which knows whether all of it was on the page. This only saves room.

import { h } from "./dom.js";

/** A text that is only a little longer is not worth a button. */
const SLACK = 3;

/**
 * Cuts a text to some lines, with a button that shows the rest. Both have to be put on the page, the button after the text.
 * @param {HTMLElement} text
 * @param {{ lines: number, slack?: number, opened?(): void }} spec `opened`: the person wants to see all of it
 * @returns {[HTMLElement, HTMLButtonElement]}
 */
export function clamp(text, { lines, slack = SLACK, opened = () => {} }) {
  const button = h("button", { type: "button", class: "quiet show-all", hidden: true, "aria-expanded": "false" });
  let isOpen = false;
  const measure = () => {
    const ends = lineEnds(text);
    const isLong = ends.length > lines + slack;
    // The cut is below a line and not in the middle of one: lines have different heights, and there is room between paragraphs.
    if (isLong) text.style.setProperty("--cut", `${Math.ceil(ends[lines - 1])}px`);
    text.classList.toggle("clamped", isLong && !isOpen);
    button.hidden = !isLong;
    button.textContent = isOpen ? "Show less" : `Show all ${ends.length} lines`;
  };
  button.addEventListener("click", () => {
    isOpen = !isOpen;
    button.setAttribute("aria-expanded", String(isOpen));
    if (isOpen) opened();
    measure();
    if (!isOpen) text.scrollIntoView({ block: "nearest" });
  });
  // The height is known when the text is on the screen, and changes with the width of the window and the size of the letters. A text that is
  // cut keeps its own height, but what is in it does not.
  const observer = new ResizeObserver(measure);
  for (const element of [text, ...text.children]) observer.observe(element);
  return [text, button];
}

/** Where the lines end, as a person would count them, from the top of the text. @param {HTMLElement} text */
function lineEnds(text) {
  const range = document.createRange();
  const walker = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
  /** @type {number[]} */
  const ends = [];
  while (walker.nextNode()) {
    range.selectNode(walker.currentNode);
    for (const { width, bottom } of range.getClientRects()) if (width > 0) ends.push(bottom);
  }
  ends.sort((a, b) => a - b);
  const top = text.getBoundingClientRect().top - text.scrollTop;
  // Parts of one line may end a little higher or lower than the others. The lowest one counts.
  return ends.filter((end, index) => index === ends.length - 1 || ends[index + 1] - end > 6).map((end) => end - top);
}
