// A host of Claude Code without any SDK: it starts `claude` and speaks stream-json with it. A person answers Claude's questions,
// permissions and plans at Answerback or in this terminal. The first answer counts.
//
//   node stream_json_host.mjs 'Set up the project. Ask me what you need to know.'
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline";
import { connect, firstDecision } from "answerback-client";
import { askInTerminal, closeTerminal } from "./terminal.mjs";

const answerback = await connect();
const session = randomUUID();
const streams = ["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"];
const options = ["--permission-prompt-tool", "stdio", "--session-id", session, "--permission-mode", process.argv[3] ?? "default"];
const claude = spawn(process.env.CLAUDE_CODE ?? "claude", ["-p", ...streams, ...options], { stdio: ["pipe", "pipe", "inherit"] });
const send = (message) => claude.stdin.write(`${JSON.stringify(message)}\n`);
/** The requests that wait for a decision, by their ids. @type {Map<string, AbortController>} */
const waiting = new Map();

/** Claude Code asks whether it may make a call. */
async function canUseTool({ request_id, request }) {
  const { tool_use_id, tool_name, input, permission_suggestions, agent_id, mcp_server } = request;
  const ids = { session, toolUseId: tool_use_id, agentId: agent_id };
  const call = { ...ids, tool: tool_name, input, suggestions: permission_suggestions, mcpServer: mcp_server };
  const cancelled = new AbortController();
  waiting.set(request_id, cancelled);
  const askers = [
    (signal) => answerback.decide(call, { signal }),
    (signal) => askInTerminal(call, signal),
  ];
  const response = await firstDecision(askers, { signal: cancelled.signal }).catch((error) => ({ behavior: "deny", message: error.message }));
  waiting.delete(request_id);
  // Nobody waits for the response to a request that was cancelled.
  if (cancelled.signal.aborted) return;
  const nobody = { behavior: "deny", message: "Nobody could be asked." };
  send({ type: "control_response", response: { subtype: "success", request_id, response: response ?? nobody } });
}

createInterface({ input: claude.stdout }).on("line", (line) => {
  const message = JSON.parse(line);
  if (message.type === "control_request" && message.request.subtype === "can_use_tool") void canUseTool(message);
  // A hook was first, or the turn was interrupted.
  if (message.type === "control_cancel_request") waiting.get(message.request_id)?.abort();
  if (message.type !== "result") return;
  console.log(message.result);
  claude.stdin.end();
  closeTerminal();
});
send({ type: "user", message: { role: "user", content: process.argv[2] } });
