#!/usr/bin/env bash
# gprof2dot 2025.4.14 (PyPI): the period of a sample of perf is not read.
#
# Seen: of two samples, one stands for 900000 cycles and one for 100000. Each function has 50 %.
#
# A good guess: 90 and 10 %, as `perf report` shows. `perf script` prints the period beside each
# sample, and with a frequency (perf's usual way to record) the periods differ.
#
# Why it is wrong: the parser of perf's text takes the stack alone, and counts each stack once. With
# a frequency the kernel begins with a period of 1, so what runs first weighs too much.
#
# Source: gprof2dot 2025.4.14, gprof2dot.py, `PerfParser.parse_event`; Linux 6.1,
# tools/perf/util/hist.c, `he_stat__add_period`.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q gprof2dot==2025.4.14

cat >perf.txt <<'TEXT'
bench  1000 [000]     1.000000:     900000 cycles:u:
	    5555555551a0 heavy+0x10 (/bin/bench)
	    5555555552a0 main+0x10 (/bin/bench)

bench  1000 [000]     1.100000:     100000 cycles:u:
	    5555555553a0 light+0x10 (/bin/bench)
	    5555555552a0 main+0x10 (/bin/bench)

TEXT
# Prints the share of one function, itself and what it calls.
share() {
    venv/bin/gprof2dot -f perf perf.txt |
        sed -n "s|^\t\"$1:/bin/bench\" \[.*label=\"bench\\\\n$1\\\\n\([0-9.]*\)%.*|\1|p"
}
for name in heavy light; do
    echo "$name: $(share "$name") %"
    [ "$(share "$name")" = 50.00 ]
done
