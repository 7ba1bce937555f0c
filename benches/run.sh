#!/usr/bin/env bash
# Measures time and memory of the real programs, beside lower limits and comparable programs, and writes docs/performance.md.
#
#   benches/run.sh                    builds everything, measures all, writes the page and its plots
#   benches/run.sh --only NAME...     measures a part, prints its tables and writes nothing
#   benches/run.sh --out FILE         writes the page to another file, and its plots to images/ beside it
#   benches/run.sh --bin-dir DIR      measures the programs in DIR instead of building them: answerback and answerback-hook, and the
#                                     static hook in DIR/static (ANSWERBACK_BIN_DIR does the same)
#   benches/run.sh --quick            a run of a minute, to see whether everything works; prints its tables and writes nothing
#
# The parts: hooks events seen answers exchange race waits throughput fanout companions cold sizes history fleet
#
# It needs cargo and Linux. It installs what is missing (curl, jq, Python, Node.js, PostgreSQL, a static C library) with apt-get where it
# may, and aiohttp with pip into ~/.cache/answerback-tests. What cannot be installed is not measured, and its rows say so. Scratch files
# go to /var/tmp, which should be on a disk (ANSWERBACK_BENCH_DIR chooses another place).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/.."

say() { printf '\n\033[1m== %s\033[0m\n' "$*" >&2; }
warn() { printf 'warning: %s\n' "$*" >&2; }

usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; }

out='' bin_dir=${ANSWERBACK_BIN_DIR:-} only=() length=() is_quick=false
while (($#)); do
    case $1 in
        -h | --help)
            usage
            exit
            ;;
        --out) out=${2:?"--out needs a file"} && shift ;;
        --bin-dir) bin_dir=${2:?"--bin-dir needs a directory"} && shift ;;
        --quick) length=(--quick) is_quick=true ;;
        --only)
            while (($# > 1)) && [[ $2 != --* ]]; do only+=("$2") && shift; done
            if ((!${#only[@]})); then
                echo "error: --only needs at least one name" >&2
                exit 2
            fi
            ;;
        *)
            echo "error: there is no option $1" >&2
            echo "hint: benches/run.sh --help lists them" >&2
            exit 2
            ;;
    esac
    shift
done

# install_command COMMAND PACKAGE...: fails if the command cannot be installed.
install_command() {
    local command=$1
    shift
    if command -v "$command" >/dev/null; then return 0; fi
    if [[ $(id -u) -ne 0 ]] || ! command -v apt-get >/dev/null; then
        warn "$command is missing, so a part is not measured (install $*)"
        return 1
    fi
    say "installing $*"
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@"; } >/dev/null 2>&1 ||
        { warn "$* could not be installed, so a part is not measured" && return 1; }
}

if ! command -v cargo >/dev/null; then
    echo "error: cargo is missing" >&2
    echo "hint: install Rust from your package manager or with rustup, then run this again" >&2
    exit 1
fi

started=$SECONDS
target_dir=${CARGO_TARGET_DIR:-target}
musl_target="$(uname -m)-unknown-linux-musl"
arguments=(--peers "$here/peers" --scratch "${ANSWERBACK_BENCH_DIR:-/var/tmp}")

say "building"
if [[ -z $bin_dir ]]; then
    cargo build --release --locked >&2
    bin_dir=$target_dir/release
    static_hook=
    if rustup target add "$musl_target" 2>/dev/null || [[ -d $(rustc --print target-libdir --target "$musl_target") ]]; then
        cargo build --profile hook --locked --no-default-features --bin answerback-hook --target "$musl_target" >&2
        static_hook=$target_dir/$musl_target/hook/answerback-hook
    else
        warn "the target $musl_target is not available, so the static hook is not measured"
    fi
else
    static_hook=$bin_dir/static/answerback-hook
    if [[ ! -x $static_hook ]]; then
        warn "there is no $static_hook, so the static hook is not measured"
        static_hook=
    fi
fi
arguments+=(--bin-dir "$bin_dir")
if [[ -n $static_hook ]]; then arguments+=(--static-hook "$static_hook"); fi
cargo build --release --locked --package answerback-bench >&2

say "limits and peers"
install_command curl curl || true
install_command jq jq || true
limits=$target_dir/bench-limits
mkdir -p "$limits"
if install_command musl-gcc musl-tools; then compile=(musl-gcc -static -O2); else compile=(cc -static -O2); fi
has_limits=true
for program in empty hook epoll; do
    "${compile[@]}" -o "$limits/$program" "$here/limits/$program.c" || has_limits=false
done
if $has_limits; then
    arguments+=(--limits "$limits")
else
    warn "there is no C compiler with a static library, so the limits in C are not measured"
fi

if install_command node nodejs; then arguments+=(--node "$(command -v node)"); fi

# Another pin is another directory. It gets its name when it is complete.
python_with_aiohttp() {
    local cache=${ANSWERBACK_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/answerback-tests}
    local tools
    tools=$cache/bench-$(sha256sum "$here/peers/requirements.txt" | cut -c1-12)
    if [[ ! -x $tools/bin/python ]]; then
        install_command python3 python3 || return 1
        if ! python3 -c 'import ensurepip' 2>/dev/null; then install_command python3-venv python3-venv >&2 || return 1; fi
        mkdir -p "$cache"
        local aside
        aside=$(mktemp -d "$cache/bench.XXXXXX")
        if ! { python3 -m venv "$aside" &&
            "$aside/bin/python" -m pip install --quiet --disable-pip-version-check -r "$here/peers/requirements.txt"; } >&2; then
            rm -rf -- "$aside"
            warn "aiohttp could not be installed, so the Python daemon is not measured"
            return 1
        fi
        mv "$aside" "$tools"
    fi
    printf '%s\n' "$tools/bin/python"
}
if python=$(python_with_aiohttp); then arguments+=(--python "$python"); fi

# The benchmark starts engines of its own, so the package must not make and start one. Its programs are not in PATH.
install_postgres() {
    if compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || command -v initdb >/dev/null; then return 0; fi
    install_command pg_createcluster postgresql-common || return 1
    echo 'create_main_cluster = false' >>/etc/postgresql-common/createcluster.conf
    install_command initdb postgresql
}
install_postgres || true

say "measuring"
if [[ -z $out ]] && ((!${#only[@]})) && ! $is_quick; then out=docs/performance.md; fi
if [[ -n $out ]]; then arguments+=(--out "$out"); fi
"$target_dir/release/answerback-bench" "${arguments[@]}" "${length[@]}" "${only[@]}"
echo "all of it took $((SECONDS - started)) s" >&2
