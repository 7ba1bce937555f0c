#!/usr/bin/env bash
# Lets the real Claude Code judge whether this repository, and each directory in plugins/, is a plugin it can use.
#
#   ANSWERBACK_TEST_CACHE  where the clients are kept (default: ${XDG_CACHE_HOME:-~/.cache}/answerback-tests)
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=tests/real_client/clients.sh
source "$root/tests/real_client/clients.sh"
version=$(pinned "$cli")
provide_clients "$version"
claude=$(clients_of "$version")/cli/node_modules/.bin/claude

scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT
cd "$root"
for plugin in . plugins/*; do
    env -i PATH="$PATH" HOME="$scratch" DISABLE_AUTOUPDATER=1 DISABLE_TELEMETRY=1 CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 \
        "$claude" plugin validate "$plugin" --strict
done
