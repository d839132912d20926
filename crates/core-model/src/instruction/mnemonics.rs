//! Maps mnemonics to classes.
//!
//! The classes group mnemonics that all supported cores execute in the same way. `form`
//! distinguishes forms of one mnemonic that differ by width, operand kind or addressing.

use iced_x86::Mnemonic;

use crate::class::Class;

macro_rules! classes_of {
    ($($class:ident: $($mnemonic:ident)+;)+) => {
        /// Returns the class of a mnemonic, or [`Class::Unknown`] if the table has none.
        pub(super) fn class_of(mnemonic: Mnemonic) -> Class {
            match mnemonic {
                $($(Mnemonic::$mnemonic)|+ => Class::$class,)+
                _ => Class::Unknown,
            }
        }
    };
}

classes_of! {
    Nop: Endbr32 Endbr64 Fnop Nop Reservednop Wait Prefetchit0 Prefetchit1;
    Prefetch: Cldemote Prefetch Prefetchnta Prefetcht0 Prefetcht1 Prefetcht2 Prefetchw
        Prefetchwt1;
    IntMove: Mov Movbe;
    IntAlu: And Cbw Cdqe Clc Cmc Cmp Cwde Lahf Movsx Movsxd Movzx Neg Not Or Sahf Salc Stc Test
        Xor;
    IntAdd: Add Dec Inc Sub;
    IntSignSplat: Cdq Cqo Cwd;
    IntShift: Rol Ror Rorx Sal Sar Sarx Shl Shlx Shr Shrx;
    RotateCarry: Rcl Rcr;
    DoubleShift: Shld Shrd;
    AddCarry: Adc Adcx Adox Sbb;
    SetCondition: Seta Setae Setb Setbe Sete Setg Setge Setl Setle Setne Setno Setnp Setns Seto
        Setp Sets;
    CondMove: Cmova Cmovae Cmovb Cmovbe Cmove Cmovg Cmovge Cmovl Cmovle Cmovne Cmovno Cmovnp
        Cmovns Cmovo Cmovp Cmovs;
    Lea: Lea;
    Multiply: Imul;
    MultiplyWide: Mul Mulx;
    Divide64: Div Idiv;
    BitCount: Lzcnt Popcnt;
    BitScan: Bsf Bsr Tzcnt;
    BitDeposit: Pdep Pext;
    AndNot: Andn;
    BitField: Blsi Blsmsk Blsr;
    BitExtract: Bextr;
    BitZeroHigh: Bzhi;
    BitTest: Bt;
    BitChange: Btc Btr Bts;
    ByteSwap: Bswap;
    Crc: Crc32;
    Exchange: Xchg;
    ExchangeAdd: Xadd;
    CompareExchange: Cmpxchg Cmpxchg16b Cmpxchg8b;
    Branch: Ja Jae Jb Jbe Jcxz Je Jecxz Jg Jge Jl Jle Jne Jno Jnp Jns Jo Jp Jrcxz Js;
    Loop: Loop Loope Loopne;
    Jump: Jmp;
    Call: Call;
    Return: Ret;
    Push: Push;
    Pop: Pop;
    Leave: Leave;
    StringStep: Cmpsb Cmpsd Cmpsq Cmpsw Lodsb Lodsd Lodsq Lodsw Movsb Movsd Movsq Movsw Scasb Scasd
        Scasq Scasw Stosb Stosd Stosq Stosw;
    Pause: Pause Tpause Umwait;
    LoadFence: Lfence;
    FullFence: Mfence Serialize;
    StoreFence: Clflush Clflushopt Clwb Sfence;
    ReadClock: Rdpmc Rdpru Rdtsc Rdtscp;
    Random: Rdrand Rdseed;
    CpuId: Cpuid;
    SystemCall: Int Int1 Syscall Sysenter Int3;
    Microcode: Cld Enter Fldenv Fnsave Fnstenv Frstor Fxrstor Fxrstor64 Fxsave Fxsave64 Incsspd
        Incsspq Popf Pushf Rdfsbase Rdgsbase Rdpid Rdpkru Rdsspd Rdsspq Std Vzeroall Wrfsbase
        Wrgsbase Wrpkru Xabort Xbegin Xend Xgetbv Xlatb Xrstor Xrstor64 Xsave Xsave64 Xsavec
        Xsavec64 Xsaveopt Xsaveopt64 Xtest Pushfq Popfq;
    VecMove: Movd Vmovd Vmovw Lddqu Movapd Movaps Movdqa Movdqu Movntdq Movntdqa Movnti Movntpd
        Movntps Movntq Movq Movss Movupd Movups Vlddqu Vmovapd Vmovaps Vmovdqa Vmovdqa32 Vmovdqa64
        Vmovdqu Vmovdqu16 Vmovdqu32 Vmovdqu64 Vmovdqu8 Vmovntdq Vmovntdqa Vmovntpd Vmovntps Vmovq
        Vmovsd Vmovss Vmovupd Vmovups;
    VecLogic: Andnpd Andnps Andpd Andps Orpd Orps Pand Pandn Por Pxor Vandnpd Vandnps Vandpd
        Vandps Vorpd Vorps Vpand Vpandd Vpandn Vpandnd Vpandnq Vpandq Vpor Vpord Vporq Vpternlogd
        Vpternlogq Vpxor Vpxord Vpxorq Vxorpd Vxorps Xorpd Xorps;
    VecAdd: Paddb Paddd Paddq Paddw Pavgb Pavgw Pmaxsb Pmaxsd Pmaxsw Pmaxub Pmaxud Pmaxuw Pminsb
        Pminsd Pminsw Pminub Pminud Pminuw Psubb Psubd Psubq Psubw Vpaddb Vpaddd Vpaddq Vpaddw
        Vpavgb Vpavgw Vpmaxsb Vpmaxsd Vpmaxsq Vpmaxsw Vpmaxub Vpmaxud Vpmaxuq Vpmaxuw Vpminsb
        Vpminsd Vpminsq Vpminsw Vpminub Vpminud Vpminuq Vpminuw Vpsubb Vpsubd Vpsubq Vpsubw;
    VecAddSaturating: Pabsb Pabsd Pabsw Paddsb Paddsw Paddusb Paddusw Psignb Psignd Psignw Psubsb
        Psubsw Psubusb Psubusw Vpabsb Vpabsd Vpabsq Vpabsw Vpaddsb Vpaddsw Vpaddusb Vpaddusw Vpsignb
        Vpsignd Vpsignw Vpsubsb Vpsubsw Vpsubusb Vpsubusw;
    VecCompare: Pcmpeqb Pcmpeqd Pcmpeqq Pcmpeqw Pcmpgtb Pcmpgtd Pcmpgtw Vpcmpeqb Vpcmpeqd Vpcmpeqq
        Vpcmpeqw Vpcmpgtb Vpcmpgtd Vpcmpgtw;
    VecCompareGreater64: Pcmpgtq Vpcmpgtq;
    VecMaskCompare: Vfpclasspd Vfpclassps Vfpclasssd Vfpclassss Vpcmpb Vpcmpd Vpcmpq Vpcmpub
        Vpcmpud Vpcmpuq Vpcmpuw Vpcmpw Vpmovb2m Vpmovd2m Vpmovq2m Vpmovw2m Vpshufbitqmb Vptestmb
        Vptestmd Vptestmq Vptestmw Vptestnmb Vptestnmd Vptestnmq Vptestnmw Vfpclassph Vfpclasssh;
    VecShift: Pslld Psllq Psllw Psrad Psraw Psrld Psrlq Psrlw Vprold Vprolq Vprord Vprorq Vpshldd
        Vpshldq Vpshldw Vpshrdd Vpshrdq Vpshrdw Vpslld Vpsllq Vpsllw Vpsrad Vpsraq Vpsraw Vpsrld
        Vpsrlq Vpsrlw;
    VecShiftVar: Vpmultishiftqb Vprolvd Vprolvq Vprorvd Vprorvq Vpshldvd Vpshldvq Vpshldvw
        Vpshrdvd Vpshrdvq Vpshrdvw Vpsllvd Vpsllvq Vpsllvw Vpsravd Vpsravq Vpsravw Vpsrlvd Vpsrlvq
        Vpsrlvw;
    VecShuffle: Movlpd Movlps Movshdup Movsldup Pblendw Pshufd Pshufhw Pshuflw Pshufw Pswapd
        Punpckhbw Punpckhdq Punpckhqdq Punpckhwd Punpcklbw Punpckldq Punpcklqdq Punpcklwd Shufpd
        Shufps Vmovlpd Vmovlps Vmovshdup Vmovsldup Vpblendw Vpshufd Vpshufhw Vpshuflw Vpunpckhbw
        Vpunpckhdq Vpunpckhqdq Vpunpckhwd Vpunpcklbw Vpunpckldq Vpunpcklqdq Vpunpcklwd Vshufpd
        Vshufps;
    VecShuffleFloats: Insertps Movddup Movhlps Movhpd Movhps Movlhps Unpckhpd Unpckhps Unpcklpd
        Unpcklps Vinsertps Vmovddup Vmovhlps Vmovhpd Vmovhps Vmovlhps Vpermilpd Vpermilps Vunpckhpd
        Vunpckhps Vunpcklpd Vunpcklps;
    VecShuffleBytes: Pshufb Pslldq Psrldq Vpshufb Vpslldq Vpsrldq;
    VecAlign: Palignr Vpalignr;
    VecPack: Packssdw Packsswb Packusdw Packuswb Vpackssdw Vpacksswb Vpackusdw Vpackuswb;
    VecShuffleLane: Valignd Valignq Vperm2f128 Vperm2i128 Vpermb Vpermd Vpermi2b Vpermi2d
        Vpermi2pd Vpermi2ps Vpermi2q Vpermi2w Vpermpd Vpermps Vpermq Vpermt2b Vpermt2d Vpermt2pd
        Vpermt2ps Vpermt2q Vpermt2w Vpermw Vshuff32x4 Vshuff64x2 Vshufi32x4 Vshufi64x2;
    VecWiden: Pmovsxbd Pmovsxbq Pmovsxbw Pmovsxdq Pmovsxwd Pmovsxwq Pmovzxbd Pmovzxbq Pmovzxbw
        Pmovzxdq Pmovzxwd Pmovzxwq Vbroadcastf128 Vbroadcastf32x2 Vbroadcastf32x4 Vbroadcastf32x8
        Vbroadcastf64x2 Vbroadcastf64x4 Vbroadcasti128 Vbroadcasti32x2 Vbroadcasti32x4
        Vbroadcasti32x8 Vbroadcasti64x2 Vbroadcasti64x4 Vbroadcastsd Vbroadcastss Vextractf128
        Vextractf32x4 Vextractf32x8 Vextractf64x2 Vextractf64x4 Vextracti128 Vextracti32x4
        Vextracti32x8 Vextracti64x2 Vextracti64x4 Vinsertf128 Vinsertf32x4 Vinsertf32x8
        Vinsertf64x2 Vinsertf64x4 Vinserti128 Vinserti32x4 Vinserti32x8 Vinserti64x2 Vinserti64x4
        Vpbroadcastb Vpbroadcastd Vpbroadcastq Vpbroadcastw Vpmovsxbd Vpmovsxbq Vpmovsxbw
        Vpmovsxdq Vpmovsxwd Vpmovsxwq Vpmovzxbd Vpmovzxbq Vpmovzxbw Vpmovzxdq Vpmovzxwd Vpmovzxwq;
    VecNarrow: Vpmovdb Vpmovdw Vpmovqb Vpmovqd Vpmovqw Vpmovsdb Vpmovsdw Vpmovsqb Vpmovsqd
        Vpmovsqw Vpmovswb Vpmovusdb Vpmovusdw Vpmovusqb Vpmovusqd Vpmovusqw Vpmovuswb Vpmovwb;
    VecBlend: Blendpd Blendps Vblendmpd Vblendmps Vblendpd Vblendps Vpblendd Vpblendmb Vpblendmd
        Vpblendmq Vpblendmw;
    VecBlendVar: Blendvpd Blendvps Pblendvb Vblendvpd Vblendvps Vpblendvb;
    VecMaskMove: Vmaskmovpd Vmaskmovps Vpmaskmovd Vpmaskmovq;
    VecCompress: Vcompresspd Vcompressps Vexpandpd Vexpandps Vpcompressb Vpcompressd Vpcompressq
        Vpcompressw Vpexpandb Vpexpandd Vpexpandq Vpexpandw;
    VecMultiply: Pmaddubsw Pmaddwd Pmuldq Pmulhrsw Pmulhuw Pmulhw Pmullw Pmuludq Vpdpbusd
        Vpdpbusds Vpdpwssd Vpdpwssds Vpmadd52huq Vpmadd52luq Vpmaddubsw Vpmaddwd Vpmuldq Vpmulhrsw
        Vpmulhuw Vpmulhw Vpmullw Vpmuludq;
    VecMultiply32: Pmulld Vpmulld;
    VecMultiply64: Vpmullq;
    VecMoveMask: Movmskpd Movmskps Pmovmskb Vmovmskpd Vmovmskps Vpmovmskb;
    VecInsert: Pinsrb Pinsrd Pinsrq Pinsrw Vpinsrb Vpinsrd Vpinsrq Vpinsrw;
    VecExtract: Extractps Pextrb Pextrd Pextrq Pextrw Vextractps Vpextrb Vpextrd Vpextrq Vpextrw;
    VecTest: Ptest Vptest Vtestpd Vtestps;
    VecSumDifferences: Psadbw Vpsadbw;
    VecMultiSad: Mpsadbw Phminposuw Vdbpsadbw Vmpsadbw Vphminposuw;
    VecHorizontal: Haddpd Haddps Hsubpd Hsubps Vhaddpd Vhaddps Vhsubpd Vhsubps;
    VecHorizontalInt: Phaddd Phaddsw Phaddw Phsubd Phsubsw Phsubw Vphaddd Vphaddsw Vphaddw Vphsubd
        Vphsubsw Vphsubw;
    VecPopcnt: Vpopcntb Vpopcntd Vpopcntq Vpopcntw;
    VecLzcnt: Vplzcntd Vplzcntq;
    VecConflict: Vpconflictd Vpconflictq;
    VecString: Pcmpestri Pcmpestri64 Pcmpestrm Pcmpestrm64 Pcmpistri Pcmpistrm Vpcmpestri
        Vpcmpestri64 Vpcmpestrm Vpcmpestrm64 Vpcmpistri Vpcmpistrm;
    VecZeroUpper: Emms Femms Vzeroupper;
    Gather: Vgatherdpd Vgatherdps Vgatherqpd Vgatherqps Vpgatherdd Vpgatherdq Vpgatherqd
        Vpgatherqq;
    Scatter: Vpscatterdd Vpscatterdq Vpscatterqd Vpscatterqq Vscatterdpd Vscatterdps Vscatterqpd
        Vscatterqps;
    MaskLogic: Kandb Kandd Kandnb Kandnd Kandnq Kandnw Kandq Kandw Knotb Knotd Knotq Knotw Korb
        Kord Korq Korw Kxnorb Kxnord Kxnorq Kxnorw Kxorb Kxord Kxorq Kxorw;
    MaskShift: Kaddb Kaddd Kaddq Kaddw Kshiftlb Kshiftld Kshiftlq Kshiftlw Kshiftrb Kshiftrd
        Kshiftrq Kshiftrw Kunpckbw Kunpckdq Kunpckwd;
    MaskTest: Kortestb Kortestd Kortestq Kortestw Ktestb Ktestd Ktestq Ktestw;
    MaskMove: Kmovb Kmovd Kmovq Kmovw;
    MaskToVec: Vpbroadcastmb2q Vpbroadcastmw2d Vpmovm2b Vpmovm2d Vpmovm2q Vpmovm2w;
    FpAdd: Addpd Addps Addsd Addss Addsubpd Addsubps Subpd Subps Subsd Subss Vaddpd Vaddps Vaddsd
        Vaddss Vaddsubpd Vaddsubps Vsubpd Vsubps Vsubsd Vsubss;
    FpMultiply: Mulpd Mulps Mulsd Mulss Vmulpd Vmulps Vmulsd Vmulss;
    FpFma: Vfmadd132pd Vfmadd132ps Vfmadd132sd Vfmadd132ss Vfmadd213pd Vfmadd213ps Vfmadd213sd
        Vfmadd213ss Vfmadd231pd Vfmadd231ps Vfmadd231sd Vfmadd231ss Vfmaddsub132pd Vfmaddsub132ps
        Vfmaddsub213pd Vfmaddsub213ps Vfmaddsub231pd Vfmaddsub231ps Vfmsub132pd Vfmsub132ps
        Vfmsub132sd Vfmsub132ss Vfmsub213pd Vfmsub213ps Vfmsub213sd Vfmsub213ss Vfmsub231pd
        Vfmsub231ps Vfmsub231sd Vfmsub231ss Vfmsubadd132pd Vfmsubadd132ps Vfmsubadd213pd
        Vfmsubadd213ps Vfmsubadd231pd Vfmsubadd231ps Vfnmadd132pd Vfnmadd132ps Vfnmadd132sd
        Vfnmadd132ss Vfnmadd213pd Vfnmadd213ps Vfnmadd213sd Vfnmadd213ss Vfnmadd231pd Vfnmadd231ps
        Vfnmadd231sd Vfnmadd231ss Vfnmsub132pd Vfnmsub132ps Vfnmsub132sd Vfnmsub132ss Vfnmsub213pd
        Vfnmsub213ps Vfnmsub213sd Vfnmsub213ss Vfnmsub231pd Vfnmsub231ps Vfnmsub231sd
        Vfnmsub231ss;
    FpMinMax: Maxpd Maxps Maxsd Maxss Minpd Minps Minsd Minss Vmaxpd Vmaxps Vmaxsd Vmaxss Vminpd
        Vminps Vminsd Vminss Vrangepd Vrangeps Vrangesd Vrangess;
    FpCompare: Cmppd Cmpps Cmpss Vcmppd Vcmpps Vcmpsd Vcmpss;
    FpCompareFlags: Comisd Comiss Ucomisd Ucomiss Vcomisd Vcomiss Vucomisd Vucomiss;
    FpDivide32: Divps Divss Vdivps Vdivss;
    FpDivide64: Divpd Divsd Vdivpd Vdivsd;
    FpSqrt32: Sqrtps Sqrtss Vsqrtps Vsqrtss;
    FpSqrt64: Sqrtpd Sqrtsd Vsqrtpd Vsqrtsd;
    FpReciprocal: Rcpps Rcpss Rsqrtps Rsqrtss Vrcp14pd Vrcp14ps Vrcp14sd Vrcp14ss Vrcpps Vrcpss
        Vrsqrt14pd Vrsqrt14ps Vrsqrt14sd Vrsqrt14ss Vrsqrtps Vrsqrtss;
    FpRound: Roundpd Roundps Roundsd Roundss Vreducepd Vreduceps Vreducesd Vreducess Vrndscalepd
        Vrndscaleps Vrndscalesd Vrndscaless Vroundpd Vroundps Vroundsd Vroundss;
    FpManipulate: Vfixupimmpd Vfixupimmps Vfixupimmsd Vfixupimmss Vgetexppd Vgetexpps Vgetexpsd
        Vgetexpss Vgetmantpd Vgetmantps Vgetmantsd Vgetmantss Vscalefpd Vscalefps Vscalefsd
        Vscalefss;
    FpConvert: Cvtdq2ps Cvtps2dq Cvttps2dq Vcvtdq2ps Vcvtpd2qq Vcvtpd2uqq Vcvtps2dq Vcvtps2udq
        Vcvtqq2pd Vcvttpd2qq Vcvttpd2uqq Vcvttps2dq Vcvttps2udq Vcvtudq2ps Vcvtuqq2pd;
    FpConvertWidth: Cvtdq2pd Cvtpd2dq Cvtpd2ps Cvtps2pd Cvtsd2ss Cvtss2sd Cvttpd2dq Vcvtdq2pd
        Vcvtpd2dq Vcvtpd2ps Vcvtpd2udq Vcvtph2ps Vcvtps2pd Vcvtps2ph Vcvtps2qq Vcvtps2uqq
        Vcvtqq2ps Vcvtsd2ss Vcvtss2sd Vcvttpd2dq Vcvttpd2udq Vcvttps2qq Vcvttps2uqq Vcvtudq2pd
        Vcvtuqq2ps;
    FpFromInt: Cvtsi2sd Cvtsi2ss Vcvtsi2sd Vcvtsi2ss Vcvtusi2sd Vcvtusi2ss;
    FpToInt: Cvtsd2si Cvtss2si Cvttsd2si Cvttss2si Vcvtsd2si Vcvtsd2usi Vcvtss2si Vcvtss2usi
        Vcvttsd2si Vcvttsd2usi Vcvttss2si Vcvttss2usi;
    FpDot: Dppd Dpps Vdppd Vdpps;
    Aes: Aesdec Aesdeclast Aesenc Aesenclast Vaesdec Vaesdeclast Vaesenc Vaesenclast;
    AesKey: Aeskeygenassist Vaeskeygenassist;
    AesInverse: Aesimc Vaesimc;
    CarrylessMultiply: Pclmulqdq Vpclmulqdq;
    Galois: Gf2p8affineinvqb Gf2p8affineqb Gf2p8mulb Vgf2p8affineinvqb Vgf2p8affineqb Vgf2p8mulb;
    Sha256Rounds: Sha256rnds2;
    Sha256Message1: Sha256msg1;
    Sha256Message2: Sha256msg2;
    Sha1Rounds: Sha1rnds4;
    Sha1Message: Sha1msg1 Sha1msg2 Sha1nexte;
    MxcsrLoad: Ldmxcsr Vldmxcsr;
    MxcsrStore: Stmxcsr Vstmxcsr;
    X87Move: Fabs Fchs Fcmovb Fcmovbe Fcmove Fcmovnb Fcmovnbe Fcmovne Fcmovnu Fcmovu Fdecstp Ffree
        Ffreep Fincstp Fld Fld1 Fldl2e Fldl2t Fldlg2 Fldln2 Fldpi Fldz Fst Fstp Fxch;
    X87Add: Fadd Faddp Fiadd Fisub Fisubr Fsub Fsubp Fsubr Fsubrp;
    X87Multiply: Fimul Fmul Fmulp;
    X87Divide: Fdiv Fdivp Fdivr Fdivrp Fidiv Fidivr Fsqrt;
    X87Compare: Fcom Fcomi Fcomip Fcomp Fcompp Ficom Ficomp Ftst Fucom Fucomi Fucomip Fucomp
        Fucompp Fxam;
    X87Convert: Fild Fist Fistp Fisttp Frndint;
    X87Control: Fclex Finit Fldcw Fnclex Fninit Fnstcw Fnstsw Fstcw Fstsw;
    X87Transcendental: F2xm1 Fbld Fbstp Fcos Fpatan Fprem Fprem1 Fptan Fscale Fsin Fsincos Fxtract
        Fyl2x Fyl2xp1;
}
