#!/usr/bin/env bash
# Finds the open pull request that a workflow run was of, from the event alone: what the run uploaded
# may claim anything.
#
# Reads NUMBER (the event's; empty for forks), HEAD_OWNER, HEAD_BRANCH and HEAD_SHA, and GH_TOKEN for
# `gh`. Outputs `number`, empty if there is none or it has moved on.
set -euo pipefail

number=${NUMBER-}
if [ -z "$number" ]; then
    # GitHub names no pull request of a fork in the event, but the branch and the commit.
    number=$(
        gh api --method GET "repos/$GITHUB_REPOSITORY/pulls" \
            -f state=open -f "head=$HEAD_OWNER:$HEAD_BRANCH" |
            jq --arg sha "$HEAD_SHA" '[.[] | select(.head.sha == $sha) | .number][0] // empty'
    )
fi
echo "number=$number" >>"$GITHUB_OUTPUT"
