"""What a host with `claude-agent-sdk` gets and gives."""

from __future__ import annotations

import unittest
from typing import Any, Dict, List

from answerback.agent_sdk import permission_result, tool_call
from claude_agent_sdk import PermissionResultAllow, PermissionResultDeny, PermissionUpdate, ToolPermissionContext

#: As Claude Code writes them. The rule of a tool has no content.
SUGGESTIONS: List[Dict[str, Any]] = [
    {"type": "addRules", "rules": [{"toolName": "mcp__shop__buy"}], "behavior": "allow", "destination": "localSettings"},
    {"type": "addDirectories", "directories": ["/tmp"], "destination": "session"},
]


class AgentSdk(unittest.TestCase):
    """Its types on one side, and ours on the other."""

    def test_a_call_has_the_suggestions_of_claude_code(self) -> None:
        updates = [PermissionUpdate.from_dict(suggestion) for suggestion in SUGGESTIONS]
        context = ToolPermissionContext(suggestions=updates, tool_use_id="t", agent_id="a")
        call = tool_call("s", "mcp__shop__buy", {"tea": 1}, context, "/home/me/shop")
        self.assertEqual((call.session, call.tool_use_id, call.agent_id), ("s", "t", "a"))
        self.assertEqual((call.input, call.directory), ({"tea": 1}, "/home/me/shop"))
        self.assertEqual(call.suggestions, SUGGESTIONS)

    def test_a_decision_becomes_a_result(self) -> None:
        allowed = permission_result({"behavior": "allow", "updatedInput": {"tea": 2}, "updatedPermissions": SUGGESTIONS})
        assert isinstance(allowed, PermissionResultAllow) and allowed.updated_permissions is not None
        self.assertEqual(allowed.updated_input, {"tea": 2})
        self.assertEqual([update.type for update in allowed.updated_permissions], ["addRules", "addDirectories"])
        once = permission_result({"behavior": "allow", "updatedInput": {}})
        self.assertEqual(once, PermissionResultAllow(updated_input={}))
        denied = permission_result({"behavior": "deny", "message": "Not now."})
        self.assertEqual(denied, PermissionResultDeny(message="Not now."))


if __name__ == "__main__":
    unittest.main()
