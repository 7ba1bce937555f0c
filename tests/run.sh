#!/usr/bin/env bash
# Sets up what the tests need and runs all of them: unit, integration with the examples of the documentation, the API's description of
# itself, waits under torture, the client packages, the static hook, what the programs cost, the real Claude Code, the page in real
# browsers, the installation.
#
#   tests/run.sh               everything
#   tests/run.sh integration   one part: unit, integration, torture, fleet, api-description, clients, real-client, page, static-hook,
#                              install, costs
#   tests/run.sh nightly       what takes long and rarely changes: compatibility (older versions of Claude Code), patience (what needs
#                              minutes of waiting), long-torture, miri, fuzz. Each of them can be named alone
#   tests/run.sh --changed nightly   only those whose sources have changed since they last passed on this machine
#
# Needs cargo. Installs what is missing (curl, jq, tmux, zsh, fish, valgrind, Python, Node.js, Chromium, Firefox, PostgreSQL) with apt-get
# where it may, and Claude Code with npm, its SDK for Python and the checkers of types and of the API's description with pip, into
# ~/.cache/answerback-tests. Touches nothing else: every test has a scratch HOME.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

# One part of each lane runs at the same time, because most tests wait most of the time. The lanes keep out of each other's way: the first
# builds with cargo for debugging, the second only uses the programs, and the third shares one release build. They take about equally long.
debug_lane=(unit integration torture fleet)
using_lane=(real-client page)
release_lane=(static-hook install api-description clients costs)
nightly_parts=(compatibility patience long-torture miri fuzz)

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
processors=$(getconf _NPROCESSORS_ONLN)

# The packages come before the tests: apt-get works for one at a time.
install_for() {
    case $1 in
        unit) install_postgres ;;
        integration) install_postgres && install_command zsh zsh && install_command fish fish ;;
        fleet) install_postgres && install_fleet_tools ;;
        api-description | clients) install_venv ;;
        # Without it, the part says that it is skipped.
        costs) install_command valgrind valgrind || true ;;
        real-client | patience) install_postgres && install_venv ;;
        page) install_command chromium chromium && install_command firefox-esr firefox-esr ;;
    esac
}

run_part() {
    case $1 in
        unit) limited cargo test --workspace --lib --bins && limited cargo test --workspace --doc ;;
        integration) limited cargo test --test integration ;;
        torture) limited cargo test --test torture -- --nocapture ;;
        fleet) limited cargo test --test fleet -- --nocapture && tests/install_fleet.sh ;;
        api-description) tests/api_description/run.sh ;;
        clients) tests/clients/run.sh ;;
        static-hook) static_hook ;;
        costs) tests/costs/run.sh --self-test ;;
        real-client) tests/real_client/run.sh && tests/plugin.sh ;;
        page) tests/browser/run.sh ;;
        install) tests/install_toolchain.sh && tests/install.sh ;;
        compatibility) tests/real_client/compatibility.sh --check ;;
        patience) ANSWERBACK_TEST_PATIENCE=1 tests/real_client/run.sh --test-name-pattern='two minutes' ;;
        long-torture) ANSWERBACK_TORTURE_SECONDS=300 ANSWERBACK_TORTURE_SEED=$RANDOM run_part torture ;;
        miri) miri ;;
        fuzz) ANSWERBACK_FUZZ_SECONDS=300 limited cargo test --test integration websocket_fuzz -- --nocapture ;;
    esac
}

# one_test PART: the command for a single test of a part.
one_test() {
    case $1 in
        unit) echo "cargo test --lib NAME" ;;
        integration | fuzz) echo "cargo test --test integration NAME" ;;
        fleet) echo "cargo test --test fleet NAME -- --nocapture" ;;
        torture | long-torture) echo "ANSWERBACK_TORTURE_SECONDS=60 cargo test --test torture -- --nocapture" ;;
        clients) echo "tests/clients/run.sh --test-name-pattern=NAME" ;;
        real-client | patience) echo "tests/real_client/run.sh --test-name-pattern=NAME" ;;
        page) echo "tests/browser/run.sh --test-name-pattern=NAME" ;;
        compatibility) echo "tests/real_client/compatibility.sh VERSION" ;;
        *) echo "tests/run.sh $1" ;;
    esac
}

# sources_of PART: what can break a part of the nightly ones.
sources_of() {
    case $1 in
        compatibility | patience) echo hooks src/claude_code src/registry src/http/hook* tests/real_client ;;
        long-torture) echo hooks src/claude_code src/registry src/store src/http src/inbox tests/torture ;;
        miri) echo hooks ;;
        fuzz) echo src/http/websocket src/api src/inbox tests/integration/websocket_fuzz.rs ;;
    esac
}

# passed_file PART: a file that is there if the part has passed with these sources on this machine.
passed_file() {
    local sources
    read -ra sources <<<"$(sources_of "$1")"
    echo "${ANSWERBACK_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/answerback-tests}/passed/$1-$(
        git ls-files -z -- "${sources[@]}" | xargs -0 sha256sum | sha256sum | cut -c1-16
    )"
}

# Builds the programs, and keeps a copy: cargo replaces its own while other tests are built.
provide_programs() {
    local program
    export ANSWERBACK_BIN_DIR=$target_dir/tested
    cargo build && mkdir -p "$ANSWERBACK_BIN_DIR" || return 1
    for program in answerback answerback-hook; do
        cp "$target_dir/debug/$program" "$ANSWERBACK_BIN_DIR/.$program.new" && mv -f "$ANSWERBACK_BIN_DIR/.$program.new" "$ANSWERBACK_BIN_DIR/$program" ||
            return 1
    done
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

# is_one_of WORD WORD...
is_one_of() {
    local word
    for word in "${@:2}"; do
        if [[ $word == "$1" ]]; then return 0; fi
    done
    return 1
}

# run_parts HOW PART...: runs them one after the other. With `aside`, each writes what it says when it has ended.
run_parts() {
    local how=$1 part started verdict
    shift
    for part in "$@"; do
        if [[ -e $scratch/$part.verdict ]]; then continue; fi
        started=$SECONDS verdict=ok
        if [[ $how == aside ]]; then
            printf '%s begins\n' "$part"
            run_part "$part" >"$scratch/$part.log" 2>&1 || verdict=FAILED
            # One speaks at a time.
            until mkdir "$scratch/speaking" 2>/dev/null; do sleep 0.1; done
            say "$part"
            cat "$scratch/$part.log"
            rmdir "$scratch/speaking"
        else
            say "$part"
            run_part "$part" || verdict=FAILED
        fi
        if [[ $verdict == ok ]] && is_one_of "$part" "${nightly_parts[@]}"; then
            mkdir -p "$(dirname "$(passed_file "$part")")" && touch "$(passed_file "$part")"
        fi
        printf '%-15s %-7s %4d s   %s\n' "$part" "$verdict" $((SECONDS - started)) "$(one_test "$part")" >"$scratch/$part.verdict"
    done
}

# end_tree PROCESS: ends it and everything that it has started.
end_tree() {
    local child children
    children=$(pgrep -P "$1")
    # It goes first, because it might start another one.
    kill "$1" 2>/dev/null
    for child in $children; do end_tree "$child"; done
}

# shellcheck disable=SC2317 # the trap calls it
interrupted() {
    local lane
    for lane in ${lanes[@]+"${lanes[@]}"}; do end_tree "$lane"; done
    exit 130
}

changed=
if [[ ${1:-} == --changed ]]; then
    changed=1
    shift
fi
parts=()
for part in "$@"; do
    case $part in
        nightly) parts+=("${nightly_parts[@]}") ;;
        *) parts+=("$part") ;;
    esac
done
if [[ $# -eq 0 ]]; then parts=("${debug_lane[@]}" "${using_lane[@]}" "${release_lane[@]}"); fi
debug=() using=() release=()
for part in "${parts[@]}"; do
    if is_one_of "$part" "${debug_lane[@]}"; then
        debug+=("$part")
    elif is_one_of "$part" "${release_lane[@]}"; then
        release+=("$part")
    elif is_one_of "$part" "${using_lane[@]}" "${nightly_parts[@]}"; then
        using+=("$part")
    else
        echo "error: there is no part called $part (${debug_lane[*]} ${using_lane[*]} ${release_lane[*]} nightly ${nightly_parts[*]})" >&2
        exit 2
    fi
done

scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT
for part in "${parts[@]}"; do
    if [[ -n $changed ]] && is_one_of "$part" "${nightly_parts[@]}" && [[ -e $(passed_file "$part") ]]; then
        printf '%-15s %-7s %s\n' "$part" ok "passed before with the same sources" >"$scratch/$part.verdict"
    fi
done
setup || exit 1
provide_programs || exit 1
# A part whose packages cannot be installed fails. The others still run.
for part in "${parts[@]}"; do
    if [[ -e $scratch/$part.verdict ]]; then continue; fi
    if ! install_for "$part"; then printf '%-15s %-7s %s\n' "$part" FAILED "something that it needs is missing" >"$scratch/$part.verdict"; fi
done

lanes=()
# Most tests wait for something most of the time, so there are more of them at once than processors.
export RUST_TEST_THREADS=${RUST_TEST_THREADS:-$((2 * processors))}
if ((${#parts[@]} > 1)); then
    trap interrupted INT TERM
    for lane in debug using release; do
        declare -n lane_parts=$lane
        if ((${#lane_parts[@]} == 0)); then continue; fi
        run_parts aside "${lane_parts[@]}" &
        lanes+=($!)
    done
    wait
else
    run_parts here "${parts[@]}"
fi

say "summary"
passed=0
for part in "${parts[@]}"; do
    cat "$scratch/$part.verdict"
    if [[ $(<"$scratch/$part.verdict") == *" ok "* ]]; then passed=$((passed + 1)); fi
done
printf '\n%s\n' "in all: $((SECONDS / 60)) min $((SECONDS % 60)) s. The last column is the command for one test of a part."
printf 'parts: %d passed, %d failed\n' "$passed" $((${#parts[@]} - passed))
[[ $passed -eq ${#parts[@]} ]]
