// A long text, of which the beginning is shown until a person wants all of it. What is folded away is not on the page at all, so the page
// knows whether everything has been shown.

import { fill, h } from "./dom.js";

/** Room for a folded text, in lines. */
const ROOM = 14;
/** A text that is only a little longer is not worth a fold. */
const SLACK = 4;
/** The characters that count as one line, because they are about as wide as a card. */
const WIDTH = 80;

/** @typedef {{ text: string, show(text: string): Node }} Row `show` makes the row from its text, or from the beginning of it */

/** @param {Row} row */
const height = ({ text }) => Math.max(1, Math.ceil(text.length / WIDTH));

export class Fold {
  #rest = h("button", { type: "button", class: "unfold" });

  /**
   * @param {HTMLElement} holder
   * @param {Row[]} rows
   * @param {() => void} opened
   */
  constructor(holder, rows, opened) {
    this.holder = holder;
    this.rows = rows;
    this.opened = opened;
    this.element = h("div", { class: "fold" }, holder);
    const total = rows.reduce((sum, row) => sum + height(row), 0);
    this.isOpen = total <= ROOM + SLACK;
    if (this.isOpen) this.#showAll();
    else this.#showBeginning();
  }

  open() {
    if (this.isOpen) return;
    const hadFocus = document.activeElement === this.#rest;
    this.isOpen = true;
    this.#rest.remove();
    this.#showAll();
    if (hadFocus) this.holder.focus({ preventScroll: true });
    this.opened();
  }

  #showAll() {
    fill(this.holder, this.rows.map((row) => row.show(row.text)));
  }

  #showBeginning() {
    let room = ROOM;
    const shown = [];
    for (const row of this.rows) {
      if (room <= 0) break;
      // A single long line is cut too.
      shown.push(row.show(height(row) > room ? `${row.text.slice(0, room * WIDTH)}…` : row.text));
      room -= height(row);
    }
    fill(this.holder, ...shown);
    const characters = this.rows.reduce((sum, { text }) => sum + text.length, 0);
    this.#rest.textContent = shown.length < this.rows.length ? `Show all ${this.rows.length} lines` : `Show all ${characters} characters`;
    this.#rest.addEventListener("click", () => this.open());
    this.element.append(this.#rest);
  }
}
