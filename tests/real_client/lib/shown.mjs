// What the model was shown in one request.

const CONTEXT = /(?:Pre|Post)ToolUse:AskUserQuestion hook additional context:/;
// Contexts come together in one system message. In older versions each is framed in the user's message.
const REMINDER = /^<system-reminder>\n(.*)\n<\/system-reminder>$/s;

/** @typedef {{ role: string, type: string, text?: string, tool_use_id?: string, content?: string | { text: string }[], is_error?: boolean }} Block */

/** What one request showed the model after its own last message. */
export class Shown {
  /** @param {Block[]} blocks */
  constructor(blocks) {
    this.blocks = blocks;
  }

  /** The result of one call. @param {import("../../lib/calls.mjs").Call} call */
  result({ id }) {
    const block = this.blocks.find(({ type, tool_use_id }) => type === "tool_result" && tool_use_id === id);
    if (!block) throw new Error(`the model was not shown a result of ${id}: ${JSON.stringify(this.blocks)}`);
    const { content = "" } = block;
    const text = typeof content === "string" ? content : content.map((part) => part.text).join("\n");
    return { text, isError: block.is_error === true };
  }

  /** The contexts that our hooks added, one string for each. */
  get contexts() {
    return this.blocks
      .flatMap(({ type, text = "" }) => (type === "text" && CONTEXT.test(text) ? text : []))
      .flatMap((text) => text.replace(REMINDER, "$1").split(CONTEXT).slice(1))
      .map((text) => text.trim());
  }
}
