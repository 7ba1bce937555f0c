#!/usr/bin/env bash
# What install/install.sh does on a machine that lacks something. Stand-ins play the package managers, the compilers and rustup, so this
# builds nothing and downloads nothing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT
needed=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
bash=$(command -v bash)

fail() {
    echo "error: $*" >&2
    if [[ -f $scratch/log ]]; then cat "$scratch/log" >&2; fi
    exit 1
}

# machine NAME: a HOME and a PATH with nothing but what every system has.
machine() {
    tools=$scratch/$1/tools home=$scratch/$1/home
    mkdir -p "$tools" "$home"
    local name
    # Copies, because a stand-in may replace one of them.
    for name in bash cat chmod dirname grep id mkdir mktemp rm sed sh tail tee uname; do
        cp -L "$(command -v "$name")" "$tools/$name"
    done
    unset RUSTUP_INIT CARGO_HOME RUSTUP_HOME RUSTUP_TOOLCHAIN
}

# stand_in PATH: a program whose text comes from stdin. It notes how it is called.
stand_in() {
    local name=${1##*/} text
    text=$(cat)
    mkdir -p "$(dirname "$1")"
    printf '%s\n' "#!$bash" "echo \"$name \$*\" >>'$scratch/called'" "$text" >"$1"
    chmod +x "$1"
}

# A compiler that works, and Rust of a version.
compiler() { stand_in "$1/cc" <<<'exit 0'; }
rust() {
    stand_in "$1/cargo" <<<"exit 0"
    stand_in "$1/rustc" <<<"echo 'rustc $2 (0123456789 2026-01-01)'"
}

# provide [--yes]: the part of the script that finds and installs tools, without a terminal. Afterwards it says which Rust it uses.
provide() {
    : >"$scratch/called"
    # shellcheck disable=SC2016 # The shell inside expands them.
    HOME=$home PATH=$tools "$bash" -euo pipefail -c '
        yes=${1:+1}
        fail() { printf "error: %s\nhint: %s\n" "$1" "$2" >&2; exit 1; }
        step() { echo "$*" >&2; }
        agree() { [[ -n $yes ]]; }
        source install/toolchain.sh
        provide_toolchain
        echo "uses $(command -v cargo), toolchain ${RUSTUP_TOOLCHAIN:-default}"
    ' provide "${1:-}" >"$scratch/log" 2>&1
}

says() { grep -qF -- "$1" "$scratch/log" || fail "it does not say: $1"; }
was_called() { grep -qxF -- "$1" "$scratch/called" || fail "it did not call: $1 (but: $(cat "$scratch/called"))"; }
installed_nothing() {
    if grep -Eq '(install|add|-S) ' "$scratch/called"; then fail "it installed something: $(cat "$scratch/called")"; fi
    [[ -z $(ls -A "$home") ]] || fail "it put something into HOME"
}

echo "-- everything is there"
machine complete
compiler "$tools" && rust "$tools" "$needed.0"
provide || fail "it wants something else"
says "uses $tools/cargo, toolchain default"

echo "-- Rust is in HOME, and its directory is not in the PATH"
machine unlisted
compiler "$tools" && rust "$home/.cargo/bin" 99.0.0
provide || fail "it did not find Rust"
says "uses $home/.cargo/bin/cargo"

echo "-- Rust in the PATH is too old, and the one in HOME is not"
machine both
compiler "$tools" && rust "$tools" 1.63.0 && rust "$home/.cargo/bin" "$needed.1"
provide || fail "it did not find the newer Rust"
says "uses $home/.cargo/bin/cargo"

echo "-- rustup has a newer toolchain than its default one"
machine default_old
compiler "$tools" && rust "$tools" 1.63.0
# shellcheck disable=SC2016 # The stand-in expands it.
stand_in "$tools/rustc" <<<'if [[ ${RUSTUP_TOOLCHAIN:-} == stable ]]; then echo "rustc 99.0.0"; else echo "rustc 1.63.0"; fi'
stand_in "$tools/rustup" <<<'echo stable-x86_64-unknown-linux-gnu'
provide || fail "it did not choose the other toolchain"
says "toolchain stable"

echo "-- rustup has only old toolchains"
machine rustup_old
compiler "$tools" && rust "$tools" 1.63.0
stand_in "$tools/rustup" <<EOS
if [[ \$1 == toolchain && \$2 == install ]]; then
    printf '#!%s\necho rustc 99.0.0\n' "$bash" >"$tools/rustc"
else
    echo stable-x86_64-unknown-linux-gnu
fi
EOS
if provide; then fail "an old Rust was accepted"; fi
says "rustup toolchain install stable --profile minimal"
installed_nothing
provide --yes || fail "it did not install a newer toolchain"
was_called "rustup toolchain install stable --profile minimal"
says "uses $tools/cargo"

echo "-- no Rust at all: the command is named, and nothing is installed without a yes"
machine none
compiler "$tools"
stand_in "$tools/curl" <<<'echo "exit 3"'
if provide; then fail "it went on without Rust"; fi
says "Rust $needed or later"
says "curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y --profile minimal --no-modify-path"
says "add --yes"
installed_nothing
if provide --yes; then fail "a rustup that fails was taken for one that works"; fi
says "this command failed: curl"

echo "-- a download that fails is noticed"
stand_in "$tools/curl" <<<'exit 22'
if provide --yes; then fail "a failed download was not noticed"; fi
says "this command failed: curl"

echo "-- rustup from RUSTUP_INIT"
stand_in "$scratch/my files/rustup-init" <<<"echo 'exit 0' >'$tools/cargo'; printf '#!%s\necho rustc 99.0.0\n' '$bash' >'$tools/rustc'; chmod +x '$tools/cargo' '$tools/rustc'"
export RUSTUP_INIT="$scratch/my files/rustup-init"
provide --yes || fail "the installer in RUSTUP_INIT was not used"
was_called "rustup-init -y --profile minimal --no-modify-path"

# packages MANAGER VERSION: a stand-in of the package manager, which has this version of Rust.
packages() {
    local form
    case $1 in
        apt-get)
            stand_in "$tools/apt-cache" <<<"printf 'rustc:\n  Installed: (none)\n  Candidate: $2+dfsg1-2\n'"
            ;;
        dnf | zypper) form="Name    : rust\nVersion : $2\n" ;;
        pacman) form="Name    : rust\nVersion : 1:$2-1\n" ;;
        apk) form="rust-$2-r0\n" ;;
    esac
    stand_in "$tools/$1" <<EOS
case "\$*" in
    *install*rust* | *add*rust* | *-S*rust*)
        [[ \$* != *-Si* ]] || { printf '${form:-}'; exit; }
        printf '#!%s\necho rustc $2\n' "$bash" | tee "$tools/rustc" >"$tools/cargo" && chmod +x "$tools/rustc" "$tools/cargo"
        ;;
    *install*gcc* | *add*gcc* | *-S*gcc*) printf '#!%s\n' "$bash" >"$tools/cc" && chmod +x "$tools/cc" ;;
    *) printf '${form:-}' ;;
esac
EOS
}

for manager in apt-get dnf pacman zypper apk; do
    echo "-- no compiler and no Rust; $manager has both"
    machine "new_$manager"
    packages "$manager" 99.1.0
    stand_in "$tools/id" <<<'echo 0'
    if provide; then fail "it went on without a compiler"; fi
    says "a C compiler and Rust $needed or later"
    installed_nothing
    provide --yes || fail "it did not install them"
    grep -q "$manager .*gcc" "$scratch/called" || fail "the compiler was not installed: $(cat "$scratch/called")"
    grep -q "$manager .*rust" "$scratch/called" || fail "Rust was not installed: $(cat "$scratch/called")"

    echo "-- $manager has an old Rust"
    machine "old_$manager"
    packages "$manager" 1.63.0
    compiler "$tools"
    stand_in "$tools/wget" <<<'exit 1'
    if provide; then fail "it went on without Rust"; fi
    says "wget -qO- https://sh.rustup.rs | sh -s -- -y --profile minimal --no-modify-path"
done

echo "-- a compiler without the headers of the C library, and a person who is not root"
machine headers
stand_in "$tools/cc" <<<'exit 1'
rust "$tools" 99.0.0
packages apt-get 99.1.0
stand_in "$tools/id" <<<'echo 1000'
if provide; then fail "a compiler that cannot compile was accepted"; fi
says "su -c 'apt-get install -y gcc libc6-dev'"
stand_in "$tools/sudo" <<<'"$@"'
if provide; then fail "a compiler that cannot compile was accepted"; fi
says "sudo apt-get update"
says "sudo apt-get install -y gcc libc6-dev"
provide --yes || fail "it did not install the compiler"
was_called "sudo apt-get install -y gcc libc6-dev"

echo "-- macOS without its developer tools"
machine macos
compiler "$tools" && rust "$tools" 99.0.0
stand_in "$tools/uname" <<<'echo Darwin'
stand_in "$tools/xcode-select" <<<'exit 2'
if provide --yes; then fail "the compiler's stub was taken for a compiler"; fi
says "xcode-select --install"

echo "-- nothing can be found out"
machine bare
if provide --yes; then fail "it went on without anything"; fi
says "install gcc or clang with your package manager"
echo "every machine gets what it lacks, or is told"
