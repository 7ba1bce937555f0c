"""examples.py FILE: checks that every example in a description is valid where it stands."""

import json
import sys

from jsonschema import Draft202012Validator


def main() -> int:
    with open(sys.argv[1], encoding="utf-8") as file:
        description = json.load(file)
    wrong = examples = 0
    for name, schema in description["components"]["schemas"].items():
        # References are looked up in the whole document.
        validator = Draft202012Validator({**description, **schema})
        for example in schema.get("examples", []):
            examples += 1
            for error in validator.iter_errors(example):
                wrong += 1
                print(f"error: the example of {name}: {error.message}", file=sys.stderr)
    print(f"{examples} examples, {wrong} faults")
    return 1 if wrong or not examples else 0


if __name__ == "__main__":
    sys.exit(main())
