// The MCP server "shop", for a world's client.
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { mcp } from "../../../lib/calls.mjs";
import { until } from "../../../lib/until.mjs";

const SERVER = fileURLToPath(new URL("server.mjs", import.meta.url));
const NAME = "shop";

/** A call that the server only repeats. @param {import("../../../lib/calls.mjs").Input} input */
export const note = (input) => mcp(NAME, "note", input);

/** A call in which the server asks the person with this. @param {import("../../../lib/calls.mjs").Input} request */
export const elicit = (request) => mcp(NAME, "elicit", request);

/**
 * Configures the server for the clients of a world. Calls that ask the person need no permission.
 * @param {import("../world.mjs").ClientWorld} world
 */
export function shop(world) {
  const ready = path.join(world.home, "shop-is-ready");
  const file = path.join(world.home, "shop.json");
  const server = { type: "stdio", command: process.execPath, args: [SERVER, ready] };
  fs.writeFileSync(file, JSON.stringify({ mcpServers: { [NAME]: server } }));
  return {
    args: ["--mcp-config", file, "--allowedTools", elicit({}).tool],
    /** Resolves when the client knows the tools of the server. */
    ready: () => until("the MCP server being ready", () => fs.existsSync(ready)),
  };
}
