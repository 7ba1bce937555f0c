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

/** @typedef {{ first: number, last: number, place: HTMLElement, block: HTMLElement }} Passage `place` has the comments on it */

export class Comments {
  /** @type {Passage[]} */
  #passages = [];
  /** The comments on the page. @type {Map<Comment, HTMLElement>} */
  #shown = new Map();
  #lines;
  /** What is said about the plan when something is selected in it. */
  #selection = h("button", { type: "button", class: "selection", hidden: true }, icon("comment"), "Comment on the selection");

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
    this.element = h("div", {}, h("p", { class: "hint" }, hint), h("div", { class: "plan-text" }, text, this.#selection));
    for (const passage of this.#passages) this.#show(passage);
    this.#watchSelection();
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
    const place = h("div", { class: "comments" });
    const button = h("button", { type: "button", class: "icon-button comment-on", title: "Comment", "aria-label": `Comment on ${where({ first, last })}` }, icon("comment"));
    const passage = { first, last, place, block };
    this.#passages.push(passage);
    button.addEventListener("click", () => this.#add(passage, ""));
    const element = h("div", { class: "passage" }, h("div", { class: "passage-text" }, block, button), place);
    // With a finger, the whole passage is the button.
    block.addEventListener("click", (event) => {
      const isFinger = /** @type {PointerEvent} */ (event).pointerType ? /** @type {PointerEvent} */ (event).pointerType === "touch" : isTouch();
      if (isFinger && getSelection()?.isCollapsed !== false) this.#add(passage, "");
    });
    return element;
  }

  /**
   * @param {Passage} passage
   * @param {string} quote
   */
  #add(passage, quote) {
    const { first, last } = passage;
    const isHere = (/** @type {Comment} */ comment) => comment.first === first && comment.last === last;
    // There is one that nobody has written yet.
    const empty = this.comments.find((comment) => isHere(comment) && !comment.text.trim() && comment.quote === quote);
    const comment = empty ?? { first, last, quote, text: "" };
    if (!empty) this.comments.push(comment);
    this.#show(passage);
    const all = this.comments.filter(isHere);
    passage.place.querySelectorAll("textarea")[all.indexOf(comment)]?.focus();
    this.changed();
  }

  /** Shows the comments on a passage. @param {Passage} passage */
  #show({ first, last, place, block }) {
    const here = this.comments.filter((comment) => comment.first === first && comment.last === last);
    fill(place, ...here.map((comment) => this.#comment(comment, { first, last, place, block })));
    block.classList.toggle("commented", here.length > 0);
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

  /** Offers to comment on what is selected. */
  #watchSelection() {
    /** @returns {{ passage: Passage, quote: string } | null} */
    const selected = () => {
      const selection = getSelection();
      if (!selection || selection.isCollapsed || selection.rangeCount === 0) return null;
      const { startContainer } = selection.getRangeAt(0);
      const passage = this.#passages.find(({ block }) => block.contains(startContainer));
      const quote = selection.toString().trim();
      return passage && quote ? { passage, quote } : null;
    };
    const look = () => {
      // The card may be gone by now.
      if (!this.element.isConnected) return document.removeEventListener("selectionchange", look);
      this.#selection.hidden = selected() === null;
    };
    document.addEventListener("selectionchange", look);
    // A click must not take the selection away before it is read.
    this.#selection.addEventListener("pointerdown", (event) => event.preventDefault());
    this.#selection.addEventListener("click", () => {
      const found = selected();
      if (!found) return;
      getSelection()?.removeAllRanges();
      this.#add(found.passage, found.quote);
    });
  }
}

/** @param {{ first: number, last: number }} lines */
const where = ({ first, last }) => (first === last ? `line ${first}` : `lines ${first} to ${last}`);
