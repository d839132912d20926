#!/usr/bin/env bash
# inferno 0.12.6, `inferno-collapse-perf`: a Rust function with `->` in its name becomes two frames.
#
# Seen: `app::dispatch::<fn(u64) -> u8>` is folded into the frame `app::dispatch::<fn(u64) ` that
# calls the inlined frame ` u8>_[i]`. Of `app::dispatch::<fn(u64)>` nothing is split.
#
# A good guess: a line of `perf script` is a frame, whatever its symbol is called.
#
# Why it is wrong: inferno takes `->` for the separator of inlined Java methods, as the JVM's
# perf-map-agent writes it, in every symbol. Rust's names contain it wherever a function is generic
# over a function pointer that returns something. A flame graph then shows an inlined function that
# does not exist, and two functions with different return types share their first frame.
#
# Source: inferno 0.12.6, src/collapse/perf.rs, `on_stack_line`.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cargo install -q inferno --version =0.12.6 --locked --no-default-features --features cli --root .
# As `perf script` prints samples.
sample() {
    printf 'app  1000 [000] 100.00000%s:     250000 cycles:u: \n' "$1"
    printf '\t    55d0c0001000 %s+0x10 (/tmp/app)\n' "$2"
    printf '\t    55d0c0002000 app::main+0x20 (/tmp/app)\n\n'
}
{
    sample 1 'app::dispatch::<fn(u64) -> u8>'
    sample 2 'app::dispatch::<fn(u64) -> u16>'
    sample 3 'app::dispatch::<fn(u64)>'
} >script.txt
bin/inferno-collapse-perf script.txt | tee folded

grep -Fx 'app;app::main;app::dispatch::<fn(u64) ; u8>_[i] 250000' folded >/dev/null
grep -Fx 'app;app::main;app::dispatch::<fn(u64) ; u16>_[i] 250000' folded >/dev/null
grep -Fx 'app;app::main;app::dispatch::<fn(u64)> 250000' folded >/dev/null
echo 'as stated: `->` in a symbol splits a frame'
