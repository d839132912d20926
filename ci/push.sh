#!/usr/bin/env bash
# Sends the baseline that has just been saved to the shared store.
#
# Reads INPUT_BASELINE, CARGO_TOPDOWN_STORE and CARGO_TOPDOWN_BASELINES.
set -euo pipefail

cargo topdown baseline push -- "$INPUT_BASELINE"
