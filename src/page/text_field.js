// Fields for texts of one's own.

import { h, isComposing } from "./dom.js";

/** The longest text that the daemon accepts, in bytes. */
const MAX_TEXT = 16 * 1024;

export const isTouch = () => matchMedia("(pointer: coarse)").matches;

/**
 * Why these texts cannot be sent; empty if they can.
 * @param {...string} texts
 */
export function tooLong(...texts) {
  const longest = Math.max(...texts.map((text) => new TextEncoder().encode(text).length));
  return longest > MAX_TEXT ? `This is too long, by about ${Math.ceil((1 - MAX_TEXT / longest) * 100)} %.` : "";
}

/**
 * A field that grows with its text.
 * @param {string} value
 * @param {string} placeholder
 * @param {string} label
 * @param {() => void} input
 */
export function textarea(value, placeholder, label, input) {
  const field = h("textarea", { rows: 1, placeholder, "aria-label": label, dir: "auto" });
  field.value = value;
  const grow = () => {
    if (CSS.supports("field-sizing", "content")) return;
    field.style.height = "auto";
    field.style.height = `${field.scrollHeight}px`;
  };
  field.addEventListener("input", () => {
    grow();
    input();
  });
  // A text that is there from the beginning has a height once it is on the page.
  new ResizeObserver(grow).observe(field);
  return field;
}

/**
 * Enter sends and Shift+Enter begins a line. On a touch screen Enter begins a line too, because there is no Shift+Enter.
 * @param {HTMLElement} field
 * @param {() => void} send
 */
export function sendsOnEnter(field, send) {
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.ctrlKey || event.metaKey || isComposing(event) || isTouch()) return;
    event.preventDefault();
    if (!event.repeat) send();
  });
}
