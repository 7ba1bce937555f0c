#!/usr/bin/env bash
# Measures what works with which version of Claude Code, and writes it to docs/compatibility.md.
#
#   tests/real_client/compatibility.sh                  measures every version, and writes the page
#   tests/real_client/compatibility.sh --check          measures every version; fails if the page says something else
#   tests/real_client/compatibility.sh VERSION...       measures these only, and leaves the page alone
#
# A version that does not do what compatibility/expected.json says of it is a failure, and nothing is written.
# That file is also the list of the versions. Environment: see clients.sh.
set -euo pipefail

# shellcheck source=tests/real_client/clients.sh
source "$(dirname "${BASH_SOURCE[0]}")/clients.sh"

check=
if [[ ${1:-} == --check ]]; then
    check=--check
    shift
fi
if [[ ${1:-} == -* || (-n $check && $# -gt 0) ]]; then
    echo "usage: compatibility.sh [--check | VERSION...]" >&2
    exit 2
fi

mapfile -t all < <(node -p 'Object.keys(require(process.argv[1])).join("\n")' "$real_client/compatibility/expected.json")
versions=("$@")
if [[ $# -eq 0 ]]; then versions=("${all[@]}"); fi
if [[ " ${all[*]} " != *" $(pinned "$cli") "* ]]; then
    echo "error: compatibility/expected.json does not name the pinned version, $(pinned "$cli")" >&2
    exit 1
fi

find_programs
measured=$(mktemp -d)
trap 'rm -rf -- "$measured"' EXIT
failed=()
for version in "${versions[@]}"; do
    printf '\n%s\n' "Claude Code $version"
    provide_clients "$version"
    ANSWERBACK_TEST_CLIENTS=$(clients_of "$version") ANSWERBACK_TEST_VERSION=$version \
        ANSWERBACK_TEST_MEASURED=$measured/$version.json \
        node --test --test-reporter=spec "$real_client/compatibility/measure.test.mjs" || failed+=("$version")
done

if [[ ${#failed[@]} -gt 0 ]]; then
    echo "error: not as expected: ${failed[*]}" >&2
    echo "hint: what was measured is above; if it is right, say so in tests/real_client/compatibility/expected.json" >&2
    exit 1
fi
if [[ $# -eq 0 ]]; then
    node "$real_client/compatibility/page.mjs" "$measured" "$real_client/../../docs/compatibility.md" $check
fi
