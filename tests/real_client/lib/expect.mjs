import assert from "node:assert/strict";

/** The model was shown these answers (a text, or an array of labels) in the tool result and in an additional context. */
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

export function expectIncludes(text, part) {
  assert.ok(text.includes(part), `expected ${JSON.stringify(part)} in ${JSON.stringify(text)}`);
}

/** The context quotes every text as JSON in which nothing can close a tag, and an answer follows its question. */
function states(context, question, answer) {
  const quoted = (text) => JSON.stringify(text).replaceAll("</", "<\\/");
  const at = context.indexOf(quoted(question));
  return at >= 0 && context.indexOf(quoted(answer), at) > at;
}
