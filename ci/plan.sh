#!/usr/bin/env bash
# Decides where reports and baselines go and whether this run becomes the baseline.
#
# Reads INPUT_SAVE, INPUT_BASELINES, INPUT_CACHE, INPUT_AGAINST, INPUT_COMPARE, INPUT_COMMENT, INPUT_FAIL,
# INPUT_WORKING_DIRECTORY, DEFAULT_BRANCH and what GitHub sets. Outputs `report`, `baselines` and `save`.
set -euo pipefail

usage_error() {
    echo "::error title=cargo topdown::$1"
    exit 2
}

for input in "cache=$INPUT_CACHE" "compare=$INPUT_COMPARE" "comment=$INPUT_COMMENT" "fail=$INPUT_FAIL"; do
    case ${input#*=} in
        true | false) ;;
        *) usage_error "the input \`${input%%=*}\` must be true or false" ;;
    esac
done

case $INPUT_SAVE in
    always) save=true ;;
    never) save=false ;;
    auto)
        save=false
        # Not `pull_request`: its code is not on the default branch yet.
        case $GITHUB_EVENT_NAME in
            push | schedule | workflow_dispatch)
                if [ "$GITHUB_REF" = "refs/heads/$DEFAULT_BRANCH" ]; then
                    save=true
                fi
                ;;
        esac
        ;;
    *) usage_error "the input \`save\` must be auto, always or never" ;;
esac

if [ -n "$INPUT_AGAINST" ]; then
    # Half of that run's launches were taken beside the other side's: it is no baseline.
    save=false
fi

if [ -n "$INPUT_BASELINES" ]; then
    baselines=$INPUT_BASELINES
elif [ "$INPUT_CACHE" = true ]; then
    # The same path in every job: it is part of what the cache is looked up by.
    baselines=$RUNNER_TEMP/topdown-baselines
else
    # Where the program looks by itself, for baselines that are committed.
    baselines=baselines
fi
case $baselines in
    /*) ;;
    *) baselines=$GITHUB_WORKSPACE/$INPUT_WORKING_DIRECTORY/$baselines ;;
esac

{
    echo "report=$(mktemp -d "$RUNNER_TEMP/topdown-report.XXXXXX")"
    echo "baselines=$baselines"
    echo "save=$save"
} >>"$GITHUB_OUTPUT"
