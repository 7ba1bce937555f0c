import assert from "node:assert/strict";

/**
 * Expects that the model was shown these answers in the tool result and in an additional context.
 * @param {import("./shown.mjs").Shown} shown
 * @param {import("../../lib/calls.mjs").Call} call
 * @param {Answer["answers"]} answers
 */
export function expectAnswered(shown, call, answers) {
  const { text, isError } = shown.result(call);
  assert.equal(isError, false, text);
  const pairs = Object.entries(answers).map(([question, answer]) => [question, [answer].flat().join(", ")]);
  for (const [question, answer] of pairs) expectIncludes(text, `"${question}"="${answer}"`);
  assert.ok(
    shown.contexts.some((context) => pairs.every(([question, answer]) => states(context, question, answer))),
    `no additional context states ${JSON.stringify(pairs)}: ${JSON.stringify(shown.blocks)}`,
  );
}

/**
 * @param {string} text
 * @param {string} part
 */
export function expectIncludes(text, part) {
  assert.ok(text.includes(part), `expected ${JSON.stringify(part)} in ${JSON.stringify(text)}`);
}

/**
 * Whether a context states an answer after its question. It quotes both as JSON in which nothing can close a tag.
 * @param {string} context
 * @param {string} question
 * @param {string} answer
 */
function states(context, question, answer) {
  const quoted = (/** @type {string} */ text) => JSON.stringify(text).replaceAll("</", "<\\/");
  const at = context.indexOf(quoted(question));
  return at >= 0 && context.indexOf(quoted(answer), at) > at;
}
