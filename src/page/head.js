// The head of a card: project, branch, session and mode, and what the agent said last.

import { context } from "./api.js";
import { fill, h, icon } from "./dom.js";
import { markdown } from "./markdown.js";
import { mode, projectName } from "./words.js";

/**
 * @param {Ask} ask
 * @param {...HTMLElement} times the card keeps these up to date
 * @returns {HTMLElement[]}
 */
export function head(ask, ...times) {
  const { project, session } = ask;
  const isAgent = ask.origin === "claude-code";
  const branch = h("span", { class: "branch", hidden: true });
  const line = h(
    "header",
    { class: "card-head" },
    h(
      "span",
      { class: "place" },
      h("span", { class: "project", title: `${project ?? "No project"}\nSession ${session}` }, icon("folder"), h("bdi", {}, projectName(project))),
      branch,
      isAgent && h("span", { class: "session", title: `Session ${session}` }, session.slice(0, 8)),
    ),
    h("span", { class: "times" }, modeBadge(ask), ...times),
  );
  if (!isAgent) return [line];
  void surroundings(ask).then((found) => {
    if (!found.branch) return;
    fill(branch, icon("branch"), h("bdi", {}, found.branch));
    branch.hidden = false;
  });
  return [line, said(ask)];
}

/** @param {Ask} ask */
export function modeBadge(ask) {
  const { word, title } = mode(ask);
  return h("span", { class: ask.perhaps_answered ? "mode warn" : "mode", title }, ask.racing && icon("terminal"), word);
}

/** @param {Ask} ask */
const surroundings = ({ key }) => context(key).catch(() => ({ said: null, branch: null }));

/** The last thing the agent said. It is read when the person opens it, because Claude Code writes its records with a delay. @param {Ask} ask */
function said(ask) {
  const place = h("div", { class: "said-text" });
  const details = h("details", { class: "said" }, h("summary", {}, "What the agent said before"), place);
  details.addEventListener("toggle", async () => {
    if (!details.open) return;
    const found = await surroundings(ask);
    const where = h("p", { class: "where" }, h("bdi", {}, ask.project ?? "no directory"), " · session ", ask.session);
    fill(place, found.said ? markdown(found.said) : h("p", {}, "Nothing could be read."), where);
  });
  return details;
}
