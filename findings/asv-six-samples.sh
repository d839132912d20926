#!/usr/bin/env bash
# airspeed velocity (asv) 0.6.5, `asv compare`: a benchmark with six samples is never different.
#
# Seen: a tenfold slowdown without overlap is marked significant with 3, 5 and 8 samples a side. With
# 6 it is not: its ratio is printed as `~10.00`, and the row has no `+`.
#
# A good guess: more samples make a difference easier to detect, so what 5 samples show, 6 show.
#
# Why it is wrong: asv uses the Mann-Whitney test once its smallest possible p is below 0.002, and
# confidence intervals for fewer samples. It takes 1/C(12,6) = 0.0011 as the smallest p. The test is
# two-sided, so the smallest p is twice that, 0.0022, and no data is below the limit. From 7 samples a
# side on, the smallest p is 0.0006.
#
# Source: asv 0.6.5, asv/_stats.py, `is_different`.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q asv==0.6.5 asv_runner==0.3.2 virtualenv==20.29.3
export PATH="$work/venv/bin:$PATH" ASV_HOME="$work" HOME="$work"
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.com
export GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.com

mkdir project
cd project
git init -q
git commit -q --allow-empty -m one
git commit -q --allow-empty -m two
cat >asv.conf.json <<'JSON'
{"version": 1, "project": "p", "project_url": "x", "repo": ".", "branches": ["HEAD"],
 "environment_type": "existing", "benchmark_dir": "suite"}
JSON
mkdir suite
touch suite/__init__.py
# asv lets a benchmark bring its own clock. This one gives samples of COST times 1.00 to 1.06.
cat >suite/bench.py <<'PYTHON'
import os

COST = float(os.environ["COST"])


class Clock:
    now = 0.0
    calls = 0

    def __call__(self):
        Clock.calls += 1
        Clock.now += COST * (1 + 0.01 * (Clock.calls // 2 % 7))
        return Clock.now


class Samples:
    timer = Clock()
    number = 1
    rounds = 1
    warmup_time = 0

    def time_3(self): pass
    def time_5(self): pass
    def time_6(self): pass
    def time_8(self): pass


for samples in (3, 5, 6, 8):
    getattr(Samples, f"time_{samples}").repeat = samples
PYTHON
asv machine --yes --machine m >/dev/null
run() {
    COST=$2 asv run -E existing:same --set-commit-hash "$(git rev-parse "$1")" --machine m \
        --record-samples >/dev/null
}
run HEAD~1 1
run HEAD 10
asv compare HEAD~1 HEAD --machine m | tee compared

# The mark and the ratio of each row.
row() { grep "Samples.time_$1 " compared | awk -F'|' '{ gsub(/ /, ""); print $2 $5 }'; }
[ "$(row 3)" = '+10.00' ]
[ "$(row 5)" = '+10.00' ]
[ "$(row 6)" = '~10.00' ]
[ "$(row 8)" = '+10.00' ]
echo 'as stated: six samples a side are never different'
