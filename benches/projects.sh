#!/usr/bin/env bash
# Tests `cargo topdown` on the benches of published crates: the same code twice, and with changes
# planted from benches/projects/.
#
#     benches/projects.sh [--plain] [--work DIRECTORY] [CRATE...]
#
# Each crate is unpacked as published, adopted with `cargo topdown init --apply`, and its suite runs
# twice unchanged and once with each change. A patch begins with a description and a regular
# expression for the benchmarks that it makes slower (`slower:`), and one for others that it may
# affect, if any (`touches:`). Slower benchmarks must be found, unless the change is below the
# margin of 2 %, and untouched ones must not fail. `--plain` also times the crate's own
# `cargo bench`, which can take an hour. No time includes builds. If no benchmark has slots, only
# time decides, so both sides are launched alternately, ten times (`bench --against`).
#
# Needs jq, patch, and crates.io. Leaves logs, tables and JSON of each crate in the directory. Fails
# if unchanged code fails, a change is not found, or a crate does not get that far.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)

# Name, version, model seconds per benchmark, then arguments of `cargo bench` and `cargo topdown
# bench`.
crates='
constant_time_eq 0.4.2 0.5 --bench bench_classic
hashbrown 0.17.1 0.5
base64 0.23.1 0.5
comfy-table 8.0.1 2
prost 0.14.6 0.5
tracing 0.1.44 0.5
bincode-next 3.1.2 0.5 --bench varint --bench string --bench complex
deadpool 0.13.1 0.5
orx-concurrent-vec 4.1.0 0.5
sharded-slab 0.1.7 0.5
httparse 1.10.1 0.5
fancy-regex 0.20.2 0.5
quick_cache 0.7.0 0.5 --bench benchmarks N=10000.S
'
margin=0.02

plain=
work=
while [[ ${1-} == --* ]]; do
    case $1 in
        --plain) plain=1 ;;
        --work) work=$2 && shift ;;
        *) echo "unknown option $1" >&2 && exit 2 ;;
    esac
    shift
done
work=${work:-$(mktemp -d)}
mkdir -p "$work"
[ -n "${TOPDOWN-}" ] || cargo build --quiet --release --manifest-path "$root/Cargo.toml" --package cargo-topdown
topdown=("${TOPDOWN:-$root/target/release/cargo-topdown}" topdown)
# Unexported: the program would report that benches whose strings contain the name do not inherit it.
export -n TOPDOWN
# Shared by all, so that common dependencies are compiled once.
export CARGO_TARGET_DIR=$work/target

# Copies the published source of crate $1, version $2, to $3.
unpack() {
    local package=$work/unpack
    rm -rf "$package" "$3"
    mkdir -p "$package/src"
    touch "$package/src/lib.rs"
    printf '[package]\nname = "unpack"\nversion = "0.0.0"\nedition = "2021"\n[dependencies.%s]\nversion = "=%s"\n' \
        "$1" "$2" >"$package/Cargo.toml"
    local manifest
    manifest=$(cargo metadata --quiet --format-version 1 --manifest-path "$package/Cargo.toml" |
        jq -r --arg name "$1" '.packages[] | select(.name == $name and .source != null).manifest_path')
    cp -r "$(dirname "$manifest")" "$3"
    chmod -R u+w "$3"
    # The package's lock file may pin older versions than the library needs.
    rm -f "$3/Cargo.lock"
}

# Runs a command with its output in the file $1, and prints how many seconds it took.
seconds() {
    local log=$1 begun=$EPOCHREALTIME
    shift
    "$@" >"$log" 2>&1 || return
    echo "$begun $EPOCHREALTIME" | awk '{ printf "%.0f", $2 - $1 }'
}

# Whether a benchmark fails, and the change of one of its metrics.
words='
    .failing as $failing
    | def fails: (.verdict as $verdict | $failing | index($verdict) != null) or .disagreement.fails == true;
    def effect($metric): [.effects[] | select(.metric == $metric)][0].difference;'
# Number of benchmarks, those decided at all, exactly, and by proof, and those that fail.
said="$words"'
    [(.benchmarks | length), .counts.decided,
     ([.benchmarks[] | select(.evidence.method == "exact")] | length),
     ([.benchmarks[] | select(.verdict == "unchanged" and .executed.change == "same" and .executed.same_counts)] | length),
     ([.benchmarks[] | select(fails)] | length)]
    | @tsv'
# Of the benchmarks that a change makes slower: all, those with only time, those above the margin by
# slots, found, those of the found that also took longer, and those with the wrong sign; and of the
# untouched ones, those that fail.
found="$words"'
    [.benchmarks[] | select(.id.name | test($slower))] as $meant
    | [($meant | length),
       ([$meant[] | select(effect("slots") == null)] | length),
       ([$meant[] | select(effect("slots") >= $margin)] | length),
       ([$meant[] | select(fails)] | length),
       ([$meant[] | select(fails and effect("wall") > 0)] | length),
       ([$meant[] | select(.verdict == "improved")] | length),
       ([.benchmarks[] | select(fails and (.id.name | test($slower) or test($touches) | not))] | length)]
    | @tsv'

by_time="$words"'[.benchmarks[] | select(effect("slots"))] | length == 0'

failed=0
fail() {
    echo "FAILED: $1" >&2
    failed=1
}

# Runs the current suite and compares it with `base`. Log, table and JSON are called $1.
measured() {
    local called=$out/$1
    shift
    "${topdown[@]}" bench "$@" "${measuring[@]}" >>"$called.log" 2>&1 || return
    "${topdown[@]}" compare base >"$called.txt" 2>&1 || true
    "${topdown[@]}" compare base --json >"$called.json" 2>>"$called.log" || true
}

# Launches the current and the unchanged suite alternately. Log and JSON are called $1.
in_turn() {
    local called=$out/$1
    shift
    # A verdict or a failed build does not end the script here; missing output does, below.
    "${topdown[@]}" bench "$@" --against "$out/unchanged" --json >"$called.json" 2>>"$called.log" || true
    [ -s "$called.json" ]
}

# Measures crate $1, version $2, with a budget of $3 and the remaining arguments.
project() {
    local name=$1 version=$2
    local measuring=(--model-budget "$3")
    shift 3
    local out=$work/$name copy=$work/$name/copy
    mkdir -p "$out"
    unpack "$name" "$version" "$copy"

    local plain_seconds=-
    if [ -n "$plain" ]; then
        (cd "$copy" && cargo bench --quiet --no-run "$@") >"$out/plain-build.log" 2>&1 || return
        plain_seconds=$(cd "$copy" && seconds "$out/plain.log" cargo bench "$@") || return
        rm "$copy/Cargo.lock"
    fi

    cd "$copy"
    "${topdown[@]}" init --apply --library "$root" >"$out/init.log" 2>&1 || return
    "${topdown[@]}" bench --no-run "$@" >"$out/build.log" 2>&1 || return
    local took
    took=$(seconds "$out/base.log" "${topdown[@]}" bench "$@" "${measuring[@]}" --save base) || return
    measured same "$@" || return
    local rule='apart'
    if jq -e "$by_time" "$out/same.json" >/dev/null; then
        rule='in turn'
        cp -r "$copy" "$out/unchanged"
        in_turn same "$@" || return
    fi
    local benchmarks decided exact proof fails
    read -r benchmarks decided exact proof fails < <(jq -r "$said" "$out/same.json")
    echo "| $name $version | ${measuring[*]: -1} s | $benchmarks | $decided | $exact | $proof | $fails | $rule | $took s | $plain_seconds s |" |
        tee -a "$work/unchanged.md"
    [ "$fails" = 0 ] || fail "$name: $fails benchmarks fail unchanged: $out/same.txt"

    local patch
    for patch in "$root/benches/projects/$name".*.patch; do
        local change=${patch##*/"$name".}
        change=${change%.patch}
        patch --quiet -p1 <"$patch" >"$out/$change.log" 2>&1 || return
        if [ "$rule" = 'in turn' ]; then in_turn "$change" "$@"; else measured "$change" "$@"; fi || return
        patch --quiet -p1 -R <"$patch"
        local slower touches meant timed above hit longer improved others
        slower=$(sed -n 's/^slower: //p' "$patch")
        touches=$(sed -n 's/^touches: //p' "$patch")
        read -r meant timed above hit longer improved others < <(jq -r --arg slower "$slower" \
            --arg touches "${touches:-$slower}" --argjson margin "$margin" "$found" "$out/$change.json")
        echo "| $name | $(head -1 "$patch") | $meant | $timed | $above | $hit | $longer | $improved | $others |" |
            tee -a "$work/planted.md"
        [ "$improved" = 0 ] || fail "$name, $change: $improved got faster: $out/$change.txt"
        [ "$others" = 0 ] || fail "$name, $change: $others fail that it does not touch: $out/$change.txt"
        [ "$hit" -ge "$above" ] || fail "$name, $change: $hit of $above found: $out/$change.txt"
    done
}

echo "On $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1)," \
    "$(nproc) CPUs, commit $(git -C "$root" rev-parse --short HEAD), logs in $work"
: >"$work/unchanged.md"
: >"$work/planted.md"
while read -r name version budget arguments; do
    [ -n "$name" ] || continue
    [ $# -eq 0 ] || [[ " $* " == *" $name "* ]] || continue
    # shellcheck disable=SC2086 # arguments are words
    (failed=0 && project "$name" "$version" "$budget" $arguments && exit $failed) </dev/null || fail "$name: see $work/$name"
done <<<"$crates"
echo
echo '| crate | model budget | benchmarks | decided | exactly | by proof | failed | compared | one run | plain `cargo bench` |'
echo '|---|---|---|---|---|---|---|---|---|---|'
cat "$work/unchanged.md"
echo
echo '| crate | planted change | meant to be slower | of which time alone | above the margin | found | took longer too | found faster | not touched and failed |'
echo '|---|---|---|---|---|---|---|---|---|'
cat "$work/planted.md"
exit $failed
