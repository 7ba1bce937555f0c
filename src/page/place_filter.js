// The lists of machines and of projects in a filter. A project belongs to its machine: whoever chooses one chooses both.

import { h } from "./dom.js";
import { areSeveral } from "./hosts.js";
import { projectName } from "./words.js";

/** @typedef {{ host: string, project: string }} AskerPlace empty for any */

export class PlaceFilter {
  host = h("select", { "aria-label": "Machine", hidden: true });
  project = h("select", { "aria-label": "Project" });
  /** What each choice of a project means. @type {Map<string, AskerPlace>} */
  #places = new Map();

  constructor() {
    // These come before the listeners of whoever uses the lists.
    this.project.addEventListener("change", () => {
      const { host } = this.#chosen;
      if (host) this.host.value = host;
    });
    this.host.addEventListener("change", () => {
      const { host, project } = this.#chosen;
      if (host && host !== this.host.value) this.project.value = this.host.value ? (this.#valueOf({ host: this.host.value, project }) ?? "") : "";
    });
  }

  /** What the person wants to see. @returns {AskerPlace} */
  get wanted() {
    const { host, project } = this.#chosen;
    return { host: this.host.value || host, project };
  }

  get #chosen() {
    return this.#places.get(this.project.value) ?? { host: "", project: "" };
  }

  /** @param {AskerPlace} place */
  #valueOf({ host, project }) {
    return [...this.#places].find(([, place]) => place.host === host && place.project === project)?.[0];
  }

  /**
   * @param {AskerPlace[]} places one for each ask, or one for each place
   * @param {AskerPlace} wanted
   * @param {boolean} isCounted whether the lists say how many there are
   */
  show(places, wanted, isCounted) {
    // Without a second machine, a project is its directory.
    const several = areSeveral() || wanted.host !== "";
    const chosen = wanted.project ? valueOf(several, wanted) : "";
    this.#places = new Map([...places, wanted].filter(({ project }) => project).map((place) => [valueOf(several, place), several ? place : { host: "", project: place.project }]));
    const names = shortNames(this.#places);
    this.host.hidden = !several;
    if (several) choices(this.host, "All machines", counted(places.map(({ host }) => host)), wanted.host, (host) => host, isCounted);
    else this.host.replaceChildren();
    const projects = counted(places.filter(({ project }) => project).map((place) => valueOf(several, place)));
    choices(this.project, "All projects", projects, chosen, (value) => names.get(value) ?? value, isCounted);
  }
}

/**
 * @param {boolean} several
 * @param {AskerPlace} place
 */
const valueOf = (several, { host, project }) => (several && host ? `${host}:${project}` : project);

/**
 * Names that tell projects apart: the last part of the directory, or all of it if two projects of a machine have the same.
 * @param {Map<string, AskerPlace>} places
 */
function shortNames(places) {
  const short = [...places.values()].map(({ host, project }) => (host ? `${host}:${projectName(project)}` : projectName(project)));
  const isAlone = (/** @type {string} */ name) => short.filter((other) => other === name).length === 1;
  return new Map([...places.keys()].map((value, index) => [value, isAlone(short[index]) ? short[index] : value]));
}

/** How often each value is there. @param {string[]} values */
export function counted(values) {
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
 * @param {boolean} [isCounted]
 */
export function choices(select, all, counts, chosen, name, isCounted = true) {
  // What was chosen stays a choice when the last such ask is gone.
  const values = [...new Set([...counts.keys(), ...(chosen ? [chosen] : [])])];
  const present = new Map([...select.options].map((option) => [option.value, option]));
  for (const [value, option] of present) if (value && !values.includes(value)) option.remove();
  if (!present.has("")) select.append(h("option", { value: "" }, all));
  for (const value of values) {
    const option = present.get(value) ?? h("option", { value, title: value });
    option.textContent = isCounted ? `${name(value)} (${counts.get(value) ?? 0})` : name(value);
    if (!option.parentNode) select.append(option);
  }
  select.value = chosen;
}
