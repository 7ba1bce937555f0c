#!/usr/bin/env bash
# Lets the real Claude Code judge whether this repository, and each directory in plugins/, is a plugin it can use, and whether all of
# them can be installed from the marketplace that the repository is.
#
#   ANSWERBACK_TEST_CACHE  where the clients are kept (default: ${XDG_CACHE_HOME:-~/.cache}/answerback-tests)
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=tests/real_client/clients.sh
source "$root/tests/real_client/clients.sh"
version=$(pinned "$cli")
provide_clients "$version"
program=$(clients_of "$version")/cli/node_modules/.bin/claude

scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT
# What people get from the repository. Claude Code copies all of it, and what is built here changes meanwhile.
mkdir "$scratch/repository"
cd "$root"
git ls-files -z | xargs -0 cp --parents -t "$scratch/repository"
cd "$scratch/repository"
claude() {
    env -i PATH="$PATH" HOME="$scratch" DISABLE_AUTOUPDATER=1 DISABLE_TELEMETRY=1 CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 \
        "$program" "$@"
}

for plugin in . .claude-plugin/marketplace.json plugins/*; do
    claude plugin validate "$plugin" --strict
done

# As a person would: the repository is a marketplace, and each of its plugins can be installed from there.
claude plugin marketplace add "$PWD"
names=$(jq -r '.plugins[].name' .claude-plugin/marketplace.json)
[[ $(wc -l <<<"$names") -eq 4 ]]
for name in $names; do
    claude plugin install "$name@answerback"
    manifest=$(jq -r --arg name "$name" '.plugins[] | select(.name == $name).source' .claude-plugin/marketplace.json)/.claude-plugin/plugin.json
    [[ $(jq -r .name "$manifest") == "$name" ]] || { echo "error: $manifest is not $name" >&2 && exit 1; }
    claude plugin list | grep -q "$name@answerback" || { echo "error: $name is not installed" >&2 && exit 1; }
    claude plugin uninstall "$name@answerback"
done
