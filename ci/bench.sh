#!/usr/bin/env bash
# Runs the benches and adds the run itself to the reports; with INPUT_AGAINST it compares too. The exit
# code is kept for the last step.
#
# Reads INPUT_BENCH_ARGS and INPUT_COMPARE_ARGS (one argument per line), INPUT_PACKAGES (one per line),
# INPUT_SOURCE, INPUT_MODEL_CORE, INPUT_LAUNCHES, INPUT_AGAINST, CARGO_TOPDOWN_BASELINES and REPORT.
# Outputs `exit-code`.
set -euo pipefail

against=()
if [ -n "$INPUT_AGAINST" ]; then
    # shellcheck source=ci/reports.sh
    . "${BASH_SOURCE[0]%/*}/reports.sh"
    mapfile -t compare_arguments < <(grep -v '^[[:space:]]*$' <<<"$INPUT_COMPARE_ARGS")
    against=("--against=$INPUT_AGAINST" "${reports[@]}" "${compare_arguments[@]}")
fi
flags=()
[ -z "$INPUT_SOURCE" ] || flags+=("--source=$INPUT_SOURCE")
[ -z "$INPUT_MODEL_CORE" ] || flags+=("--model-core=$INPUT_MODEL_CORE")
[ -z "$INPUT_LAUNCHES" ] || flags+=("--launches=$INPUT_LAUNCHES")
while IFS= read -r package; do
    flags+=("--package=$package")
done < <(grep -v '^[[:space:]]*$' <<<"$INPUT_PACKAGES")
# Last, since they may end in `--` and arguments for criterion.
mapfile -t arguments < <(grep -v '^[[:space:]]*$' <<<"$INPUT_BENCH_ARGS")

# What the job has beside: files that steer its later steps, tokens, and the credentials of the store.
# Builds and benches run the code of whoever opened the pull request.
scrubbed=()
while IFS= read -r name; do
    case $name in
        GITHUB_ENV | GITHUB_PATH | GITHUB_OUTPUT | GITHUB_STATE | GITHUB_STEP_SUMMARY | CARGO_TOPDOWN_STORE | \
            ACTIONS_* | AWS_* | AZURE_* | GOOGLE_* | GCP_* | GCLOUD_* | CLOUDSDK_* | *TOKEN* | *SECRET* | *PASSWORD* | *CREDENTIAL*)
            scrubbed+=(-u "$name")
            ;;
    esac
done < <(compgen -e)

code=0
# Standard error goes to the log as it comes, and to a file.
{
    env "${scrubbed[@]}" cargo topdown bench "${against[@]}" "${flags[@]}" "${arguments[@]}" 2>&1 >&3 |
        tee "$REPORT/bench.stderr" >&2
} 3>&1 || code=$?
if [ "$code" = 0 ] && [ -z "$INPUT_AGAINST" ]; then
    # As a baseline in a store of its own: whoever downloads the reports can compare with it.
    cargo topdown baseline save candidate --baselines "$REPORT/runs" || code=$?
fi
echo "exit-code=$code" >>"$GITHUB_OUTPUT"
