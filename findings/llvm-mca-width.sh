#!/usr/bin/env bash
# llvm-mca 16.0.6 (Debian 12): Skylake and Ice Lake have six slots per cycle.
#
# Seen: a loop of four independent additions and two loads runs at 5.6 instructions per cycle on
# `-mcpu=skylake`, `skylake-avx512` and `icelake-server`, with "Dispatch Width: 6". On `broadwell`,
# whose width is the same as Skylake's, it is 3.8.
#
# A good guess: a model of a core has the core's width, and an IPC above it cannot come out.
#
# Why it is wrong: a Skylake core renames four micro-operations per cycle, Ice Lake five; Intel's
# TopDown metrics divide by 4 and 5 times the cycles. LLVM's scheduling models set IssueWidth to 6 for
# both, since six can be decoded or delivered, and nothing after that limits the simulation. What is
# retiring or frontend bound by TopDown looks like a free slot here, and the bound on ports decides.
#
# Source: LLVM 16.0.6, llvm/lib/Target/X86/X86SchedSkylakeClient.td and X86SchedIceLake.td
# (IssueWidth); Intel, TMA_Metrics-full.csv (Pipeline_Width).
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
version=1:16.0.6-15~deb12u1
apt-get download -q "llvm-16=$version" "libllvm16=$version" >/dev/null 2>&1
for package in *.deb; do dpkg-deb -x "$package" root; done
export LD_LIBRARY_PATH=$work/root/usr/lib/x86_64-linux-gnu
cat >loop.s <<'ASM'
addq $1, %rax
addq $1, %rbx
addq $1, %rcx
addq $1, %rdx
movq (%rsi), %r8
movq 8(%rsi), %r9
ASM
for core in broadwell skylake skylake-avx512 icelake-server; do
    root/usr/lib/llvm-16/bin/llvm-mca -mcpu="$core" loop.s >"$core"
    width=$(awk '/^Dispatch Width:/ { print $3 }' "$core")
    ipc=$(awk '/^IPC:/ { print $2 }' "$core")
    echo "$core: width $width, IPC $ipc"
    case $core in
    broadwell) [ "$width" = 4 ] && awk "BEGIN { exit !($ipc < 4) }" || exit 1 ;;
    *) [ "$width" = 6 ] && awk "BEGIN { exit !($ipc > 5.5) }" || exit 1 ;;
    esac
done
echo 'as stated: cores of four and five slots per cycle execute more than five instructions'
