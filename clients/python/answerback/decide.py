"""A tool call of Claude Code on its way to people, and their decision on its way back.

The daemon takes the JSON of a hook, so a call of a host becomes the same kind of ask as the call of a hook.
"""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import dataclass
from typing import Any, Awaitable, Dict, List, Literal, Mapping, Optional, Sequence, Tuple, TypedDict, Union

_QUESTION_TOOL = "AskUserQuestion"


@dataclass(frozen=True)
class ToolCall:
    """A call that Claude Code asks its host about."""

    #: The id of the session.
    session: str
    #: The id of the call.
    tool_use_id: str
    tool: str
    input: Mapping[str, Any]
    #: The directory that the agent works in. Without it, that of this process.
    directory: Optional[str] = None
    #: What Claude Code suggests to remember. Without it, people can allow the call only once.
    suggestions: Optional[Sequence[Mapping[str, Any]]] = None
    #: The subagent that makes the call.
    agent_id: Optional[str] = None
    #: The MCP server of the tool, as `{"name": …}`.
    mcp_server: Optional[Mapping[str, Any]] = None


class _Allow(TypedDict):
    behavior: Literal["allow"]
    updatedInput: Dict[str, Any]


class Allow(_Allow, total=False):
    """The call may be made, with this input."""

    updatedPermissions: List[Dict[str, Any]]


class Deny(TypedDict):
    """The call must not be made. The agent reads the message."""

    behavior: Literal["deny"]
    message: str


#: What a `control_response` carries.
Decision = Union[Allow, Deny]


def hook_call(call: ToolCall) -> Tuple[Dict[str, str], bytes]:
    """The headers and the body of the hook call that stands for a call."""
    headers = {
        # Only calls of Claude Code may ask for permissions. A hook would say here how Claude Code was started.
        "x-answerback-entrypoint": "host",
        # The name of the ask. If the hook of the project has asked about this call before, its outcome counts. Nobody is asked again.
        "x-answerback-resumed": f"{call.session}__{call.tool_use_id}",
    }
    body = {
        "hook_event_name": "PreToolUse" if call.tool == _QUESTION_TOOL else "PermissionRequest",
        "session_id": call.session,
        "tool_use_id": call.tool_use_id,
        "tool_name": call.tool,
        "tool_input": call.input,
        "cwd": call.directory or os.getcwd(),
        "permission_suggestions": call.suggestions,
        "agent_id": call.agent_id,
        "mcp_server": call.mcp_server,
    }
    return headers, json.dumps(body).encode()


def decision_of(call: ToolCall, said: bytes) -> Optional[Decision]:
    """The decision in the reply to a hook."""
    output: Dict[str, Any] = json.loads(said)["hookSpecificOutput"] if said else {}
    decision: Dict[str, Any] = output.get("decision", output)
    behavior = decision.get("behavior", output.get("permissionDecision"))
    if behavior == "allow":
        # Claude Code wants the input back, changed or not.
        allow: Allow = {"behavior": "allow", "updatedInput": decision.get("updatedInput", dict(call.input))}
        if "updatedPermissions" in decision:
            allow["updatedPermissions"] = decision["updatedPermissions"]
        return allow
    if behavior == "deny":
        return {"behavior": "deny", "message": decision.get("message", output.get("permissionDecisionReason", ""))}
    return None


async def first_decision(*askers: Awaitable[Optional[Decision]]) -> Optional[Decision]:
    """Asks in several places at once, for example with `decide` and in a window of the host.

    The first decision counts, and the other askers are cancelled. An asker without a decision, or one that fails, leaves it to the
    others. If none has a decision, the result is `None`, or the first failure is raised.
    """
    tasks = [asyncio.ensure_future(asker) for asker in askers]
    failures: List[BaseException] = []
    try:
        waiting = set(tasks)
        while waiting:
            _, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            ended = [task for task in tasks if task.done()]
            failures = [failure for failure in (task.exception() for task in ended) if failure is not None]
            for task in ended:
                decision = None if task.exception() else task.result()
                if decision is not None:
                    return decision
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    if failures:
        raise failures[0]
    return None
