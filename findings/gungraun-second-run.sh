#!/usr/bin/env bash
# gungraun 0.20.0, limits of regressions: the run that fails becomes what the next run is compared with.
#
# Seen: with a limit of 5 % more instructions, a benchmark that now executes ten times as many fails
# (exit code 3). The same command again, nothing changed, passes (exit code 0).
#
# A good guess: a check that fails keeps failing until the code is mended.
#
# Why it is wrong: without a named baseline a run is compared with the one before it, whose files are
# replaced before the limits are checked. So the second try of a failed CI job on a kept target
# directory passes. With `--save-baseline` and `--baseline`, which do not replace anything, it fails
# each time.
#
# Source: gungraun-runner 0.20.0, src/runner/tool/path.rs, `shift`.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cargo install -q --locked --root . gungraun-runner --version =0.20.0
export GUNGRAUN_RUNNER=$work/bin/gungraun-runner CARGO_TARGET_DIR=$work/target

mkdir -p project/benches project/src
cd project
touch src/lib.rs
cat >Cargo.toml <<'TOML'
[package]
name = "project"
edition = "2021"
[[bench]]
name = "sum"
harness = false
[dev-dependencies]
gungraun = "=0.20.0"
TOML
cat >benches/sum.rs <<'RUST'
use gungraun::prelude::*;
use std::hint::black_box;

#[library_benchmark]
#[bench::numbers(include!("numbers"))]
fn sum(numbers: u64) -> u64 {
    (0..numbers).fold(0, |sum, number| black_box(sum ^ number))
}

library_benchmark_group!(name = sums, benchmarks = sum);
main!(library_benchmark_groups = sums);
RUST
# Runs the bench with so many numbers, and prints its exit code.
bench() {
    echo "$1" >benches/numbers
    shift
    local code=0
    cargo bench -q --bench sum -- --callgrind-limits='ir=5%' "$@" >"$work/log" 2>&1 || code=$?
    echo "$code"
}
first=$(bench 1000)
slower=$(bench 10000)
again=$(bench 10000)
echo "first run: $first, ten times the work: $slower, the same again: $again"
[ "$first $slower $again" = "0 3 0" ]

saved=$(bench 1000 --save-baseline=main)
slower=$(bench 10000 --baseline=main)
again=$(bench 10000 --baseline=main)
echo "saved baseline: $saved, ten times the work: $slower, the same again: $again"
[ "$saved $slower $again" = "0 3 3" ]
