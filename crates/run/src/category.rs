//! The categories of issue slots, their parts, and one value per category.
//!
//! Their names, their order, and which part belongs to which category are defined only here.

use std::ops::{Add, Index, IndexMut};

use serde::{Deserialize, Serialize};

/// A level-1 category. SMT contention, the fifth on some CPUs, is kept separately because a program
/// cannot change it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Category {
    /// Slots whose micro-operations retired.
    Retiring,
    /// Slots spent on discarded work, and on recovering from it.
    BadSpeculation,
    /// Slots in which the frontend delivered nothing.
    FrontendBound,
    /// Slots in which the backend could accept nothing.
    BackendBound,
}

impl Category {
    /// All categories, in report order.
    pub const ALL: [Category; 4] = [
        Category::Retiring,
        Category::BadSpeculation,
        Category::FrontendBound,
        Category::BackendBound,
    ];

    /// Returns its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Category::Retiring => "retiring",
            Category::BadSpeculation => "bad speculation",
            Category::FrontendBound => "frontend bound",
            Category::BackendBound => "backend bound",
        }
    }

    /// Returns the part that sources with level 2 measure. The remainder of the category is
    /// [`rest`](Category::rest).
    pub const fn measured_part(self) -> Part {
        match self {
            Category::Retiring => Part::HeavyOperations,
            Category::BadSpeculation => Part::BranchMispredicts,
            Category::FrontendBound => Part::FetchLatency,
            Category::BackendBound => Part::MemoryBound,
        }
    }

    /// Returns the remainder after [`measured_part`](Category::measured_part).
    pub const fn rest(self) -> Part {
        match self {
            Category::Retiring => Part::LightOperations,
            Category::BadSpeculation => Part::MachineClears,
            Category::FrontendBound => Part::FetchBandwidth,
            Category::BackendBound => Part::CoreBound,
        }
    }
}

/// A level-2 category: a part of a level-1 category, by its name in Intel's documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// Part of retiring: instructions of one or two micro-operations.
    LightOperations,
    /// Part of retiring: other instructions.
    HeavyOperations,
    /// Part of bad speculation.
    BranchMispredicts,
    /// Part of bad speculation.
    MachineClears,
    /// Part of frontend bound: nothing was delivered.
    FetchLatency,
    /// Part of frontend bound: less was delivered than the backend accepts.
    FetchBandwidth,
    /// Part of backend bound: loads and stores.
    MemoryBound,
    /// Part of backend bound: execution units.
    CoreBound,
}

impl Part {
    /// Returns its name in reports.
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

    /// Returns the category that it is part of.
    pub const fn category(self) -> Category {
        match self {
            Part::LightOperations | Part::HeavyOperations => Category::Retiring,
            Part::BranchMispredicts | Part::MachineClears => Category::BadSpeculation,
            Part::FetchLatency | Part::FetchBandwidth => Category::FrontendBound,
            Part::MemoryBound | Part::CoreBound => Category::BackendBound,
        }
    }
}

/// One value per category.
///
/// For level 2, it holds the value of each category's [measured part](Category::measured_part).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PerCategory<T> {
    /// Slots whose micro-operations retired.
    pub retiring: T,
    /// Slots spent on discarded work, and on recovering from it.
    pub bad_speculation: T,
    /// Slots in which the frontend delivered nothing.
    pub frontend_bound: T,
    /// Slots in which the backend could accept nothing.
    pub backend_bound: T,
}

impl<T> PerCategory<T> {
    /// Creates it from values in the order of [`Category::ALL`].
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

    /// Creates it with the value of `of` for each category.
    #[inline]
    pub fn from_fn(mut value: impl FnMut(Category) -> T) -> PerCategory<T> {
        PerCategory {
            retiring: value(Category::Retiring),
            bad_speculation: value(Category::BadSpeculation),
            frontend_bound: value(Category::FrontendBound),
            backend_bound: value(Category::BackendBound),
        }
    }

    /// Like [`of`](PerCategory::from_fn), but returns `None` if any value is missing.
    pub fn from_known(mut value: impl FnMut(Category) -> Option<T>) -> Option<PerCategory<T>> {
        Some(PerCategory {
            retiring: value(Category::Retiring)?,
            bad_speculation: value(Category::BadSpeculation)?,
            frontend_bound: value(Category::FrontendBound)?,
            backend_bound: value(Category::BackendBound)?,
        })
    }

    /// Maps the values, category by category.
    pub fn map<U>(self, mut into: impl FnMut(T) -> U) -> PerCategory<U> {
        PerCategory {
            retiring: into(self.retiring),
            bad_speculation: into(self.bad_speculation),
            frontend_bound: into(self.frontend_bound),
            backend_bound: into(self.backend_bound),
        }
    }

    /// Pairs the values of both, category by category.
    pub fn zip<U>(self, other: PerCategory<U>) -> PerCategory<(T, U)> {
        PerCategory {
            retiring: (self.retiring, other.retiring),
            bad_speculation: (self.bad_speculation, other.bad_speculation),
            frontend_bound: (self.frontend_bound, other.frontend_bound),
            backend_bound: (self.backend_bound, other.backend_bound),
        }
    }

    /// Returns references to the values.
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

    /// Iterates over the categories with their values, in report order.
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
    /// Returns the sum over all categories.
    pub fn sum(self) -> T {
        self.retiring + self.bad_speculation + self.frontend_bound + self.backend_bound
    }
}

impl<T: Add<Output = T>> Add for PerCategory<T> {
    type Output = PerCategory<T>;

    /// Adds category by category.
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
    fn categories_are_always_in_report_order() {
        let numbered = PerCategory::from_fn(|category| category as usize);
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
    fn both_parts_name_their_category() {
        for category in Category::ALL {
            assert_eq!(category.measured_part().category(), category);
            assert_eq!(category.rest().category(), category);
            assert_ne!(category.rest(), category.measured_part());
        }
    }
}
