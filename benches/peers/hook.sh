#!/usr/bin/env bash
# A hook as a shell script: curl sends the call, jq checks that the reply is one JSON object.
set -euo pipefail
socket=${HOME:?}/.local/state/answerback/daemon.sock
reply=$(curl --silent --fail --unix-socket "$socket" --json @- http://localhost/v1/hooks/claude-code)
if [[ -n $reply ]] && jq --exit-status 'type == "object"' <<<"$reply" >/dev/null; then
    printf '%s' "$reply"
fi
