//! A digest of what the model receives: everything that the slots of a process depend on.
//!
//! Launches with equal digests have equal slots, and a digest costs a hundredth of modelling. So
//! the first launch is modelled, and the next one only shows that it repeats.

use topdown_core_model::AddressSpace;
use topdown_tracer::{Address, Block, Mapping};

use super::content::{content_of, mix};
use topdown_run::code;
use topdown_run::event::Events;

/// Bytes of a page: mappings consist of whole ones.
const PAGE_BYTES: u64 = 4096;
/// A repeated string instruction advances to multiples of at most this many bytes.
const STRING_STEP_BYTES: u64 = 64;
/// Recently accessed lines are found by the program's address bits below this, not the model's.
const RECENT_BYTES: u64 = 16 * 1024;

/// Kinds of events, so that different sequences with equal values have different hashes.
#[derive(Clone, Copy)]
enum DigestTag {
    Translated = 1,
    WindowBegan,
    WindowEnded,
    SampleEnded,
    ThreadSwitched,
}

/// A block.
#[derive(Clone, Copy)]
struct Known {
    /// A hash of its instructions and their places.
    content: u64,
    /// Whether a string instruction is repeated.
    has_repeat: bool,
}

/// The digest of a process so far. All memory is reserved on creation.
pub(super) struct Digest {
    executed: u64,
    /// By block number.
    blocks: Vec<Known>,
    /// The places of all memory since the process began, as in the model.
    address_space: AddressSpace,
    is_whole: bool,
    samples: u32,
}

impl Digest {
    /// Reserves room for this many blocks.
    pub(super) fn new(blocks: usize) -> Digest {
        Digest::with_mappings(blocks, Mapping::at)
    }

    fn with_mappings(
        blocks: usize,
        mapping_at: impl Fn(u64) -> Option<Mapping> + 'static,
    ) -> Digest {
        Digest {
            executed: 0,
            blocks: Vec::with_capacity(blocks),
            address_space: AddressSpace::with_mappings(mapping_at),
            is_whole: true,
            samples: 0,
        }
    }

    pub(super) fn translated(&mut self, block: &Block<'_>) {
        if self.blocks.len() == self.blocks.capacity() || block.id.index() != self.blocks.len() {
            self.lose();
            return;
        }
        let mut hash = content_of(block);
        for instruction in block.instructions {
            // How a branch is encoded is not part of its content.
            hash = mix(hash, instruction.decoded.len() as u64);
            hash = mix(
                hash,
                self.address_space.model_address(instruction.decoded.ip()),
            );
        }
        self.happened(DigestTag::Translated);
        self.add(hash);
        self.blocks.push(Known {
            content: hash,
            has_repeat: block.instructions.iter().any(|it| it.repeat.is_some()),
        });
    }

    /// The next blocks are executed by this thread.
    pub(super) fn switch_to(&mut self, thread: usize) {
        self.happened(DigestTag::ThreadSwitched);
        self.add(thread as u64);
    }

    #[inline]
    pub(super) fn block(&mut self, block: &Block<'_>, recorded: &[u64]) {
        let Some(&known) = self.blocks.get(block.id.index()) else {
            self.lose();
            return;
        };
        let mut hash = mix(self.executed, known.content);
        for access in block.accesses {
            match access.address {
                Address::Fixed(address) => {
                    hash = mix(hash, self.address_space.model_address(address))
                }
                Address::Recorded { .. } => {
                    let address = access.address.first(recorded).unwrap_or(0);
                    hash = mix(hash, self.address_space.model_address(address));
                }
                Address::Elements(elements) => {
                    for address in elements.addresses(recorded) {
                        hash = mix(hash, self.address_space.model_address(address));
                    }
                    // Separates one from the next.
                    hash = mix(hash, u64::MAX);
                }
            }
        }
        self.executed = hash;
        if known.has_repeat {
            self.repeat(block, recorded);
        }
    }

    /// Adds how often string instructions repeat, and all pages that they access.
    #[inline(never)]
    fn repeat(&mut self, block: &Block<'_>, recorded: &[u64]) {
        for instruction in block.instructions {
            let Some(repeat) = instruction.repeat else {
                continue;
            };
            let iterations = repeat.iterations(recorded);
            self.add(iterations);
            for access in block.accesses_of(instruction) {
                let start = access.address.first(recorded).unwrap_or(0);
                self.add(start % STRING_STEP_BYTES);
                let bytes = iterations.saturating_mul(access.size_bytes.into());
                let mut offset = 0;
                while offset < bytes {
                    let place = self.address_space.model_address(start.wrapping_add(offset));
                    self.add(place);
                    offset += PAGE_BYTES - start.wrapping_add(offset) % PAGE_BYTES;
                }
            }
        }
    }

    pub(super) fn begin_window(&mut self) {
        self.happened(DigestTag::WindowBegan);
    }

    /// Ends a window with these calls of the allocator. It `is_whole` if all of it was traced, and
    /// counts as it was executed.
    pub(super) fn end_window(&mut self, is_whole: bool, events: Events<u64>) {
        self.is_whole &= is_whole;
        self.happened(DigestTag::WindowEnded);
        for (event, count) in events.iter() {
            self.add(event as u64);
            self.add(count);
        }
    }

    pub(super) fn end_sample(&mut self) {
        self.samples += 1;
        self.happened(DigestTag::SampleEnded);
    }

    /// Returns how many samples of the benchmark have ended.
    pub(super) fn samples(&self) -> u32 {
        self.samples
    }

    pub(super) fn begin_benchmark(&mut self) {
        self.samples = 0;
    }

    /// Forgets all blocks, whose numbers are assigned from 0 again.
    pub(super) fn forget_blocks(&mut self) {
        self.blocks.clear();
        self.lose();
    }

    /// Notes that part of the execution is unknown: the process has no digest.
    pub(super) fn lose(&mut self) {
        self.is_whole = false;
    }

    /// Returns the digest, unless part of the execution is unknown. `depends_on_moves` says whether
    /// the model used addresses of the program.
    pub(super) fn get(&self, depends_on_moves: bool) -> Option<code::Digest> {
        let moves = self.address_space.moves();
        let moves = moves.fold(0, |hash, moved_by| mix(hash, moved_by % RECENT_BYTES));
        self.is_whole.then_some(code::Digest {
            executed: self.executed,
            moves: depends_on_moves.then_some(moves),
            samples: self.samples,
        })
    }

    fn happened(&mut self, what: DigestTag) {
        self.add(what as u64);
    }

    #[inline]
    fn add(&mut self, value: u64) {
        self.executed = mix(self.executed, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use topdown_core_model::{Capacity, Counts, Model, cores};
    use topdown_run::event::Event;
    use topdown_tracer::{BlockId, Consumer, OwnedBlock};

    const CODE: u64 = 0x5555_0000_0000;
    const HEAP: u64 = 0x5556_0000_0000;
    const STATICS: u64 = 0x5557_0000_0000;
    const STACK: u64 = 0x7ffc_0000_0000;

    /// Input of a model and a digest.
    #[derive(Clone)]
    enum Received {
        /// A new block: its bytes and its address.
        New(Vec<u8>, u64),
        /// An executed block, with what it recorded.
        Executed(u32, Vec<u64>),
        WindowBegins,
        WindowEnds(u64),
        SampleEnds,
    }
    use Received::{Executed, New, SampleEnds, WindowBegins, WindowEnds};

    /// mov rax, [rdi+8]; add rax, [rip+0x100]; jz …
    const LOADS: [u8; 13] = [0x48, 0x8b, 0x47, 8, 0x48, 0x03, 0x05, 0, 1, 0, 0, 0x74, 5];
    /// rep stosb
    const FILLS: [u8; 2] = [0xf3, 0xaa];
    /// vpgatherdd xmm1, [rax+xmm2*4], xmm3
    const GATHERS: [u8; 6] = [0xc4, 0xe2, 0x61, 0x90, 0x0c, 0x90];
    /// push rbx; ret
    const RETURNS: [u8; 2] = [0x53, 0xc3];

    const LOADED: usize = 8;
    const FILLED: usize = 9;
    const GATHERED: usize = 10;
    const RETURNED: usize = 11;

    fn base() -> Vec<Received> {
        let mask = u64::from(u32::MAX);
        let mut received = vec![
            New(LOADS.to_vec(), CODE),
            New(FILLS.to_vec(), CODE + 0x100),
            New(GATHERS.to_vec(), CODE + 0x200),
            New(RETURNS.to_vec(), CODE + 0x300),
            WindowBegins,
            WindowEnds(0),
            SampleEnds,
            WindowBegins,
            Executed(0, vec![HEAP + 0x40]),
            Executed(1, vec![HEAP + 0x1000, 100]),
            Executed(2, vec![STATICS, 1 | 2 << 32, 3, mask << 32, 0]),
            Executed(3, vec![STACK + 0x8000]),
        ];
        for step in 0..500 {
            received.push(Executed(0, vec![HEAP + step * 24]));
            received.push(Executed(3, vec![STACK + 0x8000]));
        }
        received.extend([WindowEnds(3), SampleEnds]);
        received
    }

    /// Moves the program, whose mappings are far apart.
    fn moved(mut received: Vec<Received>, bytes: u64) -> Vec<Received> {
        for one in &mut received {
            match one {
                New(_, ip) => *ip += bytes,
                Executed(_, recorded) => {
                    for value in recorded.iter_mut().filter(|value| **value >= CODE) {
                        *value = value.wrapping_add(bytes);
                    }
                }
                _ => {}
            }
        }
        received
    }

    /// Where each mapping lies, if the program was moved by this many bytes.
    fn mapping_at(moved: u64) -> impl Fn(u64) -> Option<Mapping> + 'static {
        move |address| {
            let mut starts = [CODE, HEAP, STATICS, STACK].into_iter();
            let start = starts
                .find(|start| (start + moved..start + moved + (1 << 30)).contains(&address))?;
            Some(Mapping {
                start: start + moved,
                end: start + moved + (1 << 30),
                is_stack: start == STACK,
            })
        }
    }

    fn blocks(received: &[Received]) -> Vec<OwnedBlock> {
        let blocks = received.iter().filter_map(|one| match one {
            New(bytes, ip) => Some(OwnedBlock::describe(bytes, *ip).unwrap()),
            _ => None,
        });
        blocks.collect()
    }

    fn digest(received: &[Received], moved: u64) -> code::Digest {
        let blocks = blocks(received);
        let block = |number: u32| blocks[number as usize].as_block(BlockId(number));
        let mut digest = Digest::with_mappings(100, mapping_at(moved));
        let mut numbers = 0..;
        for one in received {
            match one {
                New(..) => digest.translated(&block(numbers.next().unwrap())),
                Executed(number, recorded) => {
                    assert_eq!(recorded.len(), block(*number).recorded_values);
                    digest.block(&block(*number), recorded);
                }
                WindowBegins => digest.begin_window(),
                WindowEnds(allocations) => {
                    let allocations = [(Event::Allocations, *allocations)];
                    digest.end_window(true, allocations.into_iter().collect());
                }
                SampleEnds => digest.end_sample(),
            }
        }
        digest.get(true).unwrap()
    }

    /// Returns what each core counts, in each window.
    fn counts(received: &[Received], moved: u64) -> Vec<Counts> {
        let blocks = blocks(received);
        let block = |number: u32| blocks[number as usize].as_block(BlockId(number));
        let capacity = Capacity {
            instructions: 1000,
            blocks: 100,
        };
        let mut counts = Vec::new();
        for core in cores::ALL {
            let mut model = Model::with_mappings(core, capacity, mapping_at(moved));
            let mut numbers = 0..;
            for one in received {
                match one {
                    New(..) => model.translated(&block(numbers.next().unwrap())),
                    Executed(number, recorded) => model.block(&block(*number), recorded),
                    WindowBegins | SampleEnds => {}
                    WindowEnds(_) => {
                        model.drain();
                        counts.push(model.counts());
                    }
                }
            }
        }
        counts
    }

    /// Changes what the block at `index` recorded.
    fn record(received: &mut [Received], index: usize, change: impl Fn(&mut Vec<u64>)) {
        match &mut received[index] {
            Executed(_, recorded) => change(recorded),
            _ => panic!("{index} is no executed block"),
        }
    }

    /// Changes the bytes of a block, or its address.
    fn translate(
        received: &mut [Received],
        number: usize,
        change: impl Fn(&mut Vec<u8>, &mut u64),
    ) {
        match &mut received[number] {
            New(bytes, ip) => change(bytes, ip),
            _ => panic!("{number} is no new block"),
        }
    }

    type Change = fn(&mut Vec<Received>);

    const DIFFERENCES: [(&str, Change); 24] = [
        ("operation", |all| {
            translate(all, 0, |bytes, _| bytes[5] = 0x2b)
        }),
        ("register", |all| {
            translate(all, 0, |bytes, _| bytes[2] = 0x4f)
        }),
        ("displacement", |all| {
            translate(all, 0, |bytes, _| bytes[3] = 16)
        }),
        ("place of static data", |all| {
            translate(all, 0, |bytes, _| bytes[8] = 2)
        }),
        ("condition", |all| {
            translate(all, 0, |bytes, _| bytes[11] = 0x75)
        }),
        ("longer form of a branch", |all| {
            translate(all, 0, |bytes, _| {
                bytes.truncate(11);
                bytes.extend([0x0f, 0x84, 5, 0, 0, 0]);
            });
        }),
        ("place of code", |all| translate(all, 0, |_, ip| *ip += 1)),
        ("order of new blocks", |all| {
            all.swap(0, 1);
            for one in all {
                if let Executed(number @ (0 | 1), _) = one {
                    *number = 1 - *number;
                }
            }
        }),
        ("order of executed blocks", |all| all.swap(LOADED, FILLED)),
        ("block more", |all| all.insert(LOADED, all[LOADED].clone())),
        ("block less", |all| drop(all.remove(GATHERED))),
        ("byte of an address", |all| {
            record(all, LOADED, |values| values[0] += 1)
        }),
        ("line of an address", |all| {
            record(all, LOADED + 6, |values| values[0] += 64)
        }),
        ("mapping", |all| {
            record(all, LOADED, |values| values[0] += STATICS - HEAP);
        }),
        ("place in the stack", |all| {
            record(all, RETURNED + 2, |values| {
                values.iter_mut().for_each(|value| *value -= 8)
            });
        }),
        ("number of repetitions", |all| {
            record(all, FILLED, |values| values[1] += 1)
        }),
        ("filled bytes", |all| {
            record(all, FILLED, |values| values[0] += 32)
        }),
        ("gathered address", |all| {
            record(all, GATHERED, |values| values[0] += 64)
        }),
        ("index of a gather", |all| {
            record(all, GATHERED, |values| values[1] += 1 << 32)
        }),
        ("mask of a gather", |all| {
            record(all, GATHERED, |values| values[3] = 1 << 31)
        }),
        ("allocations", |all| {
            let end = all.len() - 2;
            all[end] = WindowEnds(4);
        }),
        ("window more", |all| {
            all.splice(FILLED..FILLED, [WindowEnds(0), WindowBegins]);
        }),
        ("place of a window's end", |all| all.swap(5, LOADED)),
        ("sample more", |all| all.insert(7, SampleEnds)),
    ];

    #[test]
    fn each_difference_changes_the_digest() {
        let mut seen = vec![("none", digest(&base(), 0).executed)];
        for (name, change) in DIFFERENCES {
            let mut received = base();
            change(&mut received);
            let executed = digest(&received, 0).executed;
            for (other, of_other) in &seen {
                assert_ne!(executed, *of_other, "{name}, {other}");
            }
            seen.push((name, executed));
        }
    }

    #[test]
    fn equal_digests_give_equal_slots() {
        let plain: (&str, Change) = ("none", |_| {});
        let mut slots = Vec::new();
        for (name, change) in [plain].into_iter().chain(DIFFERENCES) {
            let mut received = base();
            change(&mut received);
            let here = digest(&received, 0);
            let there = counts(&received, 0);
            for bytes in [PAGE_BYTES, 77 * PAGE_BYTES, RECENT_BYTES << 10] {
                let received = moved(received.clone(), bytes);
                let elsewhere = digest(&received, bytes);
                assert_eq!(here.executed, elsewhere.executed, "{name}");
                let is_far = bytes % RECENT_BYTES == 0;
                assert_eq!(here.is_repeated_by(&elsewhere), is_far, "{name}");
                assert_eq!(counts(&received, bytes), there, "{name}");
            }
            slots.push(there);
        }
        // Many of the differences change the slots, so the digest had to differ.
        slots.sort_unstable_by_key(|counts| format!("{counts:?}"));
        slots.dedup();
        assert!(slots.len() > DIFFERENCES.len() / 3, "{}", slots.len());
    }

    #[test]
    fn incomplete_trace_has_no_digest() {
        let mut digest = Digest::with_mappings(1, mapping_at(0));
        digest.begin_window();
        digest.end_window(true, Events::default());
        assert!(digest.get(false).is_some());
        digest.end_window(false, Events::default());
        digest.end_window(true, Events::default());
        assert_eq!(digest.get(false), None);
    }
}
