"""A break in the order of changes. One daemon alone never makes one, so a server stands in for daemons that share a store."""

from __future__ import annotations

import asyncio
import json
import tempfile
import unittest
from pathlib import Path
from typing import Any, Dict, List, Optional

from answerback import Answerback
from world import soon


def _list(cursor: str, *keys: str) -> Dict[str, Any]:
    return {"asks": [{"key": key} for key in keys], "cursor": cursor, "next": None}


def _opened(cursor: str, key: str) -> Dict[str, Any]:
    return {"type": "ask.opened", "cursor": cursor, "ask": {"key": key}}


def _reset(cursor: str) -> Dict[str, Any]:
    return {"type": "reset", "cursor": cursor}


class StandIn:
    """Serves these lists and these streams of events, one after the other. `None` cuts the connection."""

    def __init__(self, lists: List[Optional[Dict[str, Any]]], streams: List[List[Dict[str, Any]]]) -> None:
        self.cursors: List[str] = []
        self._lists = lists
        self._streams = streams

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        body: Optional[str]
        if head.startswith("GET /v1/asks"):
            listed = self._lists.pop(0)
            body = None if listed is None else json.dumps(listed)
        else:
            self.cursors += [line.split(": ")[1] for line in head.split("\r\n") if line.startswith("last-event-id")]
            body = ":\n\n" + "".join(f"data: {json.dumps(event)}\n\n" for event in self._streams.pop(0))
        if body is not None:
            # The stream ends with the connection, and the client comes back. By then it has read everything.
            writer.write(f"HTTP/1.1 200 OK\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode())
            await writer.drain()
        writer.close()


class Reset(unittest.IsolatedAsyncioTestCase):
    """What `watch` tells."""

    async def told(self, stand_in: StandIn, count: int, after: Optional[str] = None) -> List[str]:
        """The first events, in short."""
        seen: List[str] = []

        async def read() -> None:
            with tempfile.TemporaryDirectory() as directory:
                socket = str(Path(directory) / "daemon.sock")
                server = await asyncio.start_unix_server(stand_in.serve, socket)
                events = Answerback(socket=socket).watch(after=after)
                async for event in events:
                    if event["type"] == "list":
                        seen.append("list " + ",".join(ask["key"] for ask in event["asks"]))
                    else:
                        seen.append(f"{event['type']} {event['ask']['key']}")
                    if len(seen) == count:
                        break
                await events.aclose()
                server.close()

        await soon(read())
        return seen

    async def test_after_a_break_in_the_order_the_open_asks_are_listed_again(self) -> None:
        # What comes after the break on the same connection is in the list, or comes after it.
        streams = [[_opened("2", "b"), _reset("9"), _opened("10", "c")], [_opened("12", "d")]]
        stand_in = StandIn([_list("1", "a"), _list("11", "a", "c")], streams)
        self.assertEqual(await self.told(stand_in, 4), ["list a", "ask.opened b", "list a,c", "ask.opened d"])
        self.assertEqual(stand_in.cursors, ["1", "11"])

    async def test_a_list_that_is_lost_after_a_break_is_fetched_again(self) -> None:
        stand_in = StandIn([None, _list("11", "a")], [[_reset("9")], [_opened("12", "b")]])
        self.assertEqual(await self.told(stand_in, 2, after="7"), ["list a", "ask.opened b"])
        self.assertEqual(stand_in.cursors, ["7", "11"])


if __name__ == "__main__":
    unittest.main()
