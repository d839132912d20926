//! The categories that issue slots are split into, their parts, and one value for each category.
//!
//! The only place that knows their names, their order and which part belongs to which.

use std::ops::{Add, Index, IndexMut};

#[cfg(feature = "run_file")]
use serde::{Deserialize, Serialize};

/// A category of level 1. SMT contention, the fifth on some CPUs, is nothing that a program can
/// change, and stands beside these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "run_file", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "run_file", serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Category {
    /// Slots whose micro-operations retired.
    Retiring,
    /// Slots spent on work that was thrown away, and on recovering from it.
    BadSpeculation,
    /// Slots for which the frontend delivered nothing.
    FrontendBound,
    /// Slots for which the backend could accept nothing.
    BackendBound,
}

impl Category {
    /// All, in the order of reports.
    pub const ALL: [Category; 4] = [
        Category::Retiring,
        Category::BadSpeculation,
        Category::FrontendBound,
        Category::BackendBound,
    ];

    /// The words of reports.
    pub const fn name(self) -> &'static str {
        match self {
            Category::Retiring => "retiring",
            Category::BadSpeculation => "bad speculation",
            Category::FrontendBound => "frontend bound",
            Category::BackendBound => "backend bound",
        }
    }

    /// The part that sources with level 2 measure. What they leave of the category is
    /// [`rest`](Category::rest).
    pub const fn measured_part(self) -> Part {
        match self {
            Category::Retiring => Part::HeavyOperations,
            Category::BadSpeculation => Part::BranchMispredicts,
            Category::FrontendBound => Part::FetchLatency,
            Category::BackendBound => Part::MemoryBound,
        }
    }

    /// The part that [`measured_part`](Category::measured_part) leaves.
    pub const fn rest(self) -> Part {
        match self {
            Category::Retiring => Part::LightOperations,
            Category::BadSpeculation => Part::MachineClears,
            Category::FrontendBound => Part::FetchBandwidth,
            Category::BackendBound => Part::CoreBound,
        }
    }
}

/// A category of level 2: a part of one of level 1, in the words of Intel's documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// Of retiring: instructions of one or two micro-operations.
    LightOperations,
    /// Of retiring: the others.
    HeavyOperations,
    /// Of bad speculation.
    BranchMispredicts,
    /// Of bad speculation.
    MachineClears,
    /// Of frontend bound: nothing was delivered.
    FetchLatency,
    /// Of frontend bound: less than the backend takes was delivered.
    FetchBandwidth,
    /// Of backend bound: loads and stores.
    MemoryBound,
    /// Of backend bound: execution units.
    CoreBound,
}

impl Part {
    /// The words of reports.
    pub const fn name(self) -> &'static str {
        match self {
            Part::LightOperations => "light operations",
            Part::HeavyOperations => "heavy operations",
            Part::BranchMispredicts => "branch mispredicts",
            Part::MachineClears => "machine clears",
            Part::FetchLatency => "fetch latency",
            Part::FetchBandwidth => "fetch bandwidth",
            Part::MemoryBound => "memory bound",
            Part::CoreBound => "core bound",
        }
    }

    /// What it is a part of.
    pub const fn category(self) -> Category {
        match self {
            Part::LightOperations | Part::HeavyOperations => Category::Retiring,
            Part::BranchMispredicts | Part::MachineClears => Category::BadSpeculation,
            Part::FetchLatency | Part::FetchBandwidth => Category::FrontendBound,
            Part::MemoryBound | Part::CoreBound => Category::BackendBound,
        }
    }
}

/// One value for each category.
///
/// Of level 2 it holds the [measured part](Category::measured_part) of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "run_file", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "run_file", serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PerCategory<T> {
    /// Slots whose micro-operations retired.
    pub retiring: T,
    /// Slots spent on work that was thrown away, and on recovering from it.
    pub bad_speculation: T,
    /// Slots for which the frontend delivered nothing.
    pub frontend_bound: T,
    /// Slots for which the backend could accept nothing.
    pub backend_bound: T,
}

impl<T> PerCategory<T> {
    /// Values in the order of [`Category::ALL`].
    pub const fn in_order(values: [T; 4]) -> PerCategory<T>
    where
        T: Copy,
    {
        let [retiring, bad_speculation, frontend_bound, backend_bound] = values;
        PerCategory {
            retiring,
            bad_speculation,
            frontend_bound,
            backend_bound,
        }
    }

    /// The value that `of` has for each.
    pub fn of(mut of: impl FnMut(Category) -> T) -> PerCategory<T> {
        PerCategory {
            retiring: of(Category::Retiring),
            bad_speculation: of(Category::BadSpeculation),
            frontend_bound: of(Category::FrontendBound),
            backend_bound: of(Category::BackendBound),
        }
    }

    /// As [`of`](PerCategory::of), where any of them may be missing.
    pub fn of_known(mut of: impl FnMut(Category) -> Option<T>) -> Option<PerCategory<T>> {
        Some(PerCategory {
            retiring: of(Category::Retiring)?,
            bad_speculation: of(Category::BadSpeculation)?,
            frontend_bound: of(Category::FrontendBound)?,
            backend_bound: of(Category::BackendBound)?,
        })
    }

    /// Category by category.
    pub fn map<U>(self, mut into: impl FnMut(T) -> U) -> PerCategory<U> {
        PerCategory {
            retiring: into(self.retiring),
            bad_speculation: into(self.bad_speculation),
            frontend_bound: into(self.frontend_bound),
            backend_bound: into(self.backend_bound),
        }
    }

    /// Category by category, of both.
    pub fn zip<U>(self, other: PerCategory<U>) -> PerCategory<(T, U)> {
        PerCategory {
            retiring: (self.retiring, other.retiring),
            bad_speculation: (self.bad_speculation, other.bad_speculation),
            frontend_bound: (self.frontend_bound, other.frontend_bound),
            backend_bound: (self.backend_bound, other.backend_bound),
        }
    }

    /// References to the values.
    pub const fn each_ref(&self) -> PerCategory<&T> {
        PerCategory {
            retiring: &self.retiring,
            bad_speculation: &self.bad_speculation,
            frontend_bound: &self.frontend_bound,
            backend_bound: &self.backend_bound,
        }
    }

    /// In the order of [`Category::ALL`].
    pub fn into_array(self) -> [T; 4] {
        [
            self.retiring,
            self.bad_speculation,
            self.frontend_bound,
            self.backend_bound,
        ]
    }

    /// Each category with its value, in the order of reports.
    pub fn iter(&self) -> impl Iterator<Item = (Category, &T)> {
        Category::ALL.into_iter().zip(self.each_ref().into_array())
    }
}

impl<T> From<[T; 4]> for PerCategory<T> {
    /// In the order of [`Category::ALL`].
    fn from([retiring, bad_speculation, frontend_bound, backend_bound]: [T; 4]) -> PerCategory<T> {
        PerCategory {
            retiring,
            bad_speculation,
            frontend_bound,
            backend_bound,
        }
    }
}

impl<T: Add<Output = T>> PerCategory<T> {
    /// All together.
    pub fn sum(self) -> T {
        self.retiring + self.bad_speculation + self.frontend_bound + self.backend_bound
    }
}

impl<T: Add<Output = T>> Add for PerCategory<T> {
    type Output = PerCategory<T>;

    /// Category by category.
    fn add(self, other: PerCategory<T>) -> PerCategory<T> {
        self.zip(other).map(|(a, b)| a + b)
    }
}

impl<T> Index<Category> for PerCategory<T> {
    type Output = T;

    fn index(&self, category: Category) -> &T {
        match category {
            Category::Retiring => &self.retiring,
            Category::BadSpeculation => &self.bad_speculation,
            Category::FrontendBound => &self.frontend_bound,
            Category::BackendBound => &self.backend_bound,
        }
    }
}

impl<T> IndexMut<Category> for PerCategory<T> {
    fn index_mut(&mut self, category: Category) -> &mut T {
        match category {
            Category::Retiring => &mut self.retiring,
            Category::BadSpeculation => &mut self.bad_speculation,
            Category::FrontendBound => &mut self.frontend_bound,
            Category::BackendBound => &mut self.backend_bound,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_through_the_categories_has_the_order_of_reports() {
        let numbered = PerCategory::of(|category| category as usize);
        assert_eq!(numbered.into_array(), [0, 1, 2, 3]);
        assert_eq!(numbered, PerCategory::in_order([0, 1, 2, 3]));
        for (place, (category, value)) in numbered.iter().enumerate() {
            assert_eq!((category, *value), (Category::ALL[place], place));
            assert_eq!(numbered[category], place);
        }
        let mut changed = numbered;
        for category in Category::ALL {
            changed[category] += 10;
        }
        assert_eq!(changed.into_array(), [10, 11, 12, 13]);
        assert_eq!((numbered + changed).into_array(), [10, 12, 14, 16]);
        assert_eq!(numbered.sum(), 6);
    }

    #[test]
    fn both_parts_of_a_category_say_that_they_are_of_it() {
        for category in Category::ALL {
            assert_eq!(category.measured_part().category(), category);
            assert_eq!(category.rest().category(), category);
            assert_ne!(category.rest(), category.measured_part());
        }
    }
}
