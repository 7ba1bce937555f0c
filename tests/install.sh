#!/usr/bin/env bash
# install/install.sh as a newcomer runs it: from a clean checkout, in a scratch HOME, twice; then install/uninstall.sh.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scratch=$(mktemp -d)
# Whatever happens, nothing of the scratch HOME keeps running.
cleanup() {
    for environ in /proc/[0-9]*/environ; do
        if tr '\0' '\n' 2>/dev/null <"$environ" | grep -qx "HOME=$scratch/home"; then
            kill "$(basename "$(dirname "$environ")")" 2>/dev/null || true
        fi
    done
    rm -rf -- "$scratch"
}
trap cleanup EXIT

fail() {
    echo "error: $*" >&2
    exit 1
}

# The toolchain and what is built already are not part of what is tested.
export CARGO_HOME=${CARGO_HOME:-$HOME/.cargo} RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup}
CARGO_TARGET_DIR=$(realpath -m "${CARGO_TARGET_DIR:-target}")
export CARGO_TARGET_DIR
mkdir -p "$scratch/checkout" "$scratch/home/.config/answerback" "$scratch/shop/.claude"
git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$scratch/checkout"
export HOME=$scratch/home
unset XDG_STATE_HOME XDG_CONFIG_HOME
bin=$HOME/.local/bin
export PATH=$bin:$PATH
echo 'port = 0' >"$HOME/.config/answerback/config.toml"
printf '{\n   "model": "opus"\n}' >"$scratch/shop/.claude/settings.json"
cp "$scratch/shop/.claude/settings.json" "$scratch/settings.before"

echo "-- install"
"$scratch/checkout/install/install.sh" --project "$scratch/shop" 2>&1 | tee "$scratch/log"
grep -q 'answered, and received' "$scratch/log" || fail "the round trip was not proven"
[[ -x $bin/answerback && -x $bin/answerback-hook ]] || fail "the programs are not in $bin"
grep -q "\"command\": \"$bin/answerback-hook\"" "$scratch/shop/.claude/settings.json" || fail "the hook is not installed"
if [[ -d $(rustc --print target-libdir --target "$(uname -m)-unknown-linux-musl") ]] && ldd "$bin/answerback-hook" >/dev/null 2>&1; then
    fail "the installed hook is not the static one"
fi

echo "-- a question that waits while it is updated"
answerback demo
cp "$scratch/shop/.claude/settings.json" "$scratch/settings.installed"
before=$(answerback status --json | jq .pid)
(cd "$scratch/shop" && ../checkout/install/install.sh --project . >/dev/null 2>"$scratch/log") || fail "$(cat "$scratch/log")"
cmp "$scratch/shop/.claude/settings.json" "$scratch/settings.installed" || fail "the second time changed the settings"
[[ $(answerback status --json | jq .pid) != "$before" ]] || fail "the old daemon still runs"
[[ $(answerback pending --json | jq '.asks | length') == 1 ]] || fail "the question was lost"
answerback answer SQLite Tests

echo "-- the waits that are chosen, and an update that keeps them"
install=$scratch/checkout/install/install.sh
covers() { (cd "$scratch/shop" && answerback status --json | jq -c "[.coverage | .permissions, .forms]"); }
[[ $(covers) == "[false,false]" ]] || fail "more than questions and plans is covered"
"$install" --project "$scratch/shop" --permissions >/dev/null 2>"$scratch/log" || fail "$(cat "$scratch/log")"
[[ $(covers) == "[true,false]" ]] || fail "--permissions was not passed on"
"$install" --project "$scratch/shop" >/dev/null 2>"$scratch/log" || fail "$(cat "$scratch/log")"
[[ $(covers) == "[true,false]" ]] || fail "the update lost the choice"
"$install" --project "$scratch/shop" --no-permissions --forms >/dev/null 2>"$scratch/log" || fail "$(cat "$scratch/log")"
[[ $(covers) == "[false,true]" ]] || fail "--no-permissions or --forms was not passed on"
if "$install" --all 2>/dev/null; then fail "--all without a project was accepted"; fi

echo "-- uninstall"
"$scratch/checkout/install/uninstall.sh"
cmp "$scratch/shop/.claude/settings.json" "$scratch/settings.before" || fail "the settings are not what they were"
[[ ! -e $bin/answerback && ! -e $bin/answerback-hook ]] || fail "the programs are still there"
[[ -f $HOME/.local/state/answerback/asks.db ]] || fail "the answers are gone"

echo "-- install without a project, uninstall with everything"
"$scratch/checkout/install/install.sh" >/dev/null 2>"$scratch/log" || fail "$(cat "$scratch/log")"
"$scratch/checkout/install/uninstall.sh" --purge
[[ ! -e $HOME/.local/state/answerback && ! -e $HOME/.config/answerback ]] || fail "something is left"
if "$scratch/checkout/install/install.sh" --nonsense 2>/dev/null; then fail "nonsense was accepted"; fi
echo "installed, updated, uninstalled"
