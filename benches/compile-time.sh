#!/usr/bin/env bash
# Measures the library's compile time: builds the benches of two copies of a crate from scratch, in
# turn, and prints processor seconds and the size of the target directory of each build.
#
#     benches/compile-time.sh [--rounds N] COPY[@FEATURES] COPY[@FEATURES]...
#
# One copy depends on criterion, the other on this library (`cargo topdown init --apply`). With
# `@criterion/launches` it is built as by `cargo topdown`. The crates that they need are downloaded
# in advance.
set -euo pipefail

rounds=3
if [ "${1-}" = --rounds ]; then
    rounds=$2
    shift 2
fi
if [ $# -lt 2 ]; then
    sed -n '5s/^# *//p' "$0" >&2
    exit 2
fi
for copy in "$@"; do
    cargo fetch --quiet --manifest-path "${copy%@*}/Cargo.toml"
done
target=$(mktemp -d)
trap 'rm -rf "$target"' EXIT
export CARGO_TARGET_DIR=$target/target TIMEFORMAT='%U %S'

for ((round = 1; round <= rounds; round++)); do
    for copy in "$@"; do
        rm -rf "$CARGO_TARGET_DIR"
        features=()
        if [ "$copy" != "${copy%@*}" ]; then
            features=(--features "${copy#*@}")
        fi
        { time cargo bench --no-run --quiet --offline --manifest-path "${copy%@*}/Cargo.toml" \
            ${features[@]+"${features[@]}"} >"$target/log" 2>&1; } 2>"$target/time" || { cat "$target/log" >&2; exit 1; }
        megabytes=$(du -sm --apparent-size "$CARGO_TARGET_DIR" | cut -f1)
        awk -v copy="$copy" -v megabytes="$megabytes" \
            '{ printf "%s: %.1f processor seconds, %d MB\n", copy, $1 + $2, megabytes }' "$target/time"
    done
done
