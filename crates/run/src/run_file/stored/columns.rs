//! Stored form of samples and launch values: one array per quantity.
//!
//! Storing rows would repeat every name in every row and make the files five times as large.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::error::RunFileProblem;
use crate::activity::Activity;
use crate::category::PerCategory;
use crate::event::{Event, Events};
use crate::sample::Level1;

/// The largest count allowed in a file: 2^53, up to which an `f64` represents every integer. That
/// is weeks of slots, and leaves room for sums over thousands of samples in 64 bits.
const MAX_COUNT: u64 = 1 << 53;

/// The rows for which a column has room from the start: the launches of most runs, and a few more.
const USUAL_ROWS: usize = 12;

/// Reads a column without letting it grow in steps: files have tens of thousands of short ones.
///
/// # Errors
/// As for a `Vec`.
pub(super) fn column<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    struct Column<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for Column<T> {
        type Value = Vec<T>;

        fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
            formatter.write_str("a sequence")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Vec<T>, A::Error> {
            let mut column = Vec::with_capacity(USUAL_ROWS);
            while let Some(value) = sequence.next_element()? {
                column.push(value);
            }
            Ok(column)
        }
    }

    deserializer.deserialize_seq(Column(PhantomData))
}

/// Reads a column that not every file has. `null` is no column, as for an `Option`.
///
/// # Errors
/// As for an `Option<Vec>`.
pub(super) fn some_column<'de, D, T>(deserializer: D) -> Result<Option<Vec<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    #[derive(Deserialize)]
    #[serde(bound = "T: Deserialize<'de>")]
    struct Present<T>(#[serde(deserialize_with = "column")] Vec<T>);

    Ok(Option::<Present<T>>::deserialize(deserializer)?.map(|present| present.0))
}

/// Returns a quantity of every row, or `None` if any row lacks it: half a column could not be
/// compared.
pub(super) fn optional_column<R, T>(
    rows: &[R],
    quantity: impl Fn(&R) -> Option<T>,
) -> Option<Vec<T>> {
    if rows.is_empty() {
        return None;
    }
    rows.iter().map(quantity).collect()
}

/// Rejects a split without the total it belongs to: it could be shown, but never judged.
pub(super) fn check_splits(slots: bool, level1: bool, level2: bool) -> Result<(), RunFileProblem> {
    let missing = |whole: &str| format!("splits `{whole}`, which is missing");
    if level1 && !slots {
        Err(RunFileProblem::field("level1", missing("slots")))
    } else if level2 && !level1 {
        Err(RunFileProblem::field("level2", missing("level1")))
    } else {
        Ok(())
    }
}

/// The columns of level 1.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Level1Columns {
    /// Useful work.
    #[serde(deserialize_with = "column")]
    retiring_slots: Vec<f64>,
    /// Discarded work.
    #[serde(deserialize_with = "column")]
    bad_speculation_slots: Vec<f64>,
    /// Nothing was delivered.
    #[serde(deserialize_with = "column")]
    frontend_bound_slots: Vec<f64>,
    /// Nothing could be accepted.
    #[serde(deserialize_with = "column")]
    backend_bound_slots: Vec<f64>,
    /// Slots of the other hardware thread, on CPUs that report them.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "some_column"
    )]
    smt_contention_slots: Option<Vec<f64>>,
}

impl Level1Columns {
    pub(super) fn new<R>(
        rows: &[R],
        level1: impl Fn(&R) -> Option<Level1>,
    ) -> Option<Level1Columns> {
        let levels = optional_column(rows, level1)?;
        let column = |field: fn(&Level1) -> f64| levels.iter().map(field).collect();
        Some(Level1Columns {
            retiring_slots: column(|level| level.slots.retiring),
            bad_speculation_slots: column(|level| level.slots.bad_speculation),
            frontend_bound_slots: column(|level| level.slots.frontend_bound),
            backend_bound_slots: column(|level| level.slots.backend_bound),
            smt_contention_slots: optional_column(&levels, |level| level.smt_contention_slots),
        })
    }

    pub(super) fn check(&self, rows: Rows) -> Result<(), RunFileProblem> {
        rows.signed("level1.retiring_slots", &self.retiring_slots)?;
        rows.signed("level1.bad_speculation_slots", &self.bad_speculation_slots)?;
        rows.signed("level1.frontend_bound_slots", &self.frontend_bound_slots)?;
        rows.signed("level1.backend_bound_slots", &self.backend_bound_slots)?;
        match &self.smt_contention_slots {
            Some(column) => rows.signed("level1.smt_contention_slots", column),
            None => Ok(()),
        }
    }

    pub(super) fn row(&self, index: usize) -> Level1 {
        Level1 {
            slots: PerCategory {
                retiring: self.retiring_slots[index],
                bad_speculation: self.bad_speculation_slots[index],
                frontend_bound: self.frontend_bound_slots[index],
                backend_bound: self.backend_bound_slots[index],
            },
            smt_contention_slots: self.smt_contention_slots.as_ref().map(|all| all[index]),
        }
    }
}

/// The columns of level 2.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Level2Columns {
    /// Part of retiring.
    #[serde(deserialize_with = "column")]
    heavy_operations_slots: Vec<f64>,
    /// Part of bad speculation.
    #[serde(deserialize_with = "column")]
    branch_mispredicts_slots: Vec<f64>,
    /// Part of frontend bound.
    #[serde(deserialize_with = "column")]
    fetch_latency_slots: Vec<f64>,
    /// Part of backend bound.
    #[serde(deserialize_with = "column")]
    memory_bound_slots: Vec<f64>,
}

impl Level2Columns {
    pub(super) fn new<R>(
        rows: &[R],
        level2: impl Fn(&R) -> Option<PerCategory<f64>>,
    ) -> Option<Level2Columns> {
        let levels = optional_column(rows, level2)?;
        let column = |field: fn(&PerCategory<f64>) -> f64| levels.iter().map(field).collect();
        Some(Level2Columns {
            heavy_operations_slots: column(|level| level.retiring),
            branch_mispredicts_slots: column(|level| level.bad_speculation),
            fetch_latency_slots: column(|level| level.frontend_bound),
            memory_bound_slots: column(|level| level.backend_bound),
        })
    }

    pub(super) fn check(&self, rows: Rows) -> Result<(), RunFileProblem> {
        rows.signed(
            "level2.heavy_operations_slots",
            &self.heavy_operations_slots,
        )?;
        rows.signed(
            "level2.branch_mispredicts_slots",
            &self.branch_mispredicts_slots,
        )?;
        rows.signed("level2.fetch_latency_slots", &self.fetch_latency_slots)?;
        rows.signed("level2.memory_bound_slots", &self.memory_bound_slots)
    }

    pub(super) fn row(&self, index: usize) -> PerCategory<f64> {
        PerCategory {
            retiring: self.heavy_operations_slots[index],
            bad_speculation: self.branch_mispredicts_slots[index],
            frontend_bound: self.fetch_latency_slots[index],
            backend_bound: self.memory_bound_slots[index],
        }
    }
}

/// What the threads of the process did.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct ActivityColumns {
    /// Watched windows; 0 if there were none.
    windows: Vec<u64>,
    /// Their wall-clock nanoseconds.
    wall_ns: Vec<u64>,
    /// Processor time of the measuring thread.
    own_ns: Vec<u64>,
    /// Processor time of the other threads of the process.
    others_ns: Vec<u64>,
    /// Number of times that the measuring thread gave up the CPU to wait.
    blocked: Vec<u64>,
}

impl ActivityColumns {
    /// Returns `None` if no row was watched.
    pub(super) fn new<R>(
        rows: &[R],
        activity: impl Fn(&R) -> Option<Activity>,
    ) -> Option<ActivityColumns> {
        let all: Vec<Activity> = rows
            .iter()
            .map(|row| activity(row).unwrap_or_default())
            .collect();
        let column = |field: fn(&Activity) -> u64| all.iter().map(field).collect();
        all.iter()
            .any(|activity| activity.windows > 0)
            .then(|| ActivityColumns {
                windows: column(|window| window.windows),
                wall_ns: column(|wall_n| wall_n.wall_ns),
                own_ns: column(|own_n| own_n.own_ns),
                others_ns: column(|others_n| others_n.others_ns),
                blocked: column(|activity| activity.blocked),
            })
    }

    pub(super) fn check(&self, rows: Rows) -> Result<(), RunFileProblem> {
        rows.counts("activity.windows", &self.windows)?;
        rows.counts("activity.wall_ns", &self.wall_ns)?;
        rows.counts("activity.own_ns", &self.own_ns)?;
        rows.counts("activity.others_ns", &self.others_ns)?;
        rows.counts("activity.blocked", &self.blocked)
    }

    pub(super) fn row(&self, index: usize) -> Option<Activity> {
        (self.windows[index] > 0).then(|| Activity {
            windows: self.windows[index],
            wall_ns: self.wall_ns[index],
            own_ns: self.own_ns[index],
            others_ns: self.others_ns[index],
            blocked: self.blocked[index],
        })
    }
}

/// One column per event that every row counts.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(extend("propertyNames" = Event::names_schema())))]
#[serde(transparent)]
pub(super) struct EventColumns<T>(BTreeMap<Event, Vec<T>>);

impl<T: Copy> EventColumns<T> {
    /// Returns `None` if there is no such event.
    pub(super) fn new<R>(rows: &[R], events: impl Fn(&R) -> Events<T>) -> Option<EventColumns<T>> {
        let column = |event| Some((event, optional_column(rows, |row| events(row).get(event))?));
        let columns: BTreeMap<Event, Vec<T>> = Event::ALL.into_iter().filter_map(column).collect();
        (!columns.is_empty()).then_some(EventColumns(columns))
    }

    pub(super) fn check(
        &self,
        check: impl Fn(&str, &[T]) -> Result<(), RunFileProblem>,
    ) -> Result<(), RunFileProblem> {
        let mut columns = self.0.iter();
        columns.try_for_each(|(event, column)| check(&format!("events.{}", event.name()), column))
    }

    pub(super) fn row(&self, index: usize) -> Events<T> {
        let counts = self.0.iter();
        counts
            .map(|(event, column)| (*event, column[index]))
            .collect()
    }
}

/// Requirements for every column of a table, checked before any row is built.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    /// Number of values in each column.
    pub(super) count: usize,
    /// The name of the rows in messages.
    pub(super) what: &'static str,
}

impl Rows {
    pub(super) fn length<T>(self, field: &str, column: &[T]) -> Result<(), RunFileProblem> {
        if column.len() == self.count {
            return Ok(());
        }
        let Rows { count, what } = self;
        let what = format!("has {} values for {count} {what}", column.len());
        Err(RunFileProblem::field(field, what))
    }

    /// Accepts integers from 0 to 2^53.
    pub(super) fn counts(self, field: &str, column: &[u64]) -> Result<(), RunFileProblem> {
        self.length(field, column)?;
        match column.iter().find(|value| **value > MAX_COUNT) {
            None => Ok(()),
            Some(value) => Err(RunFileProblem::field(
                field,
                format!("holds {value}, which is more than 2^53"),
            )),
        }
    }

    /// Accepts numbers from 0 to 2^53.
    pub(super) fn unsigned(self, field: &str, column: &[f64]) -> Result<(), RunFileProblem> {
        self.signed(field, column)?;
        match column.iter().find(|value| **value < 0.0) {
            None => Ok(()),
            Some(value) => Err(RunFileProblem::field(
                field,
                format!("holds {value}, which is below 0"),
            )),
        }
    }

    /// Accepts numbers from -2^53 to 2^53: a category may be below zero by its resolution.
    pub(super) fn signed(self, field: &str, column: &[f64]) -> Result<(), RunFileProblem> {
        self.length(field, column)?;
        // Written so that NaN is rejected, too.
        let is_sound = |value: &f64| value.abs() <= MAX_COUNT as f64;
        match column.iter().find(|value| !is_sound(value)) {
            None => Ok(()),
            Some(value) => Err(RunFileProblem::field(
                field,
                format!("holds {value:e}, which is beyond 2^53"),
            )),
        }
    }
}
