//! Work that is traced, whatever becomes of the trace.

use std::hint::black_box;

use topdown_tracer::{End, TraceError};

use crate::count::tracer;

/// Traces `work`. Afterwards the tracer is of use again.
pub fn traced<T>(work: impl FnOnce() -> T) -> (T, Result<End, TraceError>) {
    let tracer = tracer();
    let first = tracer.trace(work);
    assert_eq!(tracer.trace(|| black_box(3)), (3, Ok(End::Detach)));
    first
}
