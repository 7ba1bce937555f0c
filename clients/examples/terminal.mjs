// A simple way for a host to ask the person at its own terminal. A host with windows shows a window instead.
import { createInterface } from "node:readline/promises";

const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
const closed = new Promise((resolve) => lines.once("close", () => resolve(null)));
// One question at a time.
let before = Promise.resolve();

/** @typedef {import("answerback-client").ToolCall} ToolCall */
/** @typedef {import("answerback-client").Decision} Decision */

/**
 * What the person says about a call. `null` if nobody can say anything here.
 * @param {ToolCall} call
 * @param {AbortSignal} signal
 * @returns {Promise<Decision | null>}
 */
export function askInTerminal(call, signal) {
  const decision = before.then(() => (call.tool === "AskUserQuestion" ? answers(call, signal) : permission(call, signal)));
  before = decision.then(() => {}, () => {});
  return decision;
}

/** Ends reading, so that the program can end. */
export function closeTerminal() {
  lines.close();
}

/** @param {ToolCall} call @param {AbortSignal} signal @returns {Promise<Decision | null>} */
async function answers({ input }, signal) {
  const given = {};
  for (const { question, options } of /** @type {any} */ (input).questions) {
    const said = await ask(`${question} (${options.map(({ label }) => label).join(", ")})`, signal);
    if (said === null) return null;
    given[question] = said;
  }
  return { behavior: "allow", updatedInput: { ...input, answers: given } };
}

/** @param {ToolCall} call @param {AbortSignal} signal @returns {Promise<Decision | null>} */
async function permission({ tool, input }, signal) {
  const said = await ask(`Allow ${tool} ${JSON.stringify(input)}? Type yes, or why not.`, signal);
  if (said === null) return null;
  return said === "yes" ? { behavior: "allow", updatedInput: input } : { behavior: "deny", message: said };
}

/** @param {string} question @param {AbortSignal} signal @returns {Promise<string | null>} */
function ask(question, signal) {
  return Promise.race([lines.question(`${question}\n`, { signal }), closed]);
}
