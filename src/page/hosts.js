// The machines that ask. If all asks are of one machine, the page does not show it. A project is the same one only on the same machine.

import { h } from "./dom.js";
import { projectName } from "./words.js";

/** All that this page has heard of. */
const known = new Set();

/** @param {Iterable<string>} hosts */
export function learnHosts(hosts) {
  for (const host of hosts) known.add(host);
  document.documentElement.classList.toggle("many-hosts", areSeveral());
}

export const areSeveral = () => known.size > 1;

/** The machine of an ask, for the place before its project. It is hidden until the page has heard of two. @param {Ask} ask */
export const hostMark = ({ host }) => h("bdi", { class: "machine", title: `On ${host}` }, host);

/** Who asks, in words. @param {Ask} ask */
export function askerName({ host, project }) {
  if (!areSeveral()) return projectName(project);
  return project ? `${host}:${projectName(project)}` : host;
}
