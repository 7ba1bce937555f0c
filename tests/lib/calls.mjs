// Calls of tools that the scripted model makes.
import { randomUUID } from "node:crypto";

const PLAN_FILE = /\/[^"\s\\]*\.claude\/plans\/[^"\s\\]*\.md/;

/** @typedef {Record<string, any>} Input */
/** @typedef {{ id: string, tool: string, input: Input | ((request: string) => Input) }} Call one call of a tool; a function makes its input of what the model was shown, as JSON */

/**
 * A call with an id of its own.
 * @template {Call["input"]} T
 * @param {string} tool
 * @param {T} input
 */
export function callOf(tool, input) {
  return { id: `toolu_${randomUUID().replaceAll("-", "")}`, tool, input };
}

/** @param {string} command */
export function bash(command) {
  return callOf("Bash", { command, description: "A command of the test" });
}

/**
 * @param {string} file
 * @param {string} before
 * @param {string} after
 */
export function edit(file, before, after) {
  return callOf("Edit", { file_path: file, old_string: before, new_string: after });
}

/**
 * @param {string} file
 * @param {string} content
 */
export function write(file, content) {
  return callOf("Write", { file_path: file, content });
}

/** @param {string} file */
export function read(file) {
  return callOf("Read", { file_path: file });
}

/** @param {string} url */
export function webFetch(url) {
  return callOf("WebFetch", { url, prompt: "What does it say?" });
}

/** Writes the plan into the file that the client has named for it. @param {string} plan Markdown */
export function writePlan(plan) {
  return callOf("Write", (/** @type {string} */ request) => ({ file_path: request.match(PLAN_FILE)?.[0], content: plan }));
}

/** Shows the person the plan in that file. */
export function exitPlanMode() {
  return callOf("ExitPlanMode", {});
}

/**
 * A call of a tool of an MCP server.
 * @param {string} server
 * @param {string} tool
 * @param {Input} input
 */
export function mcp(server, tool, input) {
  return callOf(`mcp__${server}__${tool}`, input);
}

/**
 * Starts a subagent. The model sees its prompt as a prompt of its own.
 * @param {string} prompt
 * @param {{ background?: boolean }} [options] without a choice, the client decides
 */
export function agent(prompt, { background } = {}) {
  const where = background === undefined ? {} : { run_in_background: background };
  return callOf("Agent", { description: "A part of the work", prompt, subagent_type: "general-purpose", ...where });
}
