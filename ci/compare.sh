#!/usr/bin/env bash
# Compares the newest run with the baseline and writes every report. The exit code is kept for the
# last step.
#
# Reads INPUT_BASELINE, INPUT_COMPARE_ARGS (one argument per line), CARGO_TOPDOWN_BASELINES and
# REPORT. Outputs `exit-code`.
set -euo pipefail

mapfile -t arguments < <(grep -v '^[[:space:]]*$' <<<"$INPUT_COMPARE_ARGS")
# shellcheck source=ci/reports.sh
. "${BASH_SOURCE[0]%/*}/reports.sh"

code=0
{
    cargo topdown compare "${reports[@]}" "${arguments[@]}" -- "$INPUT_BASELINE" 2>&1 >&3 |
        tee "$REPORT/compare.stderr" >&2
} 3>&1 || code=$?
echo "exit-code=$code" >>"$GITHUB_OUTPUT"
