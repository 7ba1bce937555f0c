// A plan on which a person comments, passage by passage. The comments become numbered feedback that quotes what they are about.

import { fill, h, icon } from "./dom.js";
import { markdown } from "./markdown.js";
import { isTouch, textarea } from "./text_field.js";

/** A longer quotation is cut: the agent knows its own plan. */
const QUOTED = 400;

/**
 * @typedef {object} Comment
 * @property {number} first the lines of the plan that it is about
 * @property {number} last
 * @property {string} quote the part of them that was selected; empty if it is about all
 * @property {string} text
 */

/** A plan with more passages than this is laid out where it is seen. */
const MANY = 1000;

/** @typedef {{ first: number, last: number, element: HTMLElement, block: HTMLElement }} Passage */

/** The plans on the page, by the elements that show them. @type {WeakMap<Element, Comments>} */
const plans = new WeakMap();

// Only the document tells of selections. One listener is enough, and keeps no plan alive.
document.addEventListener("selectionchange", () => {
  for (const element of document.querySelectorAll(".plan-text")) plans.get(element)?.offerSelection();
});

export class Comments {
  /** By the element around the block. @type {Map<Element, Passage>} */
  #passages = new Map();
  /** The comments on the page. @type {Map<Comment, HTMLElement>} */
  #shown = new Map();
  #lines;
  /** What is said about the plan when something is selected in it. */
  #selection = h("button", { type: "button", class: "selection", hidden: true }, icon("question"), "Comment on the selection");

  /**
   * @param {string} plan
   * @param {Comment[]} comments these are kept up to date
   * @param {() => void} changed
   */
  constructor(plan, comments, changed) {
    this.#lines = plan.split(/\r?\n/);
    this.comments = comments;
    this.changed = changed;
    const text = markdown(plan, (block, first, last) => this.#passage(block, first, last));
    const hint = isTouch() ? "Tap a passage to comment on it." : "To comment, point at a passage, or select a part of it.";
    const shown = h("div", { class: this.#passages.size > MANY ? "plan-text long" : "plan-text" }, text, this.#selection);
    this.element = h("div", {}, h("p", { class: "hint" }, hint), shown);
    plans.set(shown, this);
    for (const passage of this.#passages.values()) if (this.#on(passage).length > 0) this.#show(passage);
    this.#listen(shown);
  }

  /** The comments with a text, in the order of the plan. */
  get written() {
    return this.comments.filter(({ text }) => text.trim()).sort((a, b) => a.first - b.first);
  }

  /** All comments as one text for the agent. */
  get feedback() {
    return this.written.map((comment, index) => `${index + 1}. On ${where(comment)} of the plan:\n${this.#quote(comment)}\n${comment.text.trim()}`).join("\n\n");
  }

  /** @param {Comment} comment */
  #quote({ first, last, quote }) {
    const text = quote || this.#lines.slice(first - 1, last).join("\n");
    const cut = text.length > QUOTED ? `${text.slice(0, QUOTED)}…` : text;
    return cut.split("\n").map((line) => `> ${line}`).join("\n");
  }

  /**
   * @param {HTMLElement} block
   * @param {number} first
   * @param {number} last
   */
  #passage(block, first, last) {
    const button = h("button", { type: "button", class: "icon-button comment-on", title: "Comment", "aria-label": `Comment on ${where({ first, last })}` });
    const element = h("div", { class: "passage" }, h("div", { class: "passage-text" }, block, button));
    this.#passages.set(element, { first, last, element, block });
    return element;
  }

  /** The passage that a node is in. @param {Node | null} node */
  #around(node) {
    const element = node instanceof Element ? node : node?.parentElement;
    return this.#passages.get(element?.closest(".passage") ?? this.element);
  }

  /** Listens to all passages at once: there may be very many. @param {HTMLElement} shown */
  #listen(shown) {
    // The drawing on a button is made when somebody comes near.
    const draw = (/** @type {Event} */ { target }) => {
      const button = this.#around(/** @type {Element} */ (target))?.element.querySelector(".comment-on");
      if (button && !button.firstChild) button.append(icon("question"));
    };
    shown.addEventListener("pointerover", draw);
    shown.addEventListener("focusin", draw);
    shown.addEventListener("click", (event) => {
      const target = /** @type {Element} */ (event.target);
      const passage = this.#around(target);
      if (!passage || target.closest(".comments")) return;
      // With a finger, the whole passage is the button.
      const isFinger = /** @type {PointerEvent} */ (event).pointerType ? /** @type {PointerEvent} */ (event).pointerType === "touch" : isTouch();
      if (target.closest(".comment-on") || (isFinger && passage.block.contains(target) && getSelection()?.isCollapsed !== false)) this.#add(passage, "");
    });
    // A click must not take the selection away before it is read.
    this.#selection.addEventListener("pointerdown", (event) => event.preventDefault());
    this.#selection.addEventListener("click", () => {
      const found = this.#selected;
      if (!found) return;
      getSelection()?.removeAllRanges();
      this.#add(found.passage, found.quote);
    });
  }

  /** What is selected in this plan, and where. */
  get #selected() {
    const selection = getSelection();
    if (!selection || selection.isCollapsed || selection.rangeCount === 0) return null;
    const { startContainer } = selection.getRangeAt(0);
    const passage = this.#around(startContainer);
    const quote = selection.toString().trim();
    return passage?.block.contains(startContainer) && quote ? { passage, quote } : null;
  }

  /** Offers to comment on what is selected. */
  offerSelection() {
    this.#selection.hidden = this.#selected === null;
  }

  /** The comments on a passage. @param {Passage} passage */
  #on({ first, last }) {
    return this.comments.filter((comment) => comment.first === first && comment.last === last);
  }

  /**
   * @param {Passage} passage
   * @param {string} quote
   */
  #add(passage, quote) {
    const { first, last } = passage;
    // There is one that nobody has written yet.
    const empty = this.#on(passage).find((comment) => !comment.text.trim() && comment.quote === quote);
    const comment = empty ?? { first, last, quote, text: "" };
    if (!empty) this.comments.push(comment);
    this.#show(passage);
    passage.element.querySelectorAll("textarea")[this.#on(passage).indexOf(comment)]?.focus();
    this.changed();
  }

  /** Shows the comments on a passage. @param {Passage} passage */
  #show(passage) {
    const here = this.#on(passage);
    passage.element.querySelector(".comments")?.remove();
    if (here.length > 0) passage.element.append(h("div", { class: "comments" }, here.map((comment) => this.#comment(comment, passage))));
    passage.block.classList.toggle("commented", here.length > 0);
    this.#count();
  }

  /**
   * @param {Comment} comment
   * @param {Passage} passage
   */
  #comment(comment, passage) {
    const field = textarea(comment.text, "What should change here?", `Comment on ${where(comment)}`, () => {
      comment.text = field.value;
      this.#count();
      this.changed();
    });
    const remove = h("button", { type: "button", class: "icon-button", "aria-label": "Remove the comment", title: "Remove" }, icon("close"));
    remove.addEventListener("click", () => {
      this.comments.splice(this.comments.indexOf(comment), 1);
      this.#shown.delete(comment);
      this.#show(passage);
      this.changed();
    });
    const element = h("div", { class: "comment" }, h("span", { class: "comment-number" }), comment.quote && h("blockquote", { dir: "auto" }, comment.quote), field, remove);
    this.#shown.set(comment, element);
    return element;
  }

  /** The numbers are those that the agent gets. */
  #count() {
    const { written } = this;
    for (const [comment, element] of this.#shown) fill(/** @type {HTMLElement} */ (element.firstElementChild), written.includes(comment) ? String(written.indexOf(comment) + 1) : "");
  }
}

/** @param {{ first: number, last: number }} lines */
const where = ({ first, last }) => (first === last ? `line ${first}` : `lines ${first} to ${last}`);
