#!/usr/bin/env bash
# Apache Otava 0.8.0, `otava analyze`: p-values of short series are far too small.
#
# Seen: for 100, 103, 97 | 112, 108, 115 Otava prints p = 0.0059. Student's t-test of the same six
# values has p = 0.0119. With `-P 0.007`, which demands less than 0.007, the change is reported.
#
# A good guess: a p-value that comes from scipy's t-test is that of scipy's t-test.
#
# Why it is wrong: Otava gives scipy's `ttest_ind_from_stats` the standard deviations of
# `numpy.std`, which divides by n. scipy expects those that divide by n - 1. With n values on each
# side, t is too large by the root of n / (n - 1): by 22 % with 3 values, and by 41 % with 2.
#
# Source: Otava 0.8.0, otava/analysis.py, `TTestSignificanceTester.compare`; scipy 1.16.3,
# documentation of `ttest_ind_from_stats` ("corrected sample standard deviation").
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q apache-otava==0.8.0 scipy==1.16.3 numpy==2.2.0
cat >series.csv <<'CSV'
time,commit,m
1700000000,c0,100
1700086400,c1,103
1700172800,c2,97
1700259200,c3,112
1700345600,c4,108
1700432000,c5,115
CSV
cat >otava.yaml <<'YAML'
tests:
  t:
    type: csv
    file: series.csv
    time_column: time
    attributes: [commit]
    metrics: [m]
    csv_options:
      delimiter: ","
YAML
venv/bin/otava analyze t --since 2020-01-01 --config-file otava.yaml --output json -P 0.007 \
    2>/dev/null | tee report.json
venv/bin/python - <<'PYTHON'
import json

from scipy.stats import ttest_ind

report = json.load(open("report.json"))
stated = float(report["t"][0]["changes"][0]["pvalue"])
true = ttest_ind([100, 103, 97], [112, 108, 115]).pvalue
print(f"Otava: {stated:.6f}, scipy: {true:.6f}")
assert abs(stated - 0.005853) < 1e-6
assert abs(true - 0.011921) < 1e-6
PYTHON
echo 'as stated: the p-value is half of that of the t-test'
