#!/usr/bin/env bash
# perf 6.1.176 (Debian 12), `perf stat -j -r N`: the field `variance` is no variance.
#
# Seen: a command touches 1000 more pages in one of two runs than in the other, so the variance of
# its page faults is 500 000, and their standard deviation 707. perf's `variance` is 500 in percent
# of the mean: the standard error of the mean of two runs, relative to it.
#
# A good guess: the field that is called variance is the variance, in page faults squared.
#
# Why it is wrong: perf computes the standard deviation of the mean (that of the runs divided by the
# root of their number) and prints it as a percentage. Text output shows the same number as `+-`,
# with a percent sign. JSON gives it the name of another quantity, and no unit.
#
# Source: Linux 6.1, tools/perf/util/stat-display.c, `print_noise_pct_json`; tools/perf/util/stat.c,
# `rel_stddev_stats` and `stddev_stats`.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
apt-get download -q linux-perf=6.1.176-1 >/dev/null 2>&1
dpkg-deb -x linux-perf_*.deb root
# Every second run touches 3000 pages, the others 2000.
cat >pages.c <<'C'
#include <stdio.h>
#include <unistd.h>
static char pages[4096 * 4000];
int main(void) {
    int second = unlink("second") == 0;
    if (!second) fclose(fopen("second", "w"));
    for (long i = 0; i < (second ? 3000 : 2000); i++) ((volatile char *)pages)[4096 * i] = 1;
    return 0;
}
C
gcc -O1 pages.c -o pages
root/usr/bin/perf stat -j -r 2 -o stat -e page-faults ./pages
grep page-faults stat
field() { sed -n "s/.*\"$1\" : \"\?\([0-9.]*\).*/\1/p" stat; }
mean=$(field counter-value) variance=$(field variance)
awk -v mean="$mean" -v variance="$variance" 'BEGIN {
    expected = 100 * 500 / mean
    print "500 is " expected " % of the mean; `variance` is " variance
    # Page faults of the loader differ by a few between runs.
    exit !(mean > 2500 && variance > expected * 0.98 && variance < expected * 1.02)
}'
echo 'as stated: `variance` is the relative standard error of the mean, in percent'
