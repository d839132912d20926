#!/usr/bin/env bash
# Keeps one comment on a pull request up to date. Where nothing changed it writes none, and corrects
# the one that is there.
#
# The pull request's own code made the reports. So nothing of them is posted: the program of this
# action's commit makes the comment, of the numbers in comparison.json.
#
# Reads PULL_REQUEST, REPORT, ARTIFACT, RUN_URL and ENDED (a word for how the run ended), and GH_TOKEN
# for `gh`.
set -euo pipefail

# A comment that cannot be posted is worth a warning. The gate is not to fail for it.
give_up() {
    echo "::warning title=cargo topdown::no comment: $1"
    exit 0
}

if ! [[ $PULL_REQUEST =~ ^[0-9]+$ ]]; then
    give_up 'no open pull request has this commit'
fi

comparison=$REPORT/comparison.json
if [ -e "$comparison" ] || [ -L "$comparison" ]; then
    # Why it is none is for the log; the program quotes nothing of it.
    made=$(cargo topdown comment "$comparison") || give_up 'comparison.json is not what this program writes'
else
    case $ENDED in
        # There was nothing to compare, as was asked for.
        success | measured) exit 0 ;;
        failure | cancelled | timed_out | *-failed | not-comparable | usage-error | interrupted | crashed) ;;
        *) give_up 'the run did not say how it ended' ;;
    esac
    made="<!-- cargo-topdown: news -->
## TopDown: no comparison

The run ended before there was anything to compare: ${ENDED//[^a-z]/ }. Its log says why."
fi
news=true
if [ "${made%%$'\n'*}" = '<!-- cargo-topdown: quiet -->' ]; then
    news=false
fi
text=${made#*$'\n'}

marker="<!-- cargo-topdown: $ARTIFACT -->"
existing=$(
    gh api --paginate "repos/$GITHUB_REPOSITORY/issues/$PULL_REQUEST/comments" |
        jq -s --arg marker "$marker" \
            '[add // [] | .[] | select(.user.type == "Bot" and (.body | startswith($marker))) | .id][0] // empty'
) || give_up 'the comments of the pull request cannot be read'

if [ "$news" = false ] && [ -z "$existing" ]; then
    exit 0
fi
request=$(jq -n --arg body "$marker
$text

[Reports and raw data]($RUN_URL)" '{body: $body}')
if [ -n "$existing" ]; then
    set -- --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$existing"
else
    set -- --method POST "repos/$GITHUB_REPOSITORY/issues/$PULL_REQUEST/comments"
fi
gh api "$@" --input - <<<"$request" >/dev/null ||
    give_up 'GitHub refused it; the job needs the permission pull-requests: write'
