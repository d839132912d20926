#!/usr/bin/env bash
# Builds the program from the action's own checkout, so that the action's version is the program's.
# A runner that keeps its tool cache builds each version once. Reads INPUT_STORE.
set -euo pipefail

source=$GITHUB_ACTION_PATH
features=()
case $INPUT_STORE in
    # Buckets need a larger program.
    s3*://* | gs://* | az*://* | adl://* | abfs*://*) features=(--features object-store) ;;
esac
# The sources alone decide what is built; the name of a tag or branch may move.
version=$(cd "$source" && find Cargo.toml Cargo.lock src cargo-topdown -type f -print0 |
    LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -c 1-16)
root=$RUNNER_TOOL_CACHE/cargo-topdown/$version${features:+-object-store}

if ! [ -x "$root/bin/cargo-topdown" ]; then
    # A build that is cut short leaves nothing under the final name.
    partial=$(mktemp -d "$RUNNER_TEMP/cargo-topdown.XXXXXX")
    cargo install --locked --path "$source/cargo-topdown" "${features[@]}" --root "$partial" \
        --target-dir "$partial/target"
    rm -rf "$partial/target"
    mkdir -p "$(dirname "$root")"
    # Another job of this runner may have been faster; its build is the same.
    mv -T "$partial" "$root" 2>/dev/null || [ -x "$root/bin/cargo-topdown" ]
fi
echo "$root/bin" >>"$GITHUB_PATH"
