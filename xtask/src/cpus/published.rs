//! The numbers that the tables take from vendors' files, each with the files that it is in. They
//! are kept in a file of their own, so that the tables can be made without the vendors' files.

use std::path::Path;

use super::family::{self, Family, Table};
use super::vendor::{self, EventCode, FIXED, FIXED_CYCLES, GENERAL, VendorFile, VendorMetric};
use super::{Result, at};

#[derive(Default)]
pub struct Published {
    pub files: Vec<Source>,
    pub events: Vec<Event>,
    /// Metrics that the vendor publishes under the names of ours.
    pub metrics: Vec<Metric>,
}

/// A vendor's file.
#[derive(Clone, PartialEq, Eq)]
pub struct Source {
    pub path: String,
    pub version: String,
    pub date: String,
}

/// An event that some tables have in common.
pub struct Event {
    /// Our name.
    pub event: String,
    /// The vendor's name.
    pub name: String,
    pub code: EventCode,
    pub tables: Vec<String>,
    /// Positions in [`Published::files`]; none if the code is by hand.
    pub files: Vec<usize>,
}

/// A metric that some tables have in common.
pub struct Metric {
    pub name: String,
    pub published: VendorMetric,
    pub tables: Vec<String>,
}

impl Published {
    /// Collects what a family needs from the vendors' files in `folder`. Also returns what does not
    /// fit: files and events that are missing, and files that disagree.
    pub fn collect(family: &Family, folder: &Path) -> Result<(Published, Vec<String>)> {
        let mut published = Published::default();
        let mut misfits = Vec::new();
        for (key, table) in &family.tables {
            let mut misfit = |why: String| misfits.push(format!("{key}: {why}"));
            let mut files = Vec::new();
            for path in &table.files {
                match vendor::read(folder, path) {
                    Ok(read) => files.extend(read),
                    Err(why) => misfit(why),
                }
            }
            if files.is_empty() {
                continue;
            }
            for event in family.events_of(table)? {
                match published.event_in(&files, family, table, event) {
                    Ok((name, code, sources)) => published.add(key, event, name, code, sources),
                    Err(why) => misfit(why),
                }
            }
            for (_, group) in family.groups(table)? {
                for metric in &group.metrics {
                    published.add_metric(&files, key, family::Metric::parse(metric)?.name);
                }
            }
        }
        Ok((published, misfits))
    }

    /// Finds an event in the files of a table. Files that lack it do not count; the others must
    /// agree.
    fn event_in(
        &mut self,
        files: &[VendorFile],
        family: &Family,
        table: &Table,
        event: &str,
    ) -> Result<(String, EventCode, Vec<usize>)> {
        let names = family.names(table, event);
        let mut found: Vec<(&str, EventCode, &VendorFile)> = Vec::new();
        for file in files {
            let mut names = names.iter().copied();
            found.extend(names.find_map(|name| Some((name, code_of(file, name)?, file))));
        }
        let by_hand = table.by_hand.get(event);
        let (code, first) = match (found.first(), by_hand) {
            (Some(&(_, code, first)), None) => (code, first),
            (None, Some(&config)) => {
                let counter = GENERAL;
                let code = EventCode { config, counter };
                return Ok((names[0].to_owned(), code, Vec::new()));
            }
            (Some((.., file)), Some(_)) => {
                return Err(format!("{event} is by hand, but {} has it now", file.path));
            }
            (None, None) => return Err(format!("no file has {event} ({})", names.join(", "))),
        };
        if let Some((_, other, file)) = found.iter().find(|(_, other, _)| *other != code) {
            return Err(format!(
                "{event} is {:#x} in {} and {:#x} in {}",
                code.config, first.path, other.config, file.path
            ));
        }
        let mut names = names.into_iter();
        let name = names.find(|name| found.iter().any(|(found, ..)| found == name));
        let name = name.unwrap_or_default().to_owned();
        let sources = found.iter().map(|(.., file)| self.source(file)).collect();
        Ok((name, code, sources))
    }

    fn source(&mut self, file: &VendorFile) -> usize {
        let source = Source {
            path: file.path.clone(),
            version: file.version.clone(),
            date: file.date.clone(),
        };
        let at = self.files.iter().position(|known| *known == source);
        at.unwrap_or_else(|| {
            self.files.push(source);
            self.files.len() - 1
        })
    }

    fn add(&mut self, table: &str, event: &str, name: String, code: EventCode, files: Vec<usize>) {
        let mut events = self.events.iter_mut();
        let same = events.find(|known| {
            known.event == event
                && known.name == name
                && known.code == code
                && known.files.is_empty() == files.is_empty()
        });
        match same {
            Some(same) => {
                same.tables.push(table.to_owned());
                same.files.extend(files);
                same.files.sort_unstable();
                same.files.dedup();
            }
            None => self.events.push(Event {
                event: event.to_owned(),
                name,
                code,
                tables: vec![table.to_owned()],
                files,
            }),
        }
    }

    /// Takes a metric from the first file of the table that has it.
    fn add_metric(&mut self, files: &[VendorFile], table: &str, name: &str) {
        let Some(published) = files.iter().find_map(|file| file.metrics.get(name)) else {
            return;
        };
        let mut metrics = self.metrics.iter_mut();
        let same = metrics.find(|known| known.name == name && known.published == *published);
        match same {
            Some(same) if same.tables.iter().any(|known| known == table) => {}
            Some(same) => same.tables.push(table.to_owned()),
            None => self.metrics.push(Metric {
                name: name.to_owned(),
                published: published.clone(),
                tables: vec![table.to_owned()],
            }),
        }
    }

    /// Returns what the vendor publishes of a metric: for this table, then for others.
    pub fn metrics_for(&self, table: &str, name: &str) -> Vec<&VendorMetric> {
        let metrics = self.metrics.iter().filter(|metric| metric.name == name);
        let (own, others): (Vec<&Metric>, Vec<&Metric>) =
            metrics.partition(|metric| metric.tables.iter().any(|known| known == table));
        let all = own.into_iter().chain(others);
        all.map(|metric| &metric.published).collect()
    }

    /// Returns the position of a table's event.
    pub fn position(&self, table: &str, event: &str) -> Result<usize> {
        let mut events = self.events.iter();
        let position = events.position(|known| {
            known.event == event && known.tables.iter().any(|known| known == table)
        });
        position.ok_or_else(|| {
            format!(
                "{table} has no published code of {event}: run `cargo xtask cpus FOLDER` with the \
                 vendors' files"
            )
        })
    }

    pub fn to_text(&self) -> String {
        let mut text = "# Made by `cargo xtask cpus` from vendors' files; see CONTRIBUTING.md.\n\
                        # file: number, version, date, path\n\
                        # event: ours, vendor's, config, counter, tables, files\n\
                        # metric: name, units, formula, sampled events, tables\n"
            .to_owned();
        for (
            at,
            Source {
                path,
                version,
                date,
            },
        ) in self.files.iter().enumerate()
        {
            text += &format!("file\t{at}\t{version}\t{date}\t{path}\n");
        }
        for event in &self.events {
            let files: Vec<String> = event.files.iter().map(usize::to_string).collect();
            text += &format!(
                "event\t{}\t{}\t{:#x}\t{}\t{}\t{}\n",
                event.event,
                event.name,
                event.code.config,
                event.code.counter,
                event.tables.join(","),
                match files.is_empty() {
                    true => "by hand".to_owned(),
                    false => files.join(","),
                },
            );
        }
        for Metric {
            name,
            published,
            tables,
        } in &self.metrics
        {
            let VendorMetric {
                formula,
                units,
                sample_events,
            } = published;
            let (samples, tables) = (sample_events.join(","), tables.join(","));
            text += &format!("metric\t{name}\t{units}\t{formula}\t{samples}\t{tables}\n");
        }
        text
    }

    pub fn read(path: &Path) -> Result<Published> {
        let text = std::fs::read_to_string(path).map_err(at(path))?;
        Published::from_text(&text).map_err(at(path))
    }

    fn from_text(text: &str) -> Result<Published> {
        let mut published = Published::default();
        let list = |text: &str| text.split(',').map(str::to_owned).collect::<Vec<_>>();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let wrong = || format!("`{line}` is not expected");
            match line.split('\t').collect::<Vec<_>>()[..] {
                ["file", _, version, date, path] => published.files.push(Source {
                    path: path.to_owned(),
                    version: version.to_owned(),
                    date: date.to_owned(),
                }),
                ["event", event, name, config, counter, tables, files] => {
                    let counters = [GENERAL, FIXED, FIXED_CYCLES];
                    let mut counters = counters.into_iter();
                    let config = config.trim_start_matches("0x");
                    published.events.push(Event {
                        event: event.to_owned(),
                        name: name.to_owned(),
                        code: EventCode {
                            config: u64::from_str_radix(config, 16).map_err(|_| wrong())?,
                            counter: counters.find(|c| *c == counter).ok_or_else(wrong)?,
                        },
                        tables: list(tables),
                        files: match files {
                            "by hand" => Vec::new(),
                            files => {
                                let files = files.split(',').map(str::parse);
                                files
                                    .collect::<std::result::Result<_, _>>()
                                    .map_err(|_| wrong())?
                            }
                        },
                    });
                }
                ["metric", name, units, formula, samples, tables] => {
                    published.metrics.push(Metric {
                        name: name.to_owned(),
                        published: VendorMetric {
                            formula: formula.to_owned(),
                            units: units.to_owned(),
                            sample_events: list(samples),
                        },
                        tables: list(tables),
                    });
                }
                _ => return Err(wrong()),
            }
        }
        Ok(published)
    }
}

/// Returns the code of an event in a file. Perf's way to name an event with a threshold,
/// `cpu/NAME,cmask=0x6/`, is understood.
fn code_of(file: &VendorFile, name: &str) -> Option<EventCode> {
    let Some(inner) = name
        .strip_prefix("cpu/")
        .and_then(|name| name.strip_suffix('/'))
    else {
        return file.events.get(name).copied();
    };
    let (name, threshold) = inner.split_once(",cmask=0x")?;
    let code = *file.events.get(name)?;
    Some(EventCode {
        config: code.config | u64::from_str_radix(threshold, 16).ok()? << 24,
        ..code
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn file(path: &str, version: &str, config: u64) -> VendorFile {
        let code = EventCode {
            config,
            counter: GENERAL,
        };
        VendorFile {
            path: path.to_owned(),
            version: version.to_owned(),
            date: "05/27/2026".to_owned(),
            events: [("BR_INST_RETIRED.ALL".to_owned(), code)].into(),
            metrics: BTreeMap::new(),
        }
    }

    fn family(of_table: &str) -> Family {
        let text = format!(
            "without_table = []\n\
             events.BRANCHES = [\"BRANCHES.ANY\", \"BR_INST_RETIRED.ALL\"]\n\
             groups = {{}}\n\
             [tables.cove]\nfiles = []\n{of_table}"
        );
        toml::from_str(&text).unwrap()
    }

    fn found(files: &[VendorFile], of_table: &str) -> Result<Published> {
        let family = family(of_table);
        let mut published = Published::default();
        let (name, code, sources) =
            published.event_in(files, &family, &family.tables["cove"], "BRANCHES")?;
        published.add("cove", "BRANCHES", name, code, sources);
        Ok(published)
    }

    #[test]
    fn event_has_its_code_and_all_files_that_agree() {
        let files = [file("a.json", "1", 0xc4), file("b.json", "2", 0xc4)];
        let published = found(&files, "").unwrap();
        assert_eq!(published.events[0].name, "BR_INST_RETIRED.ALL");
        assert_eq!(published.events[0].code.config, 0xc4);
        assert_eq!(published.events[0].files, [0, 1]);
        let text = published.to_text();
        assert!(text.contains("file\t1\t2\t05/27/2026\tb.json\n"), "{text}");
        assert_eq!(Published::from_text(&text).unwrap().to_text(), text);
    }

    #[test]
    fn contradictions_are_errors_that_name_the_files() {
        let error = |files: &[VendorFile], of_table| found(files, of_table).err().unwrap();
        let files = [file("a.json", "1", 0xc4), file("b.json", "2", 0x1c4)];
        assert_eq!(
            error(&files, ""),
            "BRANCHES is 0xc4 in a.json and 0x1c4 in b.json"
        );
        assert_eq!(
            error(&files[..1], "by_hand.BRANCHES = 0xc4"),
            "BRANCHES is by hand, but a.json has it now"
        );
        assert!(error(&[], "").contains("BR_INST_RETIRED.ALL"));
        let by_hand = found(&[], "by_hand.BRANCHES = 0xc4").unwrap();
        assert!(by_hand.to_text().ends_with("\tby hand\n"));
    }
}
