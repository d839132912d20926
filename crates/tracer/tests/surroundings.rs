//! Surroundings of the traced thread: threads, processes, signals, panics, and the use of the
//! tracer itself.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::hint::black_box;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

use topdown_tracer::{AttachError, Block, Config, Consumer, End, TraceError, Tracer};

#[derive(Default)]
struct Count {
    instructions: u64,
    /// Stop after this many.
    limit: Option<u64>,
}

impl Consumer for Count {
    fn block(&mut self, block: &Block<'_>, _addresses: &[u64]) {
        self.instructions += block.instructions.len() as u64;
    }

    fn keep_tracing(&mut self) -> bool {
        self.limit.is_none_or(|limit| self.instructions < limit)
    }
}

fn tracer() -> Tracer<Count> {
    Tracer::new(Config::default(), Count::default()).unwrap()
}

/// The result of `work`, traced to its end, and how many instructions that was.
fn traced<T>(work: impl FnOnce() -> T) -> (T, u64) {
    let mut tracer = tracer();
    let (result, end) = tracer.trace(work);
    assert_eq!(end, Ok(End::Detach));
    (result, tracer.consumer_mut().instructions)
}

fn sort(count: u64) -> u64 {
    let mut values: Vec<u64> = (0..count)
        .map(|n| n.wrapping_mul(0x9e37_79b9) % 1009)
        .collect();
    values.sort();
    values
        .iter()
        .enumerate()
        .map(|(n, value)| n as u64 * value)
        .sum()
}

/// The same without the allocator, whose state would decide about the number of instructions.
fn sort_in_place(rounds: u64) -> u64 {
    let mut values = [0_u64; 1000];
    (0..rounds).fold(0, |sum, round| {
        for (n, value) in values.iter_mut().enumerate() {
            *value = (n as u64 + round).wrapping_mul(0x9e37_79b9) % 1009;
        }
        values.sort_unstable();
        sum ^ values[black_box(round as usize)]
    })
}

// ---- threads ----

#[test]
fn threads_are_spawned_and_joined() {
    let work = || -> u64 {
        (0..20)
            .map(|n| std::thread::spawn(move || sort(100 + n)).join().unwrap())
            .sum()
    };
    assert_eq!(traced(work).0, work());
}

#[test]
fn thread_may_outlive_the_tracer() {
    let (handle, _) = traced(|| {
        std::thread::spawn(|| {
            std::thread::sleep(Duration::from_millis(20));
            sort(100)
        })
    });
    assert_eq!(handle.join().unwrap(), sort(100));
}

#[test]
fn scoped_threads_share_a_mutex_with_traced_one() {
    let work = || {
        let sum = Mutex::new(0_u64);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for n in 0..2000 {
                        *sum.lock().unwrap() += n;
                    }
                });
            }
            for n in 0..2000 {
                *sum.lock().unwrap() += n;
            }
        });
        sum.into_inner().unwrap()
    };
    assert_eq!(traced(work).0, 4 * 1999 * 1000);
}

#[test]
fn channels_connect_traced_and_native_threads() {
    let work = || {
        let (sender, receiver) = mpsc::channel();
        let producer = std::thread::spawn(move || {
            for n in 0..1000_u64 {
                sender.send(n).unwrap();
            }
        });
        let sum: u64 = receiver.iter().sum();
        producer.join().unwrap();
        sum
    };
    assert_eq!(traced(work).0, 499_500);
}

#[test]
fn other_threads_may_stress_the_allocator() {
    let work = || {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for n in 0..3000 {
                        black_box(vec![1_u8; n % 700]);
                    }
                });
            }
            (0..3000)
                .map(|n| black_box(vec![1_u8; n % 700]).len())
                .sum::<usize>()
        })
    };
    assert_eq!(traced(work).0, (0..3000).map(|n| n % 700).sum());
}

#[test]
fn panic_in_a_spawned_thread_is_an_error_on_join() {
    let work = || {
        std::thread::spawn(|| std::panic::resume_unwind(Box::new(7_u64)))
            .join()
            .map(|(): ()| 0)
            .unwrap_err()
            .downcast::<u64>()
            .map(|value| *value)
            .unwrap()
    };
    assert_eq!(traced(work).0, 7);
}

#[test]
fn two_threads_are_traced_by_two_tracers() {
    let expected = traced(|| sort(500));
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2)
            .map(|_| scope.spawn(|| traced(|| sort(500))))
            .collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap().0, expected.0);
        }
    });
}

#[test]
fn rayon_pool_works() {
    use rayon::prelude::*;
    let work = || {
        let mut values: Vec<u64> = (0..20_000_u64)
            .map(|n| n.wrapping_mul(0x9e37_79b9))
            .collect();
        values.par_sort_unstable();
        let sum: u64 = values.par_iter().map(|n| n % 1009).sum();
        sum ^ values[77]
    };
    assert_eq!(traced(work).0, work());
}

// ---- libraries ----

#[test]
fn compressor_restores_its_input() {
    let text = "a rose is a rose is a rose ".repeat(400);
    let (packed, _) = traced(|| {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    });
    let (unpacked, _) = traced(|| {
        let mut unpacked = String::new();
        flate2::read::ZlibDecoder::new(&packed[..])
            .read_to_string(&mut unpacked)
            .unwrap();
        unpacked
    });
    assert_eq!(unpacked, text);
}

// ---- the kernel ----

#[test]
fn clocks_and_sleep_work() {
    let ((elapsed, epoch), _) = traced(|| {
        let start = Instant::now();
        std::thread::sleep(Duration::from_millis(2));
        let epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        (start.elapsed(), epoch.unwrap())
    });
    assert!(elapsed >= Duration::from_millis(2));
    assert!(epoch.as_secs() > 1_600_000_000);
}

#[test]
fn files_are_written_and_read() {
    let path = std::env::temp_dir().join(format!("topdown-tracer-{}", std::process::id()));
    let (text, _) = traced(|| {
        std::fs::File::create(&path)
            .unwrap()
            .write_all(b"some text")
            .unwrap();
        let mut text = String::new();
        std::fs::File::open(&path)
            .unwrap()
            .read_to_string(&mut text)
            .unwrap();
        std::fs::remove_file(&path).unwrap();
        text
    });
    assert_eq!(text, "some text");
}

static SIGNALS: AtomicU64 = AtomicU64::new(0);

extern "C" fn count_signal(_signal: i32) {
    SIGNALS.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn signals_do_not_change_the_trace() {
    let mut tracer = tracer();
    let count = |tracer: &mut Tracer<Count>| {
        tracer.consumer_mut().instructions = 0;
        let (result, end) = tracer.trace(|| sort_in_place(black_box(20)));
        assert_eq!(end, Ok(End::Detach));
        (result, tracer.consumer_mut().instructions)
    };
    let quiet = count(&mut tracer);
    assert_eq!(count(&mut tracer), quiet);
    let interval = libc::timeval {
        tv_sec: 0,
        tv_usec: 500,
    };
    let every = libc::itimerval {
        it_interval: interval,
        it_value: interval,
    };
    let never = libc::itimerval {
        it_interval: libc::timeval {
            tv_sec: 0,
            tv_usec: 0,
        },
        it_value: libc::timeval {
            tv_sec: 0,
            tv_usec: 0,
        },
    };
    // SAFETY: the handler only adds to an atomic; the timer counts this process's time.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = count_signal as *const () as usize;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(libc::SIGPROF, &action, std::ptr::null_mut());
        libc::setitimer(libc::ITIMER_PROF, &every, std::ptr::null_mut());
    }
    let start = Instant::now();
    while SIGNALS.load(Ordering::Relaxed) < 20 && start.elapsed() < Duration::from_secs(20) {
        assert_eq!(count(&mut tracer), quiet);
    }
    // SAFETY: stops the timer.
    unsafe { libc::setitimer(libc::ITIMER_PROF, &never, std::ptr::null_mut()) };
    assert!(SIGNALS.load(Ordering::Relaxed) >= 20);
}

// ---- panics ----

#[test]
fn panic_leaving_the_traced_work_ends_the_trace() {
    let tracer = tracer();
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        tracer.trace(|| -> u64 { std::panic::resume_unwind(Box::new(5_u64)) })
    }));
    assert_eq!(caught.map(|_| ()).unwrap_err().downcast_ref(), Some(&5_u64));
    assert!(!tracer.is_attached());
    assert_eq!(tracer.trace(|| sort(50)), (sort(50), Ok(End::Detach)));
}

#[test]
fn backtrace_passes_through_traced_frames() {
    let (text, _) = traced(|| std::backtrace::Backtrace::force_capture().to_string());
    assert!(
        text.contains("backtrace_passes_through_traced_frames"),
        "{text}"
    );
}

// ---- the tracer ----

#[test]
fn second_attach_is_refused_and_first_continues() {
    let (first, second) = (tracer(), tracer());
    first.attach().unwrap();
    let again = first.attach();
    let nested = second.attach();
    assert_eq!(first.detach(), Ok(End::Detach));
    assert_eq!(again, Err(AttachError::AlreadyAttached));
    assert_eq!(nested, Err(AttachError::AlreadyAttached));
    assert_eq!(first.detach(), Err(TraceError::NotAttached));
    assert_eq!(second.detach(), Err(TraceError::NotAttached));
}

#[test]
fn consumer_is_not_lent_while_in_use() {
    let tracer = tracer();
    tracer.attach().unwrap();
    let lent = tracer.with_consumer(|_| ()).is_some();
    tracer.detach().unwrap();
    assert!(!lent);
    let inner = tracer.with_consumer(|_| tracer.attach());
    assert_eq!(inner, Some(Err(AttachError::ConsumerInUse)));
    let nested = tracer.with_consumer(|_| tracer.with_consumer(|_| ()).is_some());
    assert_eq!(nested, Some(false));
    assert!(
        tracer
            .with_consumer(|count| count.instructions > 0)
            .unwrap()
    );
}

#[test]
fn dropping_an_attached_tracer_detaches_it() {
    let attached = tracer();
    attached.attach().unwrap();
    let before = black_box(sort(30));
    drop(attached);
    assert_eq!(before, sort(30));
    assert_eq!(traced(|| sort(30)).0, before);
}

#[test]
fn dropped_tracers_free_their_memory() {
    let mappings = || {
        std::fs::read_to_string("/proc/self/maps")
            .unwrap()
            .lines()
            .count()
    };
    let before = mappings();
    for _ in 0..100 {
        assert_eq!(traced(|| sort_in_place(black_box(1))).0, sort_in_place(1));
    }
    // Other tests map memory too, but a tracer alone has more than five mappings.
    assert!(mappings() < before + 200, "{before}, then {}", mappings());
}

#[test]
fn same_work_has_the_same_count_every_time() {
    let mut tracer = tracer();
    let counts: Vec<u64> = (0..3000)
        .map(|_| {
            tracer.consumer_mut().instructions = 0;
            tracer.attach().unwrap();
            black_box((0..black_box(10_u64)).map(|n| n * n).sum::<u64>());
            assert_eq!(tracer.detach(), Ok(End::Detach));
            tracer.consumer_mut().instructions
        })
        .collect();
    assert!(counts[0] > 10);
    assert!(counts.iter().all(|count| *count == counts[0]));
}

#[test]
fn empty_window_is_small() {
    let mut tracer = tracer();
    tracer.attach().unwrap();
    tracer.detach().unwrap();
    let instructions = tracer.consumer_mut().instructions;
    assert!(instructions < 100, "{instructions}");
}

#[test]
fn consumer_can_end_the_trace() {
    let mut tracer = Tracer::new(
        Config::default(),
        Count {
            limit: Some(100_000),
            ..Count::default()
        },
    )
    .unwrap();
    let work = || {
        (0..50)
            .map(|n| sort(black_box(1000 + n)))
            .fold(0, u64::wrapping_add)
    };
    let (result, end) = tracer.trace(work);
    assert_eq!(result, work());
    assert_eq!(end, Ok(End::Consumer));
    let instructions = tracer.consumer_mut().instructions;
    assert!(instructions >= 100_000);
    let (_, whole) = traced(work);
    assert!(instructions < whole);
}

#[test]
fn functions_with_equal_low_addresses_are_traced() {
    const DISTANCE: usize = 1 << 16;
    const PAGES: usize = 4 * DISTANCE;
    // SAFETY: a mapping of its own, in which a function that returns a constant is written every
    // 64 KiB, and which outlives its last call.
    unsafe {
        let start = libc::mmap(
            std::ptr::null_mut(),
            PAGES,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
        .cast::<u8>();
        let functions: Vec<extern "C" fn() -> u64> = (0..4)
            .map(|n| {
                let place = start.add(n * DISTANCE);
                let code = [0xb8, n as u8, 0, 0, 0, 0xc3]; // mov eax, n; ret
                std::ptr::copy_nonoverlapping(code.as_ptr(), place, code.len());
                std::mem::transmute::<*mut u8, extern "C" fn() -> u64>(place)
            })
            .collect();
        libc::mprotect(start.cast(), PAGES, libc::PROT_READ | libc::PROT_EXEC);
        let functions = black_box(functions);
        let (sum, _) = traced(|| (0..4000).map(|n| functions[n % 4]()).sum::<u64>());
        assert_eq!(sum, 6000);
        libc::munmap(start.cast(), PAGES);
    }
}

#[test]
fn small_buffer_gives_the_same_stream() {
    let count = |buffer_bytes| {
        let config = Config {
            buffer_bytes,
            ..Config::default()
        };
        let mut tracer = Tracer::new(config, Count::default()).unwrap();
        let (result, end) = tracer.trace(|| sort_in_place(black_box(50)));
        assert_eq!(end, Ok(End::Detach));
        (result, tracer.consumer_mut().instructions)
    };
    assert_eq!(count(64 * 1024), count(8 * 1024 * 1024));
}
