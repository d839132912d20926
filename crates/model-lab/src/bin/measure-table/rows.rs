//! The measured instructions, each as a chain and independent.

use iced_x86::IcedError;
use iced_x86::code_asm::*;

/// Writes one body; the number is its position in the loop.
pub type Body = fn(&mut CodeAssembler, usize) -> Result<(), IcedError>;

/// One instruction, or one small group.
pub struct Row {
    /// Its name.
    pub name: &'static str,
    /// Number of instructions per body, by which the cycles are divided.
    pub instructions: f64,
    /// Each body depends on the result of the one before.
    pub chain: Body,
    /// The bodies are independent.
    pub independent: Body,
}

const G: [AsmRegister64; 8] = [rax, rbx, rcx, rdx, r8, r9, r10, r11];
const D: [AsmRegister32; 8] = [eax, ebx, ecx, edx, r8d, r9d, r10d, r11d];
const X: [AsmRegisterXmm; 10] = [xmm0, xmm1, xmm2, xmm3, xmm4, xmm5, xmm6, xmm7, xmm8, xmm9];
const Y: [AsmRegisterYmm; 10] = [ymm0, ymm1, ymm2, ymm3, ymm4, ymm5, ymm6, ymm7, ymm8, ymm9];
const Z: [AsmRegisterZmm; 10] = [zmm0, zmm1, zmm2, zmm3, zmm4, zmm5, zmm6, zmm7, zmm8, zmm9];

/// A row whose instruction has a destination `d` and a source. The chain uses one register for
/// both; the independent form uses a new destination each time and a source that never changes.
macro_rules! row {
    ($name:literal, $file:ident, $other:ident, |$a:ident, $d:ident, $s:ident| $write:expr) => {
        Row {
            name: $name,
            instructions: 1.0,
            chain: |$a, _| {
                let ($d, $s) = ($file[0], $file[0]);
                $write
            },
            independent: |$a, number| {
                let ($d, $s) = ($file[number % $file.len()], $other);
                $write
            },
        }
    };
}

/// A round trip between register files.
macro_rules! pair {
    ($name:literal, |$a:ident, $g:ident, $x:ident| $write:expr) => {
        Row {
            name: $name,
            instructions: 1.0,
            chain: |$a, _| {
                let ($g, $x) = (G[0], X[0]);
                $write
            },
            independent: |$a, number| {
                let ($g, $x) = (G[number % G.len()], X[number % X.len()]);
                $write
            },
        }
    };
}

/// All rows, in the order of the table of classes.
pub fn rows() -> Vec<Row> {
    let mut rows = integer();
    rows.extend(memory());
    rows.extend(vector());
    rows.extend(float());
    rows.extend(crypto_and_masks());
    rows
}

fn integer() -> Vec<Row> {
    vec![
        row!("add r,r", G, r12, |a, d, s| a.add(d, s)),
        row!("add r,imm", G, r12, |a, d, _s| a.add(d, 5)),
        row!("mov r,r", G, r12, |a, d, s| {
            a.mov(d, s)?;
            a.mov(s, d)
        }),
        row!("xor zero", D, r12d, |a, d, _s| a.xor(d, d)),
        row!("lea b+i", G, r12, |a, d, s| a.lea(d, s + s)),
        row!("lea b+d", G, r12, |a, d, s| a.lea(d, s + 8)),
        row!("lea b+i*4", G, r12, |a, d, s| a.lea(d, s + s * 4)),
        row!("lea b+i+d", G, r12, |a, d, s| a.lea(d, s + s + 8)),
        row!("shl imm", G, r12, |a, d, _s| a.shl(d, 3)),
        row!("shl cl", D, r12d, |a, d, _s| a.shl(d, cl)),
        row!("shlx", G, r12, |a, d, s| a.shlx(d, s, s)),
        row!("rol imm", G, r12, |a, d, _s| a.rol(d, 3)),
        row!("rcl 1", G, r12, |a, d, _s| a.rcl(d, 1)),
        row!("shld imm", G, r12, |a, d, s| a.shld(d, s, 3)),
        row!("adc", G, r12, |a, d, s| a.adc(d, s)),
        row!("test+cmove", G, r12, |a, d, s| {
            a.test(d, d)?;
            a.cmove(d, s)
        }),
        row!("cmp+cmova", G, r12, |a, d, s| {
            a.cmp(d, s)?;
            a.cmova(d, s)
        }),
        row!("cmove", G, r12, |a, d, s| a.cmove(d, s)),
        row!("imul r,r", G, r12, |a, d, s| a.imul_2(d, s)),
        Row {
            name: "mul r64",
            instructions: 1.0,
            chain: |a, _| a.mul(rax),
            independent: |a, _| a.mulx(r10, r11, r12),
        },
        Row {
            name: "div r64",
            instructions: 1.0,
            chain: |a, _| {
                a.or(rax, r12)?;
                a.xor(edx, edx)?;
                a.div(r12)
            },
            independent: |a, _| {
                a.mov(eax, 7)?;
                a.xor(edx, edx)?;
                a.div(r12)
            },
        },
        Row {
            name: "div r32",
            instructions: 1.0,
            chain: |a, _| {
                a.or(eax, r12d)?;
                a.xor(edx, edx)?;
                a.div(r12d)
            },
            independent: |a, _| {
                a.mov(eax, 7)?;
                a.xor(edx, edx)?;
                a.div(r12d)
            },
        },
        row!("popcnt", G, r12, |a, d, s| a.popcnt(d, s)),
        row!("lzcnt", G, r12, |a, d, s| a.lzcnt(d, s)),
        row!("tzcnt", G, r12, |a, d, s| a.tzcnt(d, s)),
        row!("bsr", G, r12, |a, d, s| a.bsr(d, s)),
        row!("pdep", G, r12, |a, d, s| a.pdep(d, s, s)),
        row!("andn", G, r12, |a, d, s| a.andn(d, s, s)),
        row!("blsr", G, r12, |a, d, s| a.blsr(d, s)),
        row!("bextr", G, r12, |a, d, s| a.bextr(d, s, s)),
        row!("bt+adc", G, r12, |a, d, s| {
            a.bt(d, s)?;
            a.adc(d, s)
        }),
        row!("bswap r32", D, r12d, |a, d, _s| a.bswap(d)),
        row!("bswap r64", G, r12, |a, d, _s| a.bswap(d)),
        row!("crc32", G, r12, |a, d, s| a.crc32(d, s)),
        row!("xchg r,r", G, r12, |a, d, _s| a.xchg(d, rdi)),
        row!("movzx r,r8", D, r12d, |a, d, _s| {
            let _ = d;
            a.movzx(eax, al)
        }),
        row!("sete+movzx", G, r12, |a, _d, _s| {
            a.sete(al)?;
            a.movzx(eax, al)?;
            a.test(eax, eax)
        }),
        row!("cqo", G, r12, |a, _d, _s| a.cqo()),
    ]
}

fn memory() -> Vec<Row> {
    vec![
        Row {
            name: "load",
            instructions: 1.0,
            chain: |a, _| a.mov(r14, ptr(r14)),
            independent: |a, number| a.mov(G[number % 8], ptr(r13)),
        },
        Row {
            name: "load index",
            instructions: 1.0,
            chain: |a, _| {
                a.xor(eax, eax)?;
                a.mov(r14, ptr(r14 + rax * 8))
            },
            independent: |a, number| a.movzx(D[number % 8], byte_ptr(r13)),
        },
        Row {
            name: "store+load",
            instructions: 1.0,
            chain: |a, _| {
                a.mov(ptr(r13), rax)?;
                a.mov(rax, ptr(r13))
            },
            independent: |a, _| a.mov(ptr(r13), rax),
        },
        Row {
            name: "store+load 2",
            instructions: 1.0,
            chain: |a, _| {
                a.mov(ptr(r13), rax)?;
                a.mov(rax, ptr(r14))
            },
            independent: |a, number| a.movaps(X[number % 10], xmmword_ptr(r13)),
        },
        Row {
            name: "add [m],r",
            instructions: 1.0,
            chain: |a, _| a.add(ptr(r13), rax),
            independent: |a, _| a.movaps(xmmword_ptr(r13), xmm15),
        },
        Row {
            name: "push+pop",
            instructions: 1.0,
            chain: |a, _| {
                a.push(rax)?;
                a.pop(rax)
            },
            independent: |a, number| {
                a.push(r12)?;
                a.pop(G[number % 8])
            },
        },
        Row {
            name: "lock xadd",
            instructions: 1.0,
            chain: |a, _| a.lock().xadd(ptr(r13), rax),
            independent: |a, _| a.lock().add(ptr(r13), r12),
        },
        Row {
            name: "vec store+load",
            instructions: 1.0,
            chain: |a, _| {
                a.movaps(xmmword_ptr(r13), xmm0)?;
                a.movaps(xmm0, xmmword_ptr(r14))
            },
            independent: |a, number| a.vmovdqu64(Z[number % 10], ptr(r13)),
        },
    ]
}

fn vector() -> Vec<Row> {
    vec![
        row!("movaps", X, xmm15, |a, d, s| {
            a.movaps(d, s)?;
            a.movaps(s, d)
        }),
        row!("pand", X, xmm15, |a, d, s| a.vpand(d, s, s)),
        row!("paddd", X, xmm15, |a, d, s| a.vpaddd(d, s, s)),
        row!("paddd ymm", Y, ymm15, |a, d, s| a.vpaddd(d, s, s)),
        row!("paddd zmm", Z, zmm15, |a, d, s| a.vpaddd(d, s, s)),
        row!("pcmpgtd", X, xmm15, |a, d, s| a.vpcmpgtd(d, s, xmm14)),
        row!("pslld imm", X, xmm15, |a, d, s| a.vpslld(d, s, 3)),
        row!("pslld xmm", X, xmm15, |a, d, s| a.vpslld(d, s, xmm14)),
        row!("psllvd", X, xmm15, |a, d, s| a.vpsllvd(d, s, s)),
        row!("pshufb", X, xmm15, |a, d, s| a.vpshufb(d, s, s)),
        row!("pshufd", X, xmm15, |a, d, s| a.vpshufd(d, s, 27)),
        row!("punpckldq", X, xmm15, |a, d, s| a.vpunpckldq(d, s, s)),
        row!("pshufb zmm", Z, zmm15, |a, d, s| a.vpshufb(d, s, s)),
        row!("vpermd", Y, ymm15, |a, d, s| a.vpermd(d, s, s)),
        row!("vpermq imm", Y, ymm15, |a, d, s| a.vpermq(d, s, 27)),
        row!("vinserti128", Y, ymm15, |a, d, s| a
            .vinserti128(d, s, xmm14, 1)),
        row!("vpbroadcastd", X, xmm15, |a, d, s| a.vpbroadcastd(d, s)),
        row!("vpmovzxbw", X, xmm15, |a, d, s| a.vpmovzxbw(d, s)),
        row!("vpermb zmm", Z, zmm15, |a, d, s| a.vpermb(d, s, s)),
        row!("vpermt2d zmm", Z, zmm15, |a, d, s| a.vpermt2d(d, s, s)),
        row!("vpblendd", X, xmm15, |a, d, s| a.vpblendd(d, s, xmm14, 5)),
        row!("vpblendvb", X, xmm15, |a, d, s| a.vpblendvb(d, s, s, s)),
        row!("pmullw", X, xmm15, |a, d, s| a.vpmullw(d, s, s)),
        row!("pmuludq", X, xmm15, |a, d, s| a.vpmuludq(d, s, s)),
        row!("pmaddwd", X, xmm15, |a, d, s| a.vpmaddwd(d, s, s)),
        row!("pmulld", X, xmm15, |a, d, s| a.vpmulld(d, s, s)),
        row!("vpmullq", X, xmm15, |a, d, s| a.vpmullq(d, s, s)),
        row!("psadbw", X, xmm15, |a, d, s| a.vpsadbw(d, s, xmm14)),
        row!("phaddd", X, xmm15, |a, d, s| a.vphaddd(d, s, s)),
        row!("mpsadbw", X, xmm15, |a, d, s| a.vmpsadbw(d, s, s, 0)),
        row!("vpopcntd", X, xmm15, |a, d, s| a.vpopcntd(d, s)),
        row!("vplzcntd", X, xmm15, |a, d, s| a.vplzcntd(d, s)),
        row!("vpconflictd", X, xmm15, |a, d, s| a.vpconflictd(d, s)),
        row!("vpternlogd", X, xmm15, |a, d, s| a
            .vpternlogd(d, s, s, 0x96)),
        pair!("movq pair", |a, g, x| {
            a.movq(x, g)?;
            a.movq(g, x)
        }),
        pair!("movd+pmovmskb", |a, g, x| {
            a.movq(x, g)?;
            a.vpmovmskb(g, x)
        }),
        pair!("pinsrq+pextrq", |a, g, x| {
            a.vpinsrq(x, x, g, 0)?;
            a.vpextrq(g, x, 1)
        }),
        Row {
            name: "ptest+cmove",
            instructions: 1.0,
            chain: |a, _| {
                a.movq(xmm0, rax)?;
                a.vptest(xmm0, xmm0)?;
                a.cmove(rax, r12)
            },
            independent: |a, _| a.vptest(xmm15, xmm15),
        },
        Row {
            name: "pcmpistri",
            instructions: 1.0,
            chain: |a, _| {
                a.movq(xmm0, rcx)?;
                a.vpcmpistri(xmm0, xmm15, 0)
            },
            independent: |a, _| a.vpcmpistri(xmm14, xmm15, 0),
        },
    ]
}

fn float() -> Vec<Row> {
    vec![
        row!("addsd", X, xmm15, |a, d, s| a.vaddsd(d, s, s)),
        row!("addps zmm", Z, zmm15, |a, d, s| a.vaddps(d, s, s)),
        row!("mulsd", X, xmm15, |a, d, s| a.vmulsd(d, s, s)),
        row!("mul+add", X, xmm15, |a, d, s| {
            a.vmulsd(d, s, s)?;
            a.vaddsd(d, d, d)
        }),
        row!("fma", X, xmm15, |a, d, s| a.vfmadd213sd(d, s, s)),
        row!("fma ymm", Y, ymm15, |a, d, s| a.vfmadd213pd(d, s, s)),
        row!("minsd", X, xmm15, |a, d, s| a.vminsd(d, s, xmm14)),
        row!("cmppd", X, xmm15, |a, d, s| a.vcmppd(d, s, s, 1)),
        row!("ucomisd+cmov", X, xmm15, |a, d, s| {
            a.vucomisd(d, s)?;
            a.cmova(rax, r12)?;
            a.movq(d, rax)
        }),
        row!("divss", X, xmm15, |a, d, s| a.vdivss(d, s, xmm15)),
        row!("divps ymm", Y, ymm15, |a, d, s| a.vdivps(d, s, ymm15)),
        row!("divsd", X, xmm15, |a, d, s| a.vdivsd(d, s, xmm15)),
        row!("divpd ymm", Y, ymm15, |a, d, s| a.vdivpd(d, s, ymm15)),
        row!("sqrtss", X, xmm15, |a, d, s| a.vsqrtss(d, s, s)),
        row!("sqrtsd", X, xmm15, |a, d, s| a.vsqrtsd(d, s, s)),
        row!("rsqrtps", X, xmm15, |a, d, s| a.vrsqrtps(d, s)),
        row!("roundsd", X, xmm15, |a, d, s| a.vroundsd(d, s, s, 0)),
        row!("cvtdq2ps", X, xmm15, |a, d, s| a.vcvtdq2ps(d, s)),
        row!("cvtps2pd", X, xmm15, |a, d, s| a.vcvtps2pd(d, s)),
        row!("cvtss2sd", X, xmm15, |a, d, s| a.vcvtss2sd(d, s, s)),
        pair!("cvt sd<->si", |a, g, x| {
            a.vcvtsi2sd(x, xmm15, g)?;
            a.vcvttsd2si(g, x)
        }),
        row!("haddpd", X, xmm15, |a, d, s| a.vhaddpd(d, s, s)),
        row!("dpps", X, xmm15, |a, d, s| a.vdpps(d, s, s, 255)),
        Row {
            name: "fadd x87",
            instructions: 1.0,
            chain: |a, _| a.fadd_2(st0, st1),
            independent: |a, number| a.fxch(st0, [st1, st2][number % 2]),
        },
        Row {
            name: "fmul x87",
            instructions: 1.0,
            chain: |a, _| a.fmul_2(st0, st1),
            independent: |a, _| a.fnop(),
        },
        Row {
            name: "fdiv x87",
            instructions: 1.0,
            chain: |a, _| a.fdiv_2(st0, st1),
            independent: |a, _| a.fabs(),
        },
    ]
}

fn crypto_and_masks() -> Vec<Row> {
    vec![
        row!("aesenc", X, xmm15, |a, d, s| a.vaesenc(d, s, s)),
        row!("aesimc", X, xmm15, |a, d, s| a.vaesimc(d, s)),
        row!("pclmulqdq", X, xmm15, |a, d, s| a.vpclmulqdq(d, s, s, 0)),
        row!("gf2p8mulb", X, xmm15, |a, d, s| a.vgf2p8mulb(d, s, s)),
        row!("sha256rnds2", X, xmm15, |a, d, s| a.sha256rnds2(d, s)),
        row!("sha256msg1", X, xmm15, |a, d, s| a.sha256msg1(d, s)),
        row!("sha256msg2", X, xmm15, |a, d, s| a.sha256msg2(d, s)),
        row!("sha1rnds4", X, xmm15, |a, d, s| a.sha1rnds4(d, s, 0)),
        row!("sha1msg1", X, xmm15, |a, d, s| a.sha1msg1(d, s)),
        Row {
            name: "kandw",
            instructions: 1.0,
            chain: |a, _| a.kandw(k1, k1, k1),
            independent: |a, number| a.kandw([k1, k2, k3, k4][number % 4], k5, k6),
        },
        Row {
            name: "kshiftlw",
            instructions: 1.0,
            chain: |a, _| a.kshiftlw(k1, k1, 1),
            independent: |a, number| a.kshiftlw([k1, k2, k3, k4][number % 4], k5, 1),
        },
        Row {
            name: "kmov pair",
            instructions: 1.0,
            chain: |a, _| {
                a.kmovd(k1, eax)?;
                a.kmovd(eax, k1)
            },
            independent: |a, number| {
                a.kmovd([k1, k2, k3, k4][number % 4], r12d)?;
                a.kmovd(D[number % 8], k5)
            },
        },
        Row {
            name: "vpcmp+vpmovm2b",
            instructions: 1.0,
            chain: |a, _| {
                a.vpcmpeqb(k1, zmm0, zmm15)?;
                a.vpmovm2b(zmm0, k1)
            },
            independent: |a, number| a.vpcmpeqb([k1, k2, k3, k4][number % 4], zmm14, zmm15),
        },
        Row {
            name: "kortest+cmov",
            instructions: 1.0,
            chain: |a, _| {
                a.kmovd(k1, eax)?;
                a.kortestd(k1, k1)?;
                a.cmove(eax, r12d)
            },
            independent: |a, _| a.kortestd(k5, k6),
        },
        row!("vpcompressd", Z, zmm15, |a, d, s| a.vpcompressd(d.k1(), s)),
        row!("vpmovdb", X, xmm15, |a, d, s| a.vpmovdb(d, s)),
        Row {
            name: "gather 8x32",
            instructions: 1.0,
            chain: |a, _| {
                a.vpxor(xmm0, xmm0, xmm0)?;
                a.kxnorw(k1, k1, k1)?;
                a.vpgatherdd(ymm1.k1(), ptr(r13 + ymm0 * 1))
            },
            independent: |a, _| {
                a.vpxor(xmm0, xmm0, xmm0)?;
                a.kxnorw(k1, k1, k1)?;
                a.vpgatherdd(ymm1.k1(), ptr(r13 + ymm0 * 1))
            },
        },
        Row {
            name: "rep movsb 256",
            instructions: 1.0,
            chain: |a, _| {
                a.mov(rsi, r13)?;
                a.lea(rdi, r13 + 1024)?;
                a.mov(ecx, 256)?;
                a.rep().movsb()
            },
            independent: |a, _| a.vzeroupper(),
        },
        Row {
            name: "pause",
            instructions: 1.0,
            chain: |a, _| a.pause(),
            independent: |a, _| a.nop(),
        },
        Row {
            name: "lfence",
            instructions: 1.0,
            chain: |a, _| a.lfence(),
            independent: |a, _| a.sfence(),
        },
        Row {
            name: "mfence",
            instructions: 1.0,
            chain: |a, _| a.mfence(),
            independent: |a, _| a.rdtsc(),
        },
    ]
}
