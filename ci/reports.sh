# shellcheck shell=bash
# The reports of a comparison, for `compare` and for `bench --against`. Sourced; reads REPORT.

# shellcheck disable=SC2034
reports=(
    --report github
    --report "markdown=$REPORT/summary.md"
    --report "comment=$REPORT/comment.md"
    --report "junit=$REPORT/junit.xml"
    --report "html=$REPORT/report.html"
    --report "json=$REPORT/comparison.json"
)
