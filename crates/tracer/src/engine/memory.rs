//! Memory that is mapped once and never moves or grows, for the engine to use while the traced
//! thread is stopped at an arbitrary point.

use std::io;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

/// A private anonymous mapping, unmapped on drop.
pub(crate) struct Mapping {
    start: NonNull<u8>,
    len: usize,
    keep: bool,
}

/// The access that a mapping allows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protection {
    /// No access yet: address space only.
    None,
    ReadWrite,
    ReadWriteExecute,
}

impl Protection {
    fn bits(self) -> i32 {
        match self {
            Protection::None => libc::PROT_NONE,
            Protection::ReadWrite => libc::PROT_READ | libc::PROT_WRITE,
            Protection::ReadWriteExecute => libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC,
        }
    }
}

impl Mapping {
    /// Maps `len` zero bytes, near `hint` if the kernel can (0: anywhere).
    pub(crate) fn new(len: usize, protection: Protection, hint: usize) -> io::Result<Mapping> {
        // SAFETY: a new mapping, not MAP_FIXED: no existing memory is affected.
        let start = unsafe {
            libc::mmap(
                ptr::without_provenance_mut(hint),
                len,
                protection.bits(),
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Mapping {
            start,
            len,
            keep: false,
        })
    }

    /// Makes a part accessible. `offset` and `len` are whole pages inside the mapping.
    pub(crate) fn protect(
        &self,
        offset: usize,
        len: usize,
        protection: Protection,
    ) -> io::Result<()> {
        assert!(offset + len <= self.len);
        // SAFETY: the range lies inside this mapping, which only its owner uses.
        let result = unsafe {
            libc::mprotect(
                self.start.as_ptr().add(offset).cast(),
                len,
                protection.bits(),
            )
        };
        if result == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    pub(crate) fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    pub(crate) fn address(&self) -> usize {
        self.start.as_ptr() as usize
    }

    /// Returns a part as bytes: readable since `new`, zero at first. The owner must not let
    /// generated code write it meanwhile.
    pub(crate) fn bytes(&self, offset: usize, len: usize) -> &[u8] {
        assert!(offset + len <= self.len);
        // SAFETY: inside the mapping, initialised by the kernel.
        unsafe { std::slice::from_raw_parts(self.start().add(offset), len) }
    }

    /// See [`bytes`](Mapping::bytes).
    pub(crate) fn bytes_mut(&mut self, offset: usize, len: usize) -> &mut [u8] {
        assert!(offset + len <= self.len);
        // SAFETY: as in `bytes`; `&mut self` makes it the only reference.
        unsafe { std::slice::from_raw_parts_mut(self.start().add(offset), len) }
    }

    /// Leaks the mapping, because another thread may still run in it.
    pub(crate) fn keep_for_ever(&mut self) {
        self.keep = true;
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if self.keep {
            return;
        }
        // SAFETY: this is the mapping that `new` made; its owner goes away with this handle.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}

impl Arena<u32> {
    /// Returns `len` zeros, which take no memory until they are changed.
    pub(crate) fn zeros(len: usize) -> io::Result<Arena<u32>> {
        // The kernel has written zeros, which are numbers.
        let arena = Arena::new(len)?;
        Ok(Arena { len, ..arena })
    }
}

/// A vector of fixed capacity in its own mapping.
pub(crate) struct Arena<T> {
    mapping: Mapping,
    len: usize,
    capacity: usize,
    items: PhantomData<T>,
}

impl<T: Copy> Arena<T> {
    pub(crate) fn new(capacity: usize) -> io::Result<Arena<T>> {
        let bytes = (capacity * size_of::<T>()).max(1);
        Ok(Arena {
            mapping: Mapping::new(bytes, Protection::ReadWrite, 0)?,
            len: 0,
            capacity,
            items: PhantomData,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns whether `count` more items fit.
    pub(crate) fn has_room_for(&self, count: usize) -> bool {
        self.capacity - self.len >= count
    }

    /// Returns whether more than half of it is in use.
    pub(crate) fn is_half_full(&self) -> bool {
        self.len > self.capacity / 2
    }

    /// Forgets all items.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    /// Adds an item. Panics if there is no room: call [`has_room_for`](Arena::has_room_for) first.
    pub(crate) fn push(&mut self, item: T) {
        assert!(self.len < self.capacity, "an arena is full");
        // SAFETY: inside the mapping, which has room for `capacity` items and is page-aligned.
        unsafe { self.mapping.start().cast::<T>().add(self.len).write(item) };
        self.len += 1;
    }

    /// See [`push`](Arena::push).
    pub(crate) fn extend(&mut self, items: &[T]) {
        assert!(self.has_room_for(items.len()), "an arena is full");
        // SAFETY: as in `push`; the items lie outside the mapping, which only this arena refers to.
        unsafe {
            let end = self.mapping.start().cast::<T>().add(self.len);
            ptr::copy_nonoverlapping(items.as_ptr(), end, items.len());
        }
        self.len += items.len();
    }

    pub(crate) fn as_slice(&self) -> &[T] {
        // SAFETY: the first `len` items were written by `push`, or are zeros of the kernel.
        unsafe { std::slice::from_raw_parts(self.mapping.start().cast::<T>(), self.len) }
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: as in `as_slice`; `&mut self` makes it the only reference.
        unsafe { std::slice::from_raw_parts_mut(self.mapping.start().cast::<T>(), self.len) }
    }
}
