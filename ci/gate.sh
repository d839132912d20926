#!/usr/bin/env bash
# Ends with the gate's exit code; with INPUT_FAIL=false, a verdict that fails is a warning. Reads EXIT_CODE too.
set -euo pipefail

if [ -z "$EXIT_CODE" ]; then
    echo "::error title=cargo topdown::no exit code reached the gate"
    exit 102
fi
case $INPUT_FAIL:$EXIT_CODE in
    false:100 | false:103)
        echo "::warning title=cargo topdown::the gate failed with $EXIT_CODE, and the input \`fail\` is false"
        exit 0
        ;;
esac
exit "$EXIT_CODE"
