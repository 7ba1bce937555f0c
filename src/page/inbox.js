// The open asks, newest first. Cards come and go, but none moves while a person is using it.

import { ask as askOf, openAsk, Problem } from "./api.js";
import { Card } from "./card.js";
import { announce, byId, command, fill, h } from "./dom.js";
import { arrival, newOnes } from "./kinds.js";

/** How many cards open as forms. The others are rows until the person opens them. */
const FORMS = 8;
/** A person who has not moved for this long is not about to click. */
const IDLE = 3000;
/** A key or a click this soon after a card appeared or moved was meant for what was there before. */
const SURPRISE = 700;
/** The pause before asking again for an outcome. */
const RETRY = 2000;
/** How often to ask whether a permission was perhaps given in the terminal, while somebody looks. */
const DOUBT = 3000;

export class Inbox {
  /** @type {Map<number, Card>} */
  #cards = new Map();
  /** New asks that would push away a card in use. They wait behind a button. @type {Map<number, Ask>} */
  #held = new Map();
  #list = h("div", { class: "cards" });
  #more = h("button", { type: "button", class: "more", hidden: true, on: { click: () => this.#showNewest() } });
  #notice = h("p", { class: "notice", role: "status" });
  #empty = h("section", { class: "empty", hidden: true });
  #isKnown = false;
  #movedAt = 0;
  #top = { id: 0, since: -Infinity };
  /** The key of an ask to show as soon as the first list has come. */
  #wanted = "";

  /** @param {{ changed(open: number): void, arrived(ask: Ask): void, settled(ask: Ask): void }} listener */
  constructor(listener) {
    this.listener = listener;
    this.element = h("div", { class: "inbox" }, h("h1", { class: "unseen" }, "Open questions"), this.#more, this.#notice, this.#list, this.#empty);
    setInterval(() => this.#cards.forEach((card) => card.tick()), 5000);
    setInterval(() => {
      this.#cards.forEach((card) => card.relax());
      if (this.#held.size > 0 && !this.#isInUse) this.#showHeld();
    }, 1000);
    setInterval(() => {
      if (document.visibilityState === "visible") for (const card of this.#cards.values()) if (card.mayBeAnswered) void this.#lookAgain(card);
    }, DOUBT);
    // A click on a card that has just moved under the pointer was meant for another one.
    const guard = (/** @type {MouseEvent} */ event) => {
      const card = [...this.#cards.values()].find(({ element }) => element.contains(/** @type {Node} */ (event.target)));
      if (event.detail > 0 && card && performance.now() - card.movedAt < SURPRISE) {
        event.stopPropagation();
        event.preventDefault();
      }
    };
    this.#list.addEventListener("click", guard, { capture: true });
    for (const sign of ["pointermove", "pointerdown", "keydown", "wheel"]) addEventListener(sign, () => (this.#movedAt = performance.now()), { passive: true });
    const leave = () => this.#cards.forEach((card) => card.flush());
    addEventListener("pagehide", leave);
    document.addEventListener("visibilitychange", () => document.visibilityState === "hidden" && leave());
  }

  /** The open cards, from top to bottom. */
  get open() {
    return this.#inOrder().filter((card) => card.isOpen);
  }

  /** The card that keys go to, or undefined if the person may mean another one. */
  get current() {
    const focused = [...this.#cards.values()].find((card) => card.hasFocus);
    if (focused) return focused.isOpen ? focused : undefined;
    return performance.now() - this.#top.since > SURPRISE ? this.open[0] : undefined;
  }

  /** Takes the complete list of open asks. @param {Ask[]} asks */
  list(asks) {
    const open = new Map(asks.map((ask) => [ask.id, ask]));
    const isFirst = !this.#isKnown;
    this.#isKnown = true;
    for (const card of this.#cards.values()) {
      if (card.isOpen && !open.has(card.id)) void this.#learnEnd(card);
    }
    for (const [id, ask] of this.#held) if (!open.has(id)) this.#drop(ask);
    this.#steadily(() => asks.forEach((ask) => this.#put(ask, isFirst)));
    if (isFirst) this.#top.since = -Infinity;
    if (this.#wanted) void this.reveal(this.#wanted);
  }

  /** @param {AskEvent} event */
  event({ ask }) {
    this.#steadily(() => this.#put(ask, false));
  }

  /** Opens an ask and focuses it, or shows its outcome. @param {string} key */
  async reveal(key) {
    this.#wanted = this.#isKnown ? "" : key;
    if (this.#wanted) return;
    this.#notice.textContent = "";
    this.#showHeld();
    const find = () => [...this.#cards.values()].find(({ ask }) => ask.key === key);
    if (!find()) {
      const ask = await askOf(key).catch((error) => {
        const isUnknown = error instanceof Problem && error.status === 404;
        this.#notice.textContent = isUnknown ? "This question no longer exists here." : `The question could not be looked up. ${error.message}`;
        setTimeout(() => (this.#notice.textContent = ""), 8000);
      });
      if (!ask) return;
      this.#add({ ...ask, state: "open" });
      this.#arrange();
      find()?.update(ask);
    }
    find()?.expand();
    find()?.focus();
  }

  /** @param {number} step */
  move(step) {
    // Start at the card with the focus, even if it is settled.
    const all = this.#inOrder();
    const at = all.findIndex((card) => card.hasFocus);
    const others = step > 0 ? all.slice(at + 1) : all.slice(0, Math.max(0, at)).reverse();
    const next = others.find((card) => card.isOpen) ?? all[at] ?? this.open[0];
    next?.expand();
    next?.focus();
  }

  /** Takes back the choice on the focused card, or else the latest one. Returns whether there was one. */
  undo() {
    const pending = [...this.#cards.values()].filter((card) => card.canUndo).sort((a, b) => b.chosenAt - a.chosenAt);
    const chosen = pending.find((card) => card.hasFocus) ?? pending[0];
    chosen?.undo();
    return chosen !== undefined;
  }

  get #isInUse() {
    return [...this.#cards.values()].some((card) => card.isBegun || (card.isTouched && document.hasFocus()));
  }

  /** Whether the person is about to use another card. @param {Card} card */
  #isBusyBeside(card) {
    const isIdle = performance.now() - this.#movedAt > IDLE;
    return !isIdle && [...this.#cards.values()].some((other) => other !== card && other.isTouched);
  }

  /** Makes a change that the person did not ask for, and notes which cards it moved. @param {() => void} change */
  #steadily(change) {
    const place = (/** @type {Card} */ { element }) => element.offsetTop;
    const before = new Map(this.open.filter(({ isExpanded }) => isExpanded).map((card) => [card, place(card)]));
    change();
    this.#arrange();
    if (before.size === 0) return;
    for (const card of this.open) {
      if (card.isExpanded && before.get(card) !== place(card)) card.movedAt = performance.now();
    }
  }

  /**
   * @param {Ask} ask
   * @param {boolean} isFirst
   */
  #put(ask, isFirst) {
    const card = this.#cards.get(ask.id);
    if (card) return card.update(ask);
    if (ask.state !== "open") return this.#drop(ask);
    if (this.#held.has(ask.id)) return void this.#held.set(ask.id, ask);
    if (!isFirst && this.#isInUse) this.#held.set(ask.id, ask);
    else this.#add(ask);
    if (isFirst) return;
    announce(arrival(ask));
    this.listener.arrived(ask);
  }

  /** Forgets a held ask that was settled. @param {Ask} ask */
  #drop(ask) {
    if (this.#held.delete(ask.id)) this.listener.settled(ask);
  }

  /** @param {Ask} ask */
  #add(ask) {
    const card = new Card(ask, {
      left: () => this.#remove(card),
      settled: (settled) => this.listener.settled(settled),
      steadily: (change) => this.#steadily(change),
      isBusy: () => this.#isBusyBeside(card),
    });
    this.#cards.set(ask.id, card);
  }

  /** @param {Card} card */
  #remove(card) {
    const { hasFocus } = card;
    this.#steadily(() => {
      card.element.remove();
      this.#cards.delete(card.id);
    });
    if (hasFocus) byId("main").focus({ preventScroll: true });
  }

  /** @param {Card} card */
  async #lookAgain(card) {
    const ask = await askOf(card.ask.key).catch(() => null);
    // Events bring everything else.
    if (ask?.state === "open" && card.mayBeAnswered) this.#steadily(() => card.update(ask));
  }

  /** Asks for the outcome of a card whose event this page missed. @param {Card} card */
  async #learnEnd(card) {
    try {
      const ask = await askOf(card.ask.key);
      if (ask.id !== card.id) card.vanish();
      else card.update(ask);
    } catch (error) {
      if (error instanceof Problem && error.status === 404) card.vanish();
      else if (!(error instanceof Problem && error.status === 401)) setTimeout(() => card.isOpen && this.#learnEnd(card), RETRY);
    }
    this.#arrange();
  }

  #showHeld() {
    this.#steadily(() => {
      for (const ask of this.#held.values()) this.#add(ask);
      this.#held.clear();
    });
  }

  /** Shows the held asks, because the person wants to see them. */
  #showNewest() {
    const newest = Math.max(...this.#held.keys());
    this.#showHeld();
    for (const card of this.#cards.values()) card.movedAt = -Infinity;
    this.#cards.get(newest)?.focus();
  }

  #inOrder() {
    return [...this.#cards.values()].sort((a, b) => b.id - a.id);
  }

  /** Brings the page up to date. Elements that are in place are not touched. */
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
    const top = cards.find((card) => card.isOpen)?.id ?? 0;
    if (top !== this.#top.id) this.#top = { id: top, since: performance.now() };
    this.#more.hidden = this.#held.size === 0;
    if (this.#held.size > 0) this.#more.textContent = newOnes([...this.#held.values()]);
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
      h("h2", {}, "Nothing is waiting for you"),
      h("p", {}, "When Claude Code asks a question in a project with the hook, it appears here. Leave the page open, or come back when you get a notification."),
      h("ol", { class: "steps" }, h("li", {}, "Install the hook in a project: ", command("answerback install")), h("li", {}, "Let Claude Code work there. Its questions come to the terminal and to this page; the first answer wins.")),
      h("p", { class: "try" }, demo, h("span", { class: "faint" }, "to see what it looks like")),
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
