"""The client."""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any, AsyncGenerator, AsyncIterator, Awaitable, Callable, Dict, List, Mapping, Optional, TypeVar, Union, cast
from urllib.parse import quote, urlencode

from .decide import Decision, ToolCall, decision_of, hook_call
from .errors import AnswerbackError, disconnected, refused
from .transport import Place, Reply, exchange, find_daemon, within
from .types import Answers, Ask, AskEvent, AskList, AskRequest, Question, ResetEvent, WatchEvent

_T = TypeVar("_T")

_ASKS = "/v1/asks"
_HOOKS = "/v1/hooks/claude-code"
_HEADERS = {"user-agent": "answerback-python/0.1.0"}
#: How long the daemon may take to reply, beyond what it is asked to wait.
_PATIENCE_SECONDS = 10.0
#: How long the daemon may take to say that it has stored a call. It does so on the socket only.
_SIGN_OF_LIFE_SECONDS = 10.0
#: How long one request waits for an outcome.
_WAIT_SECONDS = 60
#: How long a daemon may be away.
_GRACE_SECONDS = 30.0
_FIRST_PAUSE_SECONDS = 0.1
_LAST_PAUSE_SECONDS = 2.0
#: How many times longer than the heartbeat a connection may be silent.
_SILENCE = 2.5


class Answerback:
    """A way to the daemon. Every method raises an `AnswerbackError` if the daemon refuses or is not there.

    Without arguments, it finds the daemon of this user and uses its socket. `hook_token` goes with `url`, and only `decide` needs it.
    """

    def __init__(
        self,
        *,
        url: Optional[str] = None,
        token: Optional[str] = None,
        hook_token: Optional[str] = None,
        socket: Optional[str] = None,
        state_directory: Optional[str] = None,
    ) -> None:
        is_named = url is not None or socket is not None
        self._place = Place(socket, url, token, hook_token) if is_named else find_daemon(state_directory)

    async def list(self, **filter: Any) -> AskList:
        """The open asks, newest first, or those that the filter names. docs/api.md lists what it can be.

        All open asks come as one list. With a `limit` or another `state`, it is one page: send its `next` as `before`.
        """
        found = cast(AskList, await self._get(_ASKS, filter))
        is_whole = filter.get("state", "open") == "open" and filter.get("limit") is None
        rest = {name: value for name, value in filter.items() if name not in ("since", "wait")}
        # What changes meanwhile comes after the cursor of the first page.
        while is_whole and found["next"] is not None:
            page = cast(AskList, await self._get(_ASKS, {**rest, "before": found["next"]}))
            found["asks"].extend(page["asks"])
            found["next"] = page["next"]
        return found

    async def get(self, key: str, *, wait: Optional[int] = None) -> Ask:
        """One ask. With `wait`, it is returned when it is settled, or after that many seconds."""
        return cast(Ask, await self._get(_path_of(key), {"wait": wait}))

    async def watch(
        self, *, after: Optional[str] = None, probes: bool = False, heartbeat: int = 10
    ) -> AsyncGenerator[WatchEvent, None]:
        """The open asks, and then every change, each of them once.

        It connects again by itself, and goes on after the last change that it has seen. If the daemon has lost changes, the open asks
        come again as a list. With `after`, it begins after that cursor,
        without the list. `heartbeat` is how often the daemon shows that it is there. After two and a half times that, the connection is
        given up. If you leave the loop early, close it, for example with `contextlib.aclosing`.
        """
        if after is None:
            found = await self.list(probes=probes)
            after = found["cursor"]
            yield {"type": "list", "cursor": after, "asks": found["asks"]}
        path = f"/v1/events?probes={_text_of(probes)}&heartbeat={heartbeat}"
        silence = heartbeat * _SILENCE
        pause = _FIRST_PAUSE_SECONDS
        is_broken_off = False
        while True:
            try:
                if is_broken_off:
                    found = await self.list(probes=probes)
                    after, is_broken_off = found["cursor"], False
                    yield {"type": "list", "cursor": after, "asks": found["asks"]}
                headers = {**_HEADERS, "last-event-id": after, "accept": "text/event-stream"}
                async with exchange(self._place, "GET", path, headers, patience=silence) as reply:
                    async for event in _events(await _accepted(reply), silence):
                        pause = _FIRST_PAUSE_SECONDS
                        # Everything else only shows that the daemon is there.
                        if event is None:
                            continue
                        if event["type"] == "reset":
                            # What was told before may be undone. The list says what is open now, and the next connection goes on
                            # from there.
                            is_broken_off = True
                            break
                        after = event["cursor"]
                        yield event
            except AnswerbackError as error:
                if not error.is_lost:
                    raise
            await _rest(pause)
            pause = _longer(pause)

    async def answer(
        self,
        ask: Ask,
        answers: Answers,
        *,
        notes: Optional[Mapping[str, str]] = None,
        partial: bool = False,
        edited: Optional[Mapping[str, Any]] = None,
    ) -> Ask:
        """Answers an ask. If it was asked again since `ask` was read, the answer is refused."""
        body = {"answers": answers, "notes": notes or {}, "partial": partial, "edited": edited}
        return await self._settle(ask, "answer", body)

    async def dismiss(self, ask: Ask, reason: Optional[str] = None) -> Ask:
        """Refuses to answer. The asker is told the reason."""
        return await self._settle(ask, "dismiss", {"reason": reason})

    async def release(self, ask: Ask) -> Ask:
        """Hands an ask back to the agent's own dialog."""
        return await self._settle(ask, "release", {})

    async def ask(
        self,
        questions: List[Question],
        *,
        project: Optional[str] = None,
        asked_by: Optional[str] = None,
        timeout_seconds: Optional[int] = None,
    ) -> Ask:
        """Asks, and waits for the outcome. If the task is cancelled, the ask is withdrawn."""
        request: AskRequest = {
            "questions": questions,
            "project": project,
            "asked_by": asked_by,
            "timeout_seconds": timeout_seconds,
        }
        # This is not cancelled: then nobody would know which ask is to be withdrawn.
        opening = asyncio.ensure_future(self._post(_ASKS, request))
        try:
            key: str = (await asyncio.shield(opening))["key"]
            while True:
                ask = await _outlive(lambda: self.get(key, wait=_WAIT_SECONDS))
                if ask["state"] == "settled":
                    return ask
        except asyncio.CancelledError:
            # A task of its own, because this one may be cancelled again.
            await asyncio.shield(asyncio.ensure_future(self._withdraw(opening)))
            raise

    async def decide(self, call: ToolCall) -> Optional[Decision]:
        """Hands a tool call of Claude Code to people, and waits for their decision.

        That is an answer to its questions, a permission, or the approval of a plan. If the task is cancelled, the ask is withdrawn.
        `None` means that there is no decision: a person has handed the call back, or the time is up. The host then asks in its own way.
        """
        headers, body = hook_call(call)
        patience = None if self._place.socket is None else _SIGN_OF_LIFE_SECONDS

        async def hand_in() -> bytes:
            fields = {**_HEADERS, **headers}
            async with exchange(self._place, "POST", _HOOKS, fields, body, is_hook=True, patience=patience) as reply:
                return await (await _accepted(reply)).read()

        try:
            said = await hand_in()
        except AnswerbackError as error:
            if error.kind != "disconnected":
                raise
            # The call may be stored already. The same call, sent again, waits for the same ask.
            said = await _outlive(hand_in)
        return decision_of(call, said)

    async def _withdraw(self, opening: "asyncio.Future[Any]") -> None:
        try:
            await self._post(f"{_path_of((await opening)['key'])}/withdraw", {})
        except AnswerbackError:
            # It was never opened, or it was settled at the same moment.
            pass

    async def _settle(self, ask: Ask, action: str, body: Mapping[str, Any]) -> Ask:
        return cast(Ask, await self._post(f"{_path_of(ask['key'])}/{action}", {**body, "id": ask["id"]}))

    async def _get(self, path: str, parameters: Mapping[str, Any]) -> Any:
        given = {name: _text_of(value) for name, value in parameters.items() if value is not None}
        patience = _PATIENCE_SECONDS + (parameters.get("wait") or 0)
        return await self._json("GET", f"{path}?{urlencode(given)}" if given else path, None, patience)

    async def _post(self, path: str, body: Mapping[str, Any]) -> Any:
        return await self._json("POST", path, json.dumps(body).encode(), _PATIENCE_SECONDS)

    async def _json(self, method: str, path: str, body: Optional[bytes], patience: float) -> Any:
        async def send() -> bytes:
            async with exchange(self._place, method, path, _HEADERS, body) as reply:
                return await (await _accepted(reply)).read()

        return json.loads(await within(patience, send(), disconnected()))


async def _accepted(reply: Reply) -> Reply:
    if reply.status >= 300:
        raise refused(reply.status, await reply.read())
    return reply


async def _events(reply: Reply, silence: float) -> AsyncIterator[Union[AskEvent, ResetEvent, None]]:
    """The events of one connection, and `None` for everything else, such as a comment."""
    text = b""
    while True:
        chunk = await within(silence, _next(reply.body), disconnected())
        if chunk is None:
            return
        *frames, text = (text + chunk).split(b"\n\n")
        for frame in frames:
            data = [line[len(b"data: ") :] for line in frame.split(b"\n") if line.startswith(b"data: ")]
            event = json.loads(data[0]) if data else {}
            # An event that is about no ask has no cursor.
            yield cast(Union[AskEvent, ResetEvent], event) if "cursor" in event else None


async def _next(chunks: AsyncIterator[bytes]) -> Optional[bytes]:
    async for chunk in chunks:
        return chunk
    return None


async def _outlive(attempt: Callable[[], Awaitable[_T]]) -> _T:
    """Tries again while there is no connection, for a while. Connections are lost when the daemon is restarted. Its asks are not."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _GRACE_SECONDS
    pause = _FIRST_PAUSE_SECONDS
    while True:
        try:
            return await attempt()
        except AnswerbackError as error:
            if not error.is_lost or loop.time() > deadline:
                raise
        await _rest(pause)
        pause = _longer(pause)


async def _rest(seconds: float) -> None:
    """Waits for about this long. Many clients do not come back at the same moment."""
    await asyncio.sleep(seconds * random.uniform(0.8, 1.2))


def _longer(pause: float) -> float:
    return min(_LAST_PAUSE_SECONDS, pause * 2)


def _path_of(key: str) -> str:
    return f"{_ASKS}/{quote(key, safe='')}"


def _text_of(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
