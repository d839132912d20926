//! Words about the lines of a listing, as every report has them.

use topdown_explain::listing::{
    Alignment, CacheLevel, Cause, ComparedFunction, ComparedLine, ListedFunction,
    ListedInstruction, ListedSlots, Listing, ListingComparison, WithoutText,
};
use topdown_run::provenance::SourceKind;
use topdown_run::run_file::SourceLine;
use topdown_terminal::count_of;

use super::function_rows::{label_of, plus_minus};
use super::number::{percent, percent_change, slots};

/// The slots of code outside of the workspace that a line calls.
pub const CALLED: &str = "  in code that it calls";

/// Returns what an instruction waits for.
pub fn cause_in_words(cause: Cause) -> String {
    let per_execution = |rate: f64| match rate {
        0.01.. => format!("{rate:.2} per execution"),
        _ => format!("once in {:.0} executions", 1.0 / rate),
    };
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
    let how = match line.reason() {
        _ if line.executes_nothing() => "executes nothing itself".to_owned(),
        _ if line.is_changed_in_calls() => "code that it calls".to_owned(),
        (Alignment::New, _) => "new instructions".to_owned(),
        (Alignment::Gone, _) => "instructions are gone".to_owned(),
        (Alignment::Moved, None) => "moved instructions".to_owned(),
        (Alignment::Same | Alignment::Moved, Some(cause)) => cause_in_words(cause),
        (Alignment::Same, None) => String::new(),
    };
    match (line.is_edited, how.is_empty()) {
        (false, _) => how,
        (true, true) => "edited".to_owned(),
        (true, false) => format!("edited; {how}"),
    }
}

/// Returns the change of a telling line and its slots before and after, with those of the code that
/// it calls; empty if there are none.
pub fn telling_slots(line: &ComparedLine) -> [String; 3] {
    if line.executes_nothing() {
        return [const { String::new() }; 3];
    }
    let [before, after] = [0, 1].map(|side| slots(line.slots_with_calls(side)));
    [signed(line.change_with_calls()), before, after]
}

/// Returns the name of a telling line's function.
pub fn telling_function(function: Option<&ComparedFunction>) -> String {
    function.map_or_else(String::new, |function| {
        function_label(&function.name, &function.module)
    })
}

/// Returns where a line is, and its text.
pub fn line_words(at: Option<&SourceLine>, text: Option<&String>) -> String {
    let place = at.map_or_else(|| "unknown line".to_owned(), ToString::to_string);
    let text = text.map_or("", |text| text.trim());
    format!("{place}  {text}").trim_end().to_owned()
}

/// Returns where a line is on one side, and its text; empty if it is not there.
pub fn side_words(line: &ComparedLine, side: usize) -> String {
    let at = line.at[side].as_ref();
    at.map_or_else(String::new, |at| {
        line_words(Some(at), line.text[side].as_ref())
    })
}

/// Returns where a line is and its text, on the side that still has it.
pub fn line_in_words(line: &ComparedLine) -> String {
    let side = usize::from(line.at[1].is_some() || line.at[0].is_none());
    line_words(line.at[side].as_ref(), line.text[side].as_ref())
}

/// Returns an instruction, indented, and the function of the standard library that it is from.
pub fn instruction_words(one: &ListedInstruction) -> String {
    let from = one.inlined.as_deref();
    let from = from.map_or(String::new(), |name| format!("  ; {name}"));
    format!("  {:x}  {}{from}", one.address, one.text)
}

/// Returns the categories of slots in percent of them; empty if they are unknown or there are none.
pub fn category_words(listing: &Listing, slots: &ListedSlots) -> [String; 4] {
    let total = slots.total();
    let is_known = listing.sampled.is_none() && total > 0.0;
    slots.level1.into_array().map(|part| match is_known {
        true => format!("{:.0}", 100.0 * part / total),
        false => String::new(),
    })
}

/// Returns a cause, if there is one.
pub fn why_words(why: Option<Cause>) -> String {
    why.map_or_else(String::new, cause_in_words)
}

/// Returns the slots of both sides and their change.
pub fn change_words(comparison: &ListingComparison, arrow: &str) -> String {
    let [before, after] = &comparison.sides;
    let change = comparison.change() / before.slots.max(f64::MIN_POSITIVE);
    format!(
        "{} {arrow} {} ({})",
        slots(before.slots),
        title_of(after),
        percent_change(change)
    )
}

/// Returns a change of slots with its sign.
pub fn signed(change: f64) -> String {
    let sign = if change < 0.0 { "-" } else { "+" };
    format!("{sign}{}", slots(change.abs()))
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
pub fn notes_of(listing: &Listing) -> Vec<String> {
    const OWNERS: &str = "Retiring and frontend bound slots belong to the instruction that was \
                          issued, bad speculation to the branch or load that caused it, backend \
                          bound to the oldest instruction in flight";
    let mut notes = Vec::new();
    let provenance = &listing.provenance;
    notes.push(match (provenance.source, provenance.sampled_units) {
        (SourceKind::Model, None) => {
            format!("exact: each slot of the modelled core belongs to one instruction. {OWNERS}")
        }
        (SourceKind::Model, Some(units)) => format!(
            "estimated from {units} short parts of an iteration, which is too long to be modelled \
             whole: lines with few slots have large errors. {OWNERS}"
        ),
        (SourceKind::Hardware | SourceKind::Time, _) => {
            "sampled: an interrupt finds the instruction after the one that was slow; ± is half of \
             the 95 % interval. PMU samples show neither categories of single lines nor what they \
             wait for"
                .to_owned()
        }
    });
    notes.extend(listing.without_text.map(|why| {
        match why {
            WithoutText::NoFile => "some lines have no text because their source file is not there",
            WithoutText::Changed => {
                "some lines have no text because their source file is not the one that was compiled"
            }
            WithoutText::NoDebugInformation => {
                "lines are unknown where the bench has no debug information; build with \
                 CARGO_PROFILE_BENCH_DEBUG=line-tables-only"
            }
        }
        .to_owned()
    }));
    if !listing.has_instructions {
        let note = "instructions are disassembled for x86-64 alone, so only lines are shown";
        notes.push(note.to_owned());
    }
    notes
}

/// Returns the notes of both sides, each once.
pub fn notes_of_sides(sides: &[Listing; 2]) -> Vec<String> {
    let mut notes = notes_of(&sides[1]);
    let before = notes_of(&sides[0]).into_iter();
    let others: Vec<String> = before.filter(|note| !notes.contains(note)).collect();
    notes.extend(others.into_iter().map(|note| format!("before: {note}")));
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listing_examples::decode;

    #[test]
    fn causes_are_phrases() {
        for (cause, words) in [
            (
                Cause::Misses(CacheLevel::L2, 0.714),
                "misses the L2: 0.71 per execution",
            ),
            (Cause::Mispredicted(0.5), "mispredicted: 0.50 per execution"),
            (
                Cause::Mispredicted(0.0025),
                "mispredicted: once in 400 executions",
            ),
            (Cause::Port, "waits for a port"),
        ] {
            assert_eq!(cause_in_words(cause), words);
        }
    }

    #[test]
    fn estimate_is_not_called_exact() {
        let exact = decode(0.0);
        let mut estimated = decode(400.0);
        estimated.provenance.sampled_units = Some(1107);
        assert!(notes_of(&exact)[0].starts_with("exact: "));
        let notes = notes_of(&estimated);
        assert!(
            notes[0].starts_with("estimated from 1107 short parts"),
            "{notes:?}"
        );
        assert!(!notes.concat().contains("exact"), "{notes:?}");
        let both = notes_of_sides(&[exact.clone(), estimated]);
        assert_eq!(both.len(), 2);
        assert!(both[1].starts_with("before: exact: "), "{both:?}");
        assert_eq!(notes_of_sides(&[exact.clone(), exact]).len(), 1);
    }

    #[test]
    fn edits_and_calls_are_reasons() {
        let unexecuted = ComparedLine {
            is_edited: true,
            ..ComparedLine::default()
        };
        assert_eq!(
            reason_in_words(&unexecuted),
            "edited; executes nothing itself"
        );
        let mut calls = unexecuted;
        calls.called[1].level1.retiring = 40.0;
        assert_eq!(reason_in_words(&calls), "edited; code that it calls");
        calls.is_edited = false;
        assert_eq!(reason_in_words(&calls), "code that it calls");
    }
}
