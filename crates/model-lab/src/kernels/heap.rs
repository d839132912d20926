//! A heap that does not depend on what ran before.

/// The heap of a program that has run for a while, until this is dropped: it has free chunks of all
/// sizes, so a vector that grows moves. All of them are made here. Those that were there before are
/// not free meanwhile.
pub struct UsedHeap {
    /// Allocated and not used.
    _chunks: Vec<Vec<u8>>,
}

/// More chunks than kernels leave free.
const MAX_CHUNKS: usize = 1_000_000;
/// Free chunks of each size. The harness takes some too, for what it measures.
const FREE_CHUNKS: usize = 16;

impl UsedHeap {
    /// Must be called where the allocator uses its main heap: on the main thread.
    pub fn new() -> UsedHeap {
        let mut chunks = Vec::with_capacity(MAX_CHUNKS);
        take_free_chunks(&mut chunks);
        reach_page(&mut chunks);
        let mut free = Vec::with_capacity(MAX_CHUNKS);
        for size in (10..=20).flat_map(|bits| [1 << bits; FREE_CHUNKS]) {
            free.push(Vec::<u8>::with_capacity(size));
            // Or neighbours would become one chunk.
            chunks.push(Vec::with_capacity(1));
        }
        UsedHeap { _chunks: chunks }
    }
}

/// Allocates until nothing is free except the end of the heap, which all later chunks come from.
fn take_free_chunks(chunks: &mut Vec<Vec<u8>>) {
    // SAFETY: only reads what the allocator has counted.
    let end_size = || unsafe { libc::mallinfo2() }.keepcost;
    let large = (11..27).rev().map(|bits| 1 << bits);
    // Each size that the allocator distinguishes.
    let small = (24..2048).step_by(16).rev();
    for size in large.chain(small) {
        loop {
            let before = end_size();
            chunks.push(Vec::with_capacity(size));
            if end_size() != before {
                break;
            }
            assert!(
                chunks.len() < MAX_CHUNKS,
                "too many free chunks, or not the main heap"
            );
        }
        // Given back to the end. A small one would remain a chunk.
        if size >= 2048 {
            chunks.pop();
        }
    }
}

/// Allocates until the next chunk begins at a page: how `memcpy` works depends on it.
fn reach_page(chunks: &mut Vec<Vec<u8>>) {
    const PAGE: usize = 4096;
    /// What the allocator keeps with each chunk.
    const SIZE_WORD: usize = 8;
    let chunk = Vec::with_capacity(24);
    let next = chunk.as_ptr() as usize + 24 + SIZE_WORD;
    chunks.push(chunk);
    chunks.push(Vec::with_capacity(2 * PAGE - next % PAGE - SIZE_WORD));
}
