#!/usr/bin/env bash
# Builds the program from the action's own checkout, so that the action's version is the program's.
#
# A runner that keeps its tool cache builds each version once if INPUT_TOOL_SHA256 says which program
# the workflow expects: whatever ran on such a runner before could have put another one there. The
# digest of what was built is in the log.
#
# With INPUT_VERSION the program of that release is taken instead, if there is one for the runner: its
# archive must have the checksum of the release and, where `gh` can tell, its attestation.
#
# Reads INPUT_STORE, INPUT_TOOL_SHA256, INPUT_VERSION and ACTION_REPOSITORY. The other steps of the
# action are `cargo topdown ci`. This one runs on macOS too: bash 3.2, and no GNU tools.
set -euo pipefail

source=$(cd "${BASH_SOURCE[0]%/*}/.." && pwd)
features=
case $INPUT_STORE in
    # Buckets need a larger program.
    s3*://* | gs://* | az*://* | adl://* | abfs*://*) features=object-store ;;
esac
expected=$INPUT_TOOL_SHA256
if [ -n "$expected" ] && ! [[ $expected =~ ^[0-9a-f]{64}$ ]]; then
    echo '::error title=cargo topdown::the input tool-sha256 must be 64 hexadecimal digits'
    exit 2
fi

# Not of a link, which could be turned after it was looked at.
digest_of() {
    [ -f "$1" ] && ! [ -L "$1" ] || return 1
    if command -v sha256sum >/dev/null; then
        sha256sum "$1"
    else
        shasum -a 256 "$1"
    fi | cut -c 1-64
}

# What this job executes is its own copy: the cache belongs to every job of the runner.
own=$(mktemp -d "$RUNNER_TEMP/cargo-topdown.XXXXXX")
program=$own/bin/cargo-topdown
cached=$RUNNER_TOOL_CACHE/cargo-topdown/$expected/cargo-topdown
mkdir "$own/bin"
if [ -n "$expected" ] && [ -f "$cached" ] && ! [ -L "$cached" ]; then
    cp "$cached" "$program"
    if [ "$(digest_of "$program")" != "$expected" ]; then
        echo '::warning title=cargo topdown::the program in the tool cache was changed; it is built again'
        rm "$program"
    fi
fi

# Fetches the release's program; fails if there is none for this runner.
fetch_release() {
    local name url
    case $(uname -sm) in
        'Linux x86_64') name=cargo-topdown-x86_64-unknown-linux-gnu ;;
        'Linux aarch64') name=cargo-topdown-aarch64-unknown-linux-gnu ;;
        'Darwin x86_64') name=cargo-topdown-x86_64-apple-darwin ;;
        'Darwin arm64') name=cargo-topdown-aarch64-apple-darwin ;;
        *) return 1 ;;
    esac
    url=https://github.com/$ACTION_REPOSITORY/releases/download/v$INPUT_VERSION/$name.tar.gz
    (
        cd "$own"
        curl --fail --silent --show-error --location --remote-name "$url" &&
            curl --fail --silent --show-error --location --remote-name "$url.sha256" &&
            [ "$(digest_of "$name.tar.gz")" = "$(cut -c 1-64 "$name.tar.gz.sha256")" ] || exit 1
        if command -v gh >/dev/null && [ -n "${GH_TOKEN:-}" ]; then
            gh attestation verify "$name.tar.gz" --repo "$ACTION_REPOSITORY" || exit 1
        fi
        tar -xzf "$name.tar.gz" && cp "$name/cargo-topdown" bin/
    )
}

if [ -n "$INPUT_VERSION" ]; then
    if ! [[ $INPUT_VERSION =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]]; then
        echo '::error title=cargo topdown::the input version must be a version, such as 1.2.3'
        exit 2
    fi
    # Releases have no stores in buckets.
    if [ -z "$features" ] && ! [ -x "$program" ] && ! fetch_release; then
        echo '::notice title=cargo topdown::the release has no program for this runner; building it'
        rm -f "$program"
    fi
fi
if ! [ -x "$program" ]; then
    cargo install --locked --path "$source/cargo-topdown" --features "$features" --root "$own" \
        --target-dir "$own/target"
    rm -rf "$own/target"
    built=$(digest_of "$program")
    echo "cargo-topdown was built; its SHA-256 is $built"
    if [ -n "$expected" ]; then
        if [ "$built" != "$expected" ]; then
            echo "::error title=cargo topdown::the program that was built is not the expected one: its SHA-256 is $built"
            exit 101
        fi
        # Whatever is there now is not the expected program.
        rm -rf "$cached"
        mkdir -p "${cached%/*}"
        cp "$program" "${cached%/*}/.new.$$"
        mv "${cached%/*}/.new.$$" "$cached"
    fi
fi
echo "$own/bin" >>"$GITHUB_PATH"
