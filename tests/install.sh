#!/usr/bin/env bash
# install/install.sh as a newcomer runs it: in a scratch HOME, twice; then install/uninstall.sh. It runs in this checkout, so that what is
# built here serves tests/costs, too.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

checkout=$PWD
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

# What is downloaded and built already is not part of what is tested.
toolchain=$(rustc --print sysroot)
cargo_home=${CARGO_HOME:-$HOME/.cargo}
CARGO_TARGET_DIR=$(realpath -m "${CARGO_TARGET_DIR:-target}")
export CARGO_TARGET_DIR
mkdir -p "$scratch/home" "$scratch/shop/.claude" "$scratch/tools"
printf '{\n   "model": "opus"\n}' >"$scratch/shop/.claude/settings.json"
cp "$scratch/shop/.claude/settings.json" "$scratch/settings.before"
install=$checkout/install/install.sh

# A machine without Rust: every program of this one, but no cargo, no rustc and no rustup.
for tool in /usr/bin/* /bin/*; do
    case ${tool##*/} in
        cargo* | rust*) ;;
        *) ln -sf "$tool" "$scratch/tools/" ;;
    esac
done
export HOME=$scratch/home PATH=$scratch/tools
unset XDG_STATE_HOME XDG_CONFIG_HOME CARGO_HOME RUSTUP_HOME RUSTUP_TOOLCHAIN RUSTUP_INIT
bin=$HOME/.local/bin

echo "-- without Rust, without a terminal and without --yes"
if "$install" --project "$scratch/shop" </dev/null >"$scratch/log" 2>&1; then fail "it went on without Rust"; fi
grep -q 'https://sh.rustup.rs | sh -s -- -y' "$scratch/log" || fail "it does not say how to get Rust: $(cat "$scratch/log")"
[[ -z $(ls -A "$HOME") ]] || fail "something was installed"
cmp "$scratch/shop/.claude/settings.json" "$scratch/settings.before" || fail "the settings were changed"

# In place of the download: the toolchain of this machine, with the crates that it has downloaded already.
cat >"$scratch/rustup-init" <<INIT
#!/bin/sh
mkdir -p "\$HOME/.cargo/bin"
ln -s "$toolchain/bin/rustc" "\$HOME/.cargo/bin/rustc"
printf '#!/bin/sh\nCARGO_HOME=%s exec %s/bin/cargo "\$@"\n' "$cargo_home" "$toolchain" >"\$HOME/.cargo/bin/cargo"
chmod +x "\$HOME/.cargo/bin/cargo"
INIT
chmod +x "$scratch/rustup-init"
export RUSTUP_INIT=$scratch/rustup-init

echo "-- install"
"$install" --yes --project "$scratch/shop" </dev/null 2>&1 | tee "$scratch/log"
# If everything was built before, there is no progress to show.
grep -q -e 'parts are built, [0-9]* left' -e '^Built in 0 s\.$' "$scratch/log" || fail "the progress was not shown"
grep -q 'answered, and received' "$scratch/log" || fail "the round trip was not proven"
[[ -x $bin/answerback && -x $bin/answerback-hook ]] || fail "the programs are not in $bin"
grep -q "\"command\": \"$bin/answerback-hook\"" "$scratch/shop/.claude/settings.json" || fail "the hook is not installed"
if [[ -d $("$toolchain/bin/rustc" --print target-libdir --target "$(uname -m)-unknown-linux-musl") ]] && ldd "$bin/answerback-hook" >/dev/null 2>&1; then
    fail "the installed hook is not the static one"
fi

echo "-- the next step works as it was told: the page, with a question on it"
grep -qx "  $bin/answerback open" "$scratch/log" || fail "the next step is not the full path"
address=$("$bin/answerback" open --print)
curl -fsS "${address%%#*}" >"$scratch/page" || fail "the page does not answer"
grep -q '<title>Answerback' "$scratch/page" || fail "this is not the page: $(head -c 300 "$scratch/page")"
record=$HOME/.local/state/answerback/daemon.json
curl -fsS -H "Authorization: Bearer $(jq -r .token "$record")" "$(jq -r .url "$record")/v1/asks" | grep -q 'Which database' ||
    fail "the page has nothing to show"
"$bin/answerback" pending | grep -q 'Which database should the shop use' || fail "the demo does not ask"
eval "$(sed -n 's/^  export PATH=/PATH=/p' "$scratch/log")"
[[ $(command -v answerback) == "$bin/answerback" ]] || fail "the line for the PATH does not work"

echo "-- a question that waits while it is updated"
cp "$scratch/shop/.claude/settings.json" "$scratch/settings.installed"
before=$(answerback status --json | jq .pid)
(cd "$scratch/shop" && "$install" --project . >/dev/null 2>"$scratch/log") || fail "$(cat "$scratch/log")"
cmp "$scratch/shop/.claude/settings.json" "$scratch/settings.installed" || fail "the second time changed the settings"
[[ $(answerback status --json | jq .pid) != "$before" ]] || fail "the old daemon still runs"
[[ $(answerback pending --json | jq '.asks | length') == 1 ]] || fail "the question was lost"
answerback answer SQLite Tests

echo "-- the waits that are chosen, and an update that keeps them"
covers() { (cd "$scratch/shop" && answerback status --json | jq -c "[.coverage | .permissions, .forms]"); }
[[ $(covers) == "[false,false]" ]] || fail "more than questions and plans is covered"
"$install" --project "$scratch/shop" --permissions >/dev/null 2>"$scratch/log" || fail "$(cat "$scratch/log")"
[[ $(covers) == "[true,false]" ]] || fail "--permissions was not passed on"
"$install" --project "$scratch/shop" >/dev/null 2>"$scratch/log" || fail "$(cat "$scratch/log")"
[[ $(covers) == "[true,false]" ]] || fail "the update lost the choice"
"$install" --project "$scratch/shop" --no-permissions --forms >/dev/null 2>"$scratch/log" || fail "$(cat "$scratch/log")"
[[ $(covers) == "[false,true]" ]] || fail "--no-permissions or --forms was not passed on"
if "$install" --all 2>/dev/null; then fail "--all without a project was accepted"; fi

[[ $(answerback pending --json | jq '.asks | length') == 0 ]] || fail "an update asks again"

echo "-- settings that git shares"
git -C "$scratch/shop" init --quiet
git -C "$scratch/shop" add .claude/settings.json
mkdir "$scratch/team" "$scratch/team/.claude"
git -C "$scratch/team" init --quiet
echo '{}' >"$scratch/team/.claude/settings.json"
git -C "$scratch/team" add .claude/settings.json
# An unpacked archive can bring a configuration that runs code.
git -C "$scratch/team" config core.fsmonitor "touch $scratch/code-of-the-repository-ran; false"
"$install" --project "$scratch/shop" >/dev/null 2>"$scratch/log" || fail "an update of what is there is refused: $(cat "$scratch/log")"
if "$install" --project "$scratch/team" </dev/null >/dev/null 2>"$scratch/log"; then fail "the path of this machine was shared"; fi
grep -q 'add --local for you alone, or --shared' "$scratch/log" || fail "it does not say what to do: $(cat "$scratch/log")"
"$install" --yes --project "$scratch/team" >/dev/null 2>"$scratch/log" || fail "$(cat "$scratch/log")"
grep -q answerback-hook "$scratch/team/.claude/settings.local.json" || fail "the hook is not in the local settings"
"$install" --project "$scratch/team" --local --forms >/dev/null 2>"$scratch/log" || fail "--local: $(cat "$scratch/log")"
answerback uninstall --local "$scratch/team" >/dev/null 2>&1
"$install" --project "$scratch/team" --shared >/dev/null 2>"$scratch/log" || fail "--shared: $(cat "$scratch/log")"
if grep -q "$HOME" "$scratch/team/.claude/settings.json"; then fail "--shared wrote a path of this machine"; fi
grep -q 'exec answerback-hook' "$scratch/team/.claude/settings.json" || fail "--shared did not add the hook"
if "$install" --local --shared --project "$scratch/team" 2>/dev/null; then fail "--local and --shared were both accepted"; fi
[[ ! -e $scratch/code-of-the-repository-ran ]] || fail "the repository ran its code"

echo "-- uninstall"
"$checkout/install/uninstall.sh"
cmp "$scratch/shop/.claude/settings.json" "$scratch/settings.before" || fail "the settings are not what they were"
[[ ! -e $bin/answerback && ! -e $bin/answerback-hook ]] || fail "the programs are still there"
[[ -f $HOME/.local/state/answerback/asks.db ]] || fail "the answers are gone"

echo "-- install without a project, uninstall with everything"
"$checkout/install/install.sh" >/dev/null 2>"$scratch/log" || fail "$(cat "$scratch/log")"
[[ $(answerback pending --json | jq '.asks | length') == 0 ]] || fail "somebody who has answered before is asked again"
"$checkout/install/uninstall.sh" --purge
"$install" --no-demo >/dev/null 2>"$scratch/log" || fail "$(cat "$scratch/log")"
[[ $(answerback pending --json | jq '.asks | length') == 0 ]] || fail "--no-demo asks"
"$checkout/install/uninstall.sh" --purge
[[ ! -e $HOME/.local/state/answerback && ! -e $HOME/.config/answerback ]] || fail "something is left"
if "$checkout/install/install.sh" --nonsense 2>/dev/null; then fail "nonsense was accepted"; fi
echo "installed, updated, uninstalled"
