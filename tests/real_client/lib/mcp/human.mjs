// Our own MCP server, for a world's client.
import { mcp } from "../../../lib/calls.mjs";

const NAME = "answerback";

/** A call of the tool that asks a person. @param {import("../../../lib/calls.mjs").Input} input */
export const askHuman = (input) => mcp(NAME, "ask_human", input);

/**
 * Installs the server into the project. Resolves to the flags for a client that may call its tool.
 * @param {import("../world.mjs").ClientWorld} world
 */
export async function served(world) {
  await world.answerback("install", "--project", world.project, "--mcp");
  // A person is asked once whether to use the servers of a project.
  await world.put(".claude/settings.local.json", JSON.stringify({ enabledMcpjsonServers: [NAME] }));
  return ["--allowedTools", askHuman({}).tool];
}
