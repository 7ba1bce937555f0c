// The open asks, the longest waiting first. On a wide screen they are a list beside the chosen one, elsewhere a column of cards. Cards come
// and go, but none moves while a person is using it.

import { here } from "./address.js";
import { Aim, guardClicks, SURPRISE } from "./aim.js";
import { ask as askOf, Problem } from "./api.js";
import { arrangeColumn, arrangeList, isInView } from "./arrange.js";
import { Card } from "./card.js";
import { announce, byId, h } from "./dom.js";
import * as drafts from "./draft.js";
import { Filter, matches } from "./filter.js";
import { learnHosts } from "./hosts.js";
import { arrival } from "./kinds.js";
import { Welcome } from "./welcome.js";

/** A person who has not moved for this long is not about to click. */
const IDLE = 3000;
/** The pause before asking again for an outcome, and before trying again to send an answer. */
const RETRY = 2000;
/** How often to ask whether a permission was perhaps given in the terminal, while somebody looks. */
const DOUBT = 3000;
/** With this many outcomes on the screen, each takes one line. */
const MANY_ENDED = 3;

/**
 * @typedef {object} InboxListener
 * @property {(open: number) => void} changed
 * @property {(ask: Ask) => void} arrived
 * @property {(ask: Ask) => void} settled
 * @property {(place: { ask: string, filter: import("./filter.js").Wanted }, replaces: boolean) => void} went where the person is now
 */

export class Inbox {
  /** @type {Map<number, Card>} */
  #cards = new Map();
  #list = h("div", { class: "cards" });
  #index = h("nav", { class: "index", "aria-label": "Open questions" });
  #filter = new Filter((wanted, isStep) => this.#filterBy(wanted, isStep));
  #notice = h("p", { class: "notice", role: "status" });
  #none = h("p", { class: "notice", hidden: true }, "No open question fits. ", h("button", { type: "button", on: { click: () => this.#filterBy({}) } }, "Show all"));
  #welcome = new Welcome();
  #wide = matchMedia("(min-width: 1100px)");
  /** The ask beside the list. @type {Card | null} */
  #chosen = null;
  /** @type {import("./filter.js").Wanted} */
  #wanted = {};
  #isKnown = false;
  /** When the person last gave a sign. */
  #signAt = 0;
  aim = new Aim();
  /** The card that keys go to if nothing has the focus, and since when. */
  #top = { id: 0, since: -Infinity };
  /** The key of an ask to show as soon as the first list has come. */
  #asked = "";

  /** @param {InboxListener} listener */
  constructor(listener) {
    this.listener = listener;
    const side = h("div", { class: "side" }, this.#filter.element, this.#index);
    this.element = h("div", { class: "inbox" }, h("h1", { class: "unseen" }, "Open questions"), this.#notice, h("div", { class: "panes" }, side, this.#list), this.#none, this.#welcome.element);
    this.#wide.addEventListener("change", () => this.#changeLayout());
    setInterval(() => this.#cards.forEach((card) => card.tick()), 5000);
    setInterval(() => this.#cards.forEach((card) => card.relax()), 1000);
    setInterval(() => this.#cards.forEach((card) => card.sending.again()), RETRY);
    setInterval(() => {
      if (document.visibilityState === "visible") for (const card of this.#cards.values()) if (card.mayBeAnswered) void this.#lookAgain(card);
    }, DOUBT);
    guardClicks(this.#list, () => [...this.#cards.values()]);
    for (const sign of ["pointermove", "pointerdown", "keydown", "wheel"]) {
      addEventListener(sign, () => (this.#signAt = performance.now()), { passive: true, capture: true });
    }
    const leave = () => this.#cards.forEach((card) => card.flush());
    addEventListener("pagehide", leave);
    document.addEventListener("visibilitychange", () => document.visibilityState === "hidden" && leave());
    drafts.onChange((id) => this.#cards.get(id)?.redraft());
  }

  /** The open cards that are shown, from top to bottom. */
  get open() {
    return this.#shown().filter((card) => card.isOpen);
  }

  /** The card that keys go to, or undefined if the person may mean another one. */
  get current() {
    const all = [...this.#cards.values()];
    const focused = all.find((card) => card.hasFocus);
    if (focused) return focused.isOpen ? focused : undefined;
    // With the focus on the row of another card, nobody knows which of the two the person means.
    if (all.some((card) => card !== this.#chosen && card.row.hasFocus)) return undefined;
    const top = this.#cards.get(this.#top.id);
    return top?.isOpen && isInView(top.element) && performance.now() - this.#top.since > SURPRISE ? top : undefined;
  }

  /** Shows the card that a key would be for if it could be seen. Returns whether there is one. */
  showTop() {
    const top = this.#cards.get(this.#top.id);
    if (!top?.isOpen || isInView(top.element)) return false;
    top.focus();
    return true;
  }

  /** Takes the complete list of open asks. @param {Ask[]} asks */
  list(asks) {
    const open = new Map(asks.map((ask) => [ask.id, ask]));
    const isFirst = !this.#isKnown;
    this.#isKnown = true;
    learnHosts(asks.map(({ host }) => host));
    if (isFirst) for (const owner of drafts.owners()) if (!open.has(owner.id)) void this.#showUnsent(owner);
    for (const card of this.#cards.values()) {
      if (card.isOpen && !open.has(card.id)) void this.#learnEnd(card);
      card.sending.again();
    }
    this.#steadily(() => asks.forEach((ask) => this.#put(ask, isFirst)));
    if (isFirst) {
      this.#top.since = -Infinity;
      for (const card of this.#cards.values()) card.shownAt = -Infinity;
    }
    if (this.#asked) void this.#reveal(this.#asked);
  }

  /** @param {AskEvent} event */
  event({ ask }) {
    learnHosts([ask.host]);
    this.#steadily(() => this.#put(ask, false));
  }

  /**
   * Shows what the address says.
   * @param {string} key of an ask to open and focus; empty for none
   * @param {import("./filter.js").Wanted} wanted
   */
  show(key, wanted) {
    this.#wanted = wanted;
    this.#asked = "";
    if (key) return void this.#reveal(key);
    if (!this.#isWide) this.#chosen?.collapse();
    this.#chosen = null;
    this.#arrange();
    // The person came here, so the next key is for what is here.
    this.#top.since = -Infinity;
  }

  /** @param {string} key */
  async #reveal(key) {
    this.#asked = this.#isKnown ? "" : key;
    if (this.#asked) return;
    this.#notice.textContent = "";
    const find = () => [...this.#cards.values()].find(({ ask }) => ask.key === key);
    if (!find()) {
      const ask = await askOf(key).catch((error) => {
        const isUnknown = error instanceof Problem && error.status === 404;
        this.#notice.textContent = isUnknown ? "This question no longer exists here." : `The question could not be looked up. ${error.message}`;
        setTimeout(() => (this.#notice.textContent = ""), 8000);
      });
      // Meanwhile the person may have gone somewhere else.
      if (!ask || here().ask !== key) return;
      if (!find()) this.#add({ ...ask, state: "open" });
      this.#arrange();
      find()?.update(ask);
    }
    const card = find();
    if (card && card !== this.#chosen) this.#choose(card);
    card?.focus();
  }

  /** @param {number} step */
  move(step) {
    // Start at the card with the focus, even if it is settled.
    const all = this.#shown();
    const focused = all.findIndex((card) => card.hasFocus);
    const at = focused < 0 && this.#isWide && this.#chosen ? all.indexOf(this.#chosen) : focused;
    const others = step > 0 ? all.slice(at + 1) : all.slice(0, Math.max(0, at)).reverse();
    const next = others.find((card) => card.isOpen) ?? all[at] ?? this.open[0];
    if (next) this.#go(next, true);
  }

  /** Takes back the choice on the focused card, or else the latest one. Returns whether there was one. */
  undo() {
    const card = this.#pending;
    card?.undo();
    return card !== undefined;
  }

  /** Sends the latest choice now. Returns whether there was one. */
  sendNow() {
    const card = this.#pending;
    card?.flush();
    return card !== undefined;
  }

  /** The choice that an undo would take back. */
  get #pending() {
    const pending = [...this.#cards.values()].filter((card) => card.canUndo).sort((a, b) => b.chosenAt - a.chosenAt);
    return pending.find((card) => card.hasFocus) ?? pending[0];
  }

  get #isWide() {
    return this.#wide.matches;
  }

  /** Whether the person is about to use another card. @param {Card} card */
  #isBusyBeside(card) {
    const isIdle = performance.now() - this.#signAt > IDLE;
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
    if (ask.state !== "open") return;
    this.#add(ask);
    if (isFirst) return;
    announce(arrival(ask));
    this.listener.arrived(ask);
  }

  /** @param {Ask} ask */
  #add(ask) {
    this.#cards.set(ask.id, this.#newCard(ask));
  }

  /** @param {Ask} ask */
  #newCard(ask) {
    const card = new Card(ask, {
      left: () => this.#remove(card),
      settled: (settled) => this.listener.settled(settled),
      passed: () => this.#advance(card),
      opened: () => this.#go(card, false),
      needed: () => this.#choose(card),
      steadily: (change) => this.#steadily(change),
      isBusy: () => this.#isBusyBeside(card),
      isElsewhere: () => [...this.#cards.values()].some((other) => other !== card && other.hasFocus),
    });
    return card;
  }

  /**
   * Shows what the person wrote for an ask that was settled meanwhile, without their text.
   * @param {import("./draft.js").Owner} owner
   */
  async #showUnsent(owner) {
    const ask = await askOf(owner.key).catch((error) => (error instanceof Problem && error.status < 500 ? null : undefined));
    // If the daemon cannot be asked now, the text stays for the next time.
    if (ask === undefined || this.#cards.has(owner.id)) return;
    const card = ask?.id === owner.id && ask.state === "settled" ? this.#newCard({ ...ask, state: "open" }) : null;
    if (!ask || !card || card.texts.length === 0) return drafts.forget(owner);
    this.#cards.set(card.id, card);
    this.#steadily(() => card.update(ask));
  }

  /** @param {Card} card */
  #remove(card) {
    const { hasFocus } = card;
    if (card === this.#chosen) this.#replaceChosen(card);
    this.#steadily(() => {
      card.row.element.remove();
      card.element.remove();
      this.#cards.delete(card.id);
    });
    if (hasFocus) byId("main").focus({ preventScroll: true });
  }

  /** Another ask takes the place of the chosen one, which is gone. @param {Card} card */
  #replaceChosen(card) {
    this.#chosen = this.#isWide ? (this.#next(card) ?? null) : null;
    if (this.#chosen) this.#chosen.movedAt = performance.now();
    this.listener.went({ ask: "", filter: this.#wanted }, true);
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

  /** The next ask that needs the person; from the last one it goes to the first. @param {Card} card */
  #next(card) {
    const waiting = this.open.filter((each) => each.needsPerson && each !== card);
    return waiting.find(({ id }) => id > card.id) ?? waiting[0];
  }

  /** The person has answered this one: go to the next. @param {Card} card */
  #advance(card) {
    // In a column, a finger or a pointer goes on by itself, and nothing may move under it.
    const isHere = this.#isWide ? card === this.#chosen : this.aim.isByKey && card.hasFocus;
    const next = isHere && this.#next(card);
    if (!next) return;
    this.#choose(next);
    next.arrive();
    next.movedAt = performance.now();
    next.focus();
    this.aim.arrive(next);
    if (here().ask) this.listener.went({ ask: next.ask.key, filter: this.#wanted }, true);
  }

  /**
   * Goes to a card, because the person wants to.
   * @param {Card} card
   * @param {boolean} isStep one of many steps, so Back need not lead here
   */
  #go(card, isStep) {
    const had = this.#chosen !== null && location.hash.startsWith("#/ask/");
    this.#choose(card);
    this.aim.begin();
    this.listener.went({ ask: card.ask.key, filter: this.#wanted }, isStep || had);
    if (card.isOpen && !isStep) card.form.focus();
    if (!card.hasFocus || isStep) card.focus();
  }

  /** Shows a card: beside the list, or open in the column. @param {Card} card */
  #choose(card) {
    this.#chosen = card;
    card.expand();
    this.#arrange();
    card.reappear();
    if (this.#isWide) card.row.reveal();
  }

  /**
   * @param {import("./filter.js").Wanted} wanted
   * @param {boolean} [isStep] one of many steps, so Back need not lead here
   */
  #filterBy(wanted, isStep = false) {
    this.#wanted = wanted;
    this.listener.went({ ask: "", filter: wanted }, isStep);
    if (this.#chosen && !matches(this.#chosen.ask, wanted)) this.#chosen = null;
    this.#arrange();
  }

  /** All cards, the longest waiting first. */
  #inOrder() {
    return [...this.#cards.values()].sort((a, b) => a.id - b.id);
  }

  /** The cards that the filter lets through. */
  #shown() {
    return this.#inOrder().filter((card) => card === this.#chosen || !card.isOpen || matches(card.ask, this.#wanted));
  }

  /** The window is wider or narrower now. The person stays at the card that they use. */
  #changeLayout() {
    const cards = this.#shown();
    const { activeElement } = document;
    const used = cards.find((card) => card.hasFocus) ?? cards.find((card) => card.isBegun) ?? cards.find((card) => card.isOpen && isInView(card.element));
    if (this.#isWide && used) this.#chosen = used;
    this.#arrange();
    this.#top.since = performance.now();
    if (used && activeElement instanceof HTMLElement && document.activeElement !== activeElement) activeElement.focus({ preventScroll: true });
    if (used) used.element.scrollIntoView({ block: "nearest" });
  }

  /** Brings the page up to date. */
  #arrange() {
    const all = [...this.#cards.values()];
    const cards = this.#shown();
    this.element.classList.toggle("wide", this.#isWide && cards.length > 0);
    this.element.classList.toggle("many-ended", all.filter(({ isOpen }) => !isOpen).length >= MANY_ENDED);
    const panes = { index: this.#index, list: this.#list };
    if (this.#isWide) {
      if (!this.#chosen || !cards.includes(this.#chosen)) this.#chosen = cards.find((card) => card.needsPerson) ?? cards[0] ?? null;
      arrangeList(panes, this.#inOrder(), cards, this.#chosen);
    } else arrangeColumn(panes, this.#inOrder(), cards);
    const top = (this.#isWide ? this.#chosen : cards.find((card) => card.isOpen))?.id ?? 0;
    if (top !== this.#top.id) this.#top = { id: top, since: performance.now() };
    const open = all.filter(({ isOpen }) => isOpen).map(({ ask }) => ask);
    this.#filter.show(open, this.#wanted);
    this.#none.hidden = cards.length > 0 || open.length === 0;
    this.#welcome.show(this.#isKnown && all.length === 0);
    this.listener.changed(open.length);
  }
}
