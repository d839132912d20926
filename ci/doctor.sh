#!/usr/bin/env bash
# Says what the machine can measure, in the log and in the reports, and which machine it is: baselines
# are cached for machines of one kind.
#
# Reads REPORT. Outputs `machine`.
set -euo pipefail

cargo topdown doctor | tee "$REPORT/doctor.txt"
# Without jq, which a self-hosted runner need not have.
machine=$(cargo topdown doctor --json | sed -nE 's/^ *"machine_key": "([^"]+)",?$/\1/p')
if [ -z "$machine" ]; then
    echo '::error title=cargo topdown::doctor did not say which machine this is'
    exit 102
fi
echo "machine=$machine" >>"$GITHUB_OUTPUT"
