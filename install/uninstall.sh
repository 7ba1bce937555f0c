#!/usr/bin/env bash
# Removes Answerback of this user: the hook from every settings file it was installed into, the daemon, the programs.
#
#   install/uninstall.sh                  keeps your questions and answers, and the configuration
#   install/uninstall.sh --purge          removes them too
#   install/uninstall.sh --bin-dir DIR    when the programs were installed into another directory
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
[[ -x $answerback ]] || fail "there is no answerback in $bin_dir" "name its directory with --bin-dir"

state_dir=$("$answerback" status --json | sed -n 's/^ *"state_dir": "\(.*\)",\{0,1\}$/\1/p') || true
# The hook goes first: without its program, Claude Code would complain on every question.
"$answerback" uninstall --everywhere ||
    fail "the hook is still in the settings named above, so the programs stay" "correct those files, then run this again"
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
