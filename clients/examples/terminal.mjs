// A simple way for a host to ask the person at its own terminal. A host with windows shows a window instead.
import { createInterface } from "node:readline/promises";

const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
const closed = new Promise((resolve) => lines.once("close", () => resolve(null)));
// One question at a time.
let before = Promise.resolve();

/**
 * What the person says about a call. `null` if nobody can say anything here.
 * @param {import("answerback-client").ToolCall} call
 * @param {AbortSignal} signal
 * @returns {Promise<import("answerback-client").Decision | null>}
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

async function answers({ input }, signal) {
  const given = {};
  for (const { question, options } of /** @type {any} */ (input).questions) {
    const said = await ask(`${question} (${options.map(({ label }) => label).join(", ")})`, signal);
    if (said === null) return null;
    given[question] = said;
  }
  return { behavior: "allow", updatedInput: { ...input, answers: given } };
}

async function permission({ tool, input }, signal) {
  const said = await ask(`Allow ${tool} ${JSON.stringify(input)}? Type yes, or why not.`, signal);
  if (said === null) return null;
  return said === "yes" ? { behavior: "allow", updatedInput: input } : { behavior: "deny", message: said };
}

function ask(question, signal) {
  return Promise.race([lines.question(`${question}\n`, { signal }), closed]);
}
