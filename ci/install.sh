#!/usr/bin/env bash
# Builds the program from the action's own checkout, so that the action's version is the program's.
#
# A runner that keeps its tool cache builds each version once if INPUT_TOOL_SHA256 says which program
# the workflow expects: whatever ran on such a runner before could have put another one there. The
# digest of what was built is in the log.
#
# Reads INPUT_STORE and INPUT_TOOL_SHA256.
set -euo pipefail

source=$(cd "${BASH_SOURCE[0]%/*}/.." && pwd)
features=()
case $INPUT_STORE in
    # Buckets need a larger program.
    s3*://* | gs://* | az*://* | adl://* | abfs*://*) features=(--features object-store) ;;
esac
expected=$INPUT_TOOL_SHA256
if [ -n "$expected" ] && ! [[ $expected =~ ^[0-9a-f]{64}$ ]]; then
    echo '::error title=cargo topdown::the input `tool-sha256` must be 64 hexadecimal digits'
    exit 2
fi

# Not on a link, which could be turned after it was looked at.
digest_of() {
    [ -f "$1" ] && ! [ -L "$1" ] && sha256sum "$1" | cut -c 1-64
}

# What this job executes is its own copy: the cache belongs to every job of the runner.
own=$(mktemp -d "$RUNNER_TEMP/cargo-topdown.XXXXXX")
cached=$RUNNER_TOOL_CACHE/cargo-topdown/$expected/cargo-topdown
mkdir "$own/bin"
if [ -n "$expected" ] && [ -f "$cached" ] && ! [ -L "$cached" ]; then
    cp "$cached" "$own/bin/cargo-topdown"
    if [ "$(digest_of "$own/bin/cargo-topdown")" != "$expected" ]; then
        echo '::warning title=cargo topdown::the program in the tool cache was changed; it is built again'
        rm "$own/bin/cargo-topdown"
    fi
fi
if ! [ -x "$own/bin/cargo-topdown" ]; then
    cargo install --locked --path "$source/cargo-topdown" "${features[@]}" --root "$own" \
        --target-dir "$own/target"
    rm -rf "$own/target"
    built=$(digest_of "$own/bin/cargo-topdown")
    echo "cargo-topdown was built; its SHA-256 is $built"
    if [ -n "$expected" ]; then
        if [ "$built" != "$expected" ]; then
            echo "::error title=cargo topdown::the program that was built is not the expected one: its SHA-256 is $built"
            exit 101
        fi
        mkdir -p "${cached%/*}"
        cp "$own/bin/cargo-topdown" "${cached%/*}/.new.$$"
        mv -T "${cached%/*}/.new.$$" "$cached"
    fi
fi
echo "$own/bin" >>"$GITHUB_PATH"
