// A tool call of Claude Code on its way to people, and their decision on its way back. The daemon takes the JSON of a hook, so a call of
// a host becomes the same kind of ask as the call of a hook.

const QUESTION_TOOL = "AskUserQuestion";

/**
 * The hook call that stands for a call.
 * @param {import("../index.d.ts").ToolCall} call
 */
export function hookCall({ session, toolUseId, tool, input, directory = defaultDirectory(), suggestions, agentId, mcpServer }) {
  const headers = {
    // Only calls of Claude Code may ask for permissions. A hook would say here how Claude Code was started.
    "x-answerback-entrypoint": "host",
    // The name of the ask. If the hook of the project has asked about this call before, its outcome counts. Nobody is asked again.
    "x-answerback-resumed": `${session}__${toolUseId}`,
  };
  const body = {
    hook_event_name: tool === QUESTION_TOOL ? "PreToolUse" : "PermissionRequest",
    session_id: session,
    tool_use_id: toolUseId,
    tool_name: tool,
    tool_input: input,
    cwd: directory,
    permission_suggestions: suggestions,
    agent_id: agentId,
    mcp_server: mcpServer,
  };
  return { headers, body };
}

/**
 * The decision in the reply to a hook.
 * @param {import("../index.d.ts").ToolCall} call
 * @param {string} said
 * @returns {import("../index.d.ts").Decision | null}
 */
export function decisionOf({ input }, said) {
  const output = said ? JSON.parse(said).hookSpecificOutput : {};
  // The replies to the two events have different names for the same things.
  const { permissionDecision: behavior, permissionDecisionReason: message, updatedInput } = output;
  const decision = output.decision ?? { behavior, message, updatedInput };
  switch (decision.behavior) {
    case "allow": {
      const { updatedPermissions } = decision;
      // Claude Code wants the input back, changed or not.
      return { behavior: "allow", updatedInput: decision.updatedInput ?? input, ...(updatedPermissions && { updatedPermissions }) };
    }
    case "deny":
      return { behavior: "deny", message: decision.message };
    default:
      return null;
  }
}

function defaultDirectory() {
  return typeof process === "undefined" ? undefined : process.cwd();
}
