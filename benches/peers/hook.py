#!/usr/bin/env python3
"""A hook in Python, with nothing but the standard library: urllib over TCP, with the hook's token of daemon.json."""

import json
import os
import sys
import urllib.request


def main():
    state = os.path.join(os.environ["HOME"], ".local/state/answerback")
    with open(os.path.join(state, "daemon.json"), encoding="utf-8") as file:
        daemon = json.load(file)
    request = urllib.request.Request(
        daemon["url"] + "/v1/hooks/claude-code",
        data=sys.stdin.buffer.read(),
        headers={"Content-Type": "application/json", "Authorization": "Bearer " + daemon["hook_token"]},
    )
    with urllib.request.urlopen(request) as response:
        reply = response.read()
    if reply:
        json.loads(reply)
        sys.stdout.buffer.write(reply)


if __name__ == "__main__":
    main()
