#!/usr/bin/env bash
# Checks that the API's description of itself (GET /v1/openapi.json) is valid OpenAPI, and that a running daemon does what it says.
#
#   ANSWERBACK_BIN_DIR      where answerback and answerback-hook are (default: target/debug of this checkout)
#   ANSWERBACK_TEST_CACHE   where the tools are kept (default: ${XDG_CACHE_HOME:-~/.cache}/answerback-tests)
#
# Arguments go to each run of schemathesis, for example --include-path=/v1/asks.
set -euo pipefail

# shellcheck source=tests/real_client/clients.sh
source "$(dirname "${BASH_SOURCE[0]}")/../real_client/clients.sh"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
find_programs

provide_python "$here/requirements.txt"
python=$python/bin/python

scratch=$(mktemp -d)
state=$scratch/.local/state/answerback
started=()
# shellcheck disable=SC2317 # the trap calls it
clean_up() {
    if ((${#started[@]})); then kill -- "${started[@]}" 2>/dev/null || true; fi
    wait
    rm -rf -- "$scratch"
}
trap clean_up EXIT

# With an address for devices, so that one can be let in.
mkdir -p "$scratch/.config/answerback"
cat >"$scratch/.config/answerback/config.toml" <<'TOML'
port = 0
public_url = "https://answers.example.org"
[notify.desktop]
enabled = false
TOML
env -i PATH="$PATH" HOME="$scratch" "$ANSWERBACK_BIN_DIR/answerback" daemon --port 0 >"$scratch/daemon.log" 2>&1 &
started+=($!)
# Where no token is needed: what comes in here goes to the daemon's socket.
"$python" "$here/forward.py" "$state/daemon.sock" "$scratch/socket-url" &
started+=($!)
for file in "$state/daemon.json" "$scratch/socket-url"; do
    for _ in {1..300}; do
        if [[ -s $file ]]; then break; fi
        sleep 0.1
    done
    if [[ ! -s $file ]]; then
        echo "error: the daemon did not start" >&2
        cat "$scratch/daemon.log" >&2
        exit 1
    fi
done
url=$(jq -r .url "$state/daemon.json")
token=$(jq -r .token "$state/daemon.json")
socket_url=$(<"$scratch/socket-url")

description=$scratch/openapi.json
curl --silent --show-error --fail-with-body -H "Authorization: Bearer $token" "$url/v1/openapi.json" -o "$description"
"$python" -m openapi_spec_validator "$description"
"$python" "$here/examples.py" "$description"

# only NAME ROLE...: writes NAME.json, which describes the operations that need one of these roles; `none` is no token.
only() {
    jq --args '
        def role: .security[0].token[0]? // "none";
        .paths |= (map_values(with_entries(select(.value | role | IN($ARGS.positional[])))) | del(.[] | select(. == {})))
    ' "${@:2}" <"$description" >"$scratch/$1.json"
}

# without NAME PATH...: takes operations out of NAME.json.
without() {
    local path
    for path in "${@:2}"; do
        jq --arg path "$path" 'del(.paths[$path])' <"$scratch/$1.json" >"$scratch/$1.new" && mv "$scratch/$1.new" "$scratch/$1.json"
    done
}

# schemathesis NAME URL ARGUMENTS...: what is described in NAME.json against the daemon at this URL.
schemathesis() (
    cd "$scratch" || exit 1
    exec "$python" -m schemathesis.cli --config-file "$here/schemathesis.toml" run "$scratch/$1.json" --url "${@:2}"
)

export SCHEMATHESIS_HOOKS=$here/hooks.py ANSWERBACK_TEST_SOCKET_URL=$socket_url
failed=0

echo '== with the token of daemon.json'
only token read answer ask
# These are endless. tests/integration/events.rs and websocket.rs read them.
without token /v1/events /v1/ws
schemathesis token "$url" --header "Authorization: Bearer $token" --exclude-checks=refused_without_token "$@" || failed=1

echo '== over the socket: what needs no token, and what no token may do'
only socket none hook admin socket
# It would end the test.
without socket /v1/stop
schemathesis socket "$socket_url" --exclude-checks=refused_without_token "$@" || failed=1

echo '== without a token'
only all read answer ask hook admin socket
schemathesis all "$url" --max-examples=5 --checks=refused_without_token "$@" || failed=1
exit $failed
