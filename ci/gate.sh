#!/usr/bin/env bash
# Ends with the gate's exit code. Reads EXIT_CODE.
set -euo pipefail

if [ -z "$EXIT_CODE" ]; then
    echo "::error title=cargo topdown::no exit code reached the gate"
    exit 102
fi
exit "$EXIT_CODE"
