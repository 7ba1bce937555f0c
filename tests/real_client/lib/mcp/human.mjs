// Our own MCP server, for a world's client.
import fs from "node:fs/promises";
import { mcp } from "../../../lib/calls.mjs";
import { processesOf } from "../../../lib/process.mjs";
import { until } from "../../../lib/until.mjs";
import { interactive } from "../drivers/interactive.mjs";

/** @typedef {import("../../../lib/calls.mjs").Call} Call */
/** @typedef {import("../world.mjs").ClientWorld} ClientWorld */

const NAME = "answerback";
/** The description of the tool takes more bytes than everything that the server writes before it. */
const DESCRIBED = 3000;

/** A call of the tool that asks a person. @param {import("../../../lib/calls.mjs").Input} input */
export const askHuman = (input) => mcp(NAME, "ask_human", input);

/**
 * Installs the server into the project. Resolves to the flags for a client that may call its tool.
 * @param {ClientWorld} world
 */
export async function served(world) {
  await world.answerback("install", "--project", world.project, "--mcp");
  // A person is asked once whether to use the servers of a project.
  await world.put(".claude/settings.local.json", JSON.stringify({ enabledMcpjsonServers: [NAME] }));
  return ["--allowedTools", askHuman({}).tool];
}

/**
 * Adds options to the server that is installed, as a person would with an editor.
 * @param {ClientWorld} world
 * @param {...string} options
 */
export async function serveWith(world, ...options) {
  const servers = JSON.parse((await world.file(".mcp.json")) ?? "");
  servers.mcpServers[NAME].args.push(...options);
  await world.put(".mcp.json", JSON.stringify(servers));
}

/**
 * An interactive session in which the model makes this call as soon as the tool is there.
 * @param {ClientWorld} world
 * @param {Call} call
 * @param {string[]} flags
 */
export function session(world, call, flags) {
  return interactive(world, call, flags.join(" "), () => described(world));
}

/** Resolves when the server has told the client about its tool. @param {ClientWorld} world */
function described(world) {
  return until("the server having described its tool", async () => {
    for (const pid of await processesOf(world.home, "answerback")) {
      const [command, io] = await Promise.all(["cmdline", "io"].map((name) => fs.readFile(`/proc/${pid}/${name}`, "utf8").catch(() => "")));
      const written = Number(/^wchar: (\d+)$/m.exec(io)?.[1]);
      if (command.split("\0").includes("mcp") && written > DESCRIBED) return true;
    }
    return false;
  });
}
