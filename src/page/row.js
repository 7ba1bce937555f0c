// One line for an ask: in the list beside the chosen ask, or in place of a card that is not open.

import { fill, h, icon } from "./dom.js";
import { hostMark } from "./hosts.js";
import { firstLine } from "./inline.js";
import { kindKey, kindMark, line, text, verdict } from "./kinds.js";
import { age, closesSoon, mode, projectName } from "./words.js";

/** @typedef {"open" | "begun" | "undo" | "sending" | "unsent" | "refused" | "settled"} RowState */

export class Row {
  #age = h("span", { class: "age" });
  #kind = h("span", { class: "row-kind" });
  #state = h("span", { class: "row-state" });
  #text = h("span", { class: "row-text", dir: "auto" });
  #answer = h("span", { class: "row-answer", dir: "auto", hidden: true });
  #button;
  #undo = h("button", { type: "button", class: "row-undo", hidden: true }, "Undo");
  /** What the row shows now. */
  #shown = "";

  /**
   * @param {Ask} ask
   * @param {{ open(): void, undo(): void }} actions
   */
  constructor(ask, actions) {
    const head = h("span", { class: "row-head" }, hostMark(ask), h("bdi", { class: "row-project" }, projectName(ask.project)), this.#kind, this.#state, this.#age);
    this.#button = h("button", { type: "button", class: "row", on: { click: actions.open } }, head, this.#text, this.#answer);
    this.#undo.addEventListener("click", actions.undo);
    this.#undo.setAttribute("aria-label", `Undo: ${firstLine(text(ask)).slice(0, 100)}`);
    this.element = h("div", { class: "item" }, this.#button, this.#undo);
    this.show(ask, "open", "");
  }

  /** Whether this is the ask beside the list. @param {boolean} isChosen */
  set isChosen(isChosen) {
    if (isChosen) this.#button.setAttribute("aria-current", "true");
    else this.#button.removeAttribute("aria-current");
  }

  get hasFocus() {
    return this.element.contains(document.activeElement);
  }

  /** Brings the age up to date. @param {Ask} ask */
  tick(ask) {
    const left = ask.state === "settled" ? "" : closesSoon(ask);
    this.#age.textContent = ask.state === "settled" ? "" : left || age(ask);
    this.#age.classList.toggle("soon", left !== "");
  }

  reveal() {
    this.element.scrollIntoView({ block: "nearest" });
  }

  /**
   * @param {Ask} ask
   * @param {RowState} state
   * @param {string} summary of the answer so far
   */
  show(ask, state, summary) {
    const kind = kindKey(ask);
    const shown = JSON.stringify([kind, state, summary, ask.racing, ask.perhaps_answered, ask.deferred, ask.outcome, ask.receipt]);
    if (shown === this.#shown) return;
    this.#shown = shown;
    this.element.dataset.state = state;
    this.#undo.hidden = state !== "undo";
    const { word, tone, said } = state === "settled" ? ended(ask) : { word: WORDS[state] ?? "", tone: "", said: summary };
    fill(this.#kind, kind !== "question" && kindMark(ask));
    fill(this.#state, state === "open" ? ask.racing && icon("terminal") : word);
    this.#state.className = `row-state ${tone}`;
    this.#state.title = state === "open" ? mode(ask).title : "";
    const more = kind === "question" && ask.questions.length > 1 && h("span", { class: "faint" }, ` (and ${ask.questions.length - 1} more)`);
    fill(this.#text, line(ask), more);
    // What the person said has a line of its own, so that a long question does not push it out.
    this.#answer.textContent = said;
    this.#answer.hidden = said === "";
  }
}

/** @type {Partial<Record<RowState, string>>} */
const WORDS = { begun: "Draft", undo: "Sending", sending: "Sending", unsent: "Not sent yet", refused: "Not sent" };

/** @param {Ask} ask */
function ended(ask) {
  const { word, tone, lines } = verdict(ask);
  return { word, tone, said: lines.join(" · ").slice(0, 300) };
}
