// The outcome of an ask, as its card shows it.

import { h, icon } from "./dom.js";
import { ending, projectName } from "./words.js";

/**
 * @param {Ask} ask
 * @param {boolean} isMine whether this page settled it
 * @param {string[]} unsent texts that the person wrote here and that were not sent
 * @param {() => void} close
 * @returns {{ content: (Node | false)[], spoken: string }}
 */
export function ended(ask, isMine, unsent, close) {
  const outcome = /** @type {Outcome} */ (ask.outcome);
  const { receipt } = ask;
  const answers = Object.values(outcome.answers ?? {}).join(" · ");
  const isAnswered = outcome.kind === "answered" || outcome.kind === "answered_in_terminal";
  const how = isMine && outcome.kind === "answered" ? "Answered" : ending(outcome);
  const hasChanged = receipt !== null && !receipt.as_sent;
  const summary = h(
    "div",
    { class: `ended ${isAnswered ? "good" : "plain"}` },
    h("span", { class: "ended-mark" }, icon(isAnswered ? "check" : outcome.kind === "released" ? "terminal" : "close")),
    h(
      "span",
      { class: "ended-text" },
      h("span", { class: "ended-how" }, h("bdi", {}, projectName(ask.project)), ` · ${how}`),
      answers && h("span", { class: "ended-answer", dir: "auto" }, answers),
      outcome.reason && h("span", { class: "ended-answer", dir: "auto" }, outcome.reason),
      receipt && h("span", { class: hasChanged ? "receipt changed" : "receipt" }, icon(hasChanged ? "warning" : "check"), hasChanged ? "changed on the way" : "received by Claude"),
    ),
    h("button", { type: "button", class: "icon-button", "aria-label": "Close", on: { click: close } }, icon("close")),
  );
  return {
    content: [
      summary,
      hasChanged && h("p", { class: "error" }, `Another hook has changed the answer. Claude received: ${Object.values(receipt.answers).join(" · ")}`),
      unsent.length > 0 && h("div", { class: "unsent" }, h("p", {}, "You wrote this, but it was not sent:"), ...unsent.map((text) => h("p", { class: "unsent-text", dir: "auto" }, text))),
    ],
    spoken: `${projectName(ask.project)}: ${how}${answers ? `: ${answers}` : ""}`,
  };
}
