// The real clients, as run.sh installed them.
import path from "node:path";
import { pathToFileURL } from "node:url";
import { required } from "../../lib/environment.mjs";

const packages = (/** @type {string} */ part) => path.join(required("ANSWERBACK_TEST_CLIENTS"), part, "node_modules");

/** Where npm has put them. */
export const PACKAGES = { cli: packages("cli"), sdk: packages("sdk") };

export const CLAUDE = path.join(PACKAGES.cli, ".bin/claude");

export const COPILOT = path.join(process.env.ANSWERBACK_TEST_COPILOT ?? "", "node_modules/.bin/copilot");

/** @returns {Promise<any>} what a client of the MCP SDK needs */
export async function loadMcpSdk() {
  const sdk = path.join(required("ANSWERBACK_TEST_MCP_SDK"), "node_modules/@modelcontextprotocol/sdk/dist/esm");
  const modules = ["client/index.js", "client/stdio.js", "types.js"].map((name) => import(pathToFileURL(path.join(sdk, name)).href));
  return Object.assign({}, ...(await Promise.all(modules)));
}

/** @returns {Promise<any>} the module of the SDK */
export function loadAgentSdk() {
  return import(pathToFileURL(path.join(PACKAGES.sdk, "@anthropic-ai/claude-agent-sdk/sdk.mjs")).href);
}
