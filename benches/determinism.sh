#!/usr/bin/env bash
# Measures how much the modelled slots of this repository's `bottlenecks` differ between launches of
# one binary, while every CPU is busy with other work:
#
#     benches/determinism.sh [COMMAND OF CARGO TOPDOWN...]
#
# Ten launches with fixed addresses and ten with random ones, in five runs each. Fails if fixed
# addresses give two values, or if random ones differ by more than 1 %. Needs jq. Builds first.
set -euo pipefail
cd "$(dirname "$0")/.."
unset CARGO_TARGET_DIR

topdown=("$@")
if [ ${#topdown[@]} -eq 0 ]; then
    cargo build --quiet --locked --package cargo-topdown
    topdown=(target/debug/cargo-topdown topdown)
fi
# Only the slots matter, not the time.
bench=(bench --bench bottlenecks --source model --launches 2 --warm-up-time 0.01 --measurement-time 0.01)
work=$(mktemp -d)
loops=()
trap 'kill "${loops[@]}" 2>/dev/null || true; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

for _ in $(seq "$(nproc)"); do
    nice -n 5 bash -c 'while :; do :; done' &
    loops+=($!)
done

# If `setarch` fails, as in many containers, addresses are random.
mkdir "$work/bin"
printf '#!/bin/sh\nexit 1\n' >"$work/bin/setarch"
chmod +x "$work/bin/setarch"

# Prints one line per benchmark: launches, different values, largest difference in percent.
differences='
    [.[].benchmarks[]] | group_by(.id.name)[] | .[0].id.name as $name
    | [.[].slots | range(.slots | length) as $launch
        | [.slots[$launch], (.level1, .level2 | map_values(.[$launch]))]]
    | [.[][0]] as $slots
    | [$name, length, (unique | length), 100 * (($slots | max) / ($slots | min) - 1)] | @tsv'

failed=0
for addresses in fixed random; do
    path=$PATH
    [ $addresses = fixed ] || path=$work/bin:$PATH
    for run in 1 2 3 4 5; do
        PATH=$path "${topdown[@]}" "${bench[@]}" >"$work/log" 2>&1 || {
            cat "$work/log" >&2
            exit 1
        }
        cp target/topdown/newest/run.json "$work/$addresses-$run.json"
    done
    echo "$addresses addresses: launches, different values, difference of slots in percent"
    jq -rs "$differences" "$work/$addresses"-*.json | tee "$work/table"
    awk -F '\t' -v addresses="$addresses" \
        '$4 > 1 || (addresses == "fixed" && $3 > 1) { bad = 1 } END { exit bad }' "$work/table" || failed=1
done
exit $failed
