#!/usr/bin/env bash
# perf 6.1.176 (Debian 12): what `perf list metric` believes of CPUs that are newer than Linux 6.0.
#
# Seen:
# - Zen 4 (family 25, models 0x11 and 0x61) has the metrics of Zen 3, to the letter, and no PipelineL1.
# - Emerald Rapids (6-CF) has no metric at all. Its cores are those of Sapphire Rapids (6-8F), which
#   has TopdownL1.
# - Alder Lake-N (6-BE) has only efficient cores, and no slots event. It gets the metrics of a hybrid
#   Alder Lake (6-97), to the letter: formulas of performance cores are among them.
#
# A good guess: perf knows a CPU and its metrics, or says that it does not.
#
# Why it is wrong: perf matches CPUs by regular expressions that were written before these came out.
# The one of Zen 3 covers all models of family 25, and that of Alder Lake includes Alder Lake-N. None
# matches Emerald Rapids. perf prints no warning in any of the cases.
#
# Source: Linux 6.1, tools/perf/pmu-events/arch/x86/mapfile.csv. PERF_CPUID names another CPU, so
# this needs neither one of them nor a PMU.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
apt-get download -q linux-perf=6.1.176-1 >/dev/null 2>&1
dpkg-deb -x linux-perf_*.deb root
metrics() { PERF_CPUID=$1 root/usr/bin/perf list --details metric 2>/dev/null; }
groups() { PERF_CPUID=$1 root/usr/bin/perf list metricgroup 2>/dev/null; }
count() { metrics "$1" | grep -c '^  [^ ]' || true; }
for cpu in AuthenticAMD-25-21-0 AuthenticAMD-25-11-1 AuthenticAMD-25-61-2 GenuineIntel-6-8F-4 \
    GenuineIntel-6-CF-1 GenuineIntel-6-97-2 GenuineIntel-6-BE-0; do
    echo "$cpu: $(count "$cpu") metrics"
done
must_differ() { if [ "$1" = "$2" ]; then exit 1; fi; }

zen_3=$(metrics AuthenticAMD-25-21-0)
[ "$(metrics AuthenticAMD-25-11-1)" = "$zen_3" ]
[ "$(metrics AuthenticAMD-25-61-2)" = "$zen_3" ]
must_differ "$zen_3" "$(metrics GenuineIntel-6-8F-4)"
if groups AuthenticAMD-25-11-1 | grep PipelineL1 >/dev/null; then exit 1; fi
groups GenuineIntel-6-8F-4 | grep TopdownL1 >/dev/null
[ "$(count GenuineIntel-6-CF-1)" -eq 0 ]
[ "$(metrics GenuineIntel-6-BE-0)" = "$(metrics GenuineIntel-6-97-2)" ]
metrics GenuineIntel-6-BE-0 | grep 'topdown\\-retiring\|topdown-retiring' >/dev/null
echo 'as stated: Zen 4 is taken for Zen 3, Alder Lake-N for a hybrid, and Emerald Rapids is unknown'
