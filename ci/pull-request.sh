#!/usr/bin/env bash
# Finds the open pull request that a workflow run was of, from what GitHub says alone: what the run
# uploaded may claim anything.
#
# Reads HEAD_OWNER, HEAD_BRANCH and HEAD_SHA, and GH_TOKEN for `gh`. Outputs `number`, empty if there
# is none or it has moved on.
set -euo pipefail

number=$(
    gh api --method GET "repos/$GITHUB_REPOSITORY/pulls" \
        -f state=open -f "head=$HEAD_OWNER:$HEAD_BRANCH" |
        jq --arg sha "$HEAD_SHA" '[.[] | select(.head.sha == $sha) | .number][0] // empty'
)
echo "number=$number" >>"$GITHUB_OUTPUT"
