# shellcheck shell=bash
# The real clients, for the scripts that run them; to be sourced.
#
#   ANSWERBACK_BIN_DIR     where answerback and answerback-hook are (default: target/debug of this checkout)
#   ANSWERBACK_TEST_CACHE  where the clients are kept (default: ${XDG_CACHE_HOME:-~/.cache}/answerback-tests)

real_client=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${ANSWERBACK_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/answerback-tests}
cli=@anthropic-ai/claude-code
sdk=@anthropic-ai/claude-agent-sdk
mcp_sdk=@modelcontextprotocol/sdk
copilot=@github/copilot

# pinned PACKAGE: the version of it that everything is tested with.
pinned() {
    node -p 'require(process.argv[1]).devDependencies[process.argv[2]]' "$real_client/package.json" "$1"
}

# clients_of VERSION: where that Claude Code is kept, in cli/, and the SDK that goes with the pinned one, in sdk/.
clients_of() {
    echo "$cache/claude-code-$1"
}

# Exports where our programs are, as an absolute path.
find_programs() {
    local program
    ANSWERBACK_BIN_DIR=$(realpath -m "${ANSWERBACK_BIN_DIR:-$real_client/../../target/debug}")
    export ANSWERBACK_BIN_DIR
    for program in answerback answerback-hook; do
        if [[ ! -x $ANSWERBACK_BIN_DIR/$program ]]; then
            echo "error: no $program in $ANSWERBACK_BIN_DIR" >&2
            echo "hint: run 'cargo build', or set ANSWERBACK_BIN_DIR" >&2
            return 1
        fi
    done
}

# provide_clients VERSION: installs them if they are not there, or not whole.
provide_clients() {
    if intact "$1"; then return 0; fi
    echo "installing $cli $1 into $(clients_of "$1")" >&2
    install_aside "$(clients_of "$1")" fill_clients "$1" || return 1
    if ! intact "$1"; then
        echo "error: the clients in $(clients_of "$1") do not run" >&2
        return 1
    fi
}

# Installs the MCP SDK if it is not there, and exports where it is.
provide_mcp_sdk() {
    ANSWERBACK_TEST_MCP_SDK=$cache/mcp-sdk-$(pinned "$mcp_sdk")
    export ANSWERBACK_TEST_MCP_SDK
    provide_package "$mcp_sdk" "$ANSWERBACK_TEST_MCP_SDK"
}

# The same for Copilot CLI.
provide_copilot() {
    ANSWERBACK_TEST_COPILOT=$cache/copilot-$(pinned "$copilot")
    export ANSWERBACK_TEST_COPILOT
    provide_package "$copilot" "$ANSWERBACK_TEST_COPILOT"
}

# provide_package PACKAGE PLACE: installs the pinned version of it if it is not there.
provide_package() {
    if [[ -e $2/node_modules/$1/package.json ]]; then return 0; fi
    echo "installing $1 into $2" >&2
    install_aside "$2" npm_install "$1@$(pinned "$1")"
}

intact() {
    local clients installed
    clients=$(clients_of "$1")
    installed=$("$clients/cli/node_modules/.bin/claude" --version 2>/dev/null) || return 1
    [[ $installed == "$1 "* ]] || return 1
    if [[ $1 != "$(pinned "$cli")" ]]; then return 0; fi
    installed=$(node -p 'require(process.argv[1]).version' "$clients/sdk/node_modules/$sdk/package.json" 2>/dev/null) || return 1
    [[ $installed == "$(pinned "$sdk")" ]]
}

# install_aside PLACE FUNCTION ARGUMENT: lets the function fill a directory and renames that into place. What an interrupted install
# leaves behind is never taken for a whole one. A shell of its own, which ends on the first failure.
install_aside() (
    set -e
    mkdir -p "$cache"
    filling=$(mktemp -d "$cache/filling-XXXXXX")
    trap 'rm -rf -- "$filling"' EXIT
    "$2" "$filling" "$3"
    rm -rf -- "$1"
    mv -T -- "$filling" "$1"
)

# fill_clients DIRECTORY VERSION
fill_clients() {
    npm_install "$1/cli" "$cli@$2"
    if [[ $2 == "$(pinned "$cli")" ]]; then
        # The SDK runs on the CLI above: it needs no second copy of the program, and bundles what it calls its peers.
        npm_install "$1/sdk" --omit=optional --legacy-peer-deps "$sdk@$(pinned "$sdk")"
    fi
}

# provide_tools: installs the tools of tests/browser/package.json, and sets `tools` to where they are. Another pin is another directory.
provide_tools() {
    local pins=$real_client/../browser/package.json
    tools=$cache/browser-$(sha256sum "$pins" | cut -c1-12)
    if [[ -d $tools ]]; then return 0; fi
    echo "installing the tools of tests/browser/package.json into $tools" >&2
    install_aside "$tools" fill_tools "$pins"
}

# fill_tools DIRECTORY PACKAGE_JSON
fill_tools() {
    cp "$2" "$1/"
    npm_install "$1"
}

# provide_python REQUIREMENTS: installs them into a virtual environment, and sets `python` to where it is. Another pin is another directory.
# The directory is renamed after the install, so only the interpreter in it can be started, not the scripts.
provide_python() {
    python=$cache/python-$(sha256sum "$1" | cut -c1-12)
    if [[ -d $python ]]; then return 0; fi
    echo "installing $1 into $python" >&2
    install_aside "$python" fill_python "$1"
}

# fill_python DIRECTORY REQUIREMENTS
fill_python() {
    python3 -m venv "$1"
    "$1/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$2"
}

npm_install() {
    local prefix=$1
    shift
    mkdir -p "$prefix"
    npm install --prefix "$prefix" --no-audit --no-fund --no-package-lock --loglevel=error "$@" >&2
}
