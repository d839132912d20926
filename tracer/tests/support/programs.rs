//! Programs of different nature, small enough to be single-stepped. Each returns a value that
//! depends on all of its work.

use std::arch::asm;
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet, VecDeque};
use std::fmt::Write as _;
use std::hash::{Hash, Hasher};
use std::hint::black_box;
use std::sync::LazyLock;

/// A name and what to run.
pub type Program = (&'static str, fn() -> u64);

/// Programs whose executed instructions depend on nothing but the state of the process.
pub const PROGRAMS: &[Program] = &[
    ("sort", sort),
    ("stable sort", stable_sort),
    ("binary search", binary_search),
    ("hash map", hash_map),
    ("hash set of strings", hash_set_of_strings),
    ("b-tree", b_tree),
    ("heap and deque", heap_and_deque),
    ("parse", parse),
    ("format", format),
    ("floats to text and back", floats_to_text_and_back),
    ("utf-8", utf8),
    ("json", json),
    ("regular expression", regular_expression),
    ("sha-256", sha256),
    ("blake3", blake3_hash),
    ("aes", aes_rounds),
    ("matrix product", matrix_product),
    ("division", division),
    ("128-bit division", wide_division),
    ("x87", x87),
    ("libm", libm),
    ("recursion", recursion),
    ("function pointers", function_pointers),
    ("trait objects", trait_objects),
    ("jump table", jump_table),
    ("string instructions", string_instructions),
    ("count branches", count_branches),
    ("atomics", atomics),
    ("panic and catch", panic_and_catch),
    ("nested panic with drops", panic_with_drops),
    ("backtrace", backtrace),
    ("file", file),
    ("environment", environment),
    ("dlopen", dlopen),
    ("setjmp and longjmp", jump_back),
    ("large stack frame", large_stack_frame),
    ("allocator", allocator),
    ("avx2 gather", avx2_gather),
    ("avx-512", avx512),
    ("compression", compression),
    ("decompression", decompression),
    ("thread", thread),
    ("lazy binding", lazy_binding),
    ("text search", text_search),
    ("edit distance", edit_distance),
    ("linked list", linked_list),
    ("bits", bits),
    ("single-precision sum", single_precision_sum),
    ("sort of strings", sort_of_strings),
];

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

fn numbers(count: usize) -> Vec<u64> {
    let mut random = Random(0x1234_5678_9abc_def1);
    (0..count).map(|_| random.next()).collect()
}

fn fold(values: impl IntoIterator<Item = u64>) -> u64 {
    values
        .into_iter()
        .fold(7, |sum, value| sum.wrapping_mul(31).wrapping_add(value))
}

fn sort() -> u64 {
    let mut values = numbers(80);
    values.sort_unstable();
    fold(values)
}

fn stable_sort() -> u64 {
    let mut values: Vec<(u64, u64)> = numbers(50).into_iter().map(|n| (n % 16, n)).collect();
    values.sort_by_key(|pair| pair.0);
    fold(values.into_iter().map(|pair| pair.1))
}

fn binary_search() -> u64 {
    let values: Vec<u64> = (0..256).map(|n| n * 3).collect();
    fold((0..64).map(|n| match values.binary_search(&(n * 11)) {
        Ok(place) => place as u64,
        Err(place) => !place as u64,
    }))
}

fn hash_map() -> u64 {
    let mut map = HashMap::new();
    for (place, number) in numbers(20).into_iter().enumerate() {
        *map.entry(number % 20).or_insert(0) += place as u64;
    }
    (0..20).map(|key| map.get(&key).copied().unwrap_or(1)).sum()
}

fn hash_set_of_strings() -> u64 {
    let set: HashSet<String> = (0..6).map(|n| n.to_string()).collect();
    (0..12)
        .filter(|n: &u32| set.contains(&n.to_string()))
        .count() as u64
}

fn b_tree() -> u64 {
    let mut map: BTreeMap<u64, u64> = numbers(30).into_iter().map(|n| (n, n >> 3)).collect();
    map.retain(|key, _| key % 3 != 0);
    fold(map.into_iter().map(|(key, value)| key ^ value))
}

fn heap_and_deque() -> u64 {
    let mut heap: BinaryHeap<u64> = numbers(60).into();
    let mut deque = VecDeque::new();
    while let Some(value) = heap.pop() {
        if value % 2 == 0 {
            deque.push_front(value);
        } else {
            deque.push_back(value);
        }
    }
    fold(deque)
}

fn parse() -> u64 {
    "17, -4, 0x2a, 1e3, nonsense, 99999999999999999999, 65535"
        .split(", ")
        .map(|word| match word.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).unwrap_or(1),
            None => word
                .parse::<i64>()
                .map(|n| n as u64)
                .or_else(|_| word.parse::<f64>().map(f64::to_bits))
                .unwrap_or(2),
        })
        .fold(0, u64::wrapping_add)
}

fn format() -> u64 {
    let mut text = String::new();
    for number in numbers(4) {
        let _ = write!(text, "{number:>24} {number:#x} {:?} ", (number % 7, "x"));
    }
    fold(text.bytes().map(u64::from))
}

fn floats_to_text_and_back() -> u64 {
    fold(numbers(4).into_iter().map(|n| {
        let text = (n as f64 / 1e7).to_string();
        text.parse::<f64>().unwrap().to_bits()
    }))
}

fn utf8() -> u64 {
    let text = "naïve café — 日本語 🦀 plain ascii text behind it".repeat(3);
    let upper = text.to_uppercase();
    fold(upper.chars().map(|c| u64::from(u32::from(c))))
        ^ std::str::from_utf8(upper.as_bytes()).unwrap().len() as u64
}

fn json() -> u64 {
    let text = r#"{"a":[1,-2.5,true,null],"b":{"c":"d\n"}}"#;
    let value: serde_json::Value = serde_json::from_str(text).unwrap();
    fold(value.to_string().bytes().map(u64::from))
}

fn regular_expression() -> u64 {
    // To compile it takes millions of instructions.
    static EXPRESSION: LazyLock<regex::Regex> =
        LazyLock::new(|| regex::Regex::new(r"(\d+)-(\w+)").unwrap());
    let text = "aa 12-xyz, 7-b, --";
    fold(
        EXPRESSION
            .captures_iter(text)
            .map(|captures| captures[1].parse::<u64>().unwrap() + captures[2].len() as u64),
    )
}

fn sha256() -> u64 {
    use sha2::Digest;
    let digest = sha2::Sha256::digest(vec![3_u8; 100]);
    fold(digest.into_iter().map(u64::from))
}

fn blake3_hash() -> u64 {
    let bytes = vec![5_u8; 3000];
    fold(blake3::hash(&bytes).as_bytes().iter().map(|&b| b.into()))
}

fn aes_rounds() -> u64 {
    use aes::cipher::{BlockEncrypt, KeyInit};
    let cipher = aes::Aes128::new(&[9; 16].into());
    let mut block = [1; 16].into();
    for _ in 0..3 {
        cipher.encrypt_block(&mut block);
    }
    fold(block.into_iter().map(u64::from))
}

fn matrix_product() -> u64 {
    const N: usize = 8;
    let a: Vec<f64> = (0..N * N).map(|n| n as f64).collect();
    let mut c = vec![0.0; N * N];
    for i in 0..N {
        for k in 0..N {
            for j in 0..N {
                c[i * N + j] += a[i * N + k] * a[k * N + j];
            }
        }
    }
    fold(c.into_iter().map(f64::to_bits))
}

fn division() -> u64 {
    numbers(50)
        .windows(2)
        .map(|pair| pair[0] / (pair[1] >> 40 | 1) + pair[0] % (pair[1] >> 50 | 1))
        .fold(0, u64::wrapping_add)
}

fn wide_division() -> u64 {
    numbers(20)
        .chunks(2)
        .map(|pair| {
            let wide = u128::from(pair[0]) << 64 | u128::from(pair[1]);
            (wide / u128::from(pair[1] >> 9 | 1)) as u64 ^ (wide % 1_000_000_007) as u64
        })
        .fold(0, u64::wrapping_add)
}

fn x87() -> u64 {
    let mut result = 0_u64;
    let (a, b) = (3.25_f64, 7.5_f64);
    let mut mode = 0_u16;
    for _ in 0..20 {
        // SAFETY: x87 instructions on local variables; the stack is empty again at the end.
        unsafe {
            asm!(
                "fld qword ptr [{a}]",
                "fadd qword ptr [{b}]",
                "fld st(0)",
                "fmulp st(1), st",
                "fsqrt",
                "fldpi",
                "fxch",
                "fpatan",
                "fstp qword ptr [{result}]",
                "fnstcw [{mode}]",
                a = in(reg) &a,
                b = in(reg) &b,
                result = in(reg) &mut result,
                mode = in(reg) &mut mode,
                out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                options(nostack)
            );
        }
    }
    result ^ u64::from(mode)
}

fn libm() -> u64 {
    fold((1..20).map(|n| {
        let x = f64::from(black_box(n));
        (x.sin() + x.exp().ln() + x.powf(0.3) + x.tanh()).to_bits()
    }))
}

fn recursion() -> u64 {
    fn fibonacci(n: u64) -> u64 {
        if n < 2 {
            n
        } else {
            fibonacci(n - 1) + fibonacci(n - 2)
        }
    }
    fn ackermann(m: u64, n: u64) -> u64 {
        match (m, n) {
            (0, n) => n + 1,
            (m, 0) => ackermann(m - 1, 1),
            (m, n) => ackermann(m - 1, ackermann(m, n - 1)),
        }
    }
    fibonacci(black_box(10)) + ackermann(2, black_box(4))
}

fn function_pointers() -> u64 {
    let functions: [fn(u64) -> u64; 4] = [
        |n| n.wrapping_add(1),
        |n| n.wrapping_mul(3),
        |n| n ^ 0xff,
        u64::swap_bytes,
    ];
    numbers(100)
        .into_iter()
        .fold(0, |sum, n| functions[(n % 4) as usize](sum).wrapping_add(n))
}

fn trait_objects() -> u64 {
    trait Shape {
        fn area(&self) -> u64;
    }
    struct Square(u64);
    struct Rectangle(u64, u64);
    impl Shape for Square {
        fn area(&self) -> u64 {
            self.0 * self.0
        }
    }
    impl Shape for Rectangle {
        fn area(&self) -> u64 {
            self.0 * self.1
        }
    }
    let shapes: Vec<Box<dyn Shape>> = (0..30)
        .map(|n| -> Box<dyn Shape> {
            if n % 3 == 0 {
                Box::new(Square(n))
            } else {
                Box::new(Rectangle(n, n + 1))
            }
        })
        .collect();
    shapes.iter().map(|shape| shape.area()).sum()
}

fn jump_table() -> u64 {
    numbers(200)
        .into_iter()
        .fold(1, |value: u64, n| match n % 9 {
            0 => value.wrapping_add(n),
            1 => value ^ n,
            2 => value.rotate_left(7),
            3 => value.wrapping_mul(5),
            4 => !value,
            5 => value >> 1,
            6 => value.swap_bytes(),
            7 => value.wrapping_sub(n),
            _ => value.count_ones().into(),
        })
}

fn string_instructions() -> u64 {
    let source: Vec<u8> = (0..=255).collect();
    let mut target = vec![0_u8; 256];
    let (remaining, compared, longs): (u64, u64, u64);
    // SAFETY: all pointers stay inside the two vectors of 256 bytes.
    unsafe {
        asm!("rep movsb", inout("rsi") source.as_ptr() => _, inout("rdi") target.as_mut_ptr() => _,
            inout("rcx") 100_u64 => _, options(nostack));
        asm!("rep movsq", inout("rsi") source.as_ptr() => _,
            inout("rdi") target.as_mut_ptr().add(100) => _,
            inout("rcx") 10_u64 => longs, options(nostack));
        asm!("rep stosb", inout("rdi") target.as_mut_ptr().add(180) => _,
            inout("rcx") 20_u64 => _, in("al") 7_u8, options(nostack));
        asm!("repne scasb", inout("rdi") source.as_ptr() => _, inout("rcx") 256_u64 => remaining,
            in("al") 77_u8, options(nostack));
        asm!("repe cmpsb", inout("rsi") source.as_ptr() => _,
            inout("rdi") target.as_ptr() => _, inout("rcx") 256_u64 => compared,
            options(nostack));
        asm!("rep movsb", inout("rsi") source.as_ptr() => _, inout("rdi") target.as_mut_ptr() => _,
            inout("rcx") 0_u64 => _, options(nostack));
        asm!("lodsb", "stosb", inout("rsi") source.as_ptr().add(3) => _,
            inout("rdi") target.as_mut_ptr() => _, out("al") _, options(nostack));
    }
    fold(target.into_iter().map(u64::from)) ^ remaining << 32 ^ compared << 16 ^ longs
}

fn count_branches() -> u64 {
    let result: u64;
    // SAFETY: registers only.
    unsafe {
        asm!(
            "xor eax, eax",
            "mov ecx, 20",
            "2:",
            "add rax, rcx",
            "loop 2b",
            "jrcxz 3f",
            "add rax, 1000",
            "3:",
            "mov ecx, 5",
            "4:",
            "add rax, 3",
            "cmp rax, 220",
            "loopne 4b",
            "mov rcx, 0x100000000",
            "jecxz 5f",
            "add rax, 5000",
            "5:",
            "mov ecx, 9",
            "6:",
            "add eax, 2",
            "test al, 3",
            "loope 6b",
            out("rax") result,
            out("rcx") _,
            options(nostack)
        );
    }
    result
}

fn atomics() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
    let value = AtomicU64::new(1);
    for n in 0..30 {
        value.fetch_add(n, SeqCst);
        value.fetch_xor(n << 7, SeqCst);
        value.swap(value.load(SeqCst) + 1, SeqCst);
        let _ = value.compare_exchange(n, 5, SeqCst, SeqCst);
    }
    value.into_inner()
}

fn panic_and_catch() -> u64 {
    let caught = std::panic::catch_unwind(|| {
        let values = black_box(vec![1_u64, 2, 3]);
        std::panic::resume_unwind(Box::new(values.len() as u64));
    });
    *caught.unwrap_err().downcast::<u64>().unwrap()
}

fn panic_with_drops() -> u64 {
    use std::cell::Cell;
    struct Count<'a>(&'a Cell<u64>);
    impl Drop for Count<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }
    fn down(depth: u64, drops: &Cell<u64>) -> u64 {
        let _count = Count(drops);
        if depth == 0 {
            std::panic::resume_unwind(Box::new(()));
        }
        down(depth - 1, drops) + 1
    }
    let drops = Cell::new(0);
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| down(3, &drops)));
    assert!(result.is_err());
    drops.get()
}

fn backtrace() -> u64 {
    // Walks the stack, without the names, which would take millions of instructions.
    unsafe extern "C" {
        fn _Unwind_Backtrace(
            trace: extern "C" fn(*mut std::ffi::c_void, *mut u64) -> i32,
            argument: *mut u64,
        ) -> i32;
        fn _Unwind_GetIP(context: *mut std::ffi::c_void) -> usize;
    }
    /// Stops at the second frame: those below depend on how this program was started.
    extern "C" fn frame(context: *mut std::ffi::c_void, sum: *mut u64) -> i32 {
        const NO_REASON: i32 = 0;
        const NORMAL_STOP: i32 = 4;
        // SAFETY: the unwinder passes its context and the pointer that it was given below.
        unsafe {
            if *sum != 0 {
                return NORMAL_STOP;
            }
            *sum = _Unwind_GetIP(context) as u64;
        }
        NO_REASON
    }
    let mut sum = 0;
    // SAFETY: declared as in unwind.h.
    unsafe { _Unwind_Backtrace(frame, &mut sum) };
    sum
}

fn file() -> u64 {
    let text = std::fs::read_to_string("/proc/sys/kernel/ostype").unwrap();
    let missing = std::fs::File::open("/nonexistent/file").unwrap_err();
    fold(text.bytes().map(u64::from)) ^ missing.raw_os_error().unwrap() as u64
}

fn environment() -> u64 {
    let mut hasher = DefaultHasher::new();
    std::env::var_os("PATH").hash(&mut hasher);
    std::env::current_dir().unwrap().hash(&mut hasher);
    hasher.finish()
}

fn dlopen() -> u64 {
    // SAFETY: libm's `cbrt` has this signature; the handle is closed after its last use.
    unsafe {
        let library = libc::dlopen(c"libm.so.6".as_ptr(), libc::RTLD_LAZY);
        if library.is_null() {
            return 1;
        }
        let symbol = libc::dlsym(library, c"cbrt".as_ptr());
        let cbrt: extern "C" fn(f64) -> f64 = std::mem::transmute(symbol);
        let result = cbrt(black_box(27.0)).to_bits();
        libc::dlclose(library);
        result
    }
}

fn jump_back() -> u64 {
    unsafe extern "C" {
        fn _setjmp(buffer: *mut u64) -> i32;
        fn longjmp(buffer: *mut u64, value: i32) -> !;
    }
    // A Rust function must not return twice: the buffer is filled and used in assembly, and
    // libc's `longjmp` jumps back into it.
    let mut buffer = [0_u64; 32];
    let result: u64;
    // SAFETY: the frame that `_setjmp` saw still exists when `longjmp` goes back to it; all
    // registers that a call may change are given up.
    unsafe {
        asm!(
            "push rbx",
            "push r12",
            "mov rbx, rsp",
            "mov r12, rdi",
            "and rsp, -16",
            "call {setjmp}",
            "cmp eax, 3",
            "jge 2f",
            "lea esi, [rax + 1]",
            "mov rdi, r12",
            "call {longjmp}",
            "2:",
            "mov rsp, rbx",
            "pop r12",
            "pop rbx",
            setjmp = sym _setjmp,
            longjmp = sym longjmp,
            inout("rdi") buffer.as_mut_ptr() => _,
            out("rax") result,
            clobber_abi("C"),
        );
    }
    result
}

fn large_stack_frame() -> u64 {
    #[inline(never)]
    fn frame(seed: u8) -> u64 {
        let mut bytes = [seed; 40_000];
        black_box(&mut bytes);
        u64::from(bytes[39_999]) + u64::from(bytes[1])
    }
    frame(3) + frame(4)
}

fn allocator() -> u64 {
    let mut kept: Vec<Vec<u8>> = Vec::new();
    for (place, number) in numbers(60).into_iter().enumerate() {
        let mut bytes = Vec::with_capacity((number % 3000) as usize);
        bytes.resize(place, place as u8);
        kept.push(bytes);
        if number % 3 == 0 {
            kept.swap_remove((number as usize / 3) % kept.len());
        }
    }
    let mut large = vec![0_u8; 300_000];
    large[299_999] = 1;
    black_box(&large);
    kept.iter().map(|bytes| bytes.len() as u64).sum()
}

fn avx2_gather() -> u64 {
    if !is_x86_feature_detected!("avx2") {
        return 0;
    }
    let values: Vec<u32> = (0..64).map(|n| n * n).collect();
    let mut sums = [0_u32; 8];
    // SAFETY: the CPU has AVX2; indices 0, 9, ... 63 lie inside `values`; every other element is
    // masked out.
    unsafe {
        asm!(
            "vmovdqu ymm1, [{indices}]",
            "vpcmpeqd ymm2, ymm2, ymm2",
            "vpslldq ymm3, ymm2, 4",
            "vpxor ymm4, ymm4, ymm4",
            "vpgatherdd ymm4, [{values} + ymm1*4], ymm3",
            "vpcmpeqd ymm2, ymm2, ymm2",
            "vpmovsxdq ymm1, xmm1",
            "vpgatherqq ymm0, [{values} + ymm1*4], ymm2",
            "vpaddd ymm0, ymm0, ymm4",
            "vmovdqu [{sums}], ymm0",
            "vzeroupper",
            indices = in(reg) [0_u32, 9, 18, 27, 36, 45, 54, 62].as_ptr(),
            values = in(reg) values.as_ptr(),
            sums = in(reg) sums.as_mut_ptr(),
            out("ymm0") _, out("ymm1") _, out("ymm2") _, out("ymm3") _, out("ymm4") _,
            options(nostack)
        );
    }
    fold(sums.into_iter().map(u64::from))
}

fn avx512() -> u64 {
    if !is_x86_feature_detected!("avx512f") {
        return 0;
    }
    let values: Vec<u32> = (0..64).map(|n| n * 7).collect();
    let mut results = [0_u32; 16];
    // SAFETY: the CPU has AVX-512; indices stay below 64; `results` has 64 bytes.
    unsafe {
        asm!(
            "vpbroadcastd zmm17, {three:e}",
            "vmovdqu32 zmm18, [{values}]",
            "mov {three:e}, 0x5a5a",
            "kmovw k1, {three:e}",
            "kmovw k2, k1",
            "vpandd zmm19, zmm18, zmm17",
            "vpgatherdd zmm20{{k1}}, [{values} + zmm19*4 + 8]",
            "vpaddd zmm18, zmm18, dword ptr [{values} + 40]{{1to16}}",
            "vpaddd zmm20{{k2}}{{z}}, zmm20, zmm18",
            "kmovw k1, k2",
            "vpscatterdd [{results} + zmm19*4]{{k1}}, zmm20",
            "vpaddd zmm20, zmm20, [{results}]",
            "vmovdqu32 [{results}], zmm20",
            "vzeroupper",
            three = inout(reg) 3_u32 => _,
            values = in(reg) values.as_ptr(),
            results = in(reg) results.as_mut_ptr(),
            out("zmm17") _, out("zmm18") _, out("zmm19") _, out("zmm20") _,
            out("k1") _, out("k2") _,
            options(nostack)
        );
    }
    fold(results.into_iter().map(u64::from))
}

fn pack(text: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

const VERSE: &[u8] = b"a rose is a rose is a rose is a rose, said the rose";

fn compression() -> u64 {
    fold(pack(VERSE).into_iter().map(u64::from))
}

fn decompression() -> u64 {
    use std::io::Read;
    static PACKED: LazyLock<Vec<u8>> = LazyLock::new(|| pack(VERSE));
    let mut text = Vec::new();
    flate2::read::ZlibDecoder::new(&PACKED[..])
        .read_to_end(&mut text)
        .unwrap();
    assert_eq!(text, VERSE);
    fold(text.into_iter().map(u64::from))
}

/// The thread's result comes through a pipe: one system call waits for it, however long that takes.
/// A join would execute other instructions when the thread is done already.
fn thread() -> u64 {
    let mut ends = [0; 2];
    let mut result = [0_u8; 8];
    // SAFETY: the pipe is this function's own until both ends are closed.
    unsafe {
        assert_eq!(libc::pipe(ends.as_mut_ptr()), 0);
        let [read, write] = ends;
        let thread = std::thread::spawn(move || {
            let result = fold(numbers(50)).to_ne_bytes();
            assert_eq!(libc::write(write, result.as_ptr().cast(), 8), 8);
        });
        std::mem::forget(thread);
        assert_eq!(libc::read(read, result.as_mut_ptr().cast(), 8), 8);
        libc::close(read);
        libc::close(write);
    }
    u64::from_ne_bytes(result)
}

/// A C library whose symbols the loader binds when they are called for the first time.
fn lazy_binding() -> u64 {
    static LIBRARY: LazyLock<Option<std::ffi::CString>> = LazyLock::new(|| {
        let directory = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
        let name = format!("lazy-{}", std::process::id());
        let source = directory.join(format!("{name}.c"));
        let library = directory.join(format!("{name}.so"));
        let text = "#include <stdlib.h>\n#include <math.h>\n\
            double lazy(double x) { return cos(x) + strtod(\"2.5\", 0) + labs(-3); }\n";
        std::fs::write(&source, text).ok()?;
        let built = std::process::Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-fno-builtin", "-Wl,-z,lazy"])
            .arg("-o")
            .args([&library, &source])
            .arg("-lm")
            .status()
            .ok()?;
        built
            .success()
            .then(|| std::ffi::CString::new(library.to_str()?).ok())?
    });
    let Some(path) = LIBRARY.as_ref() else {
        return 0; // no C compiler here
    };
    // SAFETY: the function has this type; the library is closed after its last use.
    unsafe {
        let library = libc::dlopen(path.as_ptr(), libc::RTLD_LAZY);
        if library.is_null() {
            return 0; // a static program has no loader
        }
        let symbol = libc::dlsym(library, c"lazy".as_ptr());
        let lazy: extern "C" fn(f64) -> f64 = std::mem::transmute(symbol);
        let results = [lazy(black_box(0.25)), lazy(black_box(0.5))];
        libc::dlclose(library);
        fold(results.map(f64::to_bits))
    }
}

fn text_search() -> u64 {
    let text = "the quick brown fox jumps over the lazy dog; ".repeat(20);
    let words = ["fox", "lazy dog", "cat", "; the", "z"];
    fold(words.map(|word| text.match_indices(word).map(|(at, _)| at as u64).sum()))
        ^ text.rfind("quick").map_or(0, |at| at as u64)
}

fn edit_distance() -> u64 {
    let (a, b) = ("intention of the author", "execution of an otter");
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let change = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()] as u64
}

fn linked_list() -> u64 {
    struct Node {
        value: u64,
        next: Option<std::rc::Rc<Node>>,
    }
    let list = numbers(40).into_iter().fold(None, |next, value| {
        Some(std::rc::Rc::new(Node { value, next }))
    });
    let shared = list.clone();
    let mut values = Vec::new();
    let mut at = shared.as_ref();
    while let Some(node) = at {
        values.push(node.value);
        at = node.next.as_ref();
    }
    fold(values)
}

fn bits() -> u64 {
    fold(numbers(60).into_iter().map(|n| {
        let isolated = n & n.wrapping_neg();
        u64::from(n.count_ones() + n.leading_zeros() * 3 + n.trailing_zeros() * 5)
            ^ n.reverse_bits()
            ^ n.rotate_right((n % 64) as u32)
            ^ isolated.swap_bytes()
    }))
}

fn single_precision_sum() -> u64 {
    let a: Vec<f32> = (0..500).map(|n| n as f32 * 0.5).collect();
    let b: Vec<f32> = (0..500).map(|n| 1.0 / (n as f32 + 1.0)).collect();
    let mut lanes = [0.0_f32; 8];
    for (x, y) in a.chunks_exact(8).zip(b.chunks_exact(8)) {
        for lane in 0..8 {
            lanes[lane] += x[lane] * y[lane];
        }
    }
    fold(lanes.map(|lane| u64::from(lane.to_bits())))
}

fn sort_of_strings() -> u64 {
    let mut words: Vec<String> = numbers(20).into_iter().map(|n| n.to_string()).collect();
    words.sort_by(|a, b| a.len().cmp(&b.len()).then_with(|| b.cmp(a)));
    words.dedup_by_key(|word| word.as_bytes()[0]);
    fold(words.concat().bytes().map(u64::from))
}
