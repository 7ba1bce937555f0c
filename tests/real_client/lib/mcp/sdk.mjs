// A client of the official MCP SDK that has started our server.
import path from "node:path";
import { loadMcpSdk } from "../clients.mjs";

const { Client, StdioClientTransport, ElicitRequestSchema } = await loadMcpSdk();

/**
 * @param {import("../world.mjs").ClientWorld} world
 * @param {{ options?: string[], elicit?: (request: any, extra: { signal: AbortSignal }) => Promise<object> }} [more] the options of the
 *   server, and what shows a form
 * @returns {Promise<any>} the client
 */
export async function connected(world, { options = [], elicit } = {}) {
  const client = new Client({ name: "an agent", version: "1.0" }, { capabilities: elicit ? { elicitation: {} } : {} });
  if (elicit) client.setRequestHandler(ElicitRequestSchema, elicit);
  const command = path.join(world.bin, "answerback");
  await client.connect(new StdioClientTransport({ command, args: ["mcp", ...options], env: world.env, cwd: world.project }));
  return client;
}
