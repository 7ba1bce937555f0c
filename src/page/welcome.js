// What the inbox shows while nothing is open: at first the three steps to the first answer, later that all is quiet.

import { isThisMachine } from "./address.js";
import { openAsk, setup } from "./api.js";
import { announce, command, fill, h, icon } from "./dom.js";
import { lasting } from "./storage.js";

/** Remembers in this browser that the steps are done. */
const DONE = "answerback.set-up";

export class Welcome {
  element = h("section", { class: "empty", hidden: true });
  #isShown = false;

  /** @param {boolean} isShown */
  show(isShown) {
    if (isShown === this.#isShown) return;
    this.#isShown = isShown;
    this.element.hidden = !isShown;
    if (isShown) void this.#refresh();
  }

  async #refresh() {
    if (lasting.get(DONE)) return this.#showQuiet();
    /** @type {Setup | null} */
    const found = await setup().catch(() => null);
    // Without an answer from the daemon, the steps would only be a guess.
    if (!found || (found.hook && found.answered)) this.#showQuiet();
    else this.#showSteps(found);
    if (found?.hook && found.answered) lasting.set(DONE, "1");
  }

  #showQuiet() {
    fill(
      this.element,
      h("div", { class: "calm", "aria-hidden": "true" }, h("i"), h("i"), h("i")),
      h("h2", {}, "Nothing is waiting for you"),
      h("p", {}, "The next question of your agents appears here. Leave the page open, or come back when you get a notification."),
      h("p", { class: "try" }, demo("quiet")),
    );
  }

  /** @param {Setup} state */
  #showSteps({ hook, answered }) {
    const install = isThisMachine() ? ["Run this in a project: ", command("answerback install")] : ["Run ", h("code", {}, "answerback install"), " in a project, on the computer where your agents work."];
    fill(
      this.element,
      h("h2", {}, "Three steps to your first answer"),
      h(
        "ol",
        { class: "steps" },
        step(true, "The programs are installed", "The daemon runs, and this browser is signed in."),
        step(hook, "A project has the hook", ...(hook ? ["Claude Code hands its questions to Answerback."] : install)),
        step(answered, "You have answered a question", ...(answered ? ["The next one of Claude Code appears here, too."] : ["Let Claude Code work, or try it without: ", demo("primary")])),
      ),
    );
  }
}

/**
 * @param {boolean} isDone
 * @param {string} name
 * @param {...import("./dom.js").Child} more
 */
const step = (isDone, name, ...more) =>
  h("li", { class: isDone ? "done" : "" }, h("span", { class: "step-mark" }, isDone && icon("check")), h("div", {}, h("strong", {}, name, h("span", { class: "unseen" }, isDone ? " (done)" : " (to do)")), h("p", {}, ...more)));

/** A button that asks the person a question. @param {string} tone */
function demo(tone) {
  const button = h("button", { type: "button", class: tone }, "Ask me something");
  button.addEventListener("click", () => openAsk(DEMO).catch((error) => announce(error.message)));
  return button;
}

/** @type {Question[]} */
const DEMO = [
  {
    question: "Which database should the shop use?",
    header: "Database",
    multiSelect: false,
    options: [
      { label: "SQLite", description: "One file, nothing to run" },
      { label: "PostgreSQL", description: "A server, for more than one machine" },
      { label: "Plain files", description: "As simple as it gets" },
    ],
  },
];
