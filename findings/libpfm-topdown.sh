#!/usr/bin/env bash
# libpfm4 4.13.0 (Debian 12): `TOPDOWN:BACKEND_BOUND_SLOTS` is the event of unhalted cycles.
#
# Seen: for Sapphire Rapids (`spr`) it is encoded as 0x200, as is `CPU_CLK_UNHALTED:THREAD`, for Ice
# Lake (`icl`) as 0x200 too. `TOPDOWN:BR_MISPREDICT_SLOTS` is 0x800. `TOPDOWN:SLOTS_P` is 0x1a4.
#
# A good guess: events of one name share the event code, and Intel's is 0xa4. Then slots that the
# backend holds up are 0x2a4, and mispredicted ones 0x8a4.
#
# Why it is wrong: the table gives the name the code 0, for the sake of the fixed counter of slots
# (0x400), and of its other unit masks only SLOTS_P brings a code of its own. perf_event_open takes
# them, so a user of the library (PAPI is one) gets a number and no error.
#
# Source: libpfm4 4.13.0, lib/events/intel_spr_events.h and intel_icl_events.h; Intel's own tables,
# github.com/intel/perfmon, SPR/events/sapphirerapids_core.json: EventCode 0xa4, UMask 0x02.
# LIBPFM_ENCODE_INACTIVE lets it encode for other CPUs: this needs none of them, and no PMU.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
apt-get download -q libpfm4=4.13.0-1 libpfm4-dev=4.13.0-1 >/dev/null 2>&1
for package in ./*.deb; do dpkg-deb -x "$package" root; done

cat >encode.c <<'C'
#include <perfmon/pfmlib_perf_event.h>
#include <stdio.h>
#include <string.h>

int main(int count, char **names) {
    if (pfm_initialize() != PFM_SUCCESS) return 1;
    for (int i = 1; i < count; i++) {
        struct perf_event_attr event;
        memset(&event, 0, sizeof event);
        pfm_perf_encode_arg_t encoded = {.attr = &event, .size = sizeof encoded};
        if (pfm_get_os_event_encoding(names[i], PFM_PLM3, PFM_OS_PERF_EVENT, &encoded)) return 1;
        printf("%#llx\n", (unsigned long long)event.config);
    }
}
C
library=(root/usr/lib/*/libpfm.so.4)
gcc -I root/usr/include encode.c -o encode "${library[0]}"
encode() { LD_LIBRARY_PATH=$(dirname "${library[0]}") LIBPFM_ENCODE_INACTIVE=1 ./encode "$1"; }

for core in spr icl; do
    for mask in BACKEND_BOUND_SLOTS BR_MISPREDICT_SLOTS SLOTS_P SLOTS; do
        echo "$core::TOPDOWN:$mask $(encode "$core::TOPDOWN:$mask")"
    done
    [ "$(encode $core::TOPDOWN:BACKEND_BOUND_SLOTS)" = 0x200 ]
    [ "$(encode $core::TOPDOWN:BR_MISPREDICT_SLOTS)" = 0x800 ]
    [ "$(encode $core::TOPDOWN:SLOTS_P)" = 0x1a4 ]
done
[ "$(encode spr::CPU_CLK_UNHALTED:THREAD)" = 0x200 ]
echo 'as stated: slots bound by the backend and unhalted cycles are one encoding'
