// Runs without a terminal, with nobody at their standard input.
import path from "node:path";
import { CLAUDE } from "../clients.mjs";

/** @typedef {import("../../../lib/calls.mjs").Call} Call */
/** @typedef {import("../world.mjs").ClientWorld} ClientWorld */

/**
 * `claude -p`, on which the model makes these calls.
 * @param {ClientWorld} world
 * @param {string[]} flags
 * @param {...Call} calls
 */
export function plainRun(world, flags, ...calls) {
  world.model.onNextPrompt(calls);
  return world.spawn(CLAUDE, ["-p", "ask me", ...flags]);
}

/**
 * `answerback run -- claude -p`, on which the model makes these calls.
 * @param {ClientWorld} world
 * @param {string[]} flags
 * @param {...Call} calls
 */
export function ourRun(world, flags, ...calls) {
  world.model.onNextPrompt(calls);
  const args = ["run", "--", "claude", "-p", "ask me", ...flags];
  return world.spawn(path.join(world.bin, "answerback"), args, { env: world.personsEnv });
}
