//! Prefetchers: what they learn from accesses and which lines they request.

const LINES_PER_PAGE: u64 = 64;
const PAGES: usize = 64;
const INSTRUCTIONS: usize = 512;

/// A range of lines to fetch: `count` lines from `first`, in either direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lines {
    pub first: u64,
    pub count: u64,
    pub descending: bool,
}

impl Lines {
    /// Iterates over the lines, nearest first.
    pub(crate) fn iter(self) -> impl Iterator<Item = u64> {
        (0..self.count).map(move |step| {
            if self.descending {
                self.first - step
            } else {
                self.first + step
            }
        })
    }
}

#[derive(Clone, Copy)]
struct Page {
    /// Page number + 1; 0 is empty.
    tag: u64,
    last_line: u64,
    /// The furthest line requested in the current direction.
    furthest: u64,
    descending: bool,
    /// Number of consecutive accesses in this direction.
    length: u8,
}

/// Returns where a page is kept. Buffers that are copied into each other are often a round number
/// of pages apart; the hash keeps their streams from evicting each other.
#[inline]
fn page_index(page_number: u64) -> usize {
    (page_number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize % PAGES
}

/// Follows accesses that advance through a 4 KiB page and runs ahead of them.
pub(crate) struct Streamer {
    pages: Box<[Page; PAGES]>,
    ahead: u64,
}

impl Streamer {
    pub(crate) fn new(ahead_lines: u32) -> Self {
        let empty = Page {
            tag: 0,
            last_line: 0,
            furthest: 0,
            descending: false,
            length: 0,
        };
        Streamer {
            pages: crate::calendar::boxed(empty),
            ahead: u64::from(ahead_lines),
        }
    }

    /// Learns from a request for `line`, and returns what to prefetch: downwards to the start of
    /// its page, upwards into the next page, too.
    #[inline]
    pub(crate) fn request(&mut self, line: u64) -> Option<Lines> {
        if self.ahead == 0 {
            return None;
        }
        let page_number = line / LINES_PER_PAGE;
        let page = &mut self.pages[page_index(page_number)];
        if page.tag != page_number + 1 {
            *page = Page {
                tag: page_number + 1,
                last_line: line,
                furthest: line,
                descending: false,
                length: 1,
            };
            return None;
        }
        if line == page.last_line {
            return None;
        }
        let descending = line < page.last_line;
        let established = page.length >= 3;
        let distance = line.abs_diff(page.last_line);
        if established && descending != page.descending && distance <= 16 {
            // A load behind the front: the L1's prefetches of this stream are ahead of it.
            return None;
        }
        let near = distance <= if established { 16 } else { 3 };
        if !near || (page.length > 1 && descending != page.descending) {
            page.length = 1;
            page.furthest = line;
        } else {
            page.length = page.length.saturating_add(1);
        }
        if descending != page.descending {
            page.furthest = line;
        }
        page.last_line = line;
        page.descending = descending;
        if page.length < 3 {
            return None;
        }
        // A young stream looks less far ahead than an established one.
        let ahead = self.ahead.min(u64::from(page.length) * 2);
        let bottom = page_number * LINES_PER_PAGE;
        let top = bottom + LINES_PER_PAGE - 1;
        let lines = if descending {
            let target = line.saturating_sub(ahead).max(bottom);
            let nearest = page.furthest.min(line);
            let lines = Lines {
                first: nearest.saturating_sub(1),
                count: nearest.saturating_sub(target),
                descending,
            };
            page.furthest = target.min(nearest);
            lines
        } else {
            let target = line + ahead;
            let nearest = page.furthest.max(line);
            let lines = Lines {
                first: nearest + 1,
                count: target.saturating_sub(nearest),
                descending,
            };
            page.furthest = target.max(nearest);
            lines
        };
        let (furthest, length) = (page.furthest, page.length);
        if !descending && furthest > top {
            // The stream continues in the next page as an established one.
            self.pages[page_index(page_number + 1)] = Page {
                tag: page_number + 2,
                last_line: top,
                furthest,
                descending: false,
                length,
            };
        }
        (lines.count > 0).then_some(lines)
    }
}

#[derive(Clone, Copy)]
struct Stride {
    ip: u64,
    last_address: u64,
    stride: i64,
    confidence: u8,
}

/// Follows one instruction's addresses and prefetches at its stride.
pub(crate) struct Strider {
    instructions: Box<[Stride; INSTRUCTIONS]>,
    ahead: i64,
}

impl Strider {
    pub(crate) fn new(ahead_lines: u32) -> Self {
        let empty = Stride {
            ip: 0,
            last_address: 0,
            stride: 0,
            confidence: 0,
        };
        Strider {
            instructions: crate::calendar::boxed(empty),
            ahead: i64::from(ahead_lines),
        }
    }

    /// Learns from an access, and returns an address to prefetch.
    #[inline]
    pub(crate) fn access(&mut self, ip: u64, address: u64) -> Option<u64> {
        if self.ahead == 0 {
            return None;
        }
        let entry = &mut self.instructions[(ip ^ ip >> 9) as usize % INSTRUCTIONS];
        if entry.ip != ip {
            *entry = Stride {
                ip,
                last_address: address,
                stride: 0,
                confidence: 0,
            };
            return None;
        }
        let stride = address.wrapping_sub(entry.last_address) as i64;
        entry.last_address = address;
        if stride == 0 {
            return None;
        }
        if stride != entry.stride {
            entry.stride = stride;
            entry.confidence = 0;
            return None;
        }
        if entry.confidence < 2 {
            entry.confidence += 1;
            return None;
        }
        // The same number of lines ahead for every stride, in fewer steps for a long one.
        let reach = self.ahead * 64;
        if stride.unsigned_abs() > reach as u64 {
            return None;
        }
        let distance = if stride.unsigned_abs() >= 64 {
            stride.wrapping_mul(reach / stride.unsigned_abs() as i64)
        } else {
            stride.signum() * reach
        };
        let target = address.wrapping_add_signed(distance);
        Some(target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn third_line_in_a_row_starts_a_stream() {
        let mut streamer = Streamer::new(8);
        assert_eq!(streamer.request(640), None);
        assert_eq!(streamer.request(641), None);
        let lines: Vec<u64> = streamer.request(642).unwrap().iter().collect();
        assert_eq!(lines, [643, 644, 645, 646, 647, 648]);
        let next: Vec<u64> = streamer.request(643).unwrap().iter().collect();
        assert_eq!(next, [649, 650, 651], "the stream asks for each line once");
    }

    #[test]
    fn stream_continues_in_the_next_page() {
        let mut streamer = Streamer::new(4);
        for line in 50..64 {
            streamer.request(line);
        }
        let lines: Vec<u64> = streamer.request(64).unwrap().iter().collect();
        assert_eq!(
            lines,
            [68],
            "the other lines were asked for in the page before"
        );
    }

    #[test]
    fn stream_may_run_downwards() {
        let mut streamer = Streamer::new(4);
        streamer.request(30);
        streamer.request(29);
        let lines: Vec<u64> = streamer.request(28).unwrap().iter().collect();
        assert_eq!(lines, [27, 26, 25, 24]);
        streamer.request(2);
        streamer.request(1);
        assert_eq!(streamer.request(0), None, "nothing lies below the page");
    }

    #[test]
    fn access_behind_the_front_keeps_the_stream() {
        let mut streamer = Streamer::new(4);
        for line in 0..20 {
            streamer.request(line);
        }
        assert_eq!(streamer.request(12), None);
        let lines: Vec<u64> = streamer.request(20).unwrap().iter().collect();
        assert_eq!(lines, [24]);
    }

    #[test]
    fn steady_stride_is_prefetched() {
        let mut strider = Strider::new(16);
        let asked: Vec<_> = (0..5)
            .map(|step| strider.access(0x400, step * 256))
            .collect();
        assert_eq!(asked, [None, None, None, None, Some(4 * 256 + 1024)]);
        assert_eq!(strider.access(0x400, 77), None, "the stride is broken");
    }
}
