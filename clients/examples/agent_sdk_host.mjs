// A host of Claude Code that uses the Agent SDK. A person answers Claude's questions, permissions and plans at Answerback or in this
// terminal. The first answer counts.
//
//   node agent_sdk_host.mjs 'Set up the project. Ask me what you need to know.'
import { randomUUID } from "node:crypto";
import { query } from "@anthropic-ai/claude-agent-sdk";
import { connect, firstDecision } from "answerback-client";
import { askInTerminal, closeTerminal } from "./terminal.mjs";

const answerback = await connect();
// The host chooses the id, because canUseTool is not told which session asks.
const session = randomUUID();

/** @type {import("@anthropic-ai/claude-agent-sdk").CanUseTool} */
async function canUseTool(tool, input, { signal, toolUseID, suggestions, agentID, mcpServer }) {
  const ids = { session, toolUseId: toolUseID, agentId: agentID };
  const call = { ...ids, tool, input, suggestions, mcpServer };
  const askers = [
    (signal) => answerback.decide(call, { signal }),
    (signal) => askInTerminal(call, signal),
  ];
  const decision = await firstDecision(askers, { signal });
  // `null` would be no reply at all, and Claude Code would wait for ever.
  return decision ?? { behavior: "deny", message: "Nobody could be asked." };
}

const messages = query({
  prompt: process.argv[2],
  options: {
    sessionId: session,
    canUseTool,
    permissionMode: /** @type {any} */ (process.argv[3] ?? "default"),
    // If this is not set, the SDK uses the Claude Code that it brings.
    pathToClaudeCodeExecutable: process.env.CLAUDE_CODE,
  },
});
for await (const message of messages) {
  if (message.type === "result" && message.subtype === "success") console.log(message.result);
}
closeTerminal();
