// Server-sent events of the Messages API.

/** @typedef {{ type: "text", text: string } | { type: "tool_use", id: string, name: string, input: unknown }} Content */
/** @typedef {{ content: Content[], stop_reason: string, usage: object, [key: string]: unknown }} Message an assistant message */

/** The events in which the Messages API sends one message. @param {Message} message */
export function* messageEvents(message) {
  const { content, stop_reason, usage, ...head } = message;
  yield { type: "message_start", message: { ...head, content: [], stop_reason: null, usage } };
  for (const [index, block] of content.entries()) {
    yield {
      type: "content_block_start",
      index,
      content_block: block.type === "text" ? { type: "text", text: "" } : { ...block, input: {} },
    };
    yield {
      type: "content_block_delta",
      index,
      delta:
        block.type === "text"
          ? { type: "text_delta", text: block.text }
          : { type: "input_json_delta", partial_json: JSON.stringify(block.input) },
    };
    yield { type: "content_block_stop", index };
  }
  yield { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage };
  yield { type: "message_stop" };
}

/**
 * @param {import("node:http").ServerResponse} response
 * @param {Message} message
 */
export function writeEvents(response, message) {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const event of messageEvents(message)) {
    response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  }
  response.end();
}
