"""The types of the Python client against the daemon's own description: the same fields, the same values, and no others."""

from __future__ import annotations

import ast
import json
import unittest
import urllib.request
from pathlib import Path
from typing import Any, Dict, FrozenSet, List, get_args, get_type_hints

from answerback import types
from world import WorldCase

PACKAGE = Path(types.__file__).parent
#: Our names, and those of the description.
OBJECTS = {
    "Ask": "AskView",
    "Question": "Question",
    "QuestionOption": "QuestionOption",
    "Outcome": "OutcomeView",
    "Source": "Source",
    "Receipt": "Receipt",
    "AskList": "AskList",
    "AskEvent": "EventView",
    "ResetEvent": "ResetEvent",
    "Problem": "Problem",
    "QuestionFault": "QuestionFault",
    "AskRequest": "AskRequest",
}
VALUES = ("Kind", "State", "Origin", "OutcomeKind", "Channel")


def differences(schemas: Dict[str, Any]) -> List[str]:
    """What the description has and the types lack, or the reverse."""
    found: List[str] = []
    for ours, theirs in OBJECTS.items():
        declared, described = getattr(types, ours), schemas[theirs]
        if set(get_type_hints(declared)) != set(described["properties"]):
            found.append(f"{ours}: fields")
        if declared.__required_keys__ != frozenset(described.get("required", [])):
            found.append(f"{ours}: required")
        for name, hint in get_type_hints(declared).items():
            schema = described["properties"].get(name, {})
            if (type(None) in get_args(hint)) != _is_nullable(schema):
                found.append(f"{ours}: {name} may be null")
    for name in VALUES:
        if set(get_args(getattr(types, name))) != set(schemas[name]["enum"]):
            found.append(f"{name}: values")
    described_types = schemas["EventView"]["properties"]["type"]["description"]
    if {f"`{name}`" for name in get_args(types.EventType)} != _quoted(described_types):
        found.append("EventType: values")
    return found


def _is_nullable(schema: Dict[str, Any]) -> bool:
    return "null" in schema.get("type", ()) or {"type": "null"} in schema.get("oneOf", ())


def _quoted(text: str) -> FrozenSet[str]:
    return frozenset(f"`{part}`" for part in text.split("`")[1::2])


class Types(WorldCase):
    """The types, compared."""

    async def test_the_types_are_those_of_the_description(self) -> None:
        headers = {"Authorization": f"Bearer {self.record['token']}"}
        request = urllib.request.Request(f"{self.record['url']}/v1/openapi.json", headers=headers)
        with urllib.request.urlopen(request) as reply:
            schemas = json.load(reply)["components"]["schemas"]
        self.assertEqual(differences(schemas), [])
        # The comparison sees a difference in each direction.
        schemas["AskView"]["properties"]["added"] = {"type": "string"}
        del schemas["Receipt"]["properties"]["as_sent"]
        schemas["Kind"]["enum"].append("riddle")
        schemas["Channel"]["enum"].pop()
        schemas["Source"]["required"].append("agent")
        expected = ["Ask: fields", "Source: required", "Receipt: fields", "Kind: values", "Channel: values"]
        self.assertEqual(sorted(differences(schemas)), sorted(expected))


class Syntax(unittest.TestCase):
    """What older versions of Python can read."""

    def test_python_3_9_can_read_the_package(self) -> None:
        for file in PACKAGE.glob("*.py"):
            ast.parse(file.read_text(encoding="utf-8"), str(file), feature_version=(3, 9))


if __name__ == "__main__":
    unittest.main()
