// Options to choose from, as a group of radio buttons or checkboxes. Arrows only move: a choice may be sent at once.

import { clamp } from "./clamp.js";
import { h, icon } from "./dom.js";
import { flatMarkdown } from "./markdown.js";
import { code, prose } from "./visible.js";

/** How many lines of an option are shown at first. */
const LINES = 5;

/**
 * @typedef {object} ChoicesSpec
 * @property {{ label: string, description?: string }[]} options
 * @property {boolean} isMulti
 * @property {string} labelledBy the id of the question
 * @property {(place: number) => void} pick
 * @property {(place: number) => void} [look] the person points at an option
 * @property {HTMLElement} [next] the field after the options, where the arrows go too
 * @property {boolean} [hasKeys] whether digits choose options
 * @property {boolean} [isExact] whether the labels contain text for machines
 */

export class Choices {
  /** @type {HTMLButtonElement[]} */
  #options;

  /** @param {ChoicesSpec} spec */
  constructor(spec) {
    this.spec = spec;
    const made = spec.options.map((option, place) => this.#option(option, place));
    this.#options = made.map(({ option }) => option);
    const role = spec.isMulti ? "group" : "radiogroup";
    this.element = h("div", { class: "options", role, "aria-labelledby": spec.labelledBy }, ...made.flatMap(({ option, rest }) => (rest ? [option, rest] : [option])));
    this.element.addEventListener("keydown", (event) => this.move(event));
  }

  /** The options that have the focus in turn. */
  get #places() {
    const usable = this.#options.filter(({ disabled }) => !disabled);
    return this.spec.next ? [...usable, this.spec.next] : usable;
  }

  /**
   * @param {string[]} chosen
   * @param {(label: string) => boolean} [isBlocked]
   */
  show(chosen, isBlocked = () => false) {
    const labels = this.spec.options.map(({ label }) => label);
    const first = labels.find((label) => chosen.includes(label)) ?? labels.find((label) => !isBlocked(label));
    this.#options.forEach((element, place) => {
      const isChosen = chosen.includes(labels[place]);
      element.setAttribute("aria-checked", String(isChosen));
      element.disabled = isBlocked(labels[place]);
      // Enter chooses a single option. Once that is chosen, or where several may be, Enter goes on.
      element.toggleAttribute("data-enter-sends", this.spec.isMulti || isChosen);
      element.tabIndex = this.spec.isMulti || labels[place] === first ? 0 : -1;
    });
  }

  /** Focuses an option; without a place the chosen one, or else the first. @param {number} [place] */
  focus(place) {
    const chosen = this.#options.find((option) => option.getAttribute("aria-checked") === "true");
    const target = place === undefined ? (chosen ?? this.#places[0]) : this.#options[place];
    target?.focus({ preventScroll: true });
  }

  /** @param {KeyboardEvent} event */
  move(event) {
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    if (!step || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const places = this.#places;
    const at = places.indexOf(/** @type {HTMLElement} */ (event.target));
    places[(at + step + places.length) % places.length]?.focus();
  }

  /**
   * An option, and the button for the rest of its text. That stands outside: one button cannot be in another.
   * @param {{ label: string, description?: string }} option
   * @param {number} place
   */
  #option({ label, description }, place) {
    const { isMulti, pick, look, hasKeys = true, isExact = false } = this.spec;
    const see = () => look?.(place);
    const about = description && h("span", { class: "description" }, isExact ? code(description) : flatMarkdown(description));
    const words = h("span", { class: "option-text", dir: "auto" }, h("span", { class: "label" }, isExact ? code(label) : prose(label)), about);
    // Text for machines is shown whole: it may be a rule that the person grants.
    const [text, rest] = isExact ? [words, null] : clamp(words, { lines: LINES });
    const option = h(
      "button",
      { type: "button", class: "option", role: isMulti ? "checkbox" : "radio", "aria-checked": "false", on: { click: () => pick(place), focus: see, pointerenter: see } },
      hasKeys && h("kbd", { "aria-hidden": "true" }, String(place + 1)),
      text,
      h("span", { class: "mark" }, icon("check")),
    );
    return { option, rest };
  }
}
