"""What schemathesis cannot know by itself, because the description says it only in words."""

import itertools
import json
import os
import urllib.request

import schemathesis
from schemathesis.core.parameters import ParameterLocation

QUESTION = {
    "question": "Which databases?",
    "options": [{"label": "SQLite", "preview": "<b>one file</b>"}, {"label": "PostgreSQL"}],
    "multiSelect": True,
}
turns = itertools.count()


def open_ask() -> str:
    request = urllib.request.Request(
        os.environ["ANSWERBACK_TEST_SOCKET_URL"] + "/v1/asks",
        data=json.dumps({"questions": [QUESTION]}).encode(),
        headers={"content-type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=20) as reply:
        return json.load(reply)["key"]


def is_wrong(case, location) -> bool:
    return case.meta is not None and case.meta.is_negative_at(location)


def about_our_question(values):
    """The same answers or notes, as far as there is room, under the question that was asked."""
    return {QUESTION["question"]: value for value in values.values()}


@schemathesis.hook
def before_call(_context, case, _kwargs):
    # A long poll is parked for as long as it says. These shall return at once.
    wait = str((case.query or {}).get("wait"))
    if wait.isascii() and wait.isdigit() and int(wait) <= 300:
        case.query["wait"] = 0
    # Half of the calls are about an ask that is open, the others about none. schemathesis would choose keys that it has seen, whose
    # questions its answers do not fit.
    if "{key}" in case.path and not is_wrong(case, ParameterLocation.PATH):
        is_open = next(turns) % 2 == 0
        case.path_parameters["key"] = open_ask() if is_open else "no__such"
        if is_open and case.path.endswith("/answer") and not is_wrong(case, ParameterLocation.BODY):
            for field in {"answers", "notes"} & case.body.keys():
                case.body[field] = about_our_question(case.body[field])
            # A question cannot be edited.
            case.body.pop("edited", None)
    # No two questions may have the same text.
    if case.path == "/v1/asks" and case.method == "POST" and not is_wrong(case, ParameterLocation.BODY):
        seen = set()
        for number, question in enumerate(case.body["questions"]):
            if question["question"] in seen:
                question["question"] = f"{question['question'][:1000]} {number}"
            seen.add(question["question"])
            # A question that takes nothing but its options needs some.
            if not question.get("options"):
                question.pop("freeText", None)


@schemathesis.check
def refused_without_token(_ctx, response, _case):
    assert response.status_code == 401, f"{response.status_code} instead of 401"
