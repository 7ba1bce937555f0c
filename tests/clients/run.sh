#!/usr/bin/env bash
# Checks the types of the client packages and of the examples, and runs both packages against our daemon.
#
#   ANSWERBACK_BIN_DIR      where answerback and answerback-hook are (default: target/debug of this checkout)
#   ANSWERBACK_TEST_CACHE   where the tools are kept (default: ${XDG_CACHE_HOME:-~/.cache}/answerback-tests)
#
# Arguments go to `node --test`, for example --test-name-pattern=watch.
set -euo pipefail

# shellcheck source=tests/real_client/clients.sh
source "$(dirname "${BASH_SOURCE[0]}")/../real_client/clients.sh"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
clients=$(cd "$here/../../clients" && pwd)
find_programs
provide_tools
version=$(pinned "$cli")
provide_clients "$version"
ANSWERBACK_TEST_CLIENTS=$(clients_of "$version")
export ANSWERBACK_TEST_CLIENTS
provide_python "$real_client/requirements.txt"
export ANSWERBACK_TEST_BROWSER=$tools ANSWERBACK_TEST_PYTHON=$python
# The packages are used as they are in the tree, and nothing is written there.
export PYTHONPATH=$clients/python MYPYPATH=$clients/python PYTHONDONTWRITEBYTECODE=1

"$tools/node_modules/.bin/tsc" --project "$here/tsconfig.json" --typeRoots "$tools/node_modules/@types"
"$python/bin/python" -m mypy --strict --cache-dir=/dev/null "$clients/python/answerback" "$clients"/examples/*.py "$here"/python/*.py
(cd "$here/python" && "$python/bin/python" -W error -m unittest)
exec node --test --test-concurrency=2 --test-reporter=spec "$@" "$here"/*.test.mjs
