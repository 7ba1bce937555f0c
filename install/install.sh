#!/usr/bin/env bash
# Builds Answerback, installs both programs for this user, and asks a test question to prove that answers arrive.
#
#   install/install.sh                    install the programs into ~/.local/bin
#   install/install.sh --project DIR      also add the hook to DIR/.claude/settings.json
#   install/install.sh --bin-dir DIR      install the programs into another directory
#
# The hook covers questions and plans. With --project, you can choose more, or less again:
#
#   --permissions, --no-permissions       permission requests of tools
#   --forms, --no-forms                   forms of MCP servers
#   --all                                 both
#
# Needs cargo and a C compiler, but no root. Run it again to update: open questions stay open.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
bin_dir=${HOME:?set HOME}/.local/bin
project=
waits=()

usage() {
    sed -n '2,/^set -/{/^#/!d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
}

fail() {
    printf 'error: %s\nhint: %s\n' "$1" "$2" >&2
    exit 1
}

step() { printf '\n\033[1m%s\033[0m\n' "$*" >&2; }

while [[ $# -gt 0 ]]; do
    case $1 in
        --project | --bin-dir)
            [[ -n ${2:-} ]] || fail "$1 needs a directory" "see --help"
            # Relative to the caller's directory, before we change to our own.
            if [[ $1 == --project ]]; then
                project=$(cd "$2" 2>/dev/null && pwd) || fail "$2 is not a directory" "name the directory in which you start Claude Code"
            else
                mkdir -p "$2"
                bin_dir=$(cd "$2" && pwd)
            fi
            shift 2
            ;;
        --permissions | --no-permissions | --forms | --no-forms | --all)
            waits+=("$1")
            shift
            ;;
        --help | -h)
            usage
            exit 0
            ;;
        *) fail "unknown argument $1" "see --help" ;;
    esac
done

[[ -n $project || ${#waits[@]} -eq 0 ]] || fail "${waits[0]} needs a project" "add --project and the directory in which you start Claude Code"

command -v cargo >/dev/null || fail "cargo is missing" "install Rust with your package manager or with rustup, then run this again"
command -v cc >/dev/null || fail "a C compiler is missing" "install gcc or clang (Debian: apt install gcc libc6-dev; macOS: xcode-select --install)"

cd "$root"
target_dir=${CARGO_TARGET_DIR:-$root/target}

step "Building (a few minutes the first time)"
cargo build --release --locked
hook=$target_dir/release/answerback-hook

# A static hook starts three times faster. If its target is not available, the dynamic hook does the same job.
static_target=$(uname -m)-unknown-linux-musl
if [[ $(uname -s) == Linux ]] && rustup target add "$static_target" >/dev/null 2>&1; then
    step "Building a static hook, because it starts faster"
    if cargo build --profile hook --locked --no-default-features --bin answerback-hook --target "$static_target"; then
        hook=$target_dir/$static_target/hook/answerback-hook
    fi
fi

step "Installing into $bin_dir"
mkdir -p "$bin_dir"
# Rename into place: a running hook keeps its own file, and a hook that starts now finds a complete one. The settings
# of projects name these programs, so they are synced to the disk: half a program after a crash would be an error with
# every question.
for program in "$target_dir/release/answerback" "$hook"; do
    name=$(basename "$program")
    install -m 755 "$program" "$bin_dir/.$name.new"
    sync "$bin_dir/.$name.new"
    mv -f "$bin_dir/.$name.new" "$bin_dir/$name"
    sync "$bin_dir"
    echo "$bin_dir/$name" >&2
done
# Replace a running daemon. Waiting hooks reconnect to the new one.
"$bin_dir/answerback" restart

if [[ -n $project ]]; then
    step "Adding the hook to $project"
    # The bash of macOS takes an empty array for an unset variable.
    "$bin_dir/answerback" install --project "$project" ${waits[@]+"${waits[@]}"}
fi

step "Testing: a question through the hook, its answer, and its receipt"
"$bin_dir/answerback" doctor --round-trip

step "Done"
if [[ :$PATH: != *:$bin_dir:* ]]; then
    echo "$bin_dir is not in your PATH. Add it, or use the full path." >&2
fi
if [[ -n $project ]]; then
    cat >&2 <<NEXT
Start Claude Code in $project. What it asks appears in its terminal and on the page:
  answerback open
NEXT
else
    cat >&2 <<NEXT
Next, run this in one of your projects:
  answerback install
Or try it without Claude Code first:
  answerback demo && answerback open
NEXT
fi
