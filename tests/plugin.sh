#!/usr/bin/env bash
# Lets the real Claude Code judge whether this repository is a plugin it can use.
#
#   ANSWERBACK_TEST_CACHE  where the clients are kept (default: ${XDG_CACHE_HOME:-~/.cache}/answerback-tests)
#
# real_client/run.sh puts the client there.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
version=$(node -p 'require(process.argv[1]).devDependencies["@anthropic-ai/claude-code"]' "$root/tests/real_client/package.json")
cache=${ANSWERBACK_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/answerback-tests}
claude=$cache/claude-code-$version/cli/node_modules/.bin/claude

if [[ ! -x $claude ]]; then
    echo "error: no Claude Code $version in $cache" >&2
    echo "hint: run tests/real_client/run.sh once, or set ANSWERBACK_TEST_CACHE" >&2
    exit 1
fi

scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT
cd "$root"
env -i PATH="$PATH" HOME="$scratch" DISABLE_AUTOUPDATER=1 DISABLE_TELEMETRY=1 CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 \
    "$claude" plugin validate . --strict
