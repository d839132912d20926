//! The page that the kernel shares for an event, and reading a counter without a system call.
//!
//! The kernel raises `lock` whenever it moves an event on or off the PMU. Values read between two
//! equal values of `lock` form one consistent state. `user_reads` reads all counters of a group so.

use std::cell::Cell;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{Ordering, compiler_fence};

use perf_event_open_sys::bindings::perf_event_mmap_page;

/// Bit 2 of `capabilities`: this event may be read with RDPMC.
const CAP_USER_RDPMC: u64 = 1 << 2;

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

    /// Returns what the kernel has counted apart from the counter.
    pub fn offset(&self) -> i64 {
        field!(self, offset)
    }

    /// Returns the counter's width in bits.
    pub fn width(&self) -> u16 {
        field!(self, pmc_width)
    }

    /// Returns the counter that the event is on, if it is on one that user code can read.
    #[inline]
    pub fn counter(&self) -> Option<Counter> {
        Counter::at(self.index().checked_sub(1)?)
    }
}

/// A counter that the page of an event of this thread has shown. User code may read it while that
/// page is mapped, even if the event leaves the PMU. Its value belongs to the event only while the
/// page's lock stays the same.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counter {
    /// In the lower half. The upper half is [`MARK`].
    #[cfg(target_arch = "x86_64")]
    selector: u64,
    #[cfg(target_arch = "aarch64")]
    read: fn() -> u64,
}

/// RDPMC takes its selector from ECX. This is in the upper half of RCX, which it ignores, and tells
/// the library's own RDPMC instructions from all others when one faults.
#[cfg(target_arch = "x86_64")]
const MARK: u64 = 0x746f_7064 << 32;

/// If the thread was interrupted at one of the library's own reads of a counter, lets it continue
/// after the read, as if the counter were 0. Returns whether it was.
#[cfg(target_arch = "x86_64")]
pub(crate) fn skip_refused_read(context: &mut libc::ucontext_t) -> bool {
    const RDPMC: [u8; 2] = [0x0f, 0x33];
    let registers = &mut context.uc_mcontext.gregs;
    if registers[libc::REG_RCX as usize] as u64 & (u64::MAX << 32) != MARK {
        return false;
    }
    let instruction = registers[libc::REG_RIP as usize] as *const [u8; 2];
    // SAFETY: only this module puts the mark into RCX, for the instruction that follows. Code that
    // runs while the mark is left over can be read, unless it faulted because it could not be
    // fetched; then this faults, too, and the process ends as it would have.
    if unsafe { instruction.read_unaligned() } != RDPMC {
        return false;
    }
    registers[libc::REG_RAX as usize] = 0;
    registers[libc::REG_RDX as usize] = 0;
    registers[libc::REG_RIP as usize] += RDPMC.len() as i64;
    true
}

/// If the thread was interrupted at one of the library's own reads of a counter, lets it continue
/// after the read, as if the counter were 0. Returns whether it was.
#[cfg(target_arch = "aarch64")]
pub(crate) fn skip_refused_read(context: &mut libc::ucontext_t) -> bool {
    /// More than the code of a function in [`arm::REGISTERS`] before its instruction.
    const FUNCTION_BYTES: u64 = 64;
    let registers = &mut context.uc_mcontext;
    let is_own = arm::REGISTERS.iter().any(|read| {
        let begins_at = *read as usize as u64;
        (begins_at..begins_at + FUNCTION_BYTES).contains(&registers.pc)
    });
    if !is_own {
        return false;
    }
    // SAFETY: the library's own code can be read.
    let instruction = unsafe { (registers.pc as *const u32).read() };
    // MRS of PMEVCNTR0_EL0 to PMEVCNTR30_EL0, and of PMCCNTR_EL0.
    let is_read =
        instruction & 0xffff_fc00 == 0xd53b_e800 || instruction & 0xffff_ffe0 == 0xd53b_9d00;
    if is_read {
        if let Some(register) = registers.regs.get_mut(instruction as usize & 31) {
            *register = 0;
        }
        registers.pc += 4;
    }
    is_read
}

#[cfg(target_arch = "x86_64")]
impl Counter {
    fn at(selector: u32) -> Option<Counter> {
        Some(Counter {
            selector: MARK | u64::from(selector),
        })
    }

    /// Stands for a counter that no page has shown yet. It must not be read.
    pub const UNKNOWN: Counter = Counter { selector: 0 };

    /// Reads it into `count`, half by half: joining them would take two more measured instructions.
    ///
    /// # Safety
    /// A page that has shown this counter must be mapped by this thread, and [`faults`] must watch
    /// over it.
    ///
    /// [`faults`]: super::faults
    #[inline(always)]
    pub unsafe fn read_into(self, count: &Cell<u64>) {
        let (low, high): (u32, u32);
        // SAFETY: the instruction changes only the two registers. RDPMC faults on selectors that
        // the CPU does not have, and if the kernel does not allow it. The kernel wrote this
        // selector into the page of an event of this thread, which it does only if it allows RDPMC,
        // and the caller keeps the page mapped. If that has changed since, or the thread was moved
        // to a CPU without this counter, `faults` skips the instruction. Not `pure` or `nomem`: the
        // compiler must not move it across the measured code.
        unsafe {
            std::arch::asm!(
                "rdpmc",
                in("rcx") self.selector,
                out("eax") low,
                out("edx") high,
                options(nostack, preserves_flags),
            );
        }
        let halves = count.as_ptr().cast::<u32>();
        // SAFETY: a cell of eight bytes is valid for writes of two halves, and not shared with
        // another thread.
        unsafe {
            halves.write(low);
            halves.add(1).write(high);
        }
    }
}

#[cfg(target_arch = "aarch64")]
impl Counter {
    /// Number 31 is the cycle counter. 32, the newest kernels' instruction counter, is not
    /// supported.
    fn at(number: u32) -> Option<Counter> {
        let read = *arm::REGISTERS.get(number as usize)?;
        Some(Counter { read })
    }

    /// Stands for a counter that no page has shown yet.
    pub const UNKNOWN: Counter = Counter { read: || 0 };

    /// Reads it into `count`.
    ///
    /// # Safety
    /// A page that has shown this counter must be mapped by this thread, and [`faults`] must watch
    /// over it.
    ///
    /// [`faults`]: super::faults
    #[inline(always)]
    pub unsafe fn read_into(self, count: &Cell<u64>) {
        count.set((self.read)());
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
impl Counter {
    fn at(_: u32) -> Option<Counter> {
        None
    }

    pub const UNKNOWN: Counter = Counter {};

    /// # Safety
    /// None: there is no such counter.
    pub unsafe fn read_into(self, _: &Cell<u64>) {}
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: `map` made the mapping with this size, and nothing refers into it. If the call
        // fails, the page stays mapped, which is harmless.
        unsafe { libc::munmap(self.address.as_ptr().cast(), page_size()) };
    }
}

/// The registers of Arm's counters. The register number is part of the instruction, so each
/// register needs its own.
#[cfg(target_arch = "aarch64")]
mod arm {
    macro_rules! registers {
        ($($name:literal)*) => {
            [$(|| {
                let value: u64;
                // SAFETY: the counter registers trap in user mode unless the kernel allows access,
                // which it does on the CPU that runs this thread while the thread has an event
                // opened for user access, on the PMU or not. The instruction changes one register.
                // Not `pure` or `nomem`: it must not move across the measured code.
                unsafe {
                    std::arch::asm!(
                        concat!("mrs {value}, ", $name),
                        value = out(reg) value,
                        options(nostack, preserves_flags),
                    );
                }
                value
            }),*]
        };
    }

    pub static REGISTERS: [fn() -> u64; 32] = registers!(
        "PMEVCNTR0_EL0" "PMEVCNTR1_EL0" "PMEVCNTR2_EL0" "PMEVCNTR3_EL0" "PMEVCNTR4_EL0"
        "PMEVCNTR5_EL0" "PMEVCNTR6_EL0" "PMEVCNTR7_EL0" "PMEVCNTR8_EL0" "PMEVCNTR9_EL0"
        "PMEVCNTR10_EL0" "PMEVCNTR11_EL0" "PMEVCNTR12_EL0" "PMEVCNTR13_EL0" "PMEVCNTR14_EL0"
        "PMEVCNTR15_EL0" "PMEVCNTR16_EL0" "PMEVCNTR17_EL0" "PMEVCNTR18_EL0" "PMEVCNTR19_EL0"
        "PMEVCNTR20_EL0" "PMEVCNTR21_EL0" "PMEVCNTR22_EL0" "PMEVCNTR23_EL0" "PMEVCNTR24_EL0"
        "PMEVCNTR25_EL0" "PMEVCNTR26_EL0" "PMEVCNTR27_EL0" "PMEVCNTR28_EL0" "PMEVCNTR29_EL0"
        "PMEVCNTR30_EL0" "PMCCNTR_EL0"
    );
}

/// Returns the sum of the locks of `pages`. Locks only ever grow, so it changes if any of them
/// does.
#[inline]
pub(crate) fn locks<'a>(pages: impl IntoIterator<Item = &'a Page>) -> u32 {
    pages
        .into_iter()
        .fold(0, |sum, page| sum.wrapping_add(page.lock()))
}

/// Keeps counter reads apart from the measured code. A read does not wait for the instructions
/// before it, nor do those after it wait for the read; in a short window they are the measured
/// code. LFENCE, and ISB on Arm, hold both back.
#[inline(always)]
pub(crate) fn wait_for_earlier_instructions() {
    // The kernel writes the pages on the CPU that this thread runs on, so only the compiler could
    // visibly reorder the accesses.
    compiler_fence(Ordering::SeqCst);
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
    compiler_fence(Ordering::SeqCst);
}

/// Returns the size of the kernel's pages.
pub(crate) fn page_size() -> usize {
    // SAFETY: the call takes a number and has no effect.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(4096)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_matches_the_kernel() {
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
    fn failed_mapping_is_an_error() {
        let file = std::fs::File::open("/dev/null").unwrap();
        let error = Page::map(std::os::fd::AsFd::as_fd(&file)).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENODEV));
    }
}
