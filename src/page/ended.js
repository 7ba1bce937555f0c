// The outcome of an ask, as its card shows it.

import { h, icon } from "./dom.js";
import { askerName } from "./hosts.js";
import { line, verdict } from "./kinds.js";
import { code, prose } from "./visible.js";
import { ending } from "./words.js";

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
  const { word, tone, lines, exact } = verdict(ask);
  const how = isMine && outcome.kind === "answered" ? word : ending(outcome, word);
  const hasChanged = receipt !== null && !receipt.as_sent;
  const summary = h(
    "div",
    { class: `ended ${tone}` },
    h("span", { class: "ended-mark" }, icon(mark(tone, outcome.kind))),
    h(
      "span",
      { class: "ended-text" },
      h("span", { class: "ended-how" }, h("bdi", {}, askerName(ask)), ` · ${how}`),
      exact ? h("code", { class: "ended-exact" }, code(exact)) : h("span", { class: "ended-asked", dir: "auto" }, line(ask)),
      ...lines.map((said) => h("span", { class: "ended-answer", dir: "auto" }, prose(said))),
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
    spoken: [`${askerName(ask)}: ${how}`, ...lines].join(": "),
  };
}

/**
 * @param {import("./verdict.js").Verdict["tone"]} tone
 * @param {OutcomeKind} kind
 */
function mark(tone, kind) {
  if (tone === "good") return "check";
  if (kind === "released") return "terminal";
  // Words went back, and nothing was refused.
  return tone === "plain" && kind.startsWith("answered") ? "question" : "close";
}
