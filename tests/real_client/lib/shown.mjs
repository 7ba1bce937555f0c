const CONTEXT = /(?:Pre|Post)ToolUse:AskUserQuestion hook additional context:/;
// One system message for all of them, or in older versions each in the user's message, in a frame.
const REMINDER = /^<system-reminder>\n(.*)\n<\/system-reminder>$/s;

/** What one request showed the model after its own last message. */
export class Shown {
  constructor(blocks) {
    this.blocks = blocks;
  }

  /** The result of one call: `{ text, isError }`. */
  result({ id }) {
    const block = this.blocks.find(({ type, tool_use_id }) => type === "tool_result" && tool_use_id === id);
    if (!block) throw new Error(`the model was not shown a result of ${id}: ${JSON.stringify(this.blocks)}`);
    const { content } = block;
    const text = typeof content === "string" ? content : content.map((part) => part.text).join("\n");
    return { text, isError: block.is_error === true };
  }

  /** The contexts that our hooks added, one string for each, wherever the client put them. */
  get contexts() {
    return this.blocks
      .filter(({ type, text }) => type === "text" && CONTEXT.test(text))
      .flatMap(({ text }) => text.replace(REMINDER, "$1").split(CONTEXT).slice(1))
      .map((text) => text.trim());
  }
}
