// The preview of an option: text, Markdown, or HTML in a sandboxed frame.

import { previewPath } from "./api.js";
import { fill, h } from "./dom.js";
import { markdown } from "./markdown.js";

/** @param {string} text */
const isHtml = (text) => /^\s*<(!doctype|html|head|body|style|main|section|article|header|nav|form|div|table|ul|ol|h[1-6]|p|svg)[\s>]/i.test(text);

/**
 * Whether a text is Markdown. A drawing made of box characters is not, whatever else is in it.
 * @param {string} text
 */
const isMarkdown = (text) => /^(#{1,4} \S|```)/m.test(text) && !/[\u2500-\u257f]/.test(text);

/**
 * @param {Ask} ask
 * @param {number} question
 * @param {number} option
 * @returns {HTMLElement}
 */
export function preview(ask, question, option) {
  const { preview: text = "", label } = ask.questions[question].options[option];
  if (isHtml(text)) return frame(ask, question, option, text, label);
  if (isMarkdown(text)) return markdown(text);
  return h("pre", { tabindex: 0, "aria-label": `Preview of ${label}` }, text);
}

/**
 * @param {Ask} ask
 * @param {number} question
 * @param {number} option
 * @param {string} text
 * @param {string} label
 */
function frame(ask, question, option, text, label) {
  const place = h("div", { class: "frame" });
  previewPath(ask.key, question, option).then(
    (path) => fill(place, h("iframe", { sandbox: "", src: path, title: `Preview of ${label}`, referrerpolicy: "no-referrer" })),
    () => fill(place, h("pre", { tabindex: 0 }, text)),
  );
  return place;
}
