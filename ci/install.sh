#!/usr/bin/env bash
# Builds the program from the action's own checkout, so that the action's version is the program's.
#
# A runner that keeps its tool cache builds each version once if INPUT_TOOL_SHA256 says which program
# the workflow expects: whatever ran on such a runner before could have put another one there. The
# digest of what was built is in the log.
#
# With INPUT_VERSION the program of that release is taken instead, if there is one for the runner: its
# archive must have the checksum of the release and, where there are `gh` and GH_TOKEN, its attestation.
#
# Reads INPUT_STORE, INPUT_TOOL_SHA256, INPUT_VERSION and ACTION_REPOSITORY. The other steps of the
# action are `cargo topdown ci`. This one runs on macOS too: bash 3.2, and no GNU tools.
set -euo pipefail

# Shows $2 on the page of the workflow's run, as an error, a warning or a notice.
say() {
    local text=${2//%/%25}
    echo "::$1 title=cargo topdown::${text//$'\n'/%0A}"
}

for name in RUNNER_TEMP RUNNER_TOOL_CACHE GITHUB_PATH INPUT_STORE INPUT_TOOL_SHA256 INPUT_VERSION \
    ACTION_REPOSITORY; do
    if [ -z "${!name+set}" ]; then
        say error "\`$name\` is not set; ci/install.sh runs in the steps of action.yml only"
        exit 2
    fi
done

source=$(cd "${BASH_SOURCE[0]%/*}/.." && pwd)
features=
case $INPUT_STORE in
    # Buckets need a larger program.
    s3*://* | gs://* | az*://* | adl://* | abfs*://*) features=object-store ;;
esac
expected=$INPUT_TOOL_SHA256
if [ -n "$expected" ] && ! [[ $expected =~ ^[0-9a-f]{64}$ ]]; then
    say error 'the input tool-sha256 must be 64 hexadecimal digits, in lower case'
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
        say warning 'the program in the tool cache was changed; it is built again'
        rm "$program"
    fi
fi

# Fetches the release's program. If it fails, `reason` says why.
fetch_release() {
    local name address file said digest released
    case $(uname -sm) in
        'Linux x86_64') name=cargo-topdown-x86_64-unknown-linux-gnu ;;
        'Linux aarch64') name=cargo-topdown-aarch64-unknown-linux-gnu ;;
        'Darwin x86_64') name=cargo-topdown-x86_64-apple-darwin ;;
        'Darwin arm64') name=cargo-topdown-aarch64-apple-darwin ;;
        *) reason="releases have none for $(uname -sm)" && return 1 ;;
    esac
    address=https://github.com/$ACTION_REPOSITORY/releases/download/v$INPUT_VERSION
    for file in "$name.tar.gz" "$name.tar.gz.sha256"; do
        if ! said=$(cd "$own" && curl --fail --silent --show-error --location --remote-name \
            "$address/$file" 2>&1); then
            reason="could not fetch $address/$file: $said"
            return 1
        fi
    done
    digest=$(digest_of "$own/$name.tar.gz")
    released=$(cut -c 1-64 "$own/$name.tar.gz.sha256")
    if [ "$digest" != "$released" ]; then
        reason="$name.tar.gz is damaged or was changed: its SHA-256 is $digest, and the release says $released"
        return 1
    fi
    if command -v gh >/dev/null && [ -n "${GH_TOKEN:-}" ] &&
        ! gh attestation verify "$own/$name.tar.gz" --repo "$ACTION_REPOSITORY"; then
        reason="\`gh attestation verify\` refused $name.tar.gz; the log has its reason"
        return 1
    fi
    if ! tar -xzf "$own/$name.tar.gz" -C "$own" || ! cp "$own/$name/cargo-topdown" "$program"; then
        reason="$name.tar.gz could not be unpacked; the log has the reason"
        return 1
    fi
}

if [ -n "$INPUT_VERSION" ]; then
    if ! [[ $INPUT_VERSION =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]]; then
        say error 'the input version must be a version, such as 1.2.3'
        exit 2
    fi
    reason='releases have no stores in buckets'
    if ! [ -x "$program" ] && { [ -n "$features" ] || ! fetch_release; }; then
        say warning "the program of release $INPUT_VERSION is not used: $reason
It is built from the action's own commit instead."
        rm -f "$program"
    fi
fi
if ! [ -x "$program" ]; then
    if ! command -v cargo >/dev/null; then
        say error "there is no cargo to build the program with
The benches need it too: install Rust in an earlier step."
        exit 101
    fi
    if ! cargo install --locked --path "$source/cargo-topdown" --features "$features" --root "$own" \
        --target-dir "$own/target"; then
        say error 'the program could not be built; the log has what cargo says'
        exit 101
    fi
    rm -rf "$own/target"
    built=$(digest_of "$program")
    echo "cargo-topdown was built; its SHA-256 is $built"
    if [ -n "$expected" ]; then
        if [ "$built" != "$expected" ]; then
            say error "the program that was built is not the expected one: its SHA-256 is $built
Each version of Rust and of the action builds another one. If one of them changed, set the input \`tool-sha256\` to this."
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
