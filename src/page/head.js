// The head of a card: project, branch, what the session is about and the mode; and below it what the agent said last.

import { context } from "./api.js";
import { clamp } from "./clamp.js";
import { fill, h, icon } from "./dom.js";
import { hostMark } from "./hosts.js";
import { kindMark } from "./kinds.js";
import { markdown } from "./markdown.js";
import { mode, projectName } from "./words.js";

/** How many lines of what the agent said are shown at first. */
const LINES = 2;

/**
 * What the transcript of a session says about an ask; nothing if it cannot be read.
 * @param {Ask} ask
 * @returns {Promise<AskContext>}
 */
export const surroundings = ({ key }) => context(key).catch(() => ({ said: null, branch: null, title: null, terminal: false, on_timeout: "deny" }));

export class Head {
  #branch = h("span", { class: "branch", hidden: true });
  #title = h("span", { class: "title", hidden: true });
  #mode = h("span", { class: "mode" });
  #said = h("div", { class: "said", hidden: true });

  /**
   * @param {Ask} ask
   * @param {...HTMLElement} times the card keeps these up to date
   */
  constructor(ask, ...times) {
    this.ask = ask;
    const { project, session } = ask;
    const name = h("span", { class: "project", title: `${project ?? "No project"}\nSession ${session}` }, icon("folder"), hostMark(ask), h("bdi", {}, projectName(project)));
    const line = h("header", { class: "card-head" }, h("span", { class: "place" }, kindMark(ask), name, this.#branch, this.#title), h("span", { class: "times" }, this.#mode, ...times));
    this.elements = [line, this.#said];
    this.showMode(ask);
  }

  /** @param {Ask} ask */
  showMode(ask) {
    const { word, title } = mode(ask);
    this.#mode.className = ask.perhaps_answered ? "mode warn" : "mode";
    this.#mode.title = title;
    this.#mode.hidden = word === "";
    fill(this.#mode, ask.racing && icon("terminal"), h("bdi", {}, word));
  }

  /** @param {AskContext} found */
  showContext({ said, branch, title }) {
    this.#branch.hidden = !branch;
    if (branch) fill(this.#branch, icon("branch"), h("bdi", {}, branch));
    this.#title.hidden = !title;
    if (title) fill(this.#title, h("bdi", {}, title));
    this.#title.setAttribute("title", title ?? "");
    this.#said.hidden = !said;
    if (!said) return;
    const text = h("div", { class: "said-text", role: "group", "aria-label": "What the agent said before" }, markdown(said));
    // Claude Code writes its records with a delay, so the person who wants all of it gets it as it is now.
    const again = () => void surroundings(this.ask).then((now) => now.said && now.said !== said && fill(text, markdown(now.said)));
    fill(this.#said, ...clamp(text, { lines: LINES, slack: 0, opened: again }));
  }
}
