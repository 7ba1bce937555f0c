"""The Python client against the real daemon."""

from __future__ import annotations

import asyncio
import unittest
from contextlib import suppress
from typing import Any, AsyncIterator, Dict, List, Optional

from answerback import Answerback, AnswerbackError, Ask, Decision, Question, ToolCall, WatchEvent, first_decision
from world import Wire, WorldCase, opened, soon, until, yes_or_no

DEPLOY = "Deploy to production?"
SUGGESTION: Dict[str, Any] = {
    "type": "addRules",
    "rules": [{"toolName": "Bash", "ruleContent": "npm test"}],
    "behavior": "allow",
    "destination": "localSettings",
}
ALLOW: Decision = {"behavior": "allow", "updatedInput": {}}


class Asks(WorldCase):
    """The calls, and their errors."""

    async def test_a_program_asks_and_a_person_answers(self) -> None:
        client = self.client()
        asking = asyncio.ensure_future(
            client.ask([yes_or_no(DEPLOY)], project="/home/me/shop", asked_by="deploy.sh", timeout_seconds=600)
        )
        ask = await opened(client, DEPLOY)
        asker = (ask["origin"], ask["project"], ask["asked_by"])
        self.assertEqual(asker, ("program", "/home/me/shop", "deploy.sh"))
        self.assertEqual(await client.get(ask["key"]), ask)
        answered = await client.answer(ask, {DEPLOY: "Yes"}, notes={DEPLOY: "not before noon"})
        self.assertEqual(await asking, answered)
        outcome = answered["outcome"]
        assert outcome is not None
        self.assertEqual((outcome["answers"], outcome["notes"]), ({DEPLOY: "Yes"}, {DEPLOY: "not before noon"}))
        self.assertEqual(outcome["by"], {"channel": "socket", "agent": "answerback-python/0.1.0"})
        self.assertEqual((await client.list())["asks"], [])
        self.assertEqual((await client.list(state="settled", outcome="answered"))["asks"], [answered])

    async def test_all_open_asks_are_one_list_however_large_they_are(self) -> None:
        client = self.client()
        wanted = ["1?", "2?", "3?", "4?"]
        large: Question = {**yes_or_no(""), "options": [{"label": "A", "description": "x" * 900_000}]}
        asking = [asyncio.ensure_future(client.ask([{**large, "question": text}])) for text in wanted]
        for text in wanted:
            await opened(client, text)
        found = await client.list()
        self.assertEqual(sorted(ask["questions"][0]["question"] for ask in found["asks"]), wanted)
        self.assertIsNone(found["next"])
        self.assertIsNotNone((await client.list(limit=4))["next"])
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)

    async def test_asks_are_dismissed_and_released(self) -> None:
        client = self.client()
        for question, kind in (("First?", "dismissed"), ("Second?", "released")):
            asking = asyncio.ensure_future(client.ask([yes_or_no(question)]))
            ask = await opened(client, question)
            await (client.dismiss(ask, "Not today.") if kind == "dismissed" else client.release(ask))
            outcome = (await asking)["outcome"]
            assert outcome is not None
            self.assertEqual((outcome["kind"], outcome.get("reason")), (kind, {"dismissed": "Not today."}.get(kind)))

    async def test_what_the_daemon_refuses_is_an_error_that_says_why(self) -> None:
        client = self.client()
        asking = asyncio.ensure_future(client.ask([{**yes_or_no(DEPLOY), "freeText": False}]))
        ask = await opened(client, DEPLOY)
        with self.assertRaises(AnswerbackError) as wrong:
            await client.answer(ask, {DEPLOY: "Perhaps"})
        self.assertEqual((wrong.exception.status, wrong.exception.kind, wrong.exception.ask), (422, "invalid", None))
        self.assertEqual([fault["question"] for fault in wrong.exception.errors], [DEPLOY])
        await client.answer(ask, {DEPLOY: "Yes"})
        await asking
        with self.assertRaises(AnswerbackError) as late:
            await client.answer(ask, {DEPLOY: "No"})
        self.assertEqual((late.exception.status, late.exception.kind), (409, "answered-already"))
        assert late.exception.ask is not None
        self.assertEqual(late.exception.ask["state"], "settled")
        with self.assertRaises(AnswerbackError) as missing:
            await client.get("s__t")
        self.assertEqual((missing.exception.status, missing.exception.kind), (404, "not-found"))

    async def test_an_address_with_a_token_and_a_wrong_one(self) -> None:
        url, token = self.record["url"], self.record["token"]
        self.assertEqual((await Answerback(url=url, token=token).list())["asks"], [])
        with self.assertRaises(AnswerbackError) as refused:
            await Answerback(url=url, token="wrong").list()
        self.assertEqual((refused.exception.status, refused.exception.kind), (401, "unauthorized"))
        self.assertIn("daemon.json", refused.exception.hint or "")

    async def test_without_a_daemon_the_error_says_what_to_do(self) -> None:
        with self.assertRaises(AnswerbackError) as elsewhere:
            Answerback(state_directory=str(self.home / "nowhere"))
        self.assertEqual((elsewhere.exception.status, elsewhere.exception.kind), (0, "unreachable"))
        self.assertIn("answerback status", str(elsewhere.exception))
        with self.assertRaises(AnswerbackError) as gone:
            await Answerback(socket=str(self.home / "no.sock")).list()
        self.assertEqual(gone.exception.kind, "unreachable")

    async def test_an_ask_is_withdrawn_if_it_is_cancelled(self) -> None:
        client = self.client()
        asking = asyncio.ensure_future(client.ask([yes_or_no(DEPLOY)]))
        ask = await opened(client, DEPLOY)
        asking.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await asking
        self.assertEqual(_kind(await client.get(ask["key"])), "withdrawn")
        # It may not be known under which key it is being opened.
        hasty = asyncio.ensure_future(client.ask([yes_or_no("Second?")]))
        await asyncio.sleep(0)
        hasty.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await hasty
        asks = (await client.list(state="all"))["asks"]
        self.assertEqual([_kind(ask) for ask in asks], ["withdrawn"] * 2)

    async def test_an_ask_outlives_the_daemon(self) -> None:
        client, wire = self.client(), Wire(self)
        await wire.open()
        asking = asyncio.ensure_future(Answerback(socket=wire.path).ask([yes_or_no(DEPLOY)]))
        ask = await opened(client, DEPLOY)
        # The first connection opens the ask, and the second one waits for its outcome.
        await until(lambda: wire.count == 2)
        await self.kill_daemon()
        await self.start_daemon()
        await client.answer(ask, {DEPLOY: "No"})
        self.assertEqual(_kind(await soon(_finish(asking))), "answered")


class Watch(WorldCase):
    """Nothing is missed, and nothing comes twice."""

    async def test_the_list_comes_first_and_then_every_change(self) -> None:
        client = self.client()
        asking = asyncio.ensure_future(client.ask([yes_or_no("Before?")]))
        await opened(client, "Before?")
        events = client.watch()
        first = await events.__anext__()
        assert first["type"] == "list"
        self.assertEqual(len(first["asks"]), 1)
        await _open_and_withdraw(client, "After?")
        self.assertEqual(await _next(events, 2), _both("After?"))
        asking.cancel()
        last = await soon(_any(events))
        self.assertEqual(_told(last), "ask.settled Before?")
        # Another program can go on where this one ended.
        await _open_and_withdraw(client, "Later?")
        self.assertEqual(await _next(client.watch(after=last["cursor"]), 2), _both("Later?"))

    async def test_it_goes_on_after_lost_connections_and_a_restart(self) -> None:
        client, wire = self.client(), Wire(self)
        await wire.open()
        events = Answerback(socket=wire.path).watch()
        self.assertEqual((await events.__anext__())["type"], "list")
        for question in ("1?", "2?", "3?"):
            await _open_and_withdraw(client, question)
            first = await _next(events, 1)
            # In the middle of what there is to tell.
            wire.cut()
            await _open_and_withdraw(client, f"more {question}")
            self.assertEqual(first + await _next(events, 3), _both(question) + _both(f"more {question}"))
        await self.kill_daemon()
        await self.start_daemon()
        await _open_and_withdraw(client, "Restarted?")
        self.assertEqual(await _next(events, 2), _both("Restarted?"))

    async def test_a_connection_without_a_heartbeat_is_given_up(self) -> None:
        client, wire = self.client(), Wire(self)
        await wire.open()
        events = Answerback(socket=wire.path).watch(heartbeat=1)
        await events.__anext__()
        wire.is_frozen = True
        waiting = asyncio.ensure_future(_any(events))
        await until(lambda: wire.count == 2)
        wire.is_frozen = False
        await _open_and_withdraw(client, "Frozen?")
        self.assertEqual(_told(await soon(_finish(waiting))), "ask.opened Frozen?")
        self.assertGreaterEqual(wire.count, 3)

    async def test_an_error_that_does_not_pass_ends_it(self) -> None:
        with self.assertRaises(AnswerbackError) as wrong:
            await _any(self.client().watch(after="nonsense"))
        self.assertEqual(wrong.exception.status, 400)


class Decide(WorldCase):
    """The call of a host, and its decision."""

    def call(self, id: str, tool: str, input: Dict[str, Any]) -> ToolCall:
        return ToolCall("s", id, tool, input, "/home/me/shop", [SUGGESTION])

    async def decided(self, call: ToolCall, label: str, edited: Optional[Dict[str, Any]] = None) -> Optional[Decision]:
        client = self.client()
        deciding = asyncio.ensure_future(client.decide(call))
        ask = await opened(client)
        await client.answer(ask, {ask["questions"][0]["question"]: label}, edited=edited)
        return await deciding

    async def test_it_returns_what_a_control_response_carries(self) -> None:
        question = {"questions": [{**yes_or_no("Which?"), "header": "", "multiSelect": False}]}
        for option in question["questions"][0]["options"]:  # type: ignore[attr-defined]
            option["description"] = ""
        command = {"command": "npm test"}
        decision = await self.decided(self.call("t1", "AskUserQuestion", question), "Yes")
        self.assertEqual(decision, {"behavior": "allow", "updatedInput": {**question, "answers": {"Which?": "Yes"}}})
        decision = await self.decided(self.call("t2", "Bash", command), "Allow once")
        self.assertEqual(decision, {"behavior": "allow", "updatedInput": command})
        decision = await self.decided(self.call("t3", "Bash", command), "Always allow Bash(npm test)")
        self.assertEqual(decision, {"behavior": "allow", "updatedInput": command, "updatedPermissions": [SUGGESTION]})
        decision = await self.decided(self.call("t4", "Bash", command), "Allow once", {"command": "pwd"})
        self.assertEqual(decision, {"behavior": "allow", "updatedInput": {"command": "pwd"}})
        decision = await self.decided(self.call("t5", "Bash", command), "Use pnpm")
        message = 'The user denied this call and said: "Use pnpm"'
        self.assertEqual(decision, {"behavior": "deny", "message": message})
        decision = await self.decided(self.call("t6", "ExitPlanMode", {"plan": "# Shop"}), "Approve, accept edits")
        mode = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
        self.assertEqual(decision, {"behavior": "allow", "updatedInput": {}, "updatedPermissions": [mode]})

    async def test_what_is_handed_back_or_dismissed(self) -> None:
        client = self.client()
        call = self.call("t1", "Bash", {"command": "npm test"})
        deciding = asyncio.ensure_future(client.decide(call))
        await client.release(await opened(client))
        self.assertIsNone(await deciding)
        call = self.call("t2", "Bash", {"command": "npm test"})
        deciding = asyncio.ensure_future(client.decide(call))
        await client.dismiss(await opened(client), "Not now.")
        decision = await deciding
        assert decision is not None and decision["behavior"] == "deny"
        self.assertIn("Not now.", decision["message"])

    async def test_a_decision_that_is_cancelled_is_withdrawn(self) -> None:
        client = self.client()
        deciding = asyncio.ensure_future(client.decide(self.call("t", "Bash", {"command": "npm test"})))
        ask = await opened(client)
        deciding.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await deciding
        self.assertEqual(_kind(await client.get(ask["key"], wait=10)), "withdrawn")

    async def test_a_cancellation_is_not_lost_at_any_moment(self) -> None:
        client = self.client()
        for turns in range(12):
            call = self.call(f"t{turns}", "Bash", {"command": "npm test"})
            deciding = asyncio.ensure_future(client.decide(call))
            for _ in range(turns):
                await asyncio.sleep(0)
            deciding.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await soon(_finish(deciding))

    async def test_a_decision_outlives_the_daemon(self) -> None:
        client = self.client()
        deciding = asyncio.ensure_future(client.decide(self.call("t", "Bash", {"command": "npm test"})))
        await opened(client)
        await self.kill_daemon()
        await self.start_daemon()
        ask = await opened(client)
        await client.answer(ask, {ask["questions"][0]["question"]: "Deny"})
        decision = await soon(_finish(deciding))
        self.assertEqual(decision, {"behavior": "deny", "message": "The user denied this call."})

    async def test_an_address_needs_the_token_of_hooks(self) -> None:
        url, token, hook_token = (self.record[name] for name in ("url", "token", "hook_token"))
        call = self.call("t", "Bash", {"command": "npm test"})
        with self.assertRaises(AnswerbackError) as refused:
            await Answerback(url=url, token=token).decide(call)
        self.assertEqual(refused.exception.kind, "unauthorized")
        client = Answerback(url=url, token=token, hook_token=hook_token)
        deciding = asyncio.ensure_future(client.decide(call))
        await client.release(await opened(client))
        self.assertIsNone(await deciding)


class FirstDecision(unittest.IsolatedAsyncioTestCase):
    """Several askers at once."""

    async def test_the_first_decision_counts(self) -> None:
        stopped: List[str] = []

        async def wait() -> Optional[Decision]:
            try:
                await asyncio.Event().wait()
            finally:
                stopped.append("stopped")
            return None

        async def say(decision: Optional[Decision]) -> Optional[Decision]:
            return decision

        async def fail() -> Optional[Decision]:
            raise OSError("not there")

        self.assertEqual(await first_decision(wait(), say(None), fail(), say(ALLOW)), ALLOW)
        self.assertEqual(stopped, ["stopped"])
        self.assertIsNone(await first_decision(say(None), say(None)))
        with self.assertRaisesRegex(OSError, "not there"):
            await first_decision(say(None), fail())
        waiting = asyncio.ensure_future(first_decision(wait(), wait()))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        waiting.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await waiting
        self.assertEqual(len(stopped), 3)


def _kind(ask: Ask) -> Optional[str]:
    outcome = ask["outcome"]
    return None if outcome is None else outcome["kind"]


def _told(event: WatchEvent) -> str:
    assert event["type"] != "list"
    return f"{event['type']} {event['ask']['questions'][0]['question']}"


def _both(question: str) -> List[str]:
    return [f"ask.opened {question}", f"ask.settled {question}"]


async def _any(events: AsyncIterator[WatchEvent]) -> WatchEvent:
    return await events.__anext__()


async def _finish(work: "asyncio.Future[Any]") -> Any:
    return await work


async def _next(events: AsyncIterator[WatchEvent], count: int) -> List[str]:
    return [_told(await soon(_any(events))) for _ in range(count)]


async def _open_and_withdraw(client: Answerback, question: str) -> None:
    asking = asyncio.ensure_future(client.ask([yes_or_no(question)]))
    await opened(client, question)
    asking.cancel()
    with suppress(asyncio.CancelledError):
        await asking


if __name__ == "__main__":
    unittest.main()
