#!/usr/bin/env bash
# Makes one outcome of the exit codes, and sees to it that the summary and the comment say it, also
# where there was nothing to compare.
#
# Reads INPUT_COMPARE, INPUT_AGAINST, BENCH_EXIT_CODE, COMPARE_EXIT_CODE, SAVE and REPORT. Outputs `exit-code` and `outcome`.
set -euo pipefail

# Text that a program printed, for Markdown: no tag, mention or link, and no end of the block.
quote() {
    echo '<pre>'
    tail -c 16000 "$1" | tr -d '\000-\010\013-\037' | sed '
        s/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g
        s/:/\&#58;/g; s/\./\&#46;/g; s/\[/\&#91;/g
        s/^$/\&#8203;/'
    echo '</pre>'
}

code=$BENCH_EXIT_CODE
last=bench
passed=measured
if [ -n "$INPUT_AGAINST" ]; then
    passed=passed
elif [ "$code" = 0 ] && [ "$INPUT_COMPARE" = true ]; then
    code=$COMPARE_EXIT_CODE
    last=compare
    passed=passed
fi
case $code in
    0) outcome=$passed ;;
    100) outcome=regressed ;;
    101) outcome=bench-failed ;;
    102) outcome=not-comparable ;;
    103) outcome=inconclusive ;;
    2) outcome=usage-error ;;
    130) outcome=interrupted ;;
    *) outcome=crashed ;;
esac

becomes_baseline=false
if [ "$outcome" = not-comparable ] && [ "$SAVE" = true ] && [ "$last" = compare ]; then
    # What becomes the baseline cannot fail for want of one: the first run, or the first one on a new
    # machine or compiler. On a pull request the same is a failure: no data is never a pass.
    becomes_baseline=true
    code=0
    echo '::notice title=cargo topdown::nothing to compare with; this run becomes the baseline'
fi

# `bench` or `compare` ended before there was a comparison to report.
if [ "$outcome" = measured ]; then
    echo 'TopDown: measured, not compared' >"$REPORT/summary.md"
elif ! [ -s "$REPORT/summary.md" ]; then
    {
        echo "## TopDown: ${outcome//-/ }"
        echo
        if [ "$becomes_baseline" = true ]; then
            echo 'There was nothing to compare with. This run becomes the baseline.'
        else
            echo "\`cargo topdown $last\` ended with exit code $code:"
        fi
        echo
        quote "$REPORT/$last.stderr"
    } >"$REPORT/summary.md"
    {
        echo '<!-- cargo-topdown: news -->'
        cat "$REPORT/summary.md"
    } >"$REPORT/comment.md"
fi
cat "$REPORT/summary.md" >>"$GITHUB_STEP_SUMMARY"

{
    echo "outcome=$outcome"
    echo "exit-code=$code"
} >>"$GITHUB_OUTPUT"
