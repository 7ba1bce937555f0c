"""A host of Claude Code that uses the Agent SDK.

A person answers Claude's questions, permissions and plans at Answerback or in this terminal. The first answer counts.

    python3 agent_sdk_host.py 'Set up the project. Ask me what you need to know.'
"""

import asyncio
import json
import os
import sys
import uuid
from typing import Any, Dict, Optional

from answerback import Answerback, Decision, ToolCall, first_decision
from answerback.agent_sdk import permission_result, tool_call
from claude_agent_sdk import ClaudeAgentOptions, PermissionResult, ResultMessage, ToolPermissionContext, query

NOBODY: Decision = {"behavior": "deny", "message": "Nobody could be asked."}


class Terminal:
    """A simple way for a host to ask the person at its own terminal. A host with windows shows a window instead."""

    def __init__(self) -> None:
        self._lines = asyncio.StreamReader()
        # One question at a time.
        self._turn = asyncio.Lock()

    async def open(self) -> None:
        protocol = asyncio.StreamReaderProtocol(self._lines)
        await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)

    async def decide(self, call: ToolCall) -> Optional[Decision]:
        """What the person says about a call. `None` if nobody can say anything here."""
        async with self._turn:
            if call.tool == "AskUserQuestion":
                return await self._answers(call)
            said = await self._ask(f"Allow {call.tool} {json.dumps(call.input)}? Type yes, or why not.")
            if said is None:
                return None
            if said == "yes":
                return {"behavior": "allow", "updatedInput": dict(call.input)}
            return {"behavior": "deny", "message": said}

    async def _answers(self, call: ToolCall) -> Optional[Decision]:
        answers: Dict[str, str] = {}
        for question in call.input["questions"]:
            labels = ", ".join(option["label"] for option in question["options"])
            said = await self._ask(f"{question['question']} ({labels})")
            if said is None:
                return None
            answers[question["question"]] = said
        return {"behavior": "allow", "updatedInput": {**call.input, "answers": answers}}

    async def _ask(self, question: str) -> Optional[str]:
        print(question, file=sys.stderr, flush=True)
        line = await self._lines.readline()
        return line.decode().strip() if line else None


async def main(prompt: str, mode: Any = "default") -> None:
    answerback = Answerback()
    terminal = Terminal()
    await terminal.open()
    # The host chooses the id, because can_use_tool is not told which session asks.
    session = str(uuid.uuid4())

    async def can_use_tool(
        tool: str, tool_input: Dict[str, Any], context: ToolPermissionContext
    ) -> PermissionResult:
        call = tool_call(session, tool, tool_input, context)
        decision = await first_decision(answerback.decide(call), terminal.decide(call))
        return permission_result(decision or NOBODY)

    options = ClaudeAgentOptions(
        session_id=session,
        can_use_tool=can_use_tool,
        permission_mode=mode,
        # If this is not set, the SDK uses the Claude Code that it brings.
        cli_path=os.environ.get("CLAUDE_CODE"),
    )
    async for message in query(prompt=prompt, options=options):
        if isinstance(message, ResultMessage):
            print(message.result)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
