//! Which threads' slots the hardware counts.

use std::str::FromStr;

use crate::error::OpenError;

/// The environment variable that [`Threads::from_environment`] reads.
pub const THREADS_VARIABLE: &str = "CARGO_TOPDOWN_THREADS";

/// The environment variable with which `cargo topdown` passes on what an earlier launch decided for
/// [`Threads::Auto`]: one letter per benchmark of the process, in execution order, `a` for all
/// threads and `o` for the measuring thread only.
pub const DECIDED_VARIABLE: &str = "CARGO_TOPDOWN_THREADS_DECIDED";

/// Which threads' slots to count. One thread's slots are never compared with those of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Threads {
    /// The measuring thread, or all threads in benchmarks where others work.
    #[default]
    Auto,
    /// The measuring thread. Other threads' activity does not count as work of the benchmark.
    Own,
    /// All threads of the process.
    All,
}

impl Threads {
    /// Reads [`THREADS_VARIABLE`]; [`Threads::Auto`] if it is not set.
    ///
    /// # Errors
    /// Returns [`OpenError::UnknownThreads`] if it has any other value.
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
