#!/usr/bin/env bash
# Runs the benches and adds the run itself to the reports. The exit code is kept for the last step.
#
# Reads INPUT_BENCH_ARGS (one argument a line), CARGO_TOPDOWN_BASELINES and REPORT. Outputs
# `exit-code`.
set -euo pipefail

mapfile -t arguments < <(grep -v '^[[:space:]]*$' <<<"$INPUT_BENCH_ARGS")

code=0
# Standard error goes to the log as it comes, and to a file.
{ cargo topdown bench "${arguments[@]}" 2>&1 >&3 | tee "$REPORT/bench.stderr" >&2; } 3>&1 || code=$?
if [ "$code" = 0 ]; then
    # As a baseline in a store of its own: whoever downloads the reports can compare with it.
    cargo topdown baseline save candidate --baselines "$REPORT/runs" || code=$?
fi
echo "exit-code=$code" >>"$GITHUB_OUTPUT"
