import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import readline from "node:readline";
import { CLAUDE } from "../clients.mjs";
import { within } from "../until.mjs";
import { Host } from "./host.mjs";

const ARGS = ["-p", "--verbose", "--input-format", "stream-json", "--output-format", "stream-json"];

/** `claude -p` that stays, speaking stream-json both ways. */
export function streamJson(world, host = new Host()) {
  const session = randomUUID();
  const args = [...ARGS, "--permission-prompt-tool", "stdio", "--session-id", session];
  const client = world.spawn(CLAUDE, args, { stdin: "pipe" });
  const send = (message) => client.child.stdin.write(`${JSON.stringify(message)}\n`);
  const lines = readline.createInterface({ input: client.child.stdout });
  lines.on("line", (line) => {
    const message = JSON.parse(line);
    if (message.type === "control_request") send(permission(message, host));
    if (message.type === "result") lines.emit("result", message);
  });
  return {
    session,
    /** Sends a prompt, on which the model makes these calls; `turn.finish()` waits for the end of the turn. */
    prompt(...calls) {
      world.model.onNextPrompt(calls);
      const result = once(lines, "result");
      send({ type: "user", message: { role: "user", content: "ask me" } });
      return {
        async finish() {
          const [message] = await within("the result of the turn", result);
          assert.deepEqual([message.subtype, message.result], ["success", "done"]);
        },
      };
    },
    async close() {
      client.child.stdin.end();
      assert.deepEqual(await within("claude -p ending", client.exited), { code: 0, signal: null });
      host.verify();
    },
  };
}

function permission({ request_id, request }, host) {
  const response = host.decide(request.tool_name, request.input, request.tool_use_id);
  return { type: "control_response", response: { subtype: "success", request_id, response } };
}
