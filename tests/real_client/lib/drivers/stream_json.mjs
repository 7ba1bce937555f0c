import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import readline from "node:readline";
import { CLAUDE } from "../clients.mjs";
import { within } from "../../../lib/until.mjs";
import { Host } from "./host.mjs";

const ARGS = ["-p", "--verbose", "--input-format", "stream-json", "--output-format", "stream-json"];

/** @typedef {{ decide(tool: string, input: object, toolUseId: string): object | null | Promise<object | null>, verify(): void }} HostLike */

/**
 * `claude -p` that stays, and speaks stream-json both ways.
 * @param {import("../world.mjs").ClientWorld} world
 * @param {HostLike} [host]
 */
export function streamJson(world, host = new Host()) {
  const session = randomUUID();
  const args = [...ARGS, "--permission-prompt-tool", "stdio", "--session-id", session];
  const client = world.spawn(CLAUDE, args, { stdin: "pipe" });
  const send = (/** @type {object} */ message) => client.child.stdin.write(`${JSON.stringify(message)}\n`);
  const lines = readline.createInterface({ input: client.child.stdout });
  lines.on("line", (line) => {
    const message = JSON.parse(line);
    if (message.type === "control_request") void permission(message, host).then((answer) => answer && send(answer));
    if (message.type === "result") lines.emit("result", message);
    if (message.type === "control_response") lines.emit(message.response.request_id, message);
  });
  return {
    session,
    send,
    /** Sends a request to the client. Resolves when it has replied. @param {object} request */
    async control(request) {
      const request_id = randomUUID();
      const replied = once(lines, request_id);
      send({ type: "control_request", request_id, request });
      await within("the reply to a control request", replied);
    },
    /**
     * Sends a prompt on which the model makes these calls. `finish()` of the result waits for the end of the turn.
     * @param {...import("../../../lib/calls.mjs").Call} calls
     */
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

/**
 * @param {{ request_id: string, request: { tool_name: string, input: object, tool_use_id: string } }} message
 * @param {HostLike} host
 */
async function permission({ request_id, request }, host) {
  const response = await host.decide(request.tool_name, request.input, request.tool_use_id);
  return response && { type: "control_response", response: { subtype: "success", request_id, response } };
}
