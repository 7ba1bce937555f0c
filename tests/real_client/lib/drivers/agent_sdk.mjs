import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { CLAUDE, loadAgentSdk } from "../clients.mjs";
import { within } from "../../../lib/until.mjs";
import { Host } from "./host.mjs";

const { query } = await loadAgentSdk();

/**
 * `query()` of the Agent SDK in this process, with the pinned CLI below it.
 * @param {import("../world.mjs").ClientWorld} world
 * @param {import("../../../lib/calls.mjs").Call[]} calls
 * @param {Host} [host]
 */
export function agentSdk(world, calls, host = new Host()) {
  world.model.onNextPrompt(calls);
  const session = randomUUID();
  const messages = query({
    prompt: "ask me",
    options: {
      cwd: world.project,
      env: world.env,
      pathToClaudeCodeExecutable: CLAUDE,
      // Without the project's settings there would be no hook.
      settingSources: ["project"],
      sessionId: session,
      canUseTool: async (/** @type {string} */ tool, /** @type {object} */ input, /** @type {{ toolUseID: string }} */ { toolUseID }) => host.decide(tool, input, toolUseID),
      spawnClaudeCodeProcess: (/** @type {{ command: string, args: string[], env: Record<string, string> }} */ { command, args, env }) => world.spawn(command, args, { env, stdin: "pipe" }).child,
    },
  });
  const result = lastOf(messages);
  // The query may fail while the test is busy with the ask. finish() reports that.
  result.catch(() => {});
  return {
    session,
    async finish() {
      const message = await within("the end of the query", result);
      assert.deepEqual([message.type, message.subtype, message.result], ["result", "success", "done"]);
      host.verify();
    },
  };
}

/** @param {AsyncIterable<any>} messages */
async function lastOf(messages) {
  let last;
  for await (const message of messages) last = message;
  return last;
}
