//! One sentence of advice for each subject of a metric group.

use criterion_topdown::cpu::Subject;

/// Returns what to try if the numbers of a group are high.
pub fn advice(subject: Subject) -> &'static str {
    match subject {
        Subject::Level2 => {
            "These are the parts of the category; look at the groups of the larger one."
        }
        Subject::Branches => {
            "Above some 5 mispredicts per 1000 instructions: sort or group the data, use a table or \
             arithmetic in place of a branch that depends on data, and fewer targets for indirect calls."
        }
        Subject::Clears => {
            "Clears come from loads that pass older stores to the same place, from threads that share a \
             cache line, and from denormal numbers: separate what is written from what is read."
        }
        Subject::InstructionTlb => {
            "The code is spread over too many pages: keep hot functions together (profile-guided \
             optimisation, fewer instantiations), or put the code on huge pages."
        }
        Subject::InstructionCache => {
            "The hot code is larger than the cache: mark rare paths `#[cold]`, inline less, and \
             instantiate generic code less often."
        }
        Subject::DecodedCache => {
            "Many micro-operations come from the decoders: make hot loops smaller, unroll less, and look \
             at how they are aligned."
        }
        Subject::DataTlb => {
            "The data is spread over too many pages: touch fewer of them per iteration, order accesses by \
             address, or use huge pages."
        }
        Subject::DataCache => {
            "The data of an iteration does not fit the first cache: make it denser (smaller types, arrays \
             of fields), and work on blocks that fit."
        }
        Subject::L2Cache => {
            "Much goes beyond the second level: block the work to fit it, and access memory in an order that \
             the prefetchers follow."
        }
        Subject::LastLevelCache => {
            "Much comes from memory: read less of it, make dependent loads independent (batches in place of \
             chains), and prefetch what is known early."
        }
        Subject::Stalls => {
            "The largest part says what to look at first; the groups below measure it."
        }
        Subject::OperationMix => {
            "Compare with what the algorithm needs: vectorise, replace divisions, break chains of dependent \
             operations, and remove copies."
        }
        Subject::Other => "The telemetry specification describes these metrics.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use criterion_topdown::cpu::TABLES;

    #[test]
    fn advice_is_one_sentence() {
        for group in TABLES.iter().flat_map(|table| table.groups) {
            let sentence = advice(group.subject);
            assert!(sentence.ends_with('.'), "{sentence}");
            assert!(!sentence.contains(". "), "{sentence}");
        }
    }
}
