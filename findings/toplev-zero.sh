#!/usr/bin/env bash
# toplev of pmu-tools 2026.7.24.0: what perf could not count is 0.0 %, and its sibling has it all.
#
# Seen: perf counts the events of Sapphire Rapids but says `<not supported>` of topdown-mem-bound.
# toplev prints memory bound 0.0 %, core bound 30.0 % (all of backend bound) and marks core bound as
# the bottleneck. `Multiplex` is 100.0 for both, the exit code 0. stderr says
# `1 events not supported`.
#
# A good guess: a number that could not be computed is empty or missing, and nothing is concluded
# from it.
#
# Why it is wrong: an event that was not counted is 0 in toplev's formulas, and perf says of one
# that is not supported that it ran for 100 % of the time. Core bound is backend bound minus memory
# bound.
#
# Source: pmu-tools 2026.7.24.0, toplev.py, `_re_angle_count`; spr_server_ratios.py, `Core_Bound`.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m pip install -q --no-deps --target tools pmu-tools==2026.7.24.0
# perf on a Sapphire Rapids without topdown-mem-bound, and the codes of the events.
cat >perf <<'PERF'
#!/usr/bin/env python3
import os, re, sys
given = sys.argv[1:]
if "-e" not in given:
    sys.exit()
counts = {"slots": 1000, "topdown-retiring": 400, "topdown-bad-spec": 100, "topdown-fe-bound": 200,
    "topdown-be-bound": 300, "topdown-heavy-ops": 100, "topdown-br-mispredict": 80,
    "topdown-fetch-lat": 120, "topdown-mem-bound": "<not supported>"}
with os.fdopen(int(given[given.index("--log-fd") + 1]), "w") as out:
    for event in re.findall("cpu/[^/]*/", given[given.index("-e") + 1]):
        count = counts.get(event[4:-1], 0)
        out.write(f"{count};;{event};{0 if count == '<not supported>' else 1000};100.00;;\n")
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
CACHEDIR=$work EVENTMAP=$work/GenuineIntel-6-8F-core.json UNCORE=$work/none.json \
    FORCEMETRICS=1 PERF=$work/perf \
    python3 tools/toplev.py --force-cpu spr --no-check --single-thread -l2 -v \
    --no-desc -x, -o nodes.csv -- true 2>notes
grep 'events not supported' notes
grep -E '^(Backend_Bound|Area)' nodes.csv
grep -q '^Backend_Bound,30.0,% Slots,,,0.0,100.0,,' nodes.csv
grep -q '^Backend_Bound.Memory_Bound,0.0,% Slots <,,,0.0,100.0,,' nodes.csv
grep -q '^Backend_Bound.Core_Bound,30.0,% Slots,,,0.0,100.0,<==,' nodes.csv
echo "as stated: memory bound was not counted, is 0.0 %, and core bound is named as the bottleneck"
