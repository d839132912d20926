//! Reads what `perf script` prints of a group that was recorded with its counts (`perf record -e
//! '{…}:S'`): where the program was at each PMU sample, and what was counted before it.
//!
//! perf prints a line for each event of the group, all of them with the time and the address of the
//! PMU sample. `period` is what the event counted since its previous PMU sample. An event that
//! counted nothing has no line.
//!
//! Source: Linux, tools/perf/util/session.c (`deliver_sample_value`), tools/perf/builtin-script.c.

use std::collections::HashMap;

use super::execution::{Count, Execution, Located, ToolSample};
use super::problem::Problem;

const TOOL: &str = "perf-script";

/// The command that prints what is needed.
const FIELDS: &str = "`perf script -F comm,tid,time,period,event,ip,sym,dso`";

/// A line, in parts.
struct Line<'a> {
    thread: &'a str,
    time: &'a str,
    period: u64,
    event: &'a str,
    /// The address, the symbol, and the file.
    location: &'a str,
}

impl<'a> Line<'a> {
    /// Returns `None` for a line of another kind.
    fn parse(line: &'a str) -> Option<Line<'a>> {
        // The name of the program may contain anything.
        let mut rest = line;
        let mut thread = None;
        let time = loop {
            let word = rest.split_whitespace().next()?;
            let at = rest.find(word)? + word.len();
            rest = &rest[at..];
            match time_in(word) {
                Some(time) => break time,
                // A CPU in brackets may come between the thread and the time.
                None if word.starts_with('[') => {}
                None => thread = Some(word),
            }
        };
        let (period, rest) = rest.trim_start().split_once(' ')?;
        let rest = rest.trim_start();
        let (event, location) = match rest.split_once(": ") {
            Some(parts) => parts,
            None => (rest.trim_end().strip_suffix(':')?, ""),
        };
        Some(Line {
            thread: thread?,
            time,
            period: period.parse().ok()?,
            event: event.trim(),
            location: location.trim(),
        })
    }

    /// Returns the function and its file.
    fn function(&self) -> (Option<String>, Option<String>) {
        let symbol = self
            .location
            .split_once(' ')
            .map_or("", |(_, symbol)| symbol.trim());
        // C++ has parentheses in names, too.
        let file = symbol.rfind(" (/").or_else(|| symbol.rfind(" (["));
        let (symbol, module) = match file {
            Some(at) => (&symbol[..at], symbol[at + 2..].strip_suffix(')')),
            None => (symbol, None),
        };
        let symbol = symbol.trim();
        let symbol = match symbol.rsplit_once("+0x") {
            Some((name, offset)) if offset.bytes().all(|b| b.is_ascii_hexdigit()) => name,
            _ => symbol,
        };
        let name = without_hash(symbol);
        let is_known = !name.is_empty() && name != "[unknown]";
        let module = module.filter(|module| *module != "[unknown]");
        let file_name = module.map(|module| match module.starts_with('/') {
            true => module.rsplit('/').next().unwrap_or(module).to_owned(),
            false => module.to_owned(),
        });
        (is_known.then(|| name.to_owned()), file_name)
    }
}

/// Returns the seconds of `12.345678:`.
fn time_in(word: &str) -> Option<&str> {
    let number = word.strip_suffix(':')?;
    let (seconds, part) = number.split_once('.')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    (digits(seconds) && digits(part)).then_some(number)
}

/// Removes the hash at the end of a Rust symbol.
fn without_hash(symbol: &str) -> &str {
    const DIGITS: usize = 16;
    match symbol.rsplit_once("::h") {
        Some((name, hash))
            if hash.len() == DIGITS && hash.bytes().all(|b| b.is_ascii_hexdigit()) =>
        {
            name
        }
        _ => symbol,
    }
}

/// Returns whether the line is one of a PMU sample.
pub fn is_line(line: &str) -> bool {
    Line::parse(line).is_some()
}

/// Reads a file.
///
/// # Errors
/// Returns what is wrong with it, and where.
pub fn read(text: &str) -> Result<Execution, Located> {
    let mut events: Vec<Count> = Vec::new();
    let mut samples: Vec<ToolSample> = Vec::new();
    let mut last_of_thread: HashMap<&str, (Option<String>, Option<String>)> = HashMap::new();
    let mut current = None;
    let (mut first_ns, mut last_ns) = (u64::MAX, 0);
    let mut lost = 0_u64;
    for (number, line) in (1..).zip(text.lines()) {
        let at = |problem: String| (Some(number), Problem::malformed(problem));
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        if line.contains("PERF_RECORD_") {
            let count = line
                .split_once("PERF_RECORD_LOST lost ")
                .map(|(_, count)| count.trim());
            let count = count.and_then(|count| count.parse().ok());
            lost = lost.saturating_add(count.unwrap_or(0));
            // What was counted meanwhile belongs to nothing that is known.
            last_of_thread.clear();
            continue;
        }
        let Some(found) = Line::parse(line) else {
            return Err(at(format!("is not a line of {FIELDS}")));
        };
        if found.location.is_empty() {
            let what = "has no address; call chains are not read: add `-G` to `perf script`";
            return Err(at(format!("{what}, and print it with {FIELDS}")));
        }
        let time = time_ns(found.time).ok_or_else(|| at("has no time".to_owned()))?;
        (first_ns, last_ns) = (first_ns.min(time), last_ns.max(time));
        let event = events.iter().position(|event| event.name == found.event);
        let event = event.unwrap_or_else(|| {
            events.push(Count {
                name: found.event.to_owned(),
                line: number,
                count: Ok(0),
                running_ns: None,
            });
            events.len() - 1
        });
        let key = (found.thread, found.time, found.location);
        let is_next = current != Some(key)
            || samples
                .last()
                .is_some_and(|hit| hit.counts.get(event).is_some_and(|count| *count > 0));
        if is_next {
            current = Some(key);
            let function = found.function();
            let before = last_of_thread.insert(found.thread, function.clone());
            samples.push(ToolSample {
                is_inside: before.is_some_and(|before| before == function),
                function: function.0,
                module: function.1,
                counts: Vec::new(),
            });
        }
        let counts = &mut samples.last_mut().expect("one was pushed").counts;
        counts.resize(counts.len().max(event + 1), 0);
        counts[event] = found.period;
    }
    for hit in &mut samples {
        hit.counts.resize(events.len(), 0);
        for (event, more) in events.iter_mut().zip(&hit.counts) {
            event.count = event.count.clone().map(|count| count.saturating_add(*more));
        }
    }
    if samples.is_empty() {
        return Err((None, Problem::Empty));
    }
    Ok(Execution {
        tool: TOOL,
        counts: events,
        wall_ns: (last_ns > first_ns).then(|| last_ns - first_ns),
        samples,
        lost_samples: lost,
        ..Execution::default()
    })
}

/// Reads seconds with six or nine digits behind the point.
fn time_ns(text: &str) -> Option<u64> {
    let (seconds, part) = text.split_once('.')?;
    let digits = u32::try_from(part.len())
        .ok()
        .filter(|digits| *digits <= 9)?;
    let part = part.parse::<u64>().ok()? * 10_u64.pow(9 - digits);
    seconds
        .parse::<u64>()
        .ok()?
        .checked_mul(1_000_000_000)?
        .checked_add(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# captured on: today
my tool  4242  10.000001:       1200 slots:u:      55d0c0ffee10 work::hot::h0123456789abcdef+0x10 (/usr/bin/my tool)
my tool  4242  10.000001:        200 cycles:u:      55d0c0ffee10 work::hot::h0123456789abcdef+0x10 (/usr/bin/my tool)
my tool  4242  10.000002:        600 slots:u:      55d0c0ffee14 work::hot::h0123456789abcdef+0x14 (/usr/bin/my tool)
my tool  4243 [001] 10.000002:        300 slots:u:      7f00 operator new(unsigned long) (/lib/libc++.so.1)
my tool  4243 [001] 10.000002:         50 cycles:u:      7f00 operator new(unsigned long) (/lib/libc++.so.1)
my tool  4242  10.000501:        700 slots:u:      ffff [unknown] ([unknown])
";

    #[test]
    fn lines_of_one_pmu_sample_are_grouped() {
        let execution = read(TEXT).unwrap();
        let counts: Vec<(&str, Option<u64>)> = execution
            .counts
            .iter()
            .map(|count| (&*count.name, count.count.clone().ok()))
            .collect();
        assert_eq!(counts, [("slots:u", Some(2800)), ("cycles:u", Some(250))]);
        assert_eq!(execution.wall_ns, Some(500_000));
        let samples: Vec<_> = execution
            .samples
            .iter()
            .map(|hit| {
                let (function, module) = (hit.function.as_deref(), hit.module.as_deref());
                (function, module, hit.is_inside, &hit.counts[..])
            })
            .collect();
        let (hot, tool) = (Some("work::hot"), Some("my tool"));
        let new = Some("operator new(unsigned long)");
        assert_eq!(
            samples,
            [
                (hot, tool, false, &[1200, 200][..]),
                (hot, tool, true, &[600, 0]),
                (new, Some("libc++.so.1"), false, &[300, 50]),
                (None, None, false, &[700, 0]),
            ]
        );
    }

    #[test]
    fn lost_pmu_samples_break_the_order() {
        let lost = TEXT.replace(
            "my tool  4242  10.000002",
            "my tool     0     0.000000: PERF_RECORD_LOST lost 7\nmy tool  4242  10.000002",
        );
        let execution = read(&lost).unwrap();
        assert_eq!(execution.lost_samples, 7);
        assert!(execution.samples.iter().all(|hit| !hit.is_inside));
    }

    #[test]
    fn foreign_lines_are_refused_with_remedy() {
        let problem = |text: &str| {
            let (line, problem) = read(text).unwrap_err();
            (line, problem.to_string())
        };
        let (line, chain) = problem("tool 1 10.000001: 12 slots:\n\t55d0 f\n");
        assert!(line == Some(1) && chain.contains("add `-G`"), "{chain}");
        let (line, other) = problem(&format!("{TEXT}hello\n"));
        assert!(
            line == Some(8) && other.contains("is not a line of"),
            "{other}"
        );
        assert_eq!(problem("# nothing\n").1, Problem::Empty.to_string());
    }

    #[test]
    fn only_pmu_samples_are_recognized() {
        assert!(is_line(TEXT.lines().nth(1).unwrap()));
        for line in [
            "S0-D0-C0,1,,slots",
            "{\"event\": 1}",
            "1.5,,slots:u,100,100.0",
            "a 1.0: b",
        ] {
            assert!(!is_line(line), "{line}");
        }
    }
}
