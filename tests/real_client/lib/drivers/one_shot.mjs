import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { CLAUDE } from "../clients.mjs";
import { within } from "../../../lib/until.mjs";

/**
 * `claude -p PROMPT`, with nobody at its standard input.
 * @param {import("../world.mjs").ClientWorld} world
 * @param {...import("../../../lib/calls.mjs").Call} calls
 */
export function oneShot(world, ...calls) {
  world.model.onNextPrompt(calls);
  const session = randomUUID();
  const args = ["-p", "ask me", "--permission-prompt-tool", "stdio", "--session-id", session];
  const client = world.spawn(CLAUDE, args);
  return {
    session,
    async finish() {
      assert.deepEqual(await within("claude -p ending", client.exited), { code: 0, signal: null });
      assert.equal(client.stdout.trim(), "done");
    },
  };
}
