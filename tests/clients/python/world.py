"""A scratch HOME with a daemon in it, for one test."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import tempfile
import unittest
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Callable, Coroutine, Dict, Optional, Set

from answerback import Answerback, Ask, Question

_PATIENCE_SECONDS = 20.0


class WorldCase(unittest.IsolatedAsyncioTestCase):
    """A test in a world of its own."""

    async def asyncSetUp(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="answerback-world-")).resolve()
        self.addAsyncCleanup(self._close)
        config = self.home / ".config/answerback/config.toml"
        config.parent.mkdir(parents=True)
        config.write_text("port = 0\n", encoding="utf-8")
        await self.start_daemon()

    @property
    def state(self) -> Path:
        return self.home / ".local/state/answerback"

    @property
    def record(self) -> Dict[str, Any]:
        """What daemon.json says."""
        record: Dict[str, Any] = json.loads((self.state / "daemon.json").read_text(encoding="utf-8"))
        return record

    def client(self) -> Answerback:
        """A client that has found the daemon."""
        return Answerback(state_directory=str(self.state))

    async def start_daemon(self) -> None:
        """Any command starts the daemon if none is running."""
        program = Path(os.environ["ANSWERBACK_BIN_DIR"]).resolve() / "answerback"
        env = {"PATH": os.environ["PATH"], "HOME": str(self.home)}
        command = await asyncio.create_subprocess_exec(program, "pending", env=env, stdout=subprocess.DEVNULL)
        self.assertEqual(await soon(command.wait()), 0)

    async def kill_daemon(self) -> None:
        """Returns when it is gone: until then, its lock keeps others from starting."""
        pid = int(self.record["pid"])
        os.kill(pid, signal.SIGKILL)
        await until(lambda: not _is_running(pid))

    async def _close(self) -> None:
        with suppress(OSError, ValueError):
            await self.kill_daemon()
        shutil.rmtree(self.home, ignore_errors=True)


def _is_running(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    # A zombie has let go of everything.
    return stat.rpartition(")")[2].split()[0] not in "ZX"


async def until(condition: Callable[[], bool]) -> None:
    """For conditions that nobody reports."""
    deadline = asyncio.get_running_loop().time() + _PATIENCE_SECONDS
    while not condition():
        if asyncio.get_running_loop().time() > deadline:
            raise TimeoutError("the condition does not come true")
        await asyncio.sleep(0.02)


async def soon(work: Coroutine[Any, Any, Any]) -> Any:
    """A clear failure instead of a test that hangs."""
    return await asyncio.wait_for(work, _PATIENCE_SECONDS)


def yes_or_no(question: str) -> Question:
    """A question to which "Yes" and "No" are answers."""
    return {"question": question, "options": [{"label": "Yes"}, {"label": "No"}]}


async def opened(client: Answerback, question: Optional[str] = None) -> Ask:
    """The ask with this question, as soon as it is open. Without a question, any ask."""

    async def look() -> Ask:
        found = await client.list()
        while True:
            for ask in found["asks"]:
                if question in (None, ask["questions"][0]["question"]):
                    return ask
            found = await client.list(since=found["cursor"], wait=10)

    ask: Ask = await soon(look())
    return ask


class Wire:
    """A way to the daemon that can fail."""

    def __init__(self, world: WorldCase) -> None:
        self.path = str(world.home / "wire.sock")
        self.count = 0
        self.is_frozen = False
        self._daemon = str(world.record["socket"])
        self._joined: Set["asyncio.Future[None]"] = set()
        world.addAsyncCleanup(self._close)

    async def open(self) -> None:
        self._server = await asyncio.start_unix_server(self._accept, self.path)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.count += 1
        self._joined.add(asyncio.ensure_future(self._join(reader, writer, self.is_frozen)))

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, is_frozen: bool) -> None:
        with closing(writer), suppress(OSError):
            from_daemon, to_daemon = await asyncio.open_unix_connection(self._daemon)
            with closing(to_daemon):
                # A line that was frozen stays so. The next one is another line.
                pumps = [_pump(reader, to_daemon), _pump(from_daemon, None if is_frozen else writer)]
                pumping = [asyncio.ensure_future(pump) for pump in pumps]
                try:
                    await asyncio.wait(pumping, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    for pump in pumping:
                        pump.cancel()

    def cut(self) -> None:
        """Ends all connections."""
        for joined in self._joined:
            joined.cancel()

    async def _close(self) -> None:
        self._server.close()
        self.cut()
        await asyncio.gather(*self._joined, return_exceptions=True)


async def _pump(reader: asyncio.StreamReader, writer: Optional[asyncio.StreamWriter]) -> None:
    with suppress(OSError):
        while data := await reader.read(65536):
            if writer is not None:
                writer.write(data)
