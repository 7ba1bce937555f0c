// The hosts in clients/examples, as a person would run them.
import assert from "node:assert/strict";
import fs from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { required } from "../../../lib/environment.mjs";
import { within } from "../../../lib/until.mjs";
import { CLAUDE, PACKAGES } from "../clients.mjs";

const CLIENTS = fileURLToPath(new URL("../../../../clients", import.meta.url));
const ASKING = /^Allow |\?/m;

/** @typedef {import("../../../lib/calls.mjs").Call} Call */
/** @typedef {import("../world.mjs").ClientWorld} ClientWorld */
/** @typedef {"agent_sdk_host.mjs" | "agent_sdk_host.py" | "stream_json_host.mjs"} Example */

/** @type {Example[]} */
export const EXAMPLES = ["agent_sdk_host.mjs", "agent_sdk_host.py", "stream_json_host.mjs"];

/**
 * Runs a host with a prompt on which the model makes these calls.
 * @param {ClientWorld} world
 * @param {Example} example
 * @param {Call[]} calls
 * @param {string} [mode] of permissions
 */
export async function exampleHost(world, example, calls, mode = "default") {
  world.model.onNextPrompt(calls);
  // The daemon must be there before the host.
  await world.answerback("pending");
  const directory = path.join(world.home, "examples");
  await copyExamples(directory);
  const program = example.endsWith(".py") ? path.join(required("ANSWERBACK_TEST_PYTHON"), "bin/python") : process.execPath;
  const env = { ...world.env, CLAUDE_CODE: CLAUDE, PYTHONPATH: path.join(CLIENTS, "python"), PYTHONDONTWRITEBYTECODE: "1" };
  const host = world.spawn(program, [path.join(directory, example), "ask me", mode], { env, stdin: "pipe" });
  return {
    host,
    /** Resolves when the host asks in its own terminal. */
    asks: () => within("the host asking", heard(host)),
    /** Says this in the terminal of the host. @param {string} line */
    say: (line) => host.child.stdin.write(`${line}\n`),
    async finish() {
      assert.deepEqual(await within("the host ending", host.exited), { code: 0, signal: null });
      assert.equal(host.stdout.trim(), "done");
    },
  };
}

/** @param {import("../../../lib/process.mjs").Process} host */
async function heard(host) {
  while (!ASKING.test(host.stderr)) await new Promise((resolve) => host.child.stderr.once("data", resolve));
}

/** Puts the examples where they find their packages, as after `npm install`. @param {string} directory */
export async function copyExamples(directory) {
  const packages = path.join(directory, "node_modules");
  await fs.cp(path.join(CLIENTS, "examples"), directory, { recursive: true });
  await fs.mkdir(packages);
  await fs.symlink(path.join(CLIENTS, "typescript"), path.join(packages, "answerback-client"));
  await fs.symlink(path.join(PACKAGES.sdk, "@anthropic-ai"), path.join(packages, "@anthropic-ai"));
}
