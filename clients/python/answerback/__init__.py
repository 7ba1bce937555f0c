"""A client for the HTTP API of Answerback. It needs only the standard library, and runs on asyncio."""

from .client import Answerback
from .decide import Allow, Decision, Deny, ToolCall, first_decision
from .errors import AnswerbackError
from .types import (
    Ask,
    AskEvent,
    AskList,
    AskRequest,
    ListEvent,
    Outcome,
    Problem,
    Question,
    QuestionFault,
    QuestionOption,
    Receipt,
    ResetEvent,
    Source,
    WatchEvent,
)

__all__ = [
    "Allow",
    "Answerback",
    "AnswerbackError",
    "Ask",
    "AskEvent",
    "AskList",
    "AskRequest",
    "Decision",
    "Deny",
    "ListEvent",
    "Outcome",
    "Problem",
    "Question",
    "QuestionFault",
    "QuestionOption",
    "Receipt",
    "ResetEvent",
    "Source",
    "ToolCall",
    "WatchEvent",
    "first_decision",
]
