#!/usr/bin/env bash
# Checks that the programs have not become more expensive: instructions of the hook and of the daemon, allocations and bytes of a waiting
# question, and the sizes of both programs. None of them is a time, so this works on a busy machine too.
#
#   tests/costs/run.sh               compares the costs with tests/costs/recorded.json
#   tests/costs/run.sh --record      writes that file anew, as the middle of five runs; margins that are in it stay
#   tests/costs/run.sh --self-test   the check, and then whether it notices costs that were made to grow: every one on paper, and a hook
#                                    that really does needless work
#   tests/costs/run.sh --repeat N    measures N times and shows how much the numbers differ, for choosing the margins
#
#   ANSWERBACK_BIN_DIR   measures the programs in this directory instead of building them; the static hook is in its directory static
#
# It needs cargo and Linux. It installs valgrind with apt-get where it may. Where valgrind does not work, it says so and skips the check.
# With another compiler or C library than in the record, it only reports, because the counts depend on them.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."

task=check
case ${1:-} in
    '') ;;
    --record | --self-test) task=${1#--} ;;
    --repeat) task=repeat times=${2:?"--repeat needs a number"} ;;
    -h | --help)
        sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
        exit
        ;;
    *)
        echo "error: there is no option $1" >&2
        echo "hint: tests/costs/run.sh --help lists them" >&2
        exit 2
        ;;
esac

# skip REASON: there is nothing to compare, and a person should know.
skip() {
    echo "skipped: $1"
    exit 0
}

if [[ $(uname -s) != Linux ]]; then skip "the costs are measured on Linux only"; fi
if ! command -v valgrind >/dev/null; then
    if [[ $(id -u) -ne 0 ]] || ! command -v apt-get >/dev/null; then
        skip "valgrind is missing (install it with your package manager)"
    fi
    echo "installing valgrind" >&2
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq valgrind; } >/dev/null 2>&1 ||
        skip "valgrind could not be installed"
fi
musl_target="$(uname -m)-unknown-linux-musl"
if ! rustup target add "$musl_target" 2>/dev/null && [[ ! -d $(rustc --print target-libdir --target "$musl_target") ]]; then
    skip "the target $musl_target is not available here"
fi

target_dir=${CARGO_TARGET_DIR:-$PWD/target}
scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT

# static_hook_of DIRECTORY: builds the static hook of a source tree.
static_hook_of() {
    (cd "$1" && cargo build --profile hook --locked --quiet --no-default-features --bin answerback-hook --target "$musl_target")
}

bin_dir=${ANSWERBACK_BIN_DIR:-}
# tests/run.sh exports a directory with programs for debugging. Their costs say nothing.
if [[ -n $bin_dir && ! -x $bin_dir/static/answerback-hook ]]; then bin_dir=; fi
if [[ -z $bin_dir ]]; then
    cargo build --release --locked
    static_hook_of .
    bin_dir=$target_dir/release static_hook=$target_dir/$musl_target/hook/answerback-hook
else
    static_hook=$bin_dir/static/answerback-hook
fi
cargo build --release --locked --package answerback-bench
cc -O2 -o "$scratch/without_auxv" "$here/without_auxv.c"
export VALGRIND_OPTS=''
# The smallest program shows whether valgrind works here at all, for example whether it knows the processor.
if ! "$scratch/without_auxv" valgrind --tool=callgrind --callgrind-out-file=/dev/null /bin/true >/dev/null 2>"$scratch/said"; then
    skip "valgrind does not work here: $(tail -n 1 "$scratch/said")"
fi

arguments=(costs --bin-dir "$bin_dir" --static-hook "$static_hook" --peers "$PWD/benches/peers" --scratch /var/tmp
    --launcher "$scratch/without_auxv" --recorded "$here/recorded.json")
case $task in
    check) ;;
    record) arguments+=(--record) ;;
    repeat) arguments+=(--repeat "$times") ;;
    self-test)
        # The same source, except that its main function first does what nobody needs.
        planted=$scratch/planted
        mkdir "$planted"
        git ls-files -z -- Cargo.toml Cargo.lock .cargo build src hooks benches | xargs -0 cp --parents -t "$planted"
        cp "$here/planted.rs" "$planted/src/bin/answerback-hook.rs"
        CARGO_TARGET_DIR=$scratch/target static_hook_of "$planted"
        arguments+=(--self-test "$scratch/target/$musl_target/hook/answerback-hook")
        ;;
esac
"$target_dir/release/answerback-bench" "${arguments[@]}"
