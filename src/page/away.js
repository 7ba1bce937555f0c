// The line that says that the person is away, with the words that are said for them meanwhile.
//
// Being away is no change of an ask, so no event tells of it. The line is read with every list, and now and then while somebody looks.

import { away, endAway } from "./api.js";
import { now } from "./clock.js";
import { announce, fill, h, icon } from "./dom.js";
import { moment, projectName } from "./words.js";

/** How often to look while the page is visible. */
const LOOK = 15_000;
/** @type {Record<string, string>} */
const PLURALS = { question: "questions", plan: "plans", permission: "permission requests" };

export class AwayLine {
  element = h("section", { class: "away", "aria-label": "Away", hidden: true });
  /** @type {Away[]} */
  #notes = [];

  /** @param {AbortSignal} ended when the page is signed out */
  constructor(ended) {
    const timer = setInterval(() => this.#look(), LOOK);
    ended.addEventListener("abort", () => clearInterval(timer));
    document.addEventListener("visibilitychange", () => this.#look(), { signal: ended });
  }

  #look() {
    if (document.visibilityState === "visible") void this.refresh();
  }

  /** A lost connection changes nothing here: the page says so elsewhere. */
  async refresh() {
    const found = await away().catch(() => null);
    if (found) this.#show(found.away);
  }

  /** @param {Away[]} notes */
  #show(notes) {
    const isSame = JSON.stringify(notes) === JSON.stringify(this.#notes);
    if (isSame) return;
    this.#notes = notes;
    this.element.hidden = notes.length === 0;
    const back = h("button", { type: "button", on: { click: () => this.#comeBack(back) } }, "I am back");
    fill(this.element, h("div", { class: "away-notes" }, ...notes.map(line)), back);
    for (const note of notes) {
      // Timers cannot wait for longer than about 24 days. The next look finds the end of such a time.
      const left = Math.min(Date.parse(note.until) - now() + 500, 2 ** 31 - 1);
      setTimeout(() => void this.refresh(), left);
    }
  }

  /** @param {HTMLButtonElement} button */
  async #comeBack(button) {
    button.disabled = true;
    try {
      await endAway();
      this.#show([]);
      announce("Welcome back. Questions wait for you.");
    } catch (error) {
      button.disabled = false;
      announce(error instanceof Error ? error.message : String(error));
    }
  }
}

/** @param {Away} note */
function line({ project, words, kinds, until }) {
  const what = new Intl.ListFormat("en").format(kinds.map((kind) => PLURALS[kind] ?? kind));
  const where = project && [" of ", h("bdi", { title: project }, projectName(project))];
  return h("p", {}, icon("clock"), h("span", {}, `Away until ${moment(until)}: ${what}`, ...(where || []), " get your words ", h("q", { dir: "auto" }, words)));
}
