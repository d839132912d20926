//! Finds the point of a history at which benchmarks became slower, with as few tries as possible.
//!
//! A [`Search`] is a state machine: [`next`](Search::next) names the point to try, and
//! [`answer`](Search::answer) takes what was found there. It knows neither git nor cargo nor
//! clocks. [`Answer::of`] reads the gate's verdict, [`alpha_of_look`] bounds the error of all
//! verdicts on the way together, and a [`Bisection`] is the whole search as a document: it is
//! stored after each try and read again to go on.
//!
//! ```
//! use topdown_bisect::{Answer, History, Outcome, Search};
//!
//! // Point 0 is the good one, point 64 the slow one; one benchmark.
//! let mut search = Search::new(History::linear(65), 1);
//! let mut tries = 0;
//! while let Some(point) = search.next() {
//!     tries += 1;
//!     search.answer(point, 0, if point < 23 { Answer::Good } else { Answer::Bad });
//! }
//! assert_eq!((search.outcome(0), tries), (Outcome::Found { point: 23 }, 7));
//! ```
#![forbid(unsafe_code)]

mod answer;
mod bisection;
mod history;
mod search;

pub use answer::{Answer, LOOKS, alpha_of_look, decisions};
pub use bisection::{
    BISECTION_SCHEMA_VERSION, BenchmarkResult, Bisection, Executed, Kind, Point, Row, Step, Tried,
};
pub use history::History;
pub use search::{Outcome, Search};
