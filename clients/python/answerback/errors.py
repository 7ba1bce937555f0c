"""The one exception of this package."""

from __future__ import annotations

import json
from typing import List, Optional, cast

from .types import Ask, Problem, QuestionFault


class AnswerbackError(Exception):
    """What the daemon refused and why, or that it is not there."""

    def __init__(
        self,
        status: int,
        kind: str,
        title: str,
        hint: Optional[str] = None,
        errors: Optional[List[QuestionFault]] = None,
        ask: Optional[Ask] = None,
        retry_after: Optional[int] = None,
    ) -> None:
        super().__init__(f"{title} {hint}" if hint else title)
        #: The HTTP status. 0 if there was no reply.
        self.status = status
        #: The last part of the problem's `type`, for example `answered-already`. Without a reply: `unreachable` or `disconnected`.
        self.kind = kind
        self.title = title
        #: What to do about it.
        self.hint = hint
        #: What is wrong with each question.
        self.errors = errors or []
        #: The ask as it is now, if it was settled before.
        self.ask = ask
        #: How many seconds to wait before the next attempt.
        self.retry_after = retry_after

    @property
    def is_lost(self) -> bool:
        """Whether there was no connection, or it was lost."""
        return self.status == 0


def unreachable(where: str) -> AnswerbackError:
    """No connection to the daemon."""
    hint = "Is it running? `answerback status` says, and `answerback restart` starts it."
    return AnswerbackError(0, "unreachable", f"The daemon cannot be reached at {where}.", hint)


def disconnected() -> AnswerbackError:
    """The connection was there."""
    return AnswerbackError(0, "disconnected", "The connection to the daemon was lost before its reply.")


def refused(status: int, body: bytes) -> AnswerbackError:
    """What the daemon says about a request that it refuses. A proxy may say something else."""
    try:
        said = json.loads(body)
    except ValueError:
        said = None
    problem = cast(Problem, said if isinstance(said, dict) else {})
    kind = problem.get("type", "").rpartition(":")[2] or "unknown"
    return AnswerbackError(
        status,
        kind,
        problem.get("title", f"The reply has the status {status}."),
        problem.get("hint"),
        problem.get("errors"),
        problem.get("ask"),
        problem.get("retry_after"),
    )
