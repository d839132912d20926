#!/usr/bin/env bash
# pyperf 2.9.0, `compare_to`: values that repeat exactly cannot be compared.
#
# Seen: ten values of 1.0 against ten of 1.5 print "1.50x slower" and then "ERROR when testing if
# values are significant". The exit status is 0. Ten values of 1.0 against ten that differ by a
# billionth are compared without an error.
#
# A good guess: a difference without any noise is the clearest one there is, so it is significant.
#
# Why it is wrong: pyperf divides by the standard error of both sides in Student's t-test, which is 0
# here. Instruction counts and simulated cycles repeat exactly, so a suite of them runs into this.
#
# Source: pyperf 2.9.0, pyperf/_utils.py, `is_significant`, and pyperf/_compare.py.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q pyperf==2.9.0
cat >write.py <<'PYTHON'
import pyperf


def write(name, values):
    runs = [pyperf.Run([value], collect_metadata=False, metadata={"name": "b"}) for value in values]
    pyperf.Benchmark(runs).dump(name)


write("exact.json", [1.0] * 10)
write("slower.json", [1.5] * 10)
write("nearly.json", [1.5 + i * 1e-9 for i in range(10)])
PYTHON
venv/bin/python write.py

venv/bin/python -m pyperf compare_to exact.json slower.json 2>&1 | tee both-exact
grep -q '1.50x slower' both-exact
grep -q 'ERROR when testing if values are significant' both-exact
venv/bin/python -m pyperf compare_to exact.json nearly.json 2>&1 | tee one-exact
grep -q '1.50x slower' one-exact
if grep -q ERROR one-exact; then exit 1; fi
echo 'as stated: values that repeat exactly end in an error with exit status 0'
