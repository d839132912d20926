//! What to try about the numbers of a metric group: each sentence has the threshold at which it is
//! true.

use criterion_topdown::cpu::Subject;

use crate::explained::MeasuredGroup;

/// What a group's numbers say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// They are high enough for this sentence.
    Try(&'static str),
    /// They are too low for this to be the cause.
    RuledOut(&'static str),
    /// There is nothing to say, or nothing was measured.
    Nothing,
}

/// A row of the table.
struct Row {
    subject: Subject,
    /// The least misses or mispredicts per 1000 instructions that can be the cause, in the first
    /// metric of that unit. Without one, the sentence only says how to read the numbers.
    least_per_1000: Option<f64>,
    /// The cause, as it is ruled out.
    cause: &'static str,
    sentence: &'static str,
}

const UNIT: &str = "per 1000 instructions";

const ROWS: [Row; 13] = [
    row(Subject::Level2, None, "", "Look at the larger part first."),
    row(
        Subject::Branches,
        Some(5.0),
        "mispredicts",
        "Branches are mispredicted: sort or group the data, replace branches that depend on data \
         with a table or arithmetic, and give indirect calls fewer targets.",
    ),
    row(
        Subject::Clears,
        Some(0.5),
        "machine clears",
        "The pipeline is cleared: separate what is written from what is read soon after, and avoid \
         cache lines that threads share, and denormal numbers.",
    ),
    row(
        Subject::InstructionTlb,
        Some(0.5),
        "instruction TLB",
        "The code is spread over too many pages: keep hot functions together (profile-guided \
         optimisation, fewer instantiations), or put the code on huge pages.",
    ),
    row(
        Subject::InstructionCache,
        Some(5.0),
        "instruction cache",
        "The hot code is larger than the cache: mark rare paths `#[cold]`, inline less, and \
         instantiate generic code less often.",
    ),
    row(
        Subject::DecodedCache,
        None,
        "",
        "If many micro-operations come from the decoders, make hot loops smaller and unroll less.",
    ),
    row(
        Subject::DataTlb,
        Some(1.0),
        "data TLB",
        "The data is spread over too many pages: touch fewer of them per iteration, order accesses \
         by address, or use huge pages.",
    ),
    row(
        Subject::DataCache,
        Some(10.0),
        "first-level cache",
        "The data of an iteration does not fit into the first-level cache: make it denser (smaller \
         types, arrays of fields), and work on blocks that fit.",
    ),
    row(
        Subject::L2Cache,
        Some(5.0),
        "second-level cache",
        "Many accesses go beyond the second level: block the work to fit it, and access memory in \
         an order that the prefetchers follow.",
    ),
    row(
        Subject::LastLevelCache,
        Some(1.0),
        "memory",
        "Much of the data comes from memory: read less of it, make dependent loads independent \
         (batches in place of chains), and prefetch what is known early.",
    ),
    row(
        Subject::Stalls,
        None,
        "",
        "Look at the largest part first; the groups below measure it.",
    ),
    row(
        Subject::OperationMix,
        None,
        "",
        "Compare with what the algorithm needs: vectorise, replace divisions, break chains of \
         dependent operations, and remove copies.",
    ),
    row(
        Subject::Other,
        None,
        "",
        "The telemetry specification describes these metrics.",
    ),
];

const fn row(
    subject: Subject,
    least_per_1000: Option<f64>,
    cause: &'static str,
    sentence: &'static str,
) -> Row {
    Row {
        subject,
        least_per_1000,
        cause,
        sentence,
    }
}

/// Returns what the numbers of `measured` say.
pub fn advice(measured: &MeasuredGroup) -> Advice {
    let Some(row) = ROWS
        .iter()
        .find(|row| row.subject == measured.group.subject)
    else {
        return Advice::Nothing;
    };
    let Some(least) = row.least_per_1000 else {
        return Advice::Try(row.sentence);
    };
    let mut rates = measured.metrics().filter(|(metric, _)| metric.unit == UNIT);
    match rates.next() {
        Some((_, Some(rate))) if rate >= least => Advice::Try(row.sentence),
        Some((_, Some(_))) => Advice::RuledOut(row.cause),
        _ => Advice::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use criterion_topdown::cpu::{MODELLED, TABLES};

    fn of_model(name: &str, values: &[f64]) -> Advice {
        let group = MODELLED.group(name).unwrap();
        let values = Ok(values.iter().copied().map(Some).collect());
        advice(&MeasuredGroup { group, values })
    }

    #[test]
    fn every_subject_has_one_sentence() {
        for group in TABLES.iter().flat_map(|table| table.groups) {
            let rows = ROWS.iter().filter(|row| row.subject == group.subject);
            let [row] = rows.collect::<Vec<_>>()[..] else {
                panic!("{:?}", group.subject);
            };
            assert!(row.sentence.ends_with('.'), "{}", row.sentence);
            assert!(!row.sentence.contains(". "), "{}", row.sentence);
        }
    }

    #[test]
    fn issue_17_3_a_sentence_is_only_given_where_the_numbers_bear_it_out() {
        // A chain of divisions.
        let divisions = of_model("L1D_Cache_Effectiveness", &[0.0]);
        assert_eq!(divisions, Advice::RuledOut("first-level cache"));
        // A chase that stays in the first cache.
        let resident = of_model("DTLB_Effectiveness", &[0.0]);
        assert_eq!(resident, Advice::RuledOut("data TLB"));
        // A chase through memory.
        let far = of_model("LL_Cache_Effectiveness", &[400.0, 25.0, 0.0]);
        assert!(matches!(far, Advice::Try(text) if text.contains("from memory")));
        let none = MeasuredGroup {
            group: MODELLED.group("DTLB_Effectiveness").unwrap(),
            values: Ok(vec![None]),
        };
        assert_eq!(advice(&none), Advice::Nothing);
    }
}
