"""The JSON of the API. docs/api.md explains it, and tests/clients compares it with the daemon's own description."""

# Python 3.9 has no `NotRequired`, so fields that may be missing are in a class of their own. These types are also read at run time, so
# they are written in a way that Python 3.9 can evaluate.
from typing import Any, Dict, List, Literal, Optional, TypedDict, Union

Kind = Literal["question", "plan", "form", "permission"]
State = Literal["open", "settled"]
Origin = Literal["claude-code", "program", "probe"]
OutcomeKind = Literal["answered", "answered_in_terminal", "dismissed", "released", "expired", "withdrawn"]
Channel = Literal["socket", "token", "page", "terminal", "notification", "away", "hub"]
EventType = Literal["ask.opened", "ask.settled", "ask.deferred", "ask.resumed", "ask.receipt"]

#: A label or free text for each question, under the text of the question. Several labels for a question with `multiSelect`.
Answers = Dict[str, Union[str, List[str]]]


class _QuestionOption(TypedDict):
    label: str


class QuestionOption(_QuestionOption, total=False):
    """One option of a question. The daemon always writes `description`."""

    description: str
    preview: Optional[str]


class _Question(TypedDict):
    question: str


class Question(_Question, total=False):
    """One question. The daemon always writes `header`, `options` and `multiSelect`."""

    header: str
    #: No options: the answer is free text.
    options: List[QuestionOption]
    multiSelect: bool
    #: Only false is ever written: the answer must be one of the options.
    freeText: bool
    #: Only true is ever written: there may be no answer.
    optional: bool


class _Source(TypedDict):
    channel: Channel


class Source(_Source, total=False):
    """Who settled an ask."""

    agent: Optional[str]
    device: Optional[str]
    #: The person whose device it is, where people have roles.
    person: Optional[str]
    #: The daemon that took it, where several share a store.
    hub: Optional[str]


class _Outcome(TypedDict):
    kind: OutcomeKind
    by: Optional[Source]


class Outcome(_Outcome, total=False):
    """How an ask ended."""

    answers: Optional[Dict[str, str]]
    notes: Optional[Dict[str, str]]
    #: What the person changed before they approved.
    edited: Optional[Dict[str, Any]]
    reason: Optional[str]


class Receipt(TypedDict):
    """What Claude Code has reported receiving."""

    answers: Dict[str, str]
    as_sent: bool
    at: str


class _Ask(TypedDict):
    #: `session`, two underscores, `tool_use_id`.
    key: str
    #: A key can be asked again. Each time has an id of its own.
    id: int
    session: str
    tool_use_id: str
    origin: Origin
    project: Optional[str]
    #: The machine that the asker runs on. A project is the same one only on the same host.
    host: str
    kind: Kind
    #: What is being decided about. Its fields depend on the kind. `None` for a question.
    subject: Optional[Dict[str, Any]]
    questions: List[Question]
    state: State
    #: The agent's own dialog is open too.
    racing: bool
    #: The run has stopped, and the answer is kept for the resumed run.
    deferred: bool
    opened_at: str
    expires_at: Optional[str]
    settled_at: Optional[str]
    #: `None` while the ask is open.
    outcome: Optional[Outcome]
    receipt: Optional[Receipt]


class Ask(_Ask, total=False):
    """One or more questions that are asked and answered together."""

    #: The name that a program gave itself.
    asked_by: Optional[str]
    #: Only true is ever written, and only in the replies to `list` and `get`.
    perhaps_answered: bool


class _AskList(TypedDict):
    asks: List[Ask]
    #: The newest change that the list includes.
    cursor: str
    #: Send it as `before` to get the next page.
    next: Optional[int]


class AskList(_AskList, total=False):
    """A page of asks, newest first."""

    damaged: int


class AskEvent(TypedDict):
    """One change of an ask."""

    type: EventType
    cursor: str
    ask: Ask


class ListEvent(TypedDict):
    """All open asks. `watch` begins with it.

    It comes again if the daemon has lost changes: then it takes the place of everything that was told before, and an ask that is not in
    it is not open.
    """

    type: Literal["list"]
    cursor: str
    asks: List[Ask]


class ResetEvent(TypedDict):
    """The daemon has lost changes. `watch` lists the open asks then, and does not pass this on."""

    type: Literal["reset"]
    cursor: str


WatchEvent = Union[ListEvent, AskEvent]


class QuestionFault(TypedDict):
    """What is wrong with the answer to one question."""

    question: str
    problem: str


class _Problem(TypedDict):
    type: str
    status: int
    title: str


class Problem(_Problem, total=False):
    """The body of every error."""

    hint: Optional[str]
    retry_after: Optional[int]
    errors: List[QuestionFault]
    ask: Optional[Ask]


class _AskRequest(TypedDict):
    questions: List[Question]


class AskRequest(_AskRequest, total=False):
    """Questions of a program."""

    #: The directory that the questions are about.
    project: Optional[str]
    #: The name of the program that asks. People see it beside the questions.
    asked_by: Optional[str]
    #: Without it, the ask waits for as long as it takes.
    timeout_seconds: Optional[int]
