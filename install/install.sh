#!/usr/bin/env bash
# Builds Answerback, installs both programs for this user, and asks a test question to prove that answers arrive.
#
#   install/install.sh                    install the programs into ~/.local/bin
#   install/install.sh --project DIR      also add the hook to DIR/.claude/settings.json
#   install/install.sh --bin-dir DIR      install the programs into another directory
#   install/install.sh --yes              install what is missing without asking: a C compiler, Rust
#   install/install.sh --no-demo          do not leave a question to try it out with
#
# With --project, you can choose where the hook goes:
#
#   --local                               DIR/.claude/settings.local.json, for you alone
#   --shared                              DIR/.claude/settings.json, written so that others can use the file, too
#
# The hook covers questions and plans. With --project, you can choose more, or less again:
#
#   --permissions, --no-permissions       permission requests of tools
#   --forms, --no-forms                   forms of MCP servers
#   --all                                 both
#
# Without a terminal and without --yes, nothing is installed besides Answerback. If rustup is needed and RUSTUP_INIT is the path of its
# installer, that one is used and not downloaded. Run the script again to update: open questions stay open.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
bin_dir=${HOME:?set HOME}/.local/bin
project=
place=
yes=
demo=1
waits=()

usage() {
    sed -n '2,/^set -/{/^#/!d;s/^# \{0,1\}//;p;}' "${BASH_SOURCE[0]}"
}

fail() {
    printf 'error: %s\nhint: %s\n' "$1" "$2" >&2
    exit 1
}

# step WORDS...: a heading, bold in a terminal.
step() {
    local form='\n%s\n'
    if [[ -t 2 ]]; then form='\n\033[1m%s\033[0m\n'; fi
    # shellcheck disable=SC2059
    printf "$form" "$*" >&2
}

# agree QUESTION: whether the person says yes. Without a terminal, only --yes does.
agree() {
    local answer
    if [[ -n $yes ]]; then return 0; fi
    if [[ ! -t 0 || ! -t 2 ]]; then return 1; fi
    read -r -p "$1 [y/N] " answer || return 1
    [[ $answer == [Yy]* ]]
}

# Whether git tracks the project's settings file. The configuration of a repository can name programs, which git would run. So git gets a
# repository without one, and only the index of this one. `answerback install` looks at all other repositories, such as work trees.
is_tracked() {
    local index=$project/.git/index empty status=0
    [[ -f $index ]] || return 1
    empty=$(mktemp -d)
    mkdir "$empty/objects" "$empty/refs"
    echo 'ref: refs/heads/main' >"$empty/HEAD"
    GIT_INDEX_FILE=$index git --git-dir "$empty" --work-tree "$project" -c core.fsmonitor=false --no-optional-locks \
        ls-files --error-unmatch "$project/.claude/settings.json" >/dev/null 2>&1 || status=$?
    rm -rf -- "$empty"
    # An index that git cannot read without the configuration of the repository (128) may have the file.
    [[ $status -eq 0 || $status -eq 128 ]]
}

# Whether the project shares its settings with other people, on whose machines the path of this hook may be another one. If the file has
# this path already, or the form for everybody, that stays.
path_would_be_shared() {
    local settings=$project/.claude/settings.json
    is_tracked || return 1
    ! grep -qF -e "$bin_dir/answerback-hook" -e '|| exec answerback-hook' "$settings" 2>/dev/null
}

# Whether nobody has asked anything yet, so that the page would be empty.
nothing_to_see() {
    [[ $("$answerback" pending --json) == *'"asks": []'* && $("$answerback" history --json) == *'"asks": []'* ]]
}

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
        --local | --shared)
            [[ -z $place || $place == "$1" ]] || fail "--local and --shared exclude each other" "see --help"
            place=$1
            shift
            ;;
        --permissions | --no-permissions | --forms | --no-forms | --all)
            waits+=("$1")
            shift
            ;;
        --yes | -y)
            yes=1
            shift
            ;;
        --no-demo)
            demo=
            shift
            ;;
        --help | -h)
            usage
            exit 0
            ;;
        *) fail "unknown argument $1" "see --help" ;;
    esac
done

needs_project=${place:-${waits[0]:-}}
[[ -n $project || -z $needs_project ]] || fail "$needs_project needs a project" "add --project and the directory in which you start Claude Code"

cd "$root"
target_dir=${CARGO_TARGET_DIR:-$root/target}
# shellcheck source=install/toolchain.sh
source "$root/install/toolchain.sh"
# shellcheck source=install/progress.sh
source "$root/install/progress.sh"

# Everything that a person is asked comes before the build, which takes minutes.
if [[ -n $project && -z $place ]] && path_would_be_shared; then
    agree "Put the hook into $project/.claude/settings.local.json instead, for you alone?" ||
        fail "$project/.claude/settings.json is tracked by git" "add --local for you alone, or --shared for everybody who uses the repository"
    place=--local
fi
provide_toolchain
static=
if has_static_target; then static=1; fi

step "Building"
build --release
hook=$target_dir/release/answerback-hook

# A static hook starts three times faster. If its target is not available, the dynamic hook does the same job.
if [[ -n $static ]]; then
    step "Building a static hook, because it starts faster"
    if build --profile hook --no-default-features --bin answerback-hook --target "$static_target"; then
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
answerback=$bin_dir/answerback
# Replace a running daemon. Waiting hooks reconnect to the new one.
"$answerback" restart

if [[ -n $project ]]; then
    step "Adding the hook to $project"
    scope=(--project "$project")
    case $place in
        --local) scope=(--local "$project") ;;
        --shared) scope+=(--shared) ;;
    esac
    # The bash of macOS takes an empty array for an unset variable.
    "$answerback" install "${scope[@]}" ${waits[@]+"${waits[@]}"}
fi

step "Testing: a question through the hook, its answer, and its receipt"
"$answerback" doctor --round-trip

# The first page that a person opens should have something on it. The pretend agent waits in the background.
waits_there=
if [[ -n $demo ]] && nothing_to_see; then
    said=$(cd "${project:-$HOME}" && "$answerback" demo 2>&1) || fail "the demo could not ask: $said" "run: $answerback doctor"
    waits_there=", where a question waits for you to try it out"
fi

step "Done"
if [[ $(command -v answerback) == "$answerback" ]]; then
    answerback=answerback
else
    echo "To call it by its name, run this line now, and add it to the file that your shell reads when it starts:" >&2
    case ${SHELL:-} in
        */fish) echo "  fish_add_path $(printf %q "$bin_dir")" >&2 ;;
        *) echo "  export PATH=$(printf %q "$bin_dir"):\"\$PATH\"" >&2 ;;
    esac
    # The commands below work even without that.
    answerback=$(printf %q "$answerback")
fi
echo "Open the page$waits_there:" >&2
echo "  $answerback open" >&2
if [[ -n $project ]]; then
    echo "Then start Claude Code in $project. What it asks appears in its terminal and on the page." >&2
else
    echo "Then add the hook to a project in which you use Claude Code. Run this there:" >&2
    echo "  $answerback install" >&2
fi
