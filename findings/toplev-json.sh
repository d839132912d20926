#!/usr/bin/env bash
# toplev of pmu-tools 2026.7.24.0: its JSON has only the last child of each node.
#
# Seen: with the same counts, `-l2 -x,` prints four categories and eight children. `-l2 --json`
# prints four children (Fetch_Bandwidth, but not Fetch_Latency), and of the categories three: not
# Bad_Speculation.
#
# A good guess: the JSON has the nodes of the CSV.
#
# Why it is wrong: the JSON has an object for each parent, with its children. Each child makes that
# object anew. The categories have one of their own, whose list of names says `BadSpeculation` where
# the node is called `Bad_Speculation`; that node then stands where its children overwrite it.
#
# Source: pmu-tools 2026.7.24.0, tl_output.py, `OutputJSON.flush`.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m pip install -q --no-deps --target tools pmu-tools==2026.7.24.0
# perf on a Sapphire Rapids that counted 1000 slots, and the codes of the events.
cat >perf <<'PERF'
#!/usr/bin/env python3
import os, re, sys
given = sys.argv[1:]
if "-e" not in given:
    sys.exit()
counts = {"slots": 1000, "topdown-retiring": 400, "topdown-bad-spec": 100, "topdown-fe-bound": 200,
    "topdown-be-bound": 300, "topdown-heavy-ops": 100, "topdown-br-mispredict": 80,
    "topdown-fetch-lat": 120, "topdown-mem-bound": 180}
with os.fdopen(int(given[given.index("--log-fd") + 1]), "w") as out:
    for event in re.findall("cpu/[^/]*/", given[given.index("-e") + 1]):
        out.write(f"{counts.get(event[4:-1], 0)};;{event};1000;100.00;;\n")
PERF
chmod +x perf
python3 - <<'MAP'
import json
codes = {"TOPDOWN.SLOTS": ("0x00", "0x04"), "TOPDOWN.MEMORY_BOUND_SLOTS": ("0xa4", "0x10"),
    "INT_MISC.UOP_DROPPING": ("0xad", "0x10")}
texts = ["BriefDescription", "PublicDescription"]
zeros = ["MSRValue", "CounterMask", "Invert", "EdgeDetect", "AnyThread"]
events = [{"EventName": name, "EventCode": code, "UMask": umask, "Counter": "0,1,2,3",
    "SampleAfterValue": "1000", **dict.fromkeys(texts, name), **dict.fromkeys(zeros, "0")}
    for name, (code, umask) in codes.items()]
json.dump({"Header": {}, "Events": events}, open("GenuineIntel-6-8F-core.json", "w"))
json.dump({"Header": {}, "Events": []}, open("none.json", "w"))
MAP
toplev() {
    CACHEDIR=$work EVENTMAP=$work/GenuineIntel-6-8F-core.json UNCORE=$work/none.json \
        FORCEMETRICS=1 PERF=$work/perf \
        python3 tools/toplev.py --force-cpu spr --no-check --single-thread -l2 -v \
        --no-desc "$@" -- true >/dev/null 2>&1
}
toplev -x, -o nodes.csv
toplev --json -o nodes.json
csv=$(grep -E '_Bound|Speculation|Retiring' nodes.csv | cut -d, -f1 | sort | paste -sd ' ')
json=$(grep -oE '"[A-Za-z_.]*": [0-9.]+' nodes.json | cut -d'"' -f2 \
    | grep -E '_Bound|Speculation|Retiring' | sort | paste -sd ' ')
echo "CSV:  $csv"
echo "JSON: $json"
[ "$(wc -w <<<"$csv")" = 12 ]
[ "$json" = "Backend_Bound Backend_Bound.Core_Bound Bad_Speculation.Machine_Clears Frontend_Bound \
Frontend_Bound.Fetch_Bandwidth Retiring Retiring.Heavy_Operations" ]
echo "as stated: the JSON of toplev lacks Bad_Speculation and every first child"
