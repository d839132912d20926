//! Whose slots the hardware counts.

use std::str::FromStr;

use crate::error::OpenError;

/// The environment variable that [`Threads::from_environment`] reads.
pub const THREADS_VARIABLE: &str = "CARGO_TOPDOWN_THREADS";

/// The environment variable with which `cargo topdown` says what an earlier launch has decided for
/// [`Threads::Auto`]: a letter for each benchmark of the process, in the order in which they run, `a` for
/// all threads and `o` for the own one.
pub const DECIDED_VARIABLE: &str = "CARGO_TOPDOWN_THREADS_DECIDED";

/// Whose slots are wanted. Slots of one thread and of all are never compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Threads {
    /// Those of the measuring thread, and of all threads in benchmarks in which others work.
    #[default]
    Auto,
    /// Those of the measuring thread. What other threads do does not count as work of the benchmark.
    Own,
    /// Those of all threads of the process.
    All,
}

impl Threads {
    /// What [`THREADS_VARIABLE`] says; [`Threads::Auto`] where it is not set.
    ///
    /// # Errors
    /// [`OpenError::UnknownThreads`] where it says something else.
    pub fn from_environment() -> Result<Threads, OpenError> {
        match std::env::var(THREADS_VARIABLE) {
            Ok(name) => name.parse(),
            Err(_) => Ok(Threads::Auto),
        }
    }
}

impl FromStr for Threads {
    type Err = OpenError;

    fn from_str(name: &str) -> Result<Threads, OpenError> {
        match name {
            "auto" | "" => Ok(Threads::Auto),
            "own" => Ok(Threads::Own),
            "all" => Ok(Threads::All),
            _ => Err(OpenError::UnknownThreads {
                name: name.to_owned(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_of_threads_are_read_and_others_refused() {
        assert_eq!("".parse::<Threads>().unwrap(), Threads::Auto);
        assert_eq!("own".parse::<Threads>().unwrap(), Threads::Own);
        assert_eq!("all".parse::<Threads>().unwrap(), Threads::All);
        let error = "every".parse::<Threads>().unwrap_err();
        assert!(error.to_string().contains("`every`"), "{error}");
    }
}
