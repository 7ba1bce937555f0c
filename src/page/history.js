// The history: settled asks and their outcomes.

import { projects, settledAsks } from "./api.js";
import { copy, fill, h, icon } from "./dom.js";
import { past, text, verdict } from "./kinds.js";
import { moment, OUTCOMES, place, projectName } from "./words.js";

const PAGE = "50";
/** A search begins when nobody has typed for this long. */
const PAUSE = 200;

export class History {
  #search = h("input", { type: "search", maxlength: "512", placeholder: "Search questions, answers, notes", "aria-label": "Search", dir: "auto" });
  #project = h("select", { "aria-label": "Project" });
  #outcome = h("select", { "aria-label": "Outcome" }, h("option", { value: "" }, "All outcomes"), ...Object.entries(OUTCOMES).map(([value, name]) => h("option", { value }, name)));
  #list = h("div", { class: "past" });
  #more = h("button", { type: "button", class: "quiet", hidden: true }, "Show older");
  #state = h("p", { class: "notice", role: "status" });
  #running = new AbortController();
  #timer = 0;

  constructor() {
    this.element = h("div", { class: "history" }, h("h1", { class: "unseen" }, "History"), h("div", { class: "filters", role: "search" }, this.#search, this.#project, this.#outcome), this.#state, this.#list, this.#more);
    this.#search.addEventListener("input", () => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.load(), PAUSE);
    });
    this.#project.addEventListener("change", () => this.load());
    this.#outcome.addEventListener("change", () => this.load());
  }

  /** @param {boolean} search */
  show(search) {
    void this.#loadProjects();
    void this.load();
    if (search) {
      this.#search.focus();
      this.#search.select();
    }
  }

  /** Loads the newest asks, or those before the end of the last page. @param {number | null} [before] */
  async load(before = null) {
    // This search includes what was typed last.
    clearTimeout(this.#timer);
    this.#running.abort();
    this.#running = new AbortController();
    const { signal } = this.#running;
    /** @type {Record<string, string>} */
    const filter = { limit: PAGE };
    if (this.#search.value.trim()) filter.text = this.#search.value.trim();
    if (this.#project.value) filter.project = this.#project.value;
    if (this.#outcome.value) filter.outcome = this.#outcome.value;
    if (before !== null) filter.before = String(before);
    try {
      const { asks, next, damaged } = await settledAsks(filter, signal);
      if (signal.aborted) return;
      const entries = asks.map(entry);
      if (before === null) fill(this.#list, ...entries);
      else this.#list.append(...entries);
      this.#more.hidden = next === null;
      this.#more.onclick = () => void this.load(next);
      const nothing = Object.keys(filter).length > 1 ? "Nothing was found." : "Nothing has been asked yet.";
      const unreadable = damaged ? `${damaged} can no longer be read. Run: answerback doctor` : "";
      this.#state.textContent = unreadable || (this.#list.childElementCount === 0 ? nothing : "");
    } catch (error) {
      if (!signal.aborted) this.#state.textContent = /** @type {Error} */ (error).message;
    }
  }

  async #loadProjects() {
    const chosen = this.#project.value;
    const { projects: all } = await projects().catch(() => ({ projects: chosen ? [chosen] : [] }));
    const names = all.map(projectName);
    // Projects with the same name are shown with their whole path.
    const name = (/** @type {string} */ path) => (names.filter((other) => other === projectName(path)).length > 1 ? path : projectName(path));
    fill(this.#project, h("option", { value: "" }, "All projects"), ...all.map((path) => h("option", { value: path, title: path }, name(path))));
    this.#project.value = chosen;
  }
}

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
    { class: "entry", "aria-label": `${projectName(ask.project)}: ${text(ask).slice(0, 100)}` },
    h(
      "header",
      {},
      h("span", { class: "project", title: ask.project ?? "" }, icon("folder"), h("bdi", {}, projectName(ask.project))),
      h("span", { class: `outcome ${tone}` }, word),
      where && h("span", { class: "faint", title: outcome.by?.agent ?? "" }, where),
      receiptMark(receipt),
      h("time", { datetime: settled_at ?? opened_at, title: new Date(settled_at ?? opened_at).toString() }, moment(settled_at ?? opened_at)),
      json,
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
