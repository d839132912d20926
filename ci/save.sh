#!/usr/bin/env bash
# Keeps the newest run as the baseline, also one that regressed: it is what the default branch does
# now, and what the next change has to be compared with.
#
# Reads INPUT_BASELINE and CARGO_TOPDOWN_BASELINES.
set -euo pipefail

cargo topdown baseline save -- "$INPUT_BASELINE"
