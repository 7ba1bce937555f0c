// Which asks the inbox shows: those of one machine, of one project, of one kind, or all.

import { h } from "./dom.js";
import { kindKey, kindName } from "./kinds.js";
import { choices, counted, PlaceFilter } from "./place_filter.js";

/** With fewer asks than this, a filter would only be in the way. */
const WORTH_IT = 4;

/** @typedef {{ host?: string, project?: string, kind?: string }} Wanted */

export class Filter {
  #place = new PlaceFilter();
  #kind = h("select", { "aria-label": "Kind" });
  #count = h("span", { class: "faint", role: "status" });
  /** Describes the present choices. */
  #shown = "";
  element = h("div", { class: "filter", hidden: true }, this.#place.host, this.#place.project, this.#kind, this.#count);

  /** @param {(wanted: Wanted, isStep: boolean) => void} changed `isStep`: the same list was changed just before, as with the arrow keys */
  constructor(changed) {
    /** @type {EventTarget | null} */
    let latest = null;
    for (const select of [this.#place.host, this.#place.project, this.#kind]) {
      select.addEventListener("change", () => {
        const isStep = select === latest;
        latest = select;
        changed({ ...this.#place.wanted, kind: this.#kind.value }, isStep);
      });
      select.addEventListener("blur", () => (latest = null));
    }
  }

  /**
   * @param {Ask[]} asks all that are open
   * @param {Wanted} wanted
   */
  show(asks, { host = "", project = "", kind = "" }) {
    const matching = asks.filter((ask) => matches(ask, { host, project, kind })).length;
    const places = asks.map((ask) => ({ host: ask.host, project: ask.project ?? "" }));
    const kinds = counted(asks.map(kindKey));
    const [hosts, projects] = [counted(places.map((place) => place.host)), counted(places.map((place) => place.project))];
    const isOfOneSort = [hosts, projects, kinds].every(({ size }) => size < 2);
    this.element.hidden = !host && !project && !kind && (asks.length < WORTH_IT || isOfOneSort);
    const shown = JSON.stringify([matching, places, [...kinds], host, project, kind]);
    if (this.element.hidden || shown === this.#shown) return;
    this.#shown = shown;
    this.#place.show(places, { host, project }, true);
    choices(this.#kind, "All kinds", kinds, kind, kindName);
    this.#count.textContent = matching === asks.length ? `${asks.length} open` : `${matching} of ${asks.length}`;
  }
}

/**
 * @param {Ask} ask
 * @param {Wanted} wanted
 */
export const matches = (ask, { host, project, kind }) => (!host || ask.host === host) && (!project || ask.project === project) && (!kind || kindKey(ask) === kind);
