#!/usr/bin/env bash
# Callgrind (valgrind 3.19.0, Debian 12): each repeat of `rep movsb` is an instruction.
#
# Seen: copying 100 000 bytes by one `rep movsb` adds 100 000 to `Ir`, the count of executed
# instructions. Copying 1000 bytes adds 1000.
#
# A good guess: `rep movsb` is one instruction, and processors count it as one when it retires
# (INST_RETIRED), however many bytes it copies.
#
# Why it is wrong: valgrind translates a repeat as a loop whose every round begins with a new
# instruction mark. Tools that gate on `Ir` (gungraun, CodSpeed's simulation) therefore see a memcpy
# that uses `rep movsb` as far more work than one that uses vector registers, and the reverse of what
# a processor's counter shows.
#
# Source: valgrind 3.19.0, VEX/priv/guest_amd64_toIR.c, `dis_REP_op`.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
apt-get download -q valgrind=1:3.19.0-1 >/dev/null 2>&1
dpkg-deb -x valgrind_*.deb root
export VALGRIND_LIB=$work/root/usr/libexec/valgrind
cat >copy.c <<'C'
#include <stdlib.h>
static char from[1 << 20], to[1 << 20];
int main(int argc, char **argv) {
    unsigned long bytes = strtoul(argv[1], 0, 10);
    void *target = to, *source = from;
    __asm__ volatile("rep movsb" : "+D"(target), "+S"(source), "+c"(bytes) : : "memory");
    return argc < 2;
}
C
gcc -O1 copy.c -o copy
# Seven digits each, so that reading the argument costs the same.
instructions() {
    root/usr/bin/valgrind --tool=callgrind --callgrind-out-file=/dev/null ./copy "$1" 2>&1 \
        | sed -n 's/^==[0-9]*== Collected : //p'
}
none=$(instructions 0000000)
thousand=$(instructions 0001000)
many=$(instructions 0100000)
echo "Ir of 0, 1000 and 100000 bytes: $none, $thousand, $many"
[ $((thousand - none)) -eq 1000 ]
[ $((many - none)) -eq 100000 ]
echo 'as stated: a repeat is counted once per byte'
