#!/usr/bin/env bash
# Measures suites with several tools, side by side: processor seconds and seconds on the clock,
# without builds, and their ratios to gungraun's.
#
#     benches/side-by-side.sh [OPTION...] [SUITE...]
#
# Suites (default: all):
#     kernels       42 kernels of crates/model-lab on which no core was calibrated
#     prost         benches of the published crate prost
#     bottlenecks   this repository's
#
# Options:
#     --tools LIST    which tools, separated by commas (default: topdown,gungraun,criterion)
#     --rounds N      how often, in turn (default: 1)
#     --work DIR      keeps builds and logs there (default: a temporary directory)
#
# topdown is `cargo topdown bench --source model` with its default settings; TOPDOWN names another
# program than the one built from this tree. criterion is plain `cargo bench`. gungraun counts each
# benchmark once, in Callgrind, by the same functions in benches/side-by-side. CodSpeed's simulation
# is left out: it needs CodSpeed's own build of Valgrind, which is not published.
#
# Needs valgrind, and crates.io for what is not there yet.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
unset CARGO_TARGET_DIR

gungraun=0.20.0
criterion=0.8.2
prost=0.14.6
tools=topdown,gungraun,criterion
rounds=1
work=
suites=()
while [ $# -gt 0 ]; do
    case $1 in
        --tools) tools=$2 && shift ;;
        --rounds) rounds=$2 && shift ;;
        --work) work=$2 && shift ;;
        -h | --help) sed -n '2,/^set/{s/^# \{0,1\}//;/^set/d;p}' "$0" && exit ;;
        kernels | prost | bottlenecks) suites+=("$1") ;;
        *) echo "unknown argument $1; --help lists them" >&2 && exit 2 ;;
    esac
    shift
done
[ ${#suites[@]} -gt 0 ] || suites=(kernels prost bottlenecks)
command -v valgrind >/dev/null || { echo "valgrind is missing" >&2 && exit 2; }
if [ -z "$work" ]; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
fi
mkdir -p "$work"
work=$(cd "$work" && pwd)
topdown=${TOPDOWN:-$root/target/release/cargo-topdown}
# Exported, the program would report it as a variable that benches do not inherit.
export -n TOPDOWN

# Makes the package of the current suite for tool $1; its other dependencies are on standard input.
package() {
    local directory=$work/$suite/$1 harness
    mkdir -p "$directory/benches" "$directory/src"
    touch "$directory/src/lib.rs"
    case $1 in
        topdown) harness="criterion = { package = \"criterion-topdown\", path = \"$root\" }" ;;
        criterion) harness="criterion = { version = \"=$criterion\", default-features = false, features = [\"cargo_bench_support\"] }" ;;
        gungraun) harness="gungraun = \"=$gungraun\"" ;;
    esac
    {
        printf '[package]\nname = "%s-%s"\nedition = "2024"\n[workspace]\n' "$suite" "$1"
        printf '[lib]\nbench = false\n[[bench]]\nname = "%s"\nharness = false\n' "$suite"
        printf '[dependencies]\n%s\n' "$harness"
        cat
    } >"$directory/Cargo.toml"
}

# Writes the benches of the current suite for all tools. Prints where its criterion benches are.
sources() {
    local dependencies benches tool
    case $suite in
        kernels)
            dependencies="topdown-model-lab = { path = \"$root/crates/model-lab\" }"
            benches=$root/benches/side-by-side/kernels.rs
            ;;
        prost) dependencies="prost = \"=$prost\"
bytes = \"1\"
rand = \"0.10\"" ;;
        bottlenecks)
            dependencies=
            benches=$root/benches/bottlenecks.rs
            ;;
    esac
    for tool in topdown criterion gungraun; do
        package "$tool" <<<"$dependencies"
    done
    if [ "$suite" = prost ]; then
        # Its published source has them.
        benches=$(cargo metadata --quiet --format-version 1 --manifest-path "$work/prost/criterion/Cargo.toml" |
            grep -o "\"manifest_path\":\"[^\"]*/prost-$prost/Cargo.toml\"" | cut -d '"' -f 4)
        benches=${benches%/Cargo.toml}/benches/varint.rs
    fi
    local to
    for tool in topdown criterion gungraun; do
        to=$work/$suite/$tool/benches/$suite.rs
        case $tool in
            gungraun) cat "$root/benches/side-by-side/$suite-gungraun.rs" ;;
            *) cat "$benches" ;;
        esac | sed "s|\"../crates|\"$root/crates|" >"$to"
    done
    # Without this repository's measurement.
    sed -i '/^use criterion_topdown/d; s/Criterion<TopDown>/Criterion/; s/\.with_measurement(TopDown::new())//' \
        "$work/$suite/criterion/benches/$suite.rs"
    sed -i 's/criterion_topdown::/criterion::/' "$work/$suite/topdown/benches/$suite.rs"
}

# Runs tool $1 on the current suite; with --build, only builds.
run() (
    cd "$work/$suite/$1"
    case $1${2-} in
        topdown) "$topdown" topdown bench --source model ;;
        topdown--build) "$topdown" topdown bench --source model --list ;;
        *--build) cargo bench --no-run ;;
        *) cargo bench ;;
    esac
) >"$work/$suite/$1.log" 2>&1 || {
    cat "$work/$suite/$1.log" >&2
    exit 1
}

if [ "$topdown" = "$root/target/release/cargo-topdown" ]; then
    cargo build --quiet --release --locked --manifest-path "$root/Cargo.toml" --package cargo-topdown
fi
if [[ ,$tools, == *,gungraun,* ]]; then
    cargo install --quiet --locked --root "$work" --version "$gungraun" gungraun-runner
    export GUNGRAUN_RUNNER=$work/bin/gungraun-runner
fi
export CARGO_TARGET_DIR=$work/target TIMEFORMAT='%U %S %R'
for suite in "${suites[@]}"; do
    sources
    for tool in ${tools//,/ }; do
        run "$tool" --build
    done
done
echo "suite tool processor-seconds clock-seconds processor-ratio clock-ratio"
for suite in "${suites[@]}"; do
    for ((round = 1; round <= rounds; round++)); do
        for tool in ${tools//,/ }; do
            { time run "$tool"; } 2>"$work/time"
            echo "$suite $tool $(cat "$work/time")"
        done
    done
done | awk '
    { processor[$1, $2] += $3 + $4; clock[$1, $2] += $5; count[$1, $2]++ }
    !($1 in seen) { seen[$1]; suites[++suites_count] = $1 }
    !($2 in known) { known[$2]; tools[++tools_count] = $2 }
    END {
        for (s = 1; s <= suites_count; s++) for (t = 1; t <= tools_count; t++) {
            of = suites[s] SUBSEP tools[t]; base = suites[s] SUBSEP "gungraun"
            printf "%s %s %.1f %.1f", suites[s], tools[t], processor[of] / count[of], clock[of] / count[of]
            if (base in count) printf " %.2f %.2f", processor[of] / processor[base], clock[of] / clock[base]
            print ""
        }
    }'
