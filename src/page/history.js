// The history: settled asks and their outcomes.

import { projects, settledAsks } from "./api.js";
import { copy, fill, h, icon } from "./dom.js";
import { askerName, hostMark, learnHosts } from "./hosts.js";
import { kindKeys, kindName, past, text, verdict } from "./kinds.js";
import { markFound } from "./mark.js";
import { PlaceFilter } from "./place_filter.js";
import { moment, OUTCOMES, place, projectName } from "./words.js";

const PAGE = 50;
/** A search begins when nobody has typed for this long. */
const PAUSE = 200;

export class History {
  #search = h("input", { type: "search", maxlength: "512", placeholder: "Search questions, answers, notes", "aria-label": "Search", dir: "auto" });
  #place = new PlaceFilter();
  #kind = select("Kind", "All kinds", kindKeys().map((key) => [key, kindName(key)]));
  #outcome = select("Outcome", "All outcomes", Object.entries(OUTCOMES));
  #list = h("div", { class: "past" });
  #more = h("button", { type: "button", class: "quiet", hidden: true }, "Show older");
  #state = h("p", { class: "notice", role: "status" });
  /** What there is to choose from, once it is known. @type {import("./place_filter.js").AskerPlace[]} */
  #places = [];
  #running = new AbortController();
  #timer = 0;

  /** @param {(filter: Record<string, string>, replaces: boolean) => void} went the person looks for something else */
  constructor(went) {
    this.went = went;
    this.element = h("div", { class: "history" }, h("h1", { class: "unseen" }, "History"), h("div", { class: "filters", role: "search" }, this.#search, this.#place.host, this.#place.project, this.#kind, this.#outcome), this.#state, this.#list, this.#more);
    this.#search.addEventListener("input", () => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#look(true), PAUSE);
    });
    for (const filter of [this.#place.host, this.#place.project, this.#kind, this.#outcome]) filter.addEventListener("change", () => this.#look(false));
  }

  /**
   * @param {Record<string, string>} filter as the address has it
   * @param {boolean} search
   */
  show({ text: wanted = "", host = "", project = "", kind = "", outcome = "" }, search) {
    // A search in one's hands is not taken away by one's own address.
    if (this.#search.value.trim() !== wanted) this.#search.value = wanted;
    this.#place.show(this.#places, { host, project }, false);
    this.#kind.value = kind;
    this.#outcome.value = outcome;
    void this.#loadProjects();
    void this.load();
    if (search) {
      this.#search.focus();
      this.#search.select();
    }
  }

  /** @param {boolean} replaces every letter of a search replaces the one before */
  #look(replaces) {
    this.went(this.#filter, replaces);
    void this.load();
  }

  /** @returns {Record<string, string>} */
  get #filter() {
    const filter = { text: this.#search.value.trim(), ...this.#place.wanted, kind: this.#kind.value, outcome: this.#outcome.value };
    return Object.fromEntries(Object.entries(filter).filter(([, value]) => value));
  }

  /** Loads the newest asks, or those before the end of the last page. @param {number | null} [before] */
  async load(before = null) {
    // This search includes what was typed last.
    clearTimeout(this.#timer);
    this.#running.abort();
    this.#running = new AbortController();
    const { signal } = this.#running;
    const filter = this.#filter;
    try {
      const { asks, next, damaged } = await settledAsks({ ...filter, ...(before !== null && { before: String(before) }) }, PAGE, signal);
      if (signal.aborted) return;
      const entries = asks.map(entry);
      for (const each of entries) markFound(each, filter.text ?? "");
      if (before === null) fill(this.#list, ...entries);
      else this.#list.append(...entries);
      this.#more.hidden = next === null;
      this.#more.onclick = () => void this.load(next);
      const nothing = Object.keys(filter).length > 0 ? "Nothing was found." : "Nothing has been asked yet.";
      const unreadable = damaged ? `${damaged} can no longer be read. Run: answerback doctor` : "";
      this.#state.textContent = unreadable || (this.#list.childElementCount === 0 ? nothing : "");
    } catch (error) {
      if (!signal.aborted) this.#state.textContent = /** @type {Error} */ (error).message;
    }
  }

  async #loadProjects() {
    const { hosts } = await projects().catch(() => ({ hosts: [] }));
    learnHosts(hosts.map(({ host }) => host));
    // A host without a project is a choice, too.
    this.#places = hosts.flatMap(({ host, projects: all }) => ["", ...all].map((project) => ({ host, project })));
    this.#place.show(this.#places, this.#place.wanted, false);
  }
}

/**
 * @param {string} label
 * @param {string} all
 * @param {[string, string][]} choices
 */
const select = (label, all, choices) => h("select", { "aria-label": label }, h("option", { value: "" }, all), ...choices.map(([value, name]) => h("option", { value }, name)));

/** @param {Ask} ask */
function entry(ask) {
  const outcome = /** @type {Outcome} */ (ask.outcome);
  const { settled_at, opened_at, receipt } = ask;
  const json = h("button", { type: "button", class: "icon-button copy", title: "Copy as JSON", "aria-label": "Copy as JSON" }, icon("copy"));
  json.addEventListener("click", () => copy(json, JSON.stringify(ask, null, 2)));
  const { word, tone } = verdict(ask);
  // The word may say already that it was in the terminal.
  const where = outcome.kind === "answered_in_terminal" && word === OUTCOMES[outcome.kind] ? "" : place(outcome.by);
  return h(
    "article",
    { class: "entry", "aria-label": `${askerName(ask)}: ${text(ask).slice(0, 100)}` },
    h(
      "header",
      {},
      h("span", { class: "project", title: ask.project ?? "" }, icon("folder"), hostMark(ask), h("bdi", {}, projectName(ask.project))),
      h("span", { class: `outcome ${tone}` }, word),
      h("span", { class: "entry-how" }, ask.asked_by && h("span", {}, "from ", h("bdi", {}, ask.asked_by)), where && h("span", { title: outcome.by?.agent ?? "" }, where), receiptMark(receipt)),
      h("span", { class: "entry-end" }, h("time", { datetime: settled_at ?? opened_at, title: new Date(settled_at ?? opened_at).toString() }, moment(settled_at ?? opened_at)), json),
    ),
    ...past(ask),
    outcome.reason && h("p", { class: "reason", dir: "auto" }, outcome.reason),
    receipt && !receipt.as_sent && h("p", { class: "received" }, "Claude received: ", h("bdi", {}, Object.values(receipt.answers).join(" · "))),
  );
}

/** @param {Receipt | null} receipt */
function receiptMark(receipt) {
  if (!receipt) return null;
  if (receipt.as_sent) return h("span", { class: "receipt" }, icon("check"), "received by Claude");
  return h("span", { class: "receipt changed" }, icon("warning"), "changed on the way");
}
