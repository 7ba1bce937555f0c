#!/usr/bin/env bash
# Checks the page's types and size, and drives it with the real Chromium.
#
#   ANSWERBACK_BIN_DIR      where answerback and answerback-hook are (default: target/debug of this checkout)
#   ANSWERBACK_TEST_CACHE   where the tools are kept (default: ${XDG_CACHE_HOME:-~/.cache}/answerback-tests)
#   ANSWERBACK_TEST_CHROMIUM  the browser (default: /usr/bin/chromium)
#
#   tests/browser/run.sh                  everything
#   tests/browser/run.sh --screenshots    writes docs/images anew
#
# Other arguments go to `node --test`: files, or for example --test-name-pattern=keyboard.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
bin_dir=$(realpath -m "${ANSWERBACK_BIN_DIR:-$root/target/debug}")

for program in answerback answerback-hook; do
    if [[ ! -x $bin_dir/$program ]]; then
        echo "error: no $program in $bin_dir" >&2
        echo "hint: run 'cargo build', or set ANSWERBACK_BIN_DIR" >&2
        exit 1
    fi
done

cache=${ANSWERBACK_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/answerback-tests}
# Another pin is another directory.
tools=$cache/browser-$(sha256sum "$here/package.json" | cut -c1-12)
if [[ ! -d $tools ]]; then
    echo "installing the tools of tests/browser/package.json into $tools" >&2
    mkdir -p "$cache"
    staging=$(mktemp -d "$cache/install-XXXXXX")
    trap 'rm -rf -- "$staging"' EXIT
    cp "$here/package.json" "$staging/"
    npm install --prefix "$staging" --no-audit --no-fund --no-package-lock --loglevel=error >&2
    mv -T -- "$staging" "$tools"
    trap - EXIT
fi
export ANSWERBACK_BIN_DIR=$bin_dir ANSWERBACK_TEST_BROWSER=$tools

if [[ ${1:-} == --screenshots ]]; then
    exec node "$here/screenshots.mjs" "$root/docs/images"
fi

"$tools/node_modules/.bin/tsc" --project "$here/tsconfig.json"

size=$(find "$root/src/page" -type f ! -name '*.d.ts' -print0 | sort -z | xargs -0 -n1 gzip -9c | wc -c)
echo "the page: $size bytes compressed"
if ((size > 60 * 1024)); then
    echo "error: the page is over 60 KiB compressed" >&2
    exit 1
fi

options=() files=()
for argument in "$@"; do
    if [[ $argument == *.test.mjs ]]; then files+=("$argument"); else options+=("$argument"); fi
done
if ((${#files[@]} == 0)); then files=("$here"/*.test.mjs); fi
exec node --test --test-concurrency=2 --test-reporter=spec "${options[@]}" "${files[@]}"
