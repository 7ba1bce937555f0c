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
    const all = lineCount(text);
    const isLong = all > lines + slack;
    text.classList.toggle("clamped", isLong && !isOpen);
    button.hidden = !isLong;
    button.textContent = isOpen ? "Show less" : `Show all ${all} lines`;
  };
  button.addEventListener("click", () => {
    isOpen = !isOpen;
    button.setAttribute("aria-expanded", String(isOpen));
    if (isOpen) opened();
    measure();
    if (!isOpen) text.scrollIntoView({ block: "nearest" });
  });
  text.style.setProperty("--lines", String(lines));
  // The height is known when the text is on the screen, and changes with the width of the window.
  new ResizeObserver(measure).observe(text);
  return [text, button];
}

/** The lines as a person would count them. @param {HTMLElement} text */
function lineCount(text) {
  const range = document.createRange();
  range.selectNodeContents(text);
  const ends = [...range.getClientRects()].filter(({ width }) => width > 0).map(({ bottom }) => bottom).sort((a, b) => a - b);
  // Parts of one line may end a little higher or lower than the others.
  return ends.filter((end, index) => index === 0 || end - ends[index - 1] > 6).length;
}
