"""HTTP/1.1 on asyncio streams: only what the API needs.

Each request has a connection of its own. If the task is cancelled, the connection is closed, and that is how a call is taken back.
"""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, AsyncIterator, Coroutine, Dict, Optional, Tuple, TypeVar
from urllib.parse import urlsplit

from .errors import AnswerbackError, disconnected, unreachable

_T = TypeVar("_T")
_Streams = Tuple[asyncio.StreamReader, asyncio.StreamWriter]
#: The status and the headers of a reply.
_Head = Tuple[int, Dict[str, str]]

_CHUNK = 65536


@dataclass(frozen=True)
class Place:
    """Where the daemon is: a socket, or an address with tokens."""

    socket: Optional[str] = None
    url: Optional[str] = None
    token: Optional[str] = field(default=None, repr=False)
    hook_token: Optional[str] = field(default=None, repr=False)

    @property
    def name(self) -> str:
        return self.socket or self.url or ""

    async def connect(self) -> _Streams:
        if self.socket is not None:
            return await asyncio.open_unix_connection(self.socket)
        parts = urlsplit(self.url or "")
        tls = ssl.create_default_context() if parts.scheme == "https" else None
        return await asyncio.open_connection(parts.hostname, parts.port or (443 if tls else 80), ssl=tls)

    @property
    def host(self) -> str:
        return "localhost" if self.socket is not None else urlsplit(self.url or "").netloc


def find_daemon(state_directory: Optional[str]) -> Place:
    """The daemon of this user."""
    file = Path(state_directory or _usual_state_directory()) / "daemon.json"
    try:
        return Place(socket=json.loads(file.read_text(encoding="utf-8"))["socket"])
    except (OSError, ValueError, KeyError) as error:
        raise unreachable(str(file)) from error


def _usual_state_directory() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library/Application Support/answerback"
    state = os.environ.get("XDG_STATE_HOME", "")
    return (Path(state) if os.path.isabs(state) else Path.home() / ".local/state") / "answerback"


@dataclass
class Reply:
    """A reply whose body is still to be read."""

    status: int
    body: AsyncIterator[bytes]

    async def read(self) -> bytes:
        return b"".join([chunk async for chunk in self.body])


@asynccontextmanager
async def exchange(
    place: Place,
    method: str,
    path: str,
    headers: Dict[str, str],
    body: Optional[bytes] = None,
    is_hook: bool = False,
    patience: Optional[float] = None,
) -> AsyncIterator[Reply]:
    """Sends a request. The connection is closed when the block is left.

    Within `patience` seconds, there must be a sign of life: a reply, or an interim one.
    """
    try:
        reader, writer = await place.connect()
    except OSError as error:
        raise unreachable(place.name) from error
    try:
        fields = {"host": place.host, "connection": "close", **headers}
        token = place.hook_token if is_hook else place.token
        if token is not None and place.socket is None:
            fields["authorization"] = f"Bearer {token}"
        if body is not None:
            fields.update({"content-type": "application/json", "content-length": str(len(body))})
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        writer.write(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + (body or b""))
        await writer.drain()
        first = _read_head(reader)
        status, received = await (first if patience is None else within(patience, first, unreachable(place.name)))
        while status < 200:
            status, received = await _read_head(reader)
        yield Reply(status, _read_body(reader, received))
    except (OSError, EOFError) as error:
        raise disconnected() from error
    finally:
        writer.close()


async def within(seconds: float, work: Coroutine[Any, Any, _T], late: AnswerbackError) -> _T:
    """Raises `late` if it takes longer. Unlike `wait_for` before Python 3.12, it never swallows a cancellation."""
    task = asyncio.ensure_future(work)
    try:
        done, _ = await asyncio.wait({task}, timeout=seconds)
        if not done:
            raise late
        return task.result()
    finally:
        task.cancel()


async def _read_head(reader: asyncio.StreamReader) -> _Head:
    lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    fields = (line.partition(":") for line in lines[1:] if line)
    return int(lines[0].split(" ")[1]), {name.lower(): value.strip() for name, _, value in fields}


async def _read_body(reader: asyncio.StreamReader, headers: Dict[str, str]) -> AsyncIterator[bytes]:
    if headers.get("transfer-encoding", "").lower() == "chunked":
        while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
            yield (await reader.readexactly(size + 2))[:-2]
        return
    if "content-length" in headers:
        yield await reader.readexactly(int(headers["content-length"]))
        return
    while chunk := await reader.read(_CHUNK):
        yield chunk
