#!/usr/bin/env bash
# Measures how long this repository's `bottlenecks` take under `cargo topdown bench --source model`,
# and how long valgrind's callgrind takes for the same kernels, simulating caches and branches:
#
#     benches/callgrind.sh [COMMAND OF CARGO TOPDOWN...]
#
# Callgrind is timed twice: for one launch with the samples and times of an ordinary launch of
# `cargo topdown bench`, and for one execution of each kernel (`--test`), the minimum possible.
# Needs valgrind. Builds first, outside the measured times.
set -euo pipefail
cd "$(dirname "$0")/.."

topdown=("$@")
if [ ${#topdown[@]} -eq 0 ]; then
    cargo build --quiet --release --package cargo-topdown
    topdown=(target/release/cargo-topdown topdown)
fi
bench=$(cargo bench --bench bottlenecks --no-run --message-format=json-render-diagnostics |
    sed -n 's/.*"name":"bottlenecks".*"executable":"\([^"]*\)".*/\1/p')

measure() {
    local name=$1
    shift
    local TIMEFORMAT="%R s, of which %U s of processor time: $name"
    time "$@" >"$log" 2>&1 || {
        cat "$log" >&2
        exit 1
    }
}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
callgrind=(valgrind --tool=callgrind --cache-sim=yes --branch-sim=yes --callgrind-out-file=/dev/null)

measure "cargo topdown bench --source model" "${topdown[@]}" bench --bench bottlenecks --source model
measure "callgrind, one launch" "${callgrind[@]}" "$bench" --bench \
    --sample-size 20 --warm-up-time 0.1 --measurement-time 0.25
measure "callgrind, each kernel once" "${callgrind[@]}" "$bench" --test
