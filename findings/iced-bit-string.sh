#!/usr/bin/env bash
# iced-x86 1.21.0: `bts [rsi], ecx` is said to write four bytes at rsi, and writes elsewhere.
#
# Seen: InstructionInfoFactory names one memory operand of `bts dword ptr [rsi], ecx`: base rsi, no
# index, UInt32, read and written. Executed with ecx = 100 the instruction leaves these four bytes
# alone and sets a bit twelve bytes further on.
#
# A good guess: the library that names the base, the index and the size of every memory operand names
# the memory that is accessed. It does so for `xlatb`, whose index al stands nowhere in its text.
#
# Why it is wrong: with a register as bit offset, BT, BTS, BTR and BTC take the operand for the start
# of a string of bits: the address is rsi + 4 * (ecx >> 5), and ecx is signed. iced-x86 describes the
# form in which the offset is an immediate, which stays inside the operand. Who follows accesses by
# decoding (a cache model, a taint tracker) must compute this address itself.
#
# Source: iced-x86 1.21.0 (PyPI); Intel SDM, volume 2, BT and section 3.1.1.9 "Bit(BitBase,
# BitOffset)".
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q iced-x86==1.21.0
venv/bin/python - <<'PYTHON'
from iced_x86 import Decoder, InstructionInfoFactory, MemorySize, OpAccess, Register

accessed = lambda code: InstructionInfoFactory().info(Decoder(64, code).decode()).used_memory()
(bits,) = accessed(b"\x0f\xab\x0e")  # bts dword ptr [rsi], ecx
assert (bits.base, bits.index, bits.displacement) == (Register.RSI, Register.NONE, 0)
assert (bits.memory_size, bits.access) == (MemorySize.UINT32, OpAccess.READ_WRITE)
(table,) = accessed(b"\xd7")  # xlatb
assert (table.base, table.index) == (Register.RBX, Register.AL)
print("iced-x86: bts reads and writes 4 bytes at rsi; xlatb reads rbx + al")
PYTHON
cat >bts.c <<'C'
#include <stdio.h>
int main(void) {
    unsigned words[8] = {0};
    __asm__ volatile("btsl %1, %0" : "+m"(words) : "r"(100));
    for (int i = 0; i < 8; i++) printf("%u ", words[i]);
    return 0;
}
C
gcc -O1 bts.c -o bts
written=$(./bts)
echo "executed with ecx = 100: $written"
[ "$written" = '0 0 0 16 0 0 0 0 ' ]
echo 'as stated: the access is twelve bytes behind the operand that is named'
