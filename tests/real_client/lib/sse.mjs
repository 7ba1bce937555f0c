/** The stream of events in which the Messages API sends one assistant message. */
export function* messageEvents(message) {
  const { content, stop_reason, usage, ...head } = message;
  yield { type: "message_start", message: { ...head, content: [], stop_reason: null, usage } };
  for (const [index, block] of content.entries()) {
    const isText = block.type === "text";
    yield {
      type: "content_block_start",
      index,
      content_block: isText ? { type: "text", text: "" } : { ...block, input: {} },
    };
    yield {
      type: "content_block_delta",
      index,
      delta: isText
        ? { type: "text_delta", text: block.text }
        : { type: "input_json_delta", partial_json: JSON.stringify(block.input) },
    };
    yield { type: "content_block_stop", index };
  }
  yield { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage };
  yield { type: "message_stop" };
}

export function writeEvents(response, message) {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const event of messageEvents(message)) {
    response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  }
  response.end();
}
