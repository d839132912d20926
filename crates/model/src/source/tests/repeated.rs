//! Launches that show that they repeat another one, without a model.

use super::*;
use topdown_core_model::Capacity;
use topdown_run::code::Digest;

use super::super::executed::Executed;

/// A benchmark, which works on data.
type Work = fn(&mut [u64]);

/// The samples of a launch, with their iterations, and its digest.
type Launched = (Vec<(u64, Sample)>, Option<Digest>);

/// Makes a launch of the benchmark `work` on the data. Returns what it shows.
#[inline(never)]
fn launched(
    core: &'static CoreParameters,
    repeated: Option<u32>,
    work: Work,
    data: &mut [u64],
) -> Option<Launched> {
    let model = alone(core, 0.2)?;
    of_core(&model, |core| core.budget.samples_long = true);
    let repeat = |observer: &mut Observer| observer.repeat(repeated);
    model.tracer.with_consumer(repeat);
    let samples = launch(&model, || work(data));
    let code = model.take_code();
    Some((samples, code.and_then(|code| code.trail.digest)))
}

fn adds(data: &mut [u64]) {
    for number in data {
        *number = number.wrapping_add(black_box(1));
    }
}

/// Fills more and more with one instruction.
fn fills(data: &mut [u64]) {
    // SAFETY: a number consists of bytes, and any are a number.
    let (_, bytes, _) = unsafe { data.align_to_mut::<u8>() };
    fill(bytes);
}

/// Looks up numbers that the first one decides, and others the next time.
fn looks_up(data: &mut [u64]) {
    let mut state = data[0];
    for _ in 0..1000 {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d) | 1;
        let length = data.len();
        black_box(data[(state >> 20) as usize % length]);
    }
    data[0] = state;
}

/// Each launch is a process of its own, as data lies elsewhere in a heap that was used.
#[test]
fn repeated_launch_has_the_digest_of_a_modelled_one() {
    const NAME: &str = "source::tests::repeated::repeated_launch_has_the_digest_of_a_modelled_one";
    const LAUNCH: &str = "REPEATED_LAUNCH";
    const RESULT: &str = "launched: ";
    let works: [(Work, usize); 3] = [(adds, 100), (fills, 64), (looks_up, 1 << 19)];
    if let Ok(asked) = std::env::var(LAUNCH) {
        let mut asked = asked.split(' ').map(|number| number.parse().unwrap());
        let mut next = || -> usize { asked.next().unwrap() };
        let (core, (work, length), samples) = (cores::ALL[next()], works[next()], next() as u32);
        let mut data = vec![7_u64; length];
        let repeated = (samples > 0).then_some(samples);
        if let Some((samples, digest)) = launched(core, repeated, work, &mut data) {
            let slots: Vec<_> = samples.iter().map(|(_, sample)| sample.slots).collect();
            println!("{RESULT}{digest:?} {slots:?}");
        }
        return;
    }
    let launched = |core: usize, work: usize, samples: u32| {
        let output = std::process::Command::new("setarch")
            .arg("-R")
            .arg(std::env::current_exe().unwrap())
            .args([NAME, "--exact", "--nocapture", "--test-threads=1"])
            .env(LAUNCH, format!("{core} {work} {samples:02}"))
            .output()
            .ok()?;
        let output = String::from_utf8(output.stdout).unwrap();
        let result = output.lines().find_map(|line| line.split_once(RESULT))?;
        Some(result.1.to_owned())
    };
    let number = |text: &str, name: &str| -> u64 {
        let rest = text.split_once(name).unwrap().1;
        let digits = rest
            .split(|c: char| !c.is_ascii_digit())
            .find(|part| !part.is_empty());
        digits.unwrap().parse().unwrap()
    };
    for core in 0..cores::ALL.len() {
        for work in 0..works.len() {
            let Some(modelled) = launched(core, work, 0) else {
                return skip(Need::Model, "neither traced nor at fixed addresses");
            };
            assert_eq!(launched(core, work, 0).as_ref(), Some(&modelled));
            let samples = number(&modelled, "samples: ") as u32;
            let repeated = launched(core, work, samples).unwrap();
            assert!(!repeated.contains("Some(0)"), "{repeated}");
            for name in ["executed: ", "samples: "] {
                assert_eq!(
                    number(&modelled, name),
                    number(&repeated, name),
                    "{repeated}"
                );
            }
            let depends_on_moves = !modelled.contains("moves: None");
            assert_eq!(depends_on_moves, work == 2, "{modelled}");
            if depends_on_moves {
                assert_eq!(number(&modelled, "moves: "), number(&repeated, "moves: "));
            }
        }
    }
}

#[test]
fn launch_on_other_data_has_another_digest() {
    let mut data = vec![7_u64; 1000];
    let Some((_, digest)) = launched(&cores::ZEN_5, None, looks_up, &mut data) else {
        return;
    };
    data.fill(7);
    data[0] += 1 << 40;
    let (_, other) = launched(
        &cores::ZEN_5,
        Some(digest.unwrap().samples),
        looks_up,
        &mut data,
    )
    .unwrap();
    assert!(!digest.unwrap().is_repeated_by(&other.unwrap()));
}

#[test]
fn repeated_launch_records_requested_blocks() {
    let stretch = |repeated: Option<u32>| -> Option<Vec<(u32, u64)>> {
        let model = alone(&cores::ZEN_5, 0.2)?;
        model.tracer.forget_translations();
        model.tracer.with_consumer(|observer| {
            observer.forget_blocks();
            observer.executed = Executed::new(Capacity::default().blocks, "0:2:9");
            observer.repeat(repeated);
        });
        let mut data = [7; 100];
        launch(&model, || adds(black_box(&mut data)));
        let code = model.take_code()?;
        let block = |&index: &u32| &code.blocks[index as usize];
        let blocks = code.trail.stretch.iter().map(block);
        Some(blocks.map(|block| (block.bytes, block.offset)).collect())
    };
    let Some(modelled) = stretch(None) else {
        return;
    };
    assert_eq!(modelled.len(), 7);
    assert_eq!(stretch(Some(2)), Some(modelled));
}
