#!/usr/bin/env bash
# Runs the real Claude Code, from the CLI and from the Agent SDK, against our binaries and a scripted model.
#
#   ANSWERBACK_BIN_DIR     where answerback and answerback-hook are (default: target/debug of this checkout)
#   ANSWERBACK_TEST_CACHE  where the clients are kept (default: ${XDG_CACHE_HOME:-~/.cache}/answerback-tests)
#
# Arguments go to `node --test` before the files, for example --test-name-pattern=SDK.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bin_dir=$(realpath -m "${ANSWERBACK_BIN_DIR:-$here/../../target/debug}")

for program in answerback answerback-hook; do
    if [[ ! -x $bin_dir/$program ]]; then
        echo "error: no $program in $bin_dir" >&2
        echo "hint: run 'cargo build', or set ANSWERBACK_BIN_DIR" >&2
        exit 1
    fi
done

pinned() {
    node -p 'require(process.argv[1]).devDependencies[process.argv[2]]' "$here/package.json" "$1"
}

cli=@anthropic-ai/claude-code
sdk=@anthropic-ai/claude-agent-sdk
cli_version=$(pinned "$cli")
sdk_version=$(pinned "$sdk")
cache=${ANSWERBACK_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/answerback-tests}
clients=$cache/claude-code-$cli_version

intact() {
    local installed
    installed=$("$clients/cli/node_modules/.bin/claude" --version 2>/dev/null) || return 1
    [[ $installed == "$cli_version "* ]] || return 1
    installed=$(node -p 'require(process.argv[1]).version' "$clients/sdk/node_modules/$sdk/package.json" 2>/dev/null) || return 1
    [[ $installed == "$sdk_version" ]]
}

# Installed aside and renamed into place: what an interrupted install leaves behind is never taken for a whole one.
install_clients() {
    local staging
    mkdir -p "$cache"
    staging=$(mktemp -d "$cache/install-XXXXXX")
    # shellcheck disable=SC2064 # the name of now, not of the exit
    trap "rm -rf -- '$staging'" EXIT
    npm_install "$staging/cli" "$cli@$cli_version"
    # The SDK runs on the CLI above: it needs no second copy of the program, and bundles what it calls its peers.
    npm_install "$staging/sdk" --omit=optional --legacy-peer-deps "$sdk@$sdk_version"
    rm -rf -- "$clients"
    mv -T -- "$staging" "$clients"
    trap - EXIT
}

npm_install() {
    local prefix=$1
    shift
    mkdir -p "$prefix"
    npm install --prefix "$prefix" --no-audit --no-fund --no-package-lock --loglevel=error "$@" >&2
}

if ! intact; then
    echo "installing $cli $cli_version and $sdk $sdk_version into $clients" >&2
    install_clients
    if ! intact; then
        echo "error: the clients in $clients do not run" >&2
        exit 1
    fi
fi

export ANSWERBACK_BIN_DIR=$bin_dir ANSWERBACK_TEST_CLIENTS=$clients
exec node --test --test-concurrency=2 --test-reporter=spec "$@" "$here"/*.test.mjs
