#!/usr/bin/env bash
# Checks the types of the page and of the tests, drives the page with the real Chromium and the real Firefox, and checks the tape of the
# README. `served.test.mjs` checks the size of the page.
#
#   ANSWERBACK_BIN_DIR      where answerback and answerback-hook are (default: target/debug of this checkout)
#   ANSWERBACK_TEST_CACHE   where the tools are kept (default: ${XDG_CACHE_HOME:-~/.cache}/answerback-tests)
#   ANSWERBACK_TEST_CHROMIUM  a Chromium (default: /usr/bin/chromium)
#   ANSWERBACK_TEST_FIREFOX   a Firefox (default: /usr/bin/firefox-esr)
#
#   tests/browser/run.sh                  everything
#   tests/browser/run.sh --screenshots    writes docs/images anew
#   tests/browser/run.sh --tape           writes only docs/images/tape.svg anew
#
# Other arguments go to `node --test`: files, or for example --test-name-pattern=keyboard.
set -euo pipefail

# shellcheck source=tests/real_client/clients.sh
source "$(dirname "${BASH_SOURCE[0]}")/../real_client/clients.sh"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
find_programs

provide_tools
export ANSWERBACK_TEST_BROWSER=$tools

if [[ ${1:-} == --screenshots ]]; then node "$here/screenshots.mjs" "$root/docs/images"; fi
if [[ ${1:-} == --screenshots || ${1:-} == --tape ]]; then
    exec node "$here/../tape/write.mjs" "$root/docs/images/tape.svg"
fi

tsc=$tools/node_modules/.bin/tsc
"$tsc" --project "$here/tsconfig.json"
# The library of the tests is checked strictly, the tests themselves loosely. The types of Node.js and Playwright are outside the tree.
for project in tsconfig.json tsconfig.cases.json; do
    "$tsc" --project "$here/../$project" --typeRoots "$tools/node_modules/@types,$tools/node_modules"
done

version=$(pinned "$cli")
provide_clients "$version"
ANSWERBACK_TEST_CLIENTS=$(clients_of "$version")
export ANSWERBACK_TEST_CLIENTS

options=() files=()
for argument in "$@"; do
    if [[ $argument == *.test.mjs ]]; then files+=("$argument"); else options+=("$argument"); fi
done
if ((${#files[@]} == 0)); then files=("$here"/*.test.mjs "$here"/../tape/*.test.mjs); fi

node --test --test-concurrency=2 --test-reporter=spec "${options[@]}" "${files[@]}"
