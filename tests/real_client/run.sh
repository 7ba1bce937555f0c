#!/usr/bin/env bash
# Runs the real Claude Code, from the CLI and from the Agent SDK, and the client of the MCP SDK against our binaries and a scripted model.
#
#   ANSWERBACK_BIN_DIR     where answerback and answerback-hook are (default: target/debug of this checkout)
#   ANSWERBACK_TEST_CACHE  where the clients are kept (default: ${XDG_CACHE_HOME:-~/.cache}/answerback-tests)
#
# Arguments go to `node --test` before the files, for example --test-name-pattern=SDK.
set -euo pipefail

# shellcheck source=tests/real_client/clients.sh
source "$(dirname "${BASH_SOURCE[0]}")/clients.sh"

find_programs
version=$(pinned "$cli")
provide_clients "$version"
provide_mcp_sdk
provide_copilot
ANSWERBACK_TEST_CLIENTS=$(clients_of "$version")
export ANSWERBACK_TEST_CLIENTS
provide_python "$real_client/requirements.txt"
export ANSWERBACK_TEST_PYTHON=$python
# Three at once, because they mostly wait for Claude Code.
exec node --test --test-concurrency=3 --test-reporter=spec "$@" "$real_client"/*.test.mjs
