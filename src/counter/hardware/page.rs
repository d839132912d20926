//! The page that the kernel shares for an event, and reading a counter without a system call.
//!
//! The kernel raises `lock` whenever it moves an event on or off the PMU. Values read between two
//! equal values of `lock` form one consistent state. An event's group knows which of two protocols
//! it follows: [`Page::raw`] for the registers of a TopDown group, whose `offset` misleads,
//! [`Page::count`] for plain counters.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{Ordering, compiler_fence};

use perf_event_open_sys::bindings::perf_event_mmap_page;

/// Bit 2 of `capabilities`: this event may be read with RDPMC.
const CAP_USER_RDPMC: u64 = 1 << 2;

/// How often to retry a snapshot while the kernel keeps moving events. One disturbance in the few
/// dozen instructions of a snapshot is rare; if they continue, the kernel is broken.
const SNAPSHOT_ATTEMPTS: u32 = 16;

/// The page of one event of the thread that mapped it. Unmapped on drop.
///
/// Neither `Send` nor `Sync`: on another thread, RDPMC would read that thread's counter.
#[derive(Debug)]
pub(crate) struct Page {
    address: NonNull<perf_event_mmap_page>,
}

/// Reads one field of the page with a volatile load, since the kernel changes it at any time.
macro_rules! field {
    ($page:expr, $($field:ident).+) => {
        // SAFETY: `address` points to a mapped page from `map` to `drop`, and the kernel keeps the
        // structure at its start. The field is read as a whole, without creating a reference.
        unsafe { (&raw const (*$page.address.as_ptr()).$($field).+).read_volatile() }
    };
}

impl Page {
    /// Maps the page of the event behind `descriptor`. While any page is mapped, the kernel lets
    /// this process use RDPMC.
    pub fn map(descriptor: BorrowedFd<'_>) -> io::Result<Page> {
        // SAFETY: a new mapping at an address of the kernel's choice touches no existing memory.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                page_size(),
                libc::PROT_READ,
                libc::MAP_SHARED,
                descriptor.as_raw_fd(),
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        NonNull::new(address.cast())
            .map(|address| Page { address })
            .ok_or_else(|| io::Error::other("mapped at address 0"))
    }

    /// Returns the sequence number, which changes whenever the event is moved.
    pub fn lock(&self) -> u32 {
        field!(self, lock)
    }

    /// Returns the event's location: 0 if it is on no counter, otherwise the RDPMC selector plus 1.
    pub fn index(&self) -> u32 {
        field!(self, index)
    }

    /// Returns whether the kernel allows RDPMC for this event.
    pub fn allows_rdpmc(&self) -> bool {
        field!(self, __bindgen_anon_1.capabilities) & CAP_USER_RDPMC != 0
    }

    /// Returns how long the event was enabled and how long it was on the PMU, in nanoseconds, as of
    /// the kernel's last change of the page.
    pub fn times_ns(&self) -> (u64, u64) {
        (field!(self, time_enabled), field!(self, time_running))
    }

    /// Returns the uncorrected register, all 64 bits, if the event is on the counter with `index`.
    #[inline]
    pub fn raw(&self, index: u32) -> Option<u64> {
        if self.index() == index && self.allows_rdpmc() {
            self.read_counter(index)
        } else {
            None
        }
    }

    /// Returns the count of a plain event modulo 2^width, with the mask for that width, if the
    /// event is on a counter.
    ///
    /// Only differences are meaningful, and only modulo the width: after a reset, the kernel's
    /// offset is 2^48 short until the next switch.
    #[inline]
    pub fn count(&self) -> Option<MaskedCount> {
        let index = self.index();
        if index == 0 || !self.allows_rdpmc() {
            return None;
        }
        let raw = self.read_counter(index)?;
        Some(masked(raw, field!(self, offset), field!(self, pmc_width)))
    }

    /// Returns the full 64-bit count of a plain event, if it is on a counter: the kernel's offset
    /// plus the counter, whose highest bit is a sign. Valid as long as the event is not reset.
    /// Unlike [`count`](Page::count), it remains valid for longer than a 32-bit counter takes to
    /// wrap.
    #[inline]
    pub fn full_count(&self) -> Option<u64> {
        let index = self.index();
        if index == 0 || !self.allows_rdpmc() {
            return None;
        }
        let raw = self.read_counter(index)?;
        Some(extended(raw, field!(self, offset), field!(self, pmc_width)))
    }

    /// `index` is what the page has just shown together with [`allows_rdpmc`](Page::allows_rdpmc).
    #[cfg(target_arch = "x86_64")]
    #[inline]
    fn read_counter(&self, index: u32) -> Option<u64> {
        let selector = index.wrapping_sub(1);
        let (low, high): (u32, u32);
        // SAFETY: RDPMC faults on selectors that the CPU does not have, and if the kernel has not
        // allowed it. The kernel wrote this selector into the page of an event of this thread, said
        // in the same page that it allows RDPMC, and allows it until the page is unmapped. If the
        // thread is switched out right here, the selector still exists on the CPU on which it
        // resumes, since all CPUs that the thread may run on have this PMU (`cores` ensures that on
        // hybrids); the value is then stale, which the caller detects by the lock. The instruction
        // changes only the two registers. Not `pure` or `nomem`: the compiler must not move it
        // across the measured code.
        unsafe {
            std::arch::asm!(
                "rdpmc",
                in("ecx") selector,
                out("eax") low,
                out("edx") high,
                options(nostack, preserves_flags),
            );
        }
        Some(u64::from(high) << 32 | u64::from(low))
    }

    /// Reads the counter, as above. Index 32 is the cycle counter. 33, the newest kernels'
    /// instruction counter, is not supported.
    #[cfg(target_arch = "aarch64")]
    #[inline]
    fn read_counter(&self, index: u32) -> Option<u64> {
        let value: u64;
        // The register number is part of the instruction, so each register needs its own.
        macro_rules! register {
            ($name:literal) => {
                // SAFETY: the counter registers trap in user mode unless the kernel allows access,
                // which it does on the CPU that runs this thread while the page of one of the
                // thread's events shows an index. The instruction changes one register. Not `pure`
                // or `nomem`: it must not move across the measured code.
                unsafe {
                    std::arch::asm!(
                        concat!("mrs {value}, ", $name),
                        value = out(reg) value,
                        options(nostack, preserves_flags),
                    )
                }
            };
        }
        match index - 1 {
            0 => register!("PMEVCNTR0_EL0"),
            1 => register!("PMEVCNTR1_EL0"),
            2 => register!("PMEVCNTR2_EL0"),
            3 => register!("PMEVCNTR3_EL0"),
            4 => register!("PMEVCNTR4_EL0"),
            5 => register!("PMEVCNTR5_EL0"),
            6 => register!("PMEVCNTR6_EL0"),
            7 => register!("PMEVCNTR7_EL0"),
            8 => register!("PMEVCNTR8_EL0"),
            9 => register!("PMEVCNTR9_EL0"),
            10 => register!("PMEVCNTR10_EL0"),
            11 => register!("PMEVCNTR11_EL0"),
            12 => register!("PMEVCNTR12_EL0"),
            13 => register!("PMEVCNTR13_EL0"),
            14 => register!("PMEVCNTR14_EL0"),
            15 => register!("PMEVCNTR15_EL0"),
            16 => register!("PMEVCNTR16_EL0"),
            17 => register!("PMEVCNTR17_EL0"),
            18 => register!("PMEVCNTR18_EL0"),
            19 => register!("PMEVCNTR19_EL0"),
            20 => register!("PMEVCNTR20_EL0"),
            21 => register!("PMEVCNTR21_EL0"),
            22 => register!("PMEVCNTR22_EL0"),
            23 => register!("PMEVCNTR23_EL0"),
            24 => register!("PMEVCNTR24_EL0"),
            25 => register!("PMEVCNTR25_EL0"),
            26 => register!("PMEVCNTR26_EL0"),
            27 => register!("PMEVCNTR27_EL0"),
            28 => register!("PMEVCNTR28_EL0"),
            29 => register!("PMEVCNTR29_EL0"),
            30 => register!("PMEVCNTR30_EL0"),
            31 => register!("PMCCNTR_EL0"),
            _ => return None,
        }
        Some(value)
    }

    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    fn read_counter(&self, _: u32) -> Option<u64> {
        None
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: `map` made the mapping with this size, and nothing refers into it. If the call
        // fails, the page stays mapped, which is harmless.
        unsafe { libc::munmap(self.address.as_ptr().cast(), page_size()) };
    }
}

/// A plain count modulo 2^width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MaskedCount {
    pub value: u64,
    pub mask: u64,
}

impl MaskedCount {
    /// Returns how far the count has advanced since `earlier`.
    pub fn since(self, earlier: u64) -> u64 {
        self.value.wrapping_sub(earlier) & self.mask
    }
}

/// Returns the count by the mmap protocol, modulo 2^width. Sign extension adds multiples of
/// 2^width, so it vanishes in the modulus.
fn masked(raw: u64, offset: i64, width: u16) -> MaskedCount {
    let mask = match width {
        1..=63 => (1 << width) - 1,
        _ => u64::MAX,
    };
    MaskedCount {
        value: raw.wrapping_add_signed(offset) & mask,
        mask,
    }
}

/// Returns the count by the mmap protocol: the counter's highest bit is a sign.
fn extended(raw: u64, offset: i64, width: u16) -> u64 {
    let unused_bits = match width {
        1..=63 => 64 - u32::from(width),
        _ => 0,
    };
    let signed = (raw << unused_bits) as i64 >> unused_bits;
    offset.wrapping_add(signed) as u64
}

/// Returns the sum of the locks of `pages`. Locks only ever grow, so it changes if any of them
/// does.
#[inline]
pub(crate) fn locks<'a>(pages: impl IntoIterator<Item = &'a Page>) -> u32 {
    pages
        .into_iter()
        .fold(0, |sum, page| sum.wrapping_add(page.lock()))
}

/// Takes `snapshot` until `locks` stays unchanged meanwhile. Returns `None` if that does not
/// happen.
#[inline]
pub(crate) fn consistent<T>(locks: impl Fn() -> u32, snapshot: impl Fn() -> T) -> Option<T> {
    for _ in 0..SNAPSHOT_ATTEMPTS {
        let before = locks();
        // The kernel writes the page on the CPU that this thread runs on, so only the compiler
        // could visibly reorder these accesses; no CPU fence is needed.
        compiler_fence(Ordering::SeqCst);
        wait_for_earlier_instructions();
        let taken = snapshot();
        wait_for_earlier_instructions();
        compiler_fence(Ordering::SeqCst);
        if locks() == before {
            return Some(taken);
        }
    }
    None
}

/// Keeps counter reads apart from the measured code. A read does not wait for the instructions
/// before it, nor do those after it wait for the read; in a short window they are the measured
/// code. LFENCE, and ISB on Arm, hold both back.
#[inline]
fn wait_for_earlier_instructions() {
    #[cfg(target_arch = "aarch64")]
    // SAFETY: ISB exists on every 64-bit Arm CPU and changes no state.
    unsafe {
        std::arch::asm!("isb", options(nostack, preserves_flags));
    }
    #[cfg(target_arch = "x86_64")]
    // SAFETY: LFENCE exists on every x86-64 CPU and changes no state.
    unsafe {
        std::arch::asm!("lfence", options(nostack, preserves_flags));
    }
}

fn page_size() -> usize {
    // SAFETY: the call takes a number and has no effect.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(4096)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_the_kernels() {
        assert_eq!(std::mem::offset_of!(perf_event_mmap_page, lock), 8);
        assert_eq!(std::mem::offset_of!(perf_event_mmap_page, index), 12);
        assert_eq!(std::mem::offset_of!(perf_event_mmap_page, offset), 16);
        assert_eq!(std::mem::offset_of!(perf_event_mmap_page, time_enabled), 24);
        assert_eq!(std::mem::offset_of!(perf_event_mmap_page, time_running), 32);
        assert_eq!(
            std::mem::offset_of!(perf_event_mmap_page, __bindgen_anon_1),
            40
        );
        assert_eq!(std::mem::offset_of!(perf_event_mmap_page, pmc_width), 48);
        assert_eq!(std::mem::offset_of!(perf_event_mmap_page, data_head), 1024);
    }

    #[test]
    fn a_count_is_raw_plus_offset_modulo_the_width() {
        // raw is -16 as a 48-bit number.
        assert_eq!(masked(0x0000_ffff_ffff_fff0, 100, 48).value, 84);
        assert_eq!(masked(84, 0, 48).value, 84);
    }

    #[test]
    fn a_full_count_is_offset_plus_signed_counter() {
        assert_eq!(extended(0x0000_ffff_ffff_fff0, 100, 48), 84);
        assert_eq!(extended(84, 0, 48), 84);
        assert_eq!(extended(0xdead_beef_ffff_fff0, 1 << 40, 32), (1 << 40) - 16);
        assert_eq!(extended(7, -7, 64), 0);
    }

    #[test]
    fn differences_survive_the_offset_that_a_reset_leaves_short() {
        let raw = 0x0000_8000_0000_1000_u64;
        let before = masked(raw, -(raw as i64), 48);
        let after = masked(raw + 500, -(raw as i64), 48);
        assert_eq!(after.since(before.value), 500);
        let high = masked((1 << 48) - 5, 0, 48);
        assert_eq!(masked(5, 0, 48).since(high.value), 10);
    }

    #[test]
    fn a_failed_mapping_is_an_error_and_no_page() {
        let file = std::fs::File::open("/dev/null").unwrap();
        let error = Page::map(std::os::fd::AsFd::as_fd(&file)).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENODEV));
    }
}
