//! A consumer that counts instructions.

use topdown_tracer::{Block, Config, Consumer, Tracer};

#[derive(Default)]
pub struct Count {
    pub instructions: u64,
}

impl Consumer for Count {
    fn block(&mut self, block: &Block<'_>, _addresses: &[u64]) {
        self.instructions += block.instructions.len() as u64;
    }
}

pub fn tracer() -> Tracer<Count> {
    Tracer::new(Config::default(), Count::default()).unwrap()
}
