//! State of a trace.

use crate::consumer::End;
use crate::error::TraceError;

/// The state of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    /// Before the first attach and after detach.
    Idle,
    /// The thread executes translated code.
    Running,
    /// The thread runs natively, up to detach.
    Ended(Result<End, TraceError>),
    /// The thread left translated code without notice and may come back to it, so nothing of this
    /// engine can be used again or freed.
    Lost,
}
