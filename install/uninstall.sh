#!/usr/bin/env bash
# Removes Answerback for this user: the hook in every settings file that has it, the daemon and the programs.
#
#   install/uninstall.sh                  keep your questions, your answers and the configuration
#   install/uninstall.sh --purge          remove them too
#   install/uninstall.sh --bin-dir DIR    if the programs are in another directory
set -euo pipefail

bin_dir=${HOME:?set HOME}/.local/bin
purge=

fail() {
    printf 'error: %s\nhint: %s\n' "$1" "$2" >&2
    exit 1
}

while [[ $# -gt 0 ]]; do
    case $1 in
        --bin-dir)
            [[ -n ${2:-} ]] || fail "$1 needs a directory" "see --help"
            bin_dir=$2
            shift 2
            ;;
        --purge)
            purge=1
            shift
            ;;
        --help | -h)
            sed -n '2,/^set -/{/^#/!d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
            exit 0
            ;;
        *) fail "unknown argument $1" "see --help" ;;
    esac
done

answerback=$bin_dir/answerback
[[ -x $answerback ]] || fail "there is no answerback in $bin_dir" "name the directory with --bin-dir"

state_dir=$("$answerback" status --json | sed -n 's/^ *"state_dir": "\(.*\)",\{0,1\}$/\1/p') || true
# Remove the hook first: without its program, Claude Code would complain on every question.
"$answerback" uninstall --everywhere ||
    fail "the hook is still in the settings files named above, so the programs were not removed" "correct those files, then run this again"
if command -v systemctl >/dev/null && [[ -f $HOME/.config/systemd/user/answerback.service ]]; then
    systemctl --user disable --now answerback || true
    rm -f "$HOME/.config/systemd/user/answerback.service"
fi
if [[ -f $HOME/Library/LaunchAgents/answerback.plist ]]; then
    launchctl unload "$HOME/Library/LaunchAgents/answerback.plist" || true
    rm -f "$HOME/Library/LaunchAgents/answerback.plist"
fi
"$answerback" stop --release
rm -f "$bin_dir/answerback" "$bin_dir/answerback-hook"
echo "Removed the programs from $bin_dir." >&2

if [[ -n $purge ]]; then
    config_dir=${XDG_CONFIG_HOME:-$HOME/.config}/answerback
    if [[ $(uname -s) == Darwin ]]; then config_dir="$HOME/Library/Application Support/answerback"; fi
    rm -rf -- "${state_dir:?the state directory is not known}" "$config_dir"
    echo "Removed $state_dir and $config_dir." >&2
else
    echo "Your questions and answers are kept in ${state_dir:-the state directory}." >&2
fi
