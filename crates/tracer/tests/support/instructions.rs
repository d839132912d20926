//! A criterion measurement that counts instructions: attached by `start`, detached by `end`.

use std::cell::Cell;

use criterion::Throughput;
use criterion::measurement::{Measurement, ValueFormatter};
use topdown_tracer::{Block, Config, Consumer, End, Tracer};

/// Counts what is executed.
#[derive(Default)]
pub struct Count {
    instructions: u64,
}

impl Consumer for Count {
    fn block(&mut self, block: &Block<'_>, _addresses: &[u64]) {
        self.instructions += block.instructions.len() as u64;
    }
}

thread_local! {
    /// Number of attachments by measurements of this thread.
    pub static ATTACHED: Cell<u64> = const { Cell::new(0) };
}

/// Counts instructions.
pub struct Instructions(Tracer<Count>);

impl Instructions {
    pub fn new() -> Instructions {
        Instructions(Tracer::new(Config::default(), Count::default()).unwrap())
    }

    /// The instructions of `work`.
    pub fn of<T>(&self, work: impl FnOnce() -> T) -> u64 {
        let before = self.start();
        std::hint::black_box(work());
        self.end(before)
    }
}

impl Measurement for Instructions {
    type Intermediate = u64;
    type Value = u64;

    fn start(&self) -> u64 {
        // A bench that panicked has left its last window open.
        if self.0.is_attached() {
            assert_eq!(self.0.detach(), Ok(End::Detach));
        }
        let before = self.0.with_consumer(|count| count.instructions).unwrap();
        ATTACHED.set(ATTACHED.get() + 1);
        self.0.attach().unwrap();
        before
    }

    fn end(&self, before: u64) -> u64 {
        assert_eq!(self.0.detach(), Ok(End::Detach));
        self.0
            .with_consumer(|count| count.instructions - before)
            .unwrap()
    }

    fn add(&self, left: &u64, right: &u64) -> u64 {
        left + right
    }

    fn zero(&self) -> u64 {
        0
    }

    fn to_f64(&self, value: &u64) -> f64 {
        *value as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        &Plain
    }
}

struct Plain;

impl ValueFormatter for Plain {
    fn scale_values(&self, _typical: f64, _values: &mut [f64]) -> &'static str {
        "instructions"
    }

    fn scale_throughputs(
        &self,
        _typical: f64,
        _throughput: &Throughput,
        _values: &mut [f64],
    ) -> &'static str {
        "instructions"
    }

    fn scale_for_machines(&self, _values: &mut [f64]) -> &'static str {
        "instructions"
    }
}
