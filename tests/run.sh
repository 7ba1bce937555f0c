#!/usr/bin/env bash
# Sets up what the tests need and runs all of them: unit, integration with the examples of the documentation, the API's description of
# itself, the client packages, the static hook, what the programs cost, the real Claude Code, the page in real browsers, the installation.
#
#   tests/run.sh               everything
#   tests/run.sh integration   one part: unit, integration, fleet, api-description, clients, static-hook, costs, real-client, page, install
#   tests/run.sh compatibility a part for when it is named: older versions of Claude Code too, and docs/compatibility.md checked
#
# Needs cargo. Installs what is missing (curl, jq, tmux, zsh, fish, valgrind, Python, Node.js, Chromium, Firefox, PostgreSQL) with apt-get
# where it may, and Claude Code with npm, its SDK for Python and the checkers of types and of the API's description with pip, into
# ~/.cache/answerback-tests. Touches nothing else: every test has a scratch HOME.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

all_parts=(unit integration fleet api-description clients static-hook costs real-client page install)
parts=("$@")
if [[ $# -eq 0 ]]; then parts=("${all_parts[@]}"); fi

say() { printf '\n\033[1m== %s\033[0m\n' "$*"; }

# install_command COMMAND PACKAGE...
install_command() {
    local command=$1
    shift
    if command -v "$command" >/dev/null; then return 0; fi
    if [[ $(id -u) -ne 0 ]] || ! command -v apt-get >/dev/null; then
        echo "error: $command is missing" >&2
        echo "hint: install it with your package manager ($*), then run this again" >&2
        return 1
    fi
    say "installing $*"
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@" >/dev/null
}

setup() {
    if ! command -v cargo >/dev/null; then
        echo "error: cargo is missing" >&2
        echo "hint: install Rust from your package manager or with rustup, then run this again" >&2
        return 1
    fi
    install_command curl curl && install_command jq jq && install_command tmux tmux && install_command python3 python3 &&
        install_command node nodejs npm && install_command npm npm
}

musl_target="$(uname -m)-unknown-linux-musl"
target_dir=${CARGO_TARGET_DIR:-target}
export ANSWERBACK_BIN_DIR=$target_dir/debug
# Most tests wait for something most of the time, so twice as many as there are processors run at once.
export RUST_TEST_THREADS=${RUST_TEST_THREADS:-$((2 * $(getconf _NPROCESSORS_ONLN)))}

run_part() {
    case $1 in
        unit) install_postgres && limited cargo test --workspace --lib --bins && limited cargo test --workspace --doc && miri ;;
        integration) install_postgres && install_command zsh zsh && install_command fish fish && cargo build && limited cargo test --test integration ;;
        fleet) install_postgres && install_fleet_tools && cargo build && limited cargo test --test fleet -- --nocapture && tests/install_fleet.sh ;;
        api-description) install_venv && cargo build && tests/api_description/run.sh ;;
        clients) install_venv && cargo build && tests/clients/run.sh ;;
        static-hook) static_hook ;;
        costs) tests/costs/run.sh --self-test ;;
        real-client) install_postgres && install_venv && cargo build && tests/real_client/run.sh && tests/plugin.sh ;;
        page) install_command chromium chromium && install_command firefox-esr firefox-esr && cargo build && tests/browser/run.sh ;;
        install) tests/install_toolchain.sh && tests/install.sh ;;
        compatibility) cargo build && tests/real_client/compatibility.sh --check ;;
        *)
            echo "error: there is no part called $1 (${all_parts[*]} compatibility)" >&2
            return 2
            ;;
    esac
}

# limited COMMAND...: ends a command that hangs, so that the other parts run all the same. It is far more time than the tests need.
limited() {
    timeout --kill-after=30 1500 "$@" || {
        local status=$?
        if [[ $status -ge 124 ]]; then echo "error: ended after 25 minutes: $*" >&2; fi
        return "$status"
    }
}

# The hook has its own allocator. Miri finds what an ordinary test of unsafe code cannot see. It needs a nightly toolchain.
miri() {
    if ! rustup component add miri rust-src --toolchain nightly >/dev/null 2>&1; then
        echo "skipped: Miri is not available here"
        return 0
    fi
    cargo +nightly miri test -p answerback-hook --lib arena
}

# Debian keeps what makes virtual environments apart from Python.
install_venv() {
    if python3 -c 'import ensurepip' 2>/dev/null; then return 0; fi
    # There is no command to look for, so this name is looked for and never found.
    install_command python3-venv python3-venv
}

# Wrong clocks, and the tools that read the files in install/fleet.
install_fleet_tools() {
    install_command faketime faketime && install_command haproxy haproxy && install_command docker-compose docker-compose &&
        install_command systemd-analyze systemd && install_venv
}

# The tests start engines of their own, so the package must not make and start one. Its programs are not in PATH.
install_postgres() {
    install_command pgbouncer pgbouncer || return 1
    if compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || command -v initdb >/dev/null; then return 0; fi
    install_command pg_createcluster postgresql-common || return 1
    echo 'create_main_cluster = false' >>/etc/postgresql-common/createcluster.conf
    install_command initdb postgresql
}

# The same source, without the C library of the machine: it must build and keep the promise of an empty success.
static_hook() {
    if ! rustup target add "$musl_target" 2>/dev/null && [[ ! -d $(rustc --print target-libdir --target "$musl_target") ]]; then
        echo "skipped: the target $musl_target is not available here"
        return 0
    fi
    cargo build --profile hook --no-default-features --bin answerback-hook --target "$musl_target" || return 1
    local hook="$target_dir/$musl_target/hook/answerback-hook" scratch said
    if ldd "$hook" >/dev/null 2>&1; then
        echo "error: $hook is not static" >&2
        return 1
    fi
    scratch=$(mktemp -d)
    cp "$hook" "$scratch/"
    said=$(echo PreToolUse | env -i HOME="$scratch" "$scratch/answerback-hook" 2>"$scratch/stderr") || return 1
    [[ -z $said ]] && grep -q 'cannot start' "$scratch/stderr" || return 1
    rm -rf "$scratch"
    echo "static: $(stat -c %s "$hook") bytes, fails open"
}

setup || exit 1
summary=() passed=0 failed=0
for part in "${parts[@]}"; do
    say "$part"
    started=$SECONDS
    if run_part "$part"; then
        passed=$((passed + 1)) verdict=ok
    else
        failed=$((failed + 1)) verdict=FAILED
    fi
    summary+=("$(printf '%-15s %-7s %4d s' "$part" "$verdict" $((SECONDS - started)))")
done

say "summary"
printf '%s\n' "${summary[@]}"
printf '\nparts: %d passed, %d failed\n' "$passed" "$failed"
[[ $failed -eq 0 ]]
