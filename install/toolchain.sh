# shellcheck shell=bash
# What the build needs: a C compiler, and Rust of the version that Cargo.toml names. Sourced by install.sh in the root
# of the repository; `fail`, `agree` and `step` are there. Nothing is installed before a person or --yes has agreed.

rust_needed=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
static_target=$(uname -m)-unknown-linux-musl

# What is missing, in words, and the commands that install it, as a person would type them.
missing=()
commands=()

has() { command -v "$1" >/dev/null 2>&1; }

# Makes sure that `cc`, `cargo` and `rustc` can be used.
provide_toolchain() {
    local command list
    has_compiler || plan_compiler
    has_rust || plan_rust
    if [[ ${#missing[@]} -eq 0 ]]; then return 0; fi

    list=$(printf '  %s\n' "${commands[@]}")
    step "This is missing: $(join_words "${missing[@]}")"
    printf 'These commands install it:\n%s\n' "$list" >&2
    agree "Run them now?" || fail "nothing was installed, because nobody agreed" \
        "run the commands above, then run this script again; or add --yes, and the script runs them"
    for command in "${commands[@]}"; do
        step "$command"
        # A shell of its own: the last command of a pipe cannot hide that the download failed.
        bash -o pipefail -c "$command" >&2 || fail "this command failed: $command" "run it yourself to see why, then run this script again"
    done
    has_compiler || fail "the C compiler cannot compile a program" "try it: echo 'int main(void){return 0;}' | cc -x c -"
    has_rust || fail "there is still no Rust $rust_needed or later" "see https://rustup.rs"
}

# join_words WORD...: "A", or "A and B".
join_words() {
    if [[ $# -eq 1 ]]; then echo "$1"; else echo "$1 and $2"; fi
}

# --- The C compiler ---

# The name `cc` proves little: the headers of the C library can be missing.
has_compiler() {
    local program status=0
    has cc || return 1
    # On macOS, /usr/bin/cc is always there. Without the developer tools, it opens a window and fails.
    if [[ $(uname -s) == Darwin ]] && ! xcode-select -p >/dev/null 2>&1; then return 1; fi
    program=$(mktemp)
    cc -x c -o "$program" - >/dev/null 2>&1 <<<$'#include <stdio.h>\nint main(void) { return puts("") < 0; }' || status=1
    rm -f -- "$program"
    return "$status"
}

plan_compiler() {
    if [[ $(uname -s) == Darwin ]]; then
        # It opens a window and returns at once, so we cannot go on by ourselves.
        fail "a C compiler is missing" "run: xcode-select --install. When the window is done, run this script again"
    fi
    missing+=("a C compiler")
    if has apt-get; then
        commands+=("$(as_root apt-get update)" "$(as_root apt-get install -y gcc libc6-dev)")
    elif has dnf; then
        commands+=("$(as_root dnf install -y gcc)")
    elif has pacman; then
        commands+=("$(as_root pacman -S --needed --noconfirm gcc)")
    elif has zypper; then
        commands+=("$(as_root zypper --non-interactive install gcc)")
    elif has apk; then
        commands+=("$(as_root apk add gcc musl-dev)")
    else
        fail "a C compiler is missing" "install gcc or clang with your package manager, then run this script again"
    fi
}

# as_root COMMAND...: the command as this user has to type it.
as_root() {
    if [[ $(id -u) -eq 0 ]]; then
        echo "$*"
    elif has sudo; then
        echo "sudo $*"
    else
        echo "su -c '$*'"
    fi
}

# --- Rust ---

# Finds Rust of the right version and puts it into the PATH.
has_rust() {
    local cargo_bin=${CARGO_HOME:-$HOME/.cargo}/bin
    if rust_in_path; then return 0; fi
    # rustup changes the PATH only of later shells, and only if it may.
    if [[ -x $cargo_bin/cargo ]]; then
        PATH=$cargo_bin:$PATH
        if rust_in_path; then return 0; fi
    fi
    # rustup has several versions, and the default one may be old.
    if has rustup && rustup toolchain list 2>/dev/null | grep -q '^stable'; then
        export RUSTUP_TOOLCHAIN=stable
        if rust_in_path; then return 0; fi
        unset RUSTUP_TOOLCHAIN
    fi
    return 1
}

rust_in_path() {
    has cargo && has rustc || return 1
    # To ask for the version must not download anything.
    is_new_enough "$(RUSTUP_AUTO_INSTALL=0 rustc --version 2>/dev/null)"
}

# is_new_enough TEXT: whether the first version in the text is at least the one we need.
is_new_enough() {
    local version
    [[ $1 =~ ([0-9]+)\.([0-9]+) ]] || return 1
    version=("${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}")
    [[ $rust_needed =~ ([0-9]+)\.([0-9]+) ]] || return 1
    ((version[0] > BASH_REMATCH[1] || (version[0] == BASH_REMATCH[1] && version[1] >= BASH_REMATCH[2])))
}

plan_rust() {
    missing+=("Rust $rust_needed or later")
    if has rustup; then
        commands+=("rustup toolchain install stable --profile minimal")
    elif is_new_enough "$(packaged_rust)"; then
        commands+=("$(install_packaged_rust)")
    else
        plan_rustup
    fi
}

# The version that the system's package manager would install.
packaged_rust() {
    if has apt-cache; then
        apt-cache policy rustc 2>/dev/null | sed -n 's/^ *Candidate: //p'
    elif has dnf; then
        dnf -q info rust 2>/dev/null | sed -n 's/^Version *: //p' | tail -n 1
    elif has pacman; then
        # A number and a colon can stand before the version.
        pacman -Si rust 2>/dev/null | sed -n 's/^Version *: \([0-9]*:\)\{0,1\}//p'
    elif has zypper; then
        zypper --non-interactive info rust 2>/dev/null | sed -n 's/^Version *: //p'
    elif has apk; then
        apk search --exact rust 2>/dev/null | sed -n 's/^rust-//p'
    elif has brew; then
        brew info --formula rust 2>/dev/null | sed -n 's/.*rust: stable //p'
    fi
}

install_packaged_rust() {
    if has apt-cache; then
        as_root apt-get install -y cargo rustc
    elif has dnf; then
        as_root dnf install -y cargo rust
    elif has pacman; then
        as_root pacman -S --needed --noconfirm rust
    elif has zypper; then
        as_root zypper --non-interactive install cargo rust
    elif has apk; then
        as_root apk add cargo rust
    else
        echo brew install rust
    fi
}

# Only the build needs Rust, so rustup leaves the files of the shell alone.
plan_rustup() {
    local arguments='-y --profile minimal --no-modify-path'
    if [[ -n ${RUSTUP_INIT:-} ]]; then
        commands+=("$(printf %q "$RUSTUP_INIT") $arguments")
    elif has curl; then
        commands+=("curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- $arguments")
    elif has wget; then
        commands+=("wget -qO- https://sh.rustup.rs | sh -s -- $arguments")
    else
        fail "Rust $rust_needed or later is missing, and there is no curl to download it" \
            "install curl with your package manager, then run this script again"
    fi
}

# --- The target of the static hook ---

# Whether a program without the C library of this machine can be built.
has_static_target() {
    [[ $(uname -s) == Linux ]] || return 1
    if [[ -d $(rustc --print target-libdir --target "$static_target" 2>/dev/null) ]]; then return 0; fi
    has rustup || return 1
    agree "Add the Rust target $static_target (about 40 MB)? The hook starts faster with it." || return 1
    rustup target add "$static_target" >/dev/null 2>&1
}
