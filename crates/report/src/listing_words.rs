//! Words about the lines of a listing, as every report has them.

use topdown_explain::listing::{
    Alignment, CacheLevel, Cause, ComparedLine, ListedFunction, ListedSlots, Listing, WithoutText,
};
use topdown_run::provenance::SourceKind;
use topdown_run::run_file::SourceLine;
use topdown_terminal::count_of;

use super::function_rows::{label_of, plus_minus};
use super::number::{percent, slots};

/// Returns what an instruction waits for.
pub fn cause_in_words(cause: Cause) -> String {
    let per_execution = |rate: f64| format!("{rate:.2} per execution");
    match cause {
        Cause::Misses(level, rate) => {
            let level = match level {
                CacheLevel::L1 => "L1",
                CacheLevel::L2 => "L2",
                CacheLevel::L3 => "L3",
            };
            format!("misses the {level}: {}", per_execution(rate))
        }
        Cause::PageWalks(rate) => format!("page walks: {}", per_execution(rate)),
        Cause::Mispredicted(rate) => format!("mispredicted: {}", per_execution(rate)),
        Cause::Cleared => "ran before a store to its address".to_owned(),
        Cause::AfterMispredict => "refill after a mispredicted branch".to_owned(),
        Cause::CodeMisses(rate) => format!("code misses the L1: {}", per_execution(rate)),
        Cause::Delivery => "the frontend delivers too little".to_owned(),
        Cause::StoreQueue => "the store queue is full".to_owned(),
        Cause::Port => "waits for a port".to_owned(),
        Cause::Operands => "waits for its operands".to_owned(),
        Cause::Backend => "waits for older instructions".to_owned(),
        Cause::MoreExecutions => "executed more often".to_owned(),
    }
}

/// Returns how the change of a line came about.
pub fn reason_in_words(line: &ComparedLine) -> String {
    match line.reason() {
        (Alignment::New, _) => "new instructions".to_owned(),
        (Alignment::Gone, _) => "instructions are gone".to_owned(),
        (Alignment::Moved, None) => "moved instructions".to_owned(),
        (Alignment::Same | Alignment::Moved, Some(cause)) => cause_in_words(cause),
        (Alignment::Same, None) => String::new(),
    }
}

/// Returns where a line is.
pub fn place_of(at: Option<&SourceLine>) -> String {
    at.map_or_else(|| "unknown line".to_owned(), ToString::to_string)
}

/// Returns the name of a function.
pub fn function_label(name: &Option<String>, module: &Option<String>) -> String {
    label_of(name, module)
}

/// Returns what a listing is of.
pub fn title_of(listing: &Listing) -> String {
    let how = match listing.sampled {
        Some(sampled) => count_of(sampled.hits, "PMU sample"),
        None => listing.provenance.reason.clone(),
    };
    format!("{} slots per iteration, {how}", slots(listing.slots))
}

/// Returns a share of the benchmark's slots, with its error if it was sampled.
pub fn share_of(listing: &Listing, of: &ListedSlots, unicode: bool) -> String {
    let share = percent(of.total() / listing.slots.max(f64::MIN_POSITIVE));
    match listing.margin(of) {
        Some(margin) => format!("{share} {} {}", plus_minus(unicode), percent(margin)),
        None => share,
    }
}

/// Returns the functions into which a function is inlined; empty if it is not.
pub fn inlined_into(function: &ListedFunction) -> String {
    let callers = function.inlined_into.iter();
    let callers: Vec<String> = callers
        .map(|name| function_label(&Some(name.clone()), &None))
        .collect();
    match callers.is_empty() {
        true => String::new(),
        false => format!("inlined into {}", callers.join(" > ")),
    }
}

/// Returns what the reader of a listing needs to know.
pub fn notes_of(listing: &Listing) -> Vec<&'static str> {
    let mut notes = Vec::new();
    notes.push(match listing.provenance.source {
        SourceKind::Model => {
            "exact: each slot of the modelled core belongs to one instruction. Retiring and \
             frontend bound slots belong to the instruction that was issued, bad speculation to \
             the branch or load that caused it, backend bound to the oldest instruction in flight"
        }
        SourceKind::Hardware | SourceKind::Time => {
            "sampled: an interrupt finds the instruction after the one that was slow; ± is half of \
             the 95 % interval. PMU samples show neither categories of single lines nor what they \
             wait for"
        }
    });
    notes.extend(listing.without_text.map(|why| match why {
        WithoutText::NoFile => "some lines have no text because their source file is not there",
        WithoutText::Changed => {
            "some lines have no text because their source file is not the one that was compiled"
        }
        WithoutText::NoDebugInformation => {
            "lines are unknown where the bench has no debug information; build with \
             CARGO_PROFILE_BENCH_DEBUG=line-tables-only"
        }
    }));
    if !listing.has_instructions {
        notes.push("instructions are disassembled for x86-64 alone, so only lines are shown");
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_phrases() {
        for (cause, words) in [
            (
                Cause::Misses(CacheLevel::L2, 0.714),
                "misses the L2: 0.71 per execution",
            ),
            (Cause::Mispredicted(0.5), "mispredicted: 0.50 per execution"),
            (Cause::Port, "waits for a port"),
        ] {
            assert_eq!(cause_in_words(cause), words);
        }
    }
}
