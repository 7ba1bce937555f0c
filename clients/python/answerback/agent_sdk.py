"""For hosts that use `claude-agent-sdk`. Nothing else of this package needs it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Mapping, Optional

from claude_agent_sdk import (
    PermissionResult,
    PermissionResultAllow,
    PermissionResultDeny,
    PermissionUpdate,
    ToolPermissionContext,
)

from .decide import Decision, ToolCall


def tool_call(
    session: str,
    tool: str,
    tool_input: Mapping[str, Any],
    context: ToolPermissionContext,
    directory: Optional[str] = None,
) -> ToolCall:
    """The call that `can_use_tool` is asked about."""
    call = ToolCall(session, context.tool_use_id or "", tool, tool_input, directory)
    suggestions = [_written(update) for update in context.suggestions]
    return replace(call, suggestions=suggestions, agent_id=context.agent_id)


def permission_result(decision: Decision) -> PermissionResult:
    """What `can_use_tool` returns for a decision."""
    if decision["behavior"] == "deny":
        return PermissionResultDeny(message=decision["message"])
    updates = decision.get("updatedPermissions")
    return PermissionResultAllow(
        updated_input=decision["updatedInput"],
        updated_permissions=None if updates is None else [PermissionUpdate.from_dict(update) for update in updates],
    )


def _written(update: PermissionUpdate) -> Mapping[str, Any]:
    """The suggestion as Claude Code wrote it. The SDK writes null where there was nothing."""
    written = update.to_dict()
    if "rules" in written:
        written["rules"] = [{name: value for name, value in rule.items() if value is not None} for rule in written["rules"]]
    return written
