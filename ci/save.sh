#!/usr/bin/env bash
# Keeps the newest run as the baseline, also one that regressed: it is what the default branch does
# now, and what the next change has to be compared with.
#
# Reads INPUT_BASELINE and CARGO_TOPDOWN_BASELINES.
set -euo pipefail

# A part of the suite, too: what the workflow measures is what its next run is compared with.
cargo topdown baseline save --partial -- "$INPUT_BASELINE"
