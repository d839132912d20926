#!/usr/bin/env bash
# Keeps one comment on a pull request up to date. Where nothing changed it writes none, and corrects
# the one that is there.
#
# The text may come from a fork, so it is checked before it is posted under the name of this
# repository's workflow: the program escapes what it quotes, and nothing that could be a link, an
# image, a mention or other HTML than its own gets through.
#
# Reads PULL_REQUEST, REPORT, ARTIFACT and RUN_URL, and GH_TOKEN for `gh`.
set -euo pipefail

# A comment that cannot be posted is worth a warning. The gate is not to fail for it.
give_up() {
    echo "::warning title=cargo topdown::no comment: $1"
    exit 0
}

body=$REPORT/comment.md
if [ -L "$body" ] || ! [ -f "$body" ]; then
    give_up 'the reports have no comment.md'
fi
if [ -z "$PULL_REQUEST" ]; then
    give_up 'no open pull request has this commit'
fi

if [ "$(wc -c <"$body")" -gt 65000 ]; then
    give_up 'comment.md is longer than a comment may be'
fi
case $(head -n 1 "$body") in
    '<!-- cargo-topdown: news -->') news=true ;;
    '<!-- cargo-topdown: quiet -->') news=false ;;
    *) give_up 'comment.md was not written by cargo topdown' ;;
esac
text=$(tail -n +2 "$body" | tr -d '\000')
# Without the tags that the program writes; and without quoted text, where `@` mentions nobody.
bare=$(sed -zE 's#</?(b|br|code|details|pre|sub|summary)>##g' <<<"$text")
prose=$(sed -zE 's#<(code|pre)>[^<]*</(code|pre)>##g' <<<"$text")
if grep -qE '<|\[|://|[wW]{3}\.' <<<"$bare" || grep -qiE '@|&#0*64;|&#x0*40;|&commat;' <<<"$prose"; then
    give_up 'comment.md has links, mentions or HTML that cargo topdown does not write'
fi

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
