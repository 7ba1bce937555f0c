"""A daemon as people write it with asyncio and aiohttp: a dictionary of futures. It keeps nothing on the disk.

python daemon.py SOCKET
"""

import asyncio
import json
import sys

from aiohttp import web

asks = {}
readers = set()
cursor = 0


def publish(kind, ask):
    global cursor
    cursor += 1
    data = json.dumps({"type": kind, "cursor": str(cursor), "ask": ask})
    event = f"id: {cursor}\nevent: {kind}\ndata: {data}\n\n".encode()
    for queue in readers:
        queue.put_nowait(event)


async def hook(request):
    call = await request.json()
    if call.get("tool_name") != "AskUserQuestion":
        return web.Response()
    key = f"{call['session_id']}__{call['tool_use_id']}"
    ask = {
        "key": key,
        "session": call["session_id"],
        "project": call.get("cwd"),
        "state": "open",
        "questions": call["tool_input"]["questions"],
    }
    answered = asyncio.get_running_loop().create_future()
    asks[key] = (ask, answered)
    request.transport.write(f"HTTP/1.1 102 Processing\r\nx-answerback-ask: {key}\r\n\r\n".encode())
    publish("ask.opened", ask)
    try:
        answers = await answered
    finally:
        asks.pop(key, None)
    decision = {"hookEventName": "PreToolUse", "permissionDecision": "allow"}
    decision["updatedInput"] = {"questions": ask["questions"], "answers": answers}
    return web.json_response({"hookSpecificOutput": decision})


async def answer(request):
    found = asks.get(request.match_info["key"])
    if found is None:
        raise web.HTTPNotFound
    ask, answered = found
    if answered.done():
        raise web.HTTPConflict
    answers = (await request.json())["answers"]
    answered.set_result(answers)
    settled = {**ask, "state": "settled", "outcome": {"kind": "answered", "answers": answers}}
    publish("ask.settled", settled)
    return web.json_response(settled)


async def list_open(_request):
    newest_first = [ask for ask, _ in reversed(asks.values())]
    return web.json_response({"asks": newest_first, "cursor": str(cursor)})


async def events(request):
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
    await response.prepare(request)
    queue = asyncio.Queue()
    readers.add(queue)
    try:
        while True:
            await response.write(await queue.get())
    finally:
        readers.discard(queue)


app = web.Application()
app.router.add_post("/v1/hooks/claude-code", hook)
app.router.add_post("/v1/asks/{key}/answer", answer)
app.router.add_get("/v1/asks", list_open)
app.router.add_get("/v1/events", events)
web.run_app(app, path=sys.argv[1], print=None, access_log=None, backlog=4096)
