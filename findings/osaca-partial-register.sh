#!/usr/bin/env bash
# OSACA 0.7.1 (PyPI): a write of `al` ends the dependency on `rax`.
#
# Seen: in the loop of `movb $1, %al` and `addq $256, %rax` no dependency is carried from one
# iteration to the next, for SPR and ZEN4, and with `ax` neither. Without the first instruction it is
# one cycle.
#
# A good guess: an analyser of dependencies that knows that `al` is a part of `rax` knows that its
# other 56 bits survive.
#
# Why it is wrong: any write of a register whose name overlaps is taken for a write of all of it. That
# is so for `eax`, which clears the upper half, but not for `al` and `ax`. Executed, the loop
# counts in the upper bits: after 1000 iterations rax is 256001. So its iterations cannot overlap,
# and the true chain is as long as both instructions together, two cycles.
#
# Source: OSACA 0.7.1, osaca/semantics/kernel_dg.py, `find_depending`; Intel SDM, volume 1, section
# 3.4.1.1 "General-Purpose Registers in 64-Bit Mode".
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q osaca==0.7.1

# Prints the cycles of the longest dependency that an iteration carries to the next.
carried() {
    printf '%s\n' "${@:2}" >loop.s
    venv/bin/osaca --arch "$1" loop.s 2>/dev/null |
        awk '/^Loop-Carried/ { found = 1 } found && $2 == "|" { print $3; exit }'
}
for core in SPR ZEN4; do
    alone=$(carried "$core" 'addq $256, %rax')
    byte=$(carried "$core" 'movb $1, %al' 'addq $256, %rax')
    word=$(carried "$core" 'movw $1, %ax' 'addq $65536, %rax')
    echo "$core: alone ${alone:-none}, after a write of al ${byte:-none}, of ax ${word:-none}"
    [ "$alone" = 1.0 ]
    [ -z "$byte$word" ]
done

cat >loop.c <<'C'
#include <stdio.h>
int main(void) {
    unsigned long rax = 0;
    for (int i = 0; i < 1000; i++)
        __asm__("movb $1, %%al; addq $256, %%rax" : "+a"(rax));
    printf("%lu\n", rax);
}
C
gcc -O1 -o loop loop.c
./loop
[ "$(./loop)" = 256001 ]
