// Which open asks are shown: those of one project, of one kind, or all.

import { h } from "./dom.js";
import { kindKey, kindName } from "./kinds.js";
import { projectNames } from "./words.js";

/** With fewer asks than this, a filter would only be in the way. */
const WORTH_IT = 4;

/** @typedef {{ project?: string, kind?: string }} Wanted */

export class Filter {
  #project = h("select", { "aria-label": "Project" });
  #kind = h("select", { "aria-label": "Kind" });
  #count = h("span", { class: "faint", role: "status" });
  /** Describes the present choices. */
  #shown = "";
  element = h("div", { class: "filter", hidden: true }, this.#project, this.#kind, this.#count);

  /** @param {(wanted: Wanted, isStep: boolean) => void} changed `isStep`: the same list was changed just before, as with the arrow keys */
  constructor(changed) {
    /** @type {EventTarget | null} */
    let latest = null;
    for (const select of [this.#project, this.#kind]) {
      select.addEventListener("change", () => {
        const isStep = select === latest;
        latest = select;
        changed({ project: this.#project.value, kind: this.#kind.value }, isStep);
      });
      select.addEventListener("blur", () => (latest = null));
    }
  }

  /**
   * @param {Ask[]} asks all that are open
   * @param {Wanted} wanted
   */
  show(asks, { project = "", kind = "" }) {
    const matching = asks.filter((ask) => matches(ask, { project, kind })).length;
    const projects = counted(asks.map((ask) => ask.project ?? ""));
    const kinds = counted(asks.map(kindKey));
    this.element.hidden = !project && !kind && (asks.length < WORTH_IT || (projects.size < 2 && kinds.size < 2));
    const shown = JSON.stringify([matching, [...projects], [...kinds], project, kind]);
    if (this.element.hidden || shown === this.#shown) return;
    this.#shown = shown;
    const names = projectNames([...new Set([...projects.keys(), ...(project ? [project] : [])])]);
    choices(this.#project, "All projects", projects, project, (path) => names.get(path) ?? path);
    choices(this.#kind, "All kinds", kinds, kind, kindName);
    this.#count.textContent = matching === asks.length ? `${asks.length} open` : `${matching} of ${asks.length}`;
  }
}

/**
 * @param {Ask} ask
 * @param {Wanted} wanted
 */
export const matches = (ask, { project, kind }) => (!project || ask.project === project) && (!kind || kindKey(ask) === kind);

/** How often each value is there. @param {string[]} values */
function counted(values) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const value of values.filter(Boolean)) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

/**
 * Options that stay are not replaced: the person may have the list open.
 * @param {HTMLSelectElement} select
 * @param {string} all
 * @param {Map<string, number>} counts
 * @param {string} chosen
 * @param {(value: string) => string} name
 */
function choices(select, all, counts, chosen, name) {
  // What was chosen stays a choice when the last such ask is gone.
  const values = [...new Set([...counts.keys(), ...(chosen ? [chosen] : [])])];
  const present = new Map([...select.options].map((option) => [option.value, option]));
  for (const [value, option] of present) if (value && !values.includes(value)) option.remove();
  if (!present.has("")) select.append(h("option", { value: "" }, all));
  for (const value of values) {
    const option = present.get(value) ?? h("option", { value, title: value });
    option.textContent = `${name(value)} (${counts.get(value) ?? 0})`;
    if (!option.parentNode) select.append(option);
  }
  select.value = chosen;
}
