// The open questions, newest first. Cards come and go; none moves under the hand of a person.

import { ask as askOf, openAsk } from "./api.js";
import { Card } from "./card.js";
import { announce, byId, command, fill, h } from "./dom.js";
import { projectName } from "./words.js";

/** So many are forms; the rest are rows until somebody opens them. */
const FORMS = 8;

export class Inbox {
  /** @type {Map<number, Card>} */
  #cards = new Map();
  /** New ones that would push away what somebody is at. @type {Map<number, Ask>} */
  #held = new Map();
  #list = h("div", { class: "cards" });
  #more = h("button", { type: "button", class: "more", hidden: true, on: { click: () => this.#showHeld() } });
  #empty = h("section", { class: "empty", hidden: true });
  #isKnown = false;

  /** @param {{ changed(open: number): void, arrived(ask: Ask): void }} listener */
  constructor(listener) {
    this.listener = listener;
    this.element = h("div", { class: "inbox" }, h("h1", { class: "unseen" }, "Open questions"), this.#more, this.#list, this.#empty);
    setInterval(() => this.#cards.forEach((card) => card.tick()), 5000);
    addEventListener("pagehide", () => this.#cards.forEach((card) => card.flush()));
    document.addEventListener("focusout", () => setTimeout(() => this.#held.size > 0 && !this.#isInUse && this.#showHeld(), 300));
  }

  /** The cards that can be answered, from top to bottom. */
  get open() {
    return this.#inOrder().filter((card) => card.isOpen);
  }

  /** The card that keys are meant for. */
  get current() {
    const cards = this.open;
    return cards.find(({ element }) => element.contains(document.activeElement)) ?? cards[0];
  }

  /** What the daemon says is open: all of it. @param {Ask[]} asks */
  list(asks) {
    const open = new Map(asks.map((ask) => [ask.id, ask]));
    const isFirst = !this.#isKnown;
    this.#isKnown = true;
    for (const card of this.#cards.values()) {
      if (card.isOpen && !open.has(card.ask.id)) void this.#learnEnd(card);
    }
    for (const id of this.#held.keys()) if (!open.has(id)) this.#held.delete(id);
    for (const ask of asks) this.#put(ask, isFirst);
    this.#arrange();
  }

  /** @param {AskEvent} event */
  event({ ask }) {
    this.#put(ask, false);
    this.#arrange();
  }

  /** Opens the form of a question and goes to it. @param {string} key */
  reveal(key) {
    this.#showHeld();
    const card = [...this.#cards.values()].find(({ ask }) => ask.key === key);
    card?.expand();
    card?.focus();
  }

  /** @param {number} step */
  move(step) {
    const cards = this.open;
    const at = cards.findIndex(({ element }) => element.contains(document.activeElement));
    const next = cards[Math.min(cards.length - 1, Math.max(0, at + step))];
    next?.expand();
    next?.focus();
  }

  /** Whether a choice was taken back. */
  undo() {
    return [...this.#cards.values()].some((card) => card.undo());
  }

  get #isInUse() {
    return [...this.#cards.values()].some((card) => card.isInUse);
  }

  /**
   * @param {Ask} ask
   * @param {boolean} isFirst
   */
  #put(ask, isFirst) {
    const card = this.#cards.get(ask.id);
    if (card) return card.update(ask);
    if (ask.state !== "open") return void this.#held.delete(ask.id);
    if (this.#held.has(ask.id)) return void this.#held.set(ask.id, ask);
    if (!isFirst) {
      announce(`${projectName(ask.project)} asks: ${ask.questions[0].question}`);
      this.listener.arrived(ask);
    }
    if (!isFirst && this.#isInUse) this.#held.set(ask.id, ask);
    else this.#add(ask);
  }

  /** @param {Ask} ask */
  #add(ask) {
    const card = new Card(ask, { left: () => this.#remove(card) });
    this.#cards.set(ask.id, card);
  }

  /** @param {Card} card */
  #remove(card) {
    const hadFocus = card.element.contains(document.activeElement);
    card.element.remove();
    this.#cards.delete(card.ask.id);
    this.#arrange();
    if (hadFocus) (this.open[0]?.element ?? byId("main")).focus({ preventScroll: true });
  }

  /** It is not open any more, and nobody said why: the page was not there. @param {Card} card */
  async #learnEnd(card) {
    const ask = await askOf(card.ask.key).catch(() => null);
    if (ask?.id === card.ask.id && ask.state === "settled") card.update(ask);
    else if (ask?.id !== card.ask.id) this.#remove(card);
    this.#arrange();
  }

  #showHeld() {
    for (const ask of this.#held.values()) this.#add(ask);
    this.#held.clear();
    this.#arrange();
  }

  #inOrder() {
    return [...this.#cards.values()].sort((a, b) => b.ask.id - a.ask.id);
  }

  /** Brings the page to what is known, touching only what is new. */
  #arrange() {
    const cards = this.#inOrder();
    let place = this.#list.firstElementChild;
    for (const { element } of cards) {
      if (element === place) place = place.nextElementSibling;
      else this.#list.insertBefore(element, place);
    }
    let forms = cards.filter(({ isExpanded }) => isExpanded).length;
    for (const card of cards) {
      if (forms >= FORMS) break;
      if (!card.isExpanded && card.isOpen) {
        card.expand();
        forms++;
      }
    }
    this.#more.hidden = this.#held.size === 0;
    this.#more.textContent = this.#held.size === 1 ? "1 new question" : `${this.#held.size} new questions`;
    this.#showEmpty(cards.length === 0 && this.#held.size === 0);
    this.listener.changed(this.open.length + this.#held.size);
  }

  /** @param {boolean} isEmpty */
  #showEmpty(isEmpty) {
    this.#empty.hidden = !isEmpty || !this.#isKnown;
    if (this.#empty.hidden || this.#empty.hasChildNodes()) return;
    const demo = h("button", { type: "button", class: "primary" }, "Ask me something");
    demo.addEventListener("click", () => openAsk(DEMO).catch((error) => announce(error.message)));
    fill(
      this.#empty,
      h("div", { class: "calm", "aria-hidden": "true" }, h("i"), h("i"), h("i")),
      h("h2", {}, "Nothing waits for you"),
      h("p", {}, "When Claude Code asks a question in a project with the hook, it appears here. Leave the page open, or come back when you are called."),
      h("ol", { class: "steps" }, h("li", {}, "Put the hook into a project: ", command("answerback install")), h("li", {}, "Let Claude Code work there. Its questions come to the terminal and to this page; the first answer wins.")),
      h("p", { class: "try" }, demo, h("span", { class: "faint" }, "to see how it looks")),
    );
  }
}

/** @type {Question[]} */
const DEMO = [
  {
    question: "Which database should the shop use?",
    header: "Database",
    multiSelect: false,
    options: [
      { label: "SQLite", description: "One file, nothing to run" },
      { label: "PostgreSQL", description: "A server, for more than one machine" },
      { label: "Plain files", description: "As simple as it gets" },
    ],
  },
];
