//! Time of tracing and modelling, beside its estimate, `Counts::modelling_ns`.
//!
//!     cargo run --release -p topdown-model-lab --bin cost -- [core] [filter]
//!
//! For each kernel of `validate`, and for a few that are costly to model: nanoseconds per
//! instruction, in processor time of the fastest of six, their ratio to the estimate, and by how
//! many percent following the calls lengthens them.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use costly::Work;
    use topdown_core_model::{Capacity, Model, cores};
    use topdown_model_lab::kernels;
    use topdown_model_lab::thread_time::thread_seconds;
    use topdown_tracer::{Config, Mapping, Tracer};

    /// A shorter stretch is repeated.
    const MIN_SECONDS: f64 = 0.03;
    const TURNS: usize = 5;

    let name = std::env::args().nth(1);
    let name = name.as_deref().unwrap_or("golden-cove");
    let filter = std::env::args().nth(2).unwrap_or_default();
    let core = cores::by_name(name).ok_or_else(|| format!("no core `{name}`"))?;
    println!(
        "{:<16} {:>10} {:>6} {:>8}",
        "kernel", "ns/in", "ratio", "paths %"
    );
    let of_validate = kernels::all().into_iter().map(|k| (k.name, k.prepare));
    for (name, prepare) in of_validate.chain(costly::KERNELS) {
        if !name.contains(filter.as_str()) {
            continue;
        }
        let mut work: Work = prepare();
        let model = || Model::with_mappings(core, Capacity::default(), Mapping::at);
        let mut alone = Tracer::new(Config::default(), model())?;
        let mut with_paths = Tracer::new(Config::default(), model().following_calls())?;
        let mut trace = |tracer: &mut Tracer<Model>, repetitions: usize| {
            let before = tracer.consumer_mut().counts();
            let start = thread_seconds();
            tracer.trace(|| (0..repetitions).for_each(|_| work())).1?;
            tracer.consumer_mut().drain();
            let seconds = thread_seconds() - start;
            let counts = tracer.consumer_mut().counts() - before;
            Ok::<_, Box<dyn std::error::Error>>((seconds, counts))
        };
        trace(&mut alone, 1)?;
        trace(&mut with_paths, 1)?;
        let (seconds, _) = trace(&mut alone, 1)?;
        let repetitions = (MIN_SECONDS / seconds).clamp(1.0, 10_000.0) as usize;
        let mut fastest = trace(&mut alone, repetitions)?;
        let mut fastest_with_paths = f64::INFINITY;
        // In turn, because the speed of a shared machine changes.
        for _ in 0..TURNS {
            let (seconds, _) = trace(&mut with_paths, repetitions)?;
            fastest_with_paths = fastest_with_paths.min(seconds);
            let again = trace(&mut alone, repetitions)?;
            if again.0 < fastest.0 {
                fastest = again;
            }
        }
        let (seconds, counts) = fastest;
        let ns = seconds * 1e9;
        println!(
            "{name:<16} {:>10.1} {:>6.2} {:>+8.1}",
            ns / counts.events.instructions as f64,
            ns / counts.modelling_ns() as f64,
            100.0 * (fastest_with_paths / seconds - 1.0),
        );
    }
    Ok(())
}

/// What takes far longer to model than to execute: large copies and fills, which are single
/// instructions, and random accesses.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod costly {
    use std::hint::black_box;

    pub type Work = Box<dyn FnMut()>;

    type Kernel = (&'static str, fn() -> Work);

    pub const KERNELS: [Kernel; 8] = [
        ("copy-3k", || copy(3000)),
        ("copy-512k", || copy(512 << 10)),
        ("zero-512k", || zero(512 << 10)),
        ("zero-16m", || zero(16 << 20)),
        ("loads-16m", || loads(16 << 20, 0)),
        ("loads-256m", || loads(256 << 20, 0)),
        ("chase-16m", || loads(16 << 20, 7)),
        ("chase-256m", || loads(256 << 20, 7)),
    ];

    fn copy(bytes: usize) -> Work {
        let from = vec![1_u8; bytes];
        let mut to = vec![2_u8; bytes];
        Box::new(move || black_box(&mut to).copy_from_slice(black_box(&from)))
    }

    fn zero(bytes: usize) -> Work {
        let mut to = vec![2_u8; bytes];
        Box::new(move || black_box(&mut to).fill(black_box(0)))
    }

    /// Loads from random places, each of which depends on the last load if `chained` is not 0.
    fn loads(bytes: usize, chained: u64) -> Work {
        let from = vec![1_u64; bytes / 8];
        let mut random = 1_u64;
        Box::new(move || {
            let mut last = 0;
            for _ in 0..20_000 {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                let place = random.wrapping_add(last & black_box(chained));
                last = last.wrapping_add(from[place as usize % from.len()]);
            }
            black_box(last);
        })
    }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() {
    eprintln!("cost runs on x86-64 Linux only");
}
