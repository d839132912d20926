//! The hand-written part of a family: its events under the names of its tables, and the
//! metric groups with their formulas and worked examples.

use std::collections::HashSet;
use std::path::Path;

use indexmap::IndexMap;
use serde::Deserialize;

use super::{Result, at};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Family {
    /// How the paths of files begin whose CPUs have no table.
    pub without_table: Vec<String>,
    /// Our names of events, each with the vendor's names, of which the first that a CPU's files
    /// have is taken.
    pub events: IndexMap<String, Names>,
    pub tables: IndexMap<String, Table>,
    pub groups: IndexMap<String, Group>,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub enum Names {
    One(String),
    Several(Vec<String>),
}

/// The codes and groups of one `CpuTable`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// The table above whose `events`, `level1`, `named` and `groups` hold here too, where this one
    /// has none.
    pub like: Option<String>,
    /// The vendor's files and folders, which must agree.
    pub files: Vec<String>,
    /// The events of each form of level 1.
    #[serde(default)]
    pub level1: Vec<String>,
    /// Other events that Rust code names.
    #[serde(default)]
    pub named: Vec<String>,
    /// The keys of its groups.
    #[serde(default)]
    pub groups: Vec<String>,
    /// The vendor's names where they differ from those of the family.
    #[serde(default)]
    pub events: IndexMap<String, String>,
    /// Codes that no file has.
    #[serde(default)]
    pub by_hand: IndexMap<String, u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    pub name: String,
    pub subject: String,
    pub explains: Vec<String>,
    /// Each with its count in the example: `BRANCHES 200_000`.
    pub events: Vec<String>,
    /// The width of the pipeline in the example.
    pub width: Option<u32>,
    /// See [`Metric::parse`].
    pub metrics: Vec<String>,
}

/// A metric and its value in the example.
pub struct Metric<'a> {
    pub name: &'a str,
    /// `None` if it is the vendor's.
    pub formula: Option<&'a str>,
    pub value: &'a str,
    /// `None` if it is the vendor's.
    pub unit: Option<&'a str>,
}

impl Family {
    pub fn read(path: &Path) -> Result<Family> {
        let text = std::fs::read_to_string(path).map_err(at(path))?;
        let mut family: Family = toml::from_str(&text).map_err(at(path))?;
        for position in 0..family.tables.len() {
            let Some(like) = family.tables[position].like.clone() else {
                continue;
            };
            let other = family.tables.get(&like);
            let other = other.ok_or_else(|| format!("there is no table `{like}`"))?;
            let (events, level1) = (other.events.clone(), other.level1.clone());
            let (named, groups) = (other.named.clone(), other.groups.clone());
            let table = &mut family.tables[position];
            if table.events.is_empty() {
                table.events = events;
            }
            if table.level1.is_empty() {
                table.level1 = level1;
            }
            if table.named.is_empty() {
                table.named = named;
            }
            if table.groups.is_empty() {
                table.groups = groups;
            }
        }
        Ok(family)
    }

    /// Returns the vendor's names of an event: itself, if we have no name of our own for it.
    pub fn names<'a>(&'a self, table: &'a Table, event: &'a str) -> Vec<&'a str> {
        if let Some(name) = table.events.get(event) {
            return vec![name];
        }
        match self.events.get(event) {
            Some(Names::One(name)) => vec![name],
            Some(Names::Several(names)) => names.iter().map(String::as_str).collect(),
            None => vec![event],
        }
    }

    /// Returns the groups of a table.
    pub fn groups<'a>(&'a self, table: &'a Table) -> Result<Vec<(&'a str, &'a Group)>> {
        let group = |key: &'a String| {
            let group = self.groups.get(key);
            let group = group.ok_or_else(|| format!("there is no group `{key}`"))?;
            Ok((key.as_str(), group))
        };
        table.groups.iter().map(group).collect()
    }

    /// Returns the events that a table needs, each once.
    pub fn events_of<'a>(&'a self, table: &'a Table) -> Result<Vec<&'a str>> {
        let mut events = table.named();
        for (_, group) in self.groups(table)? {
            events.extend(group.counts()?.iter().map(|(event, _)| *event));
        }
        Ok(once(events))
    }
}

impl Table {
    /// Returns the events that Rust code names.
    pub fn named(&self) -> Vec<&str> {
        let level1 = self.level1.iter().flat_map(|form| form.split(' '));
        once(
            level1
                .chain(self.named.iter().map(String::as_str))
                .collect(),
        )
    }
}

/// Removes what is there already.
fn once(mut names: Vec<&str>) -> Vec<&str> {
    let mut seen = HashSet::new();
    names.retain(|name| seen.insert(*name));
    names
}

impl Group {
    /// Returns the events and their counts in the example.
    pub fn counts(&self) -> Result<Vec<(&str, &str)>> {
        let mut counts = Vec::new();
        for event in &self.events {
            let words = event.split_once(' ');
            counts.push(words.ok_or_else(|| format!("`{event}` is not an event and its count"))?);
        }
        Ok(counts)
    }
}

impl<'a> Metric<'a> {
    /// Parses `NAME = FORMULA -> VALUE UNIT`. A metric that the vendor publishes can do without its
    /// formula and its unit.
    pub fn parse(text: &'a str) -> Result<Metric<'a>> {
        let sides = text.split_once(" -> ");
        let (left, right) = sides.ok_or_else(|| format!("`{text}` is not a metric"))?;
        let (name, formula) = match left.split_once(" = ") {
            Some((name, formula)) => (name, Some(formula)),
            None => (left, None),
        };
        let (value, unit) = match right.split_once(' ') {
            Some((value, unit)) => (value, Some(unit)),
            None => (right, None),
        };
        Ok(Metric {
            name,
            formula,
            value,
            unit,
        })
    }
}
