//! Prints how far the mean of sampled units is from the whole iteration, for five long programs,
//! and how fast sampling is.
//!
//! `cargo run --release -p topdown-model-lab --bin sampling [CORE] [PROGRAM]`. The numbers of
//! other [`Plan`]s can follow: the fields in their order. Each program runs once for all
//! models, and once for the speed of each plan, in processor time. It takes minutes.

mod programs;

use std::error::Error;

use topdown_core_model::{
    Capacity, CoreParameters, Counts, Estimate, GROUPS, Model, Plan, Sampling, cores,
};
use topdown_model_lab::thread_time::thread_seconds;
use topdown_tracer::{Block, Config, Consumer, Mapping, Tracer};

use programs::{PROGRAMS, Program};

/// A model that samples.
struct Sampled {
    model: Model,
    sampling: Sampling,
}

impl Sampled {
    fn new(core: &CoreParameters, plan: Plan) -> Sampled {
        let mut sampled = Sampled {
            model: model(core),
            sampling: Sampling::new(plan),
        };
        sampled.sampling.begin(&mut sampled.model, None);
        sampled
    }
}

impl Sampled {
    fn estimate(&mut self) -> Result<Estimate, &'static str> {
        self.sampling.end(&mut self.model);
        self.sampling.estimate().ok_or("it is too short")
    }
}

impl Consumer for Sampled {
    fn translated(&mut self, block: &Block<'_>) {
        self.model.translated(block);
    }

    fn block(&mut self, block: &Block<'_>, addresses: &[u64]) {
        self.model.block(block, addresses);
        let instructions = block.instructions.len() as u64;
        self.sampling.advance(&mut self.model, instructions);
    }
}

/// A model that executes everything, and some that sample the same instructions.
struct Several {
    whole: Model,
    sampled: Vec<Sampled>,
}

impl Consumer for Several {
    fn translated(&mut self, block: &Block<'_>) {
        self.whole.translated(block);
        self.sampled.iter_mut().for_each(|s| s.translated(block));
    }

    fn block(&mut self, block: &Block<'_>, addresses: &[u64]) {
        self.whole.block(block, addresses);
        self.sampled
            .iter_mut()
            .for_each(|s| s.block(block, addresses));
    }
}

fn model(core: &CoreParameters) -> Model {
    Model::with_mappings(core, Capacity::default(), Mapping::at)
}

/// Traces the program once and returns the consumer, and the seconds of processor time.
fn traced<C: Consumer>(program: &Program, consumer: C) -> Result<(Tracer<C>, f64), Box<dyn Error>> {
    let mut work = (program.new)();
    let tracer = Tracer::new(Config::default(), consumer)?;
    let begin = thread_seconds();
    let ((), end) = tracer.trace(&mut work);
    end?;
    Ok((tracer, thread_seconds() - begin))
}

/// Half of a 95 % interval for the mean of these, by Student's t for [`GROUPS`] values.
fn half_interval(values: &[f64]) -> f64 {
    const T_95: f64 = 2.262;
    assert_eq!(values.len(), GROUPS);
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    T_95 * (squares / (count - 1.0) / count).sqrt()
}

fn categories(counts: &Counts) -> [f64; 4] {
    let slots = &counts.slots;
    [
        slots.retiring(),
        slots.bad_speculation(),
        slots.frontend_bound(),
        slots.backend_bound(),
    ]
    .map(|count| count as f64)
}

fn compare(core: &CoreParameters, program: &Program, plans: &[Plan]) -> Result<(), Box<dyn Error>> {
    let several = Several {
        whole: model(core),
        sampled: plans.iter().map(|&plan| Sampled::new(core, plan)).collect(),
    };
    let (mut tracer, _) = traced(program, several)?;
    let Several { whole, sampled } = tracer.consumer_mut();
    whole.drain();
    for (sampled, &plan) in sampled.iter_mut().zip(plans) {
        let (mut alone, sampled_s) = traced(program, Sampled::new(core, plan))?;
        alone.consumer_mut().estimate()?;
        print(program, &whole.counts(), &sampled.estimate()?, sampled_s);
    }
    Ok(())
}

fn print(program: &Program, whole: &Counts, estimate: &Estimate, sampled_s: f64) {
    let total = whole.slots.total() as f64;
    let slots = estimate.groups.map(|group| group.slots.total() as f64);
    let mean = slots.iter().sum::<f64>() / GROUPS as f64;
    let points = (0..4).map(|category| {
        let groups = estimate.groups.iter();
        let sum: f64 = groups.map(|group| categories(group)[category]).sum();
        let difference = sum / GROUPS as f64 - categories(whole)[category];
        format!("{:+.1}", 100.0 * difference / total)
    });
    let instructions = whole.events.instructions as f64;
    println!(
        "{:<12} {:>6.0} {:>6.2} {:>6} {:>+7.2} {:>6.2}  {:<22} {:>6.0}",
        program.name,
        instructions / 1e6,
        total / instructions,
        estimate.units,
        100.0 * (mean / total - 1.0),
        100.0 * half_interval(&slots) / mean,
        points.collect::<Vec<_>>().join(" "),
        instructions / sampled_s / 1e6,
    );
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words = arguments.iter().filter(|word| word.parse::<u64>().is_err());
    let (of_core, of_program): (Vec<&String>, Vec<&String>) =
        words.partition(|word| cores::ALL.iter().any(|core| core.name == word.as_str()));
    let numbers: Vec<u64> = arguments.iter().filter_map(|w| w.parse().ok()).collect();
    let plans = numbers.chunks_exact(6).map(|numbers| Plan {
        unit: numbers[0],
        lead: numbers[1],
        warming: numbers[2],
        long_period: numbers[3],
        following: numbers[4],
        units_per_stage: numbers[5],
    });
    let mut plans: Vec<Plan> = plans.collect();
    if plans.is_empty() {
        plans.push(Plan::default());
    }
    println!("{plans:?}");
    for core in cores::ALL {
        if !of_core.is_empty() && !of_core.iter().any(|name| core.name == name.as_str()) {
            continue;
        }
        println!("{}", core.name);
        println!(
            "{:<12} {:>6} {:>6} {:>6} {:>7} {:>6}  {:<22} {:>6}",
            "program", "M", "slots", "units", "error %", "± %", "points by category", "M/s"
        );
        for program in PROGRAMS {
            if of_program.is_empty() || of_program.iter().any(|name| *name == program.name) {
                compare(core, program, &plans)?;
            }
        }
    }
    Ok(())
}
