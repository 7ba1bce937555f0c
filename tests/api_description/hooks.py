"""What schemathesis cannot know by itself."""

import itertools
import json
import os
import urllib.request

import schemathesis
from schemathesis.core.parameters import ParameterLocation

QUESTIONS = [
    {
        "question": "Which database?",
        "options": [{"label": "SQLite", "preview": "<b>one file</b>"}, {"label": "PostgreSQL"}],
    }
]
turns = itertools.count()


def open_ask() -> str:
    request = urllib.request.Request(
        os.environ["ANSWERBACK_TEST_SOCKET_URL"] + "/v1/asks",
        data=json.dumps({"questions": QUESTIONS}).encode(),
        headers={"content-type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=20) as reply:
        return json.load(reply)["key"]


@schemathesis.hook
def before_call(_context, case, _kwargs):
    # A long poll is parked for as long as it says: it shall return at once.
    wait = (case.query or {}).get("wait")
    if isinstance(wait, int) and not isinstance(wait, bool) and 0 < wait <= 300:
        case.query["wait"] = 0
    # A made-up key names no ask. Half of the calls are about one that is open.
    is_wrong = case.meta is not None and case.meta.is_negative_at(ParameterLocation.PATH)
    if "{key}" in case.path and not is_wrong and next(turns) % 2:
        case.path_parameters["key"] = open_ask()


@schemathesis.check
def refused_without_token(_ctx, response, _case):
    assert response.status_code == 401, f"{response.status_code} instead of 401"
