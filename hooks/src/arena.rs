//! The hook's memory. The hook needs a few kilobytes for a moment, and asking the system for them, piece by piece, takes it longer than
//! everything it does with them. So it has one block from the start.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Enough for a call with a large question. Only the pages that are used take memory.
const SIZE: usize = 64 * 1024;

/// An allocator that hands out the next part of one block. It takes back only the part that it handed out last, which is what a growing
/// vector needs. When the block is used up, the rest comes from the system.
pub struct Arena {
    block: UnsafeCell<[MaybeUninit<u8>; SIZE]>,
    /// Everything before this offset has been handed out. Another thread may get a part that was taken back. It acquires what the former
    /// owner released, so that it comes after everything that this one did there.
    used: AtomicUsize,
}

impl std::fmt::Debug for Arena {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Arena").field("used", &self.used).finish_non_exhaustive()
    }
}

// SAFETY: `used` only moves in atomic steps, so no two callers ever get the same part of the block, and the arena itself reads and writes
// only the parts that a caller hands to it.
#[allow(unsafe_code)]
unsafe impl Sync for Arena {}

impl Arena {
    /// An empty one. Meant for a `static`, because it must not move once it has handed out memory.
    #[allow(clippy::new_without_default, reason = "nothing but a static needs one")]
    pub const fn new() -> Self {
        Self { block: UnsafeCell::new([MaybeUninit::uninit(); SIZE]), used: AtomicUsize::new(0) }
    }

    fn start(&self) -> *mut u8 {
        self.block.get().cast()
    }

    /// Where in the block a pointer leads; `None` if the system handed it out.
    fn offset(&self, pointer: *mut u8) -> Option<usize> {
        pointer.addr().checked_sub(self.start().addr()).filter(|offset| *offset < SIZE)
    }

    /// Reserves the next part of the block. Returns its offset if it fits.
    fn reserve(&self, layout: Layout) -> Option<usize> {
        let (base, align) = (self.start().addr(), layout.align());
        let mut used = self.used.load(Ordering::Relaxed);
        loop {
            let offset = (base + used).checked_next_multiple_of(align)? - base;
            let end = offset.checked_add(layout.size()).filter(|end| *end <= SIZE)?;
            match self.used.compare_exchange_weak(used, end, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Some(offset),
                Err(now) => used = now,
            }
        }
    }

    /// Moves the end of the part that was handed out last. `false`, and nothing done, if the part that ends at `old_end` is not the last.
    fn move_end(&self, old_end: usize, new_end: usize) -> bool {
        new_end <= SIZE && self.used.compare_exchange(old_end, new_end, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}

// SAFETY: a part that was handed out is inside the block, aligned, and nobody else's until it is handed back, because `reserve` moves `used`
// behind it in one atomic step. `move_end` succeeds only for the last part, so no part behind it exists. Pointers outside the block came
// from `System` and go back there, with the layout that the caller names.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match self.reserve(layout) {
            // SAFETY: `reserve` returns an offset inside the block.
            Some(offset) => unsafe { self.start().add(offset) },
            // SAFETY: the caller keeps the promises of `alloc`.
            None => unsafe { System.alloc(layout) },
        }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        match self.offset(pointer) {
            Some(offset) => drop(self.move_end(offset + layout.size(), offset)),
            // SAFETY: it is not in the block, so `System` handed it out.
            None => unsafe { System.dealloc(pointer, layout) },
        }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        let Some(offset) = self.offset(pointer) else {
            // SAFETY: it is not in the block, so `System` handed it out.
            return unsafe { System.realloc(pointer, layout, new_size) };
        };
        if offset.checked_add(new_size).is_some_and(|end| self.move_end(offset + layout.size(), end)) {
            return pointer;
        }
        // SAFETY: the caller promises that the new size fits this alignment. The new part does not overlap the old one, and both have at
        // least as many bytes as are copied.
        unsafe {
            let new = self.alloc(Layout::from_size_align_unchecked(new_size, layout.align()));
            if !new.is_null() {
                ptr::copy_nonoverlapping(pointer, new, layout.size().min(new_size));
                self.dealloc(pointer, layout);
            }
            new
        }
    }
}

#[cfg(test)]
#[allow(unsafe_code, reason = "an allocator can only be tried by calling it")]
mod tests {
    use super::*;

    fn layout(size: usize, align: usize) -> Layout {
        Layout::from_size_align(size, align).unwrap()
    }

    /// Fills what was handed out, so that Miri sees a part that is not ours.
    unsafe fn fill(pointer: *mut u8, size: usize, byte: u8) {
        assert!(!pointer.is_null());
        unsafe { ptr::write_bytes(pointer, byte, size) };
    }

    unsafe fn holds(pointer: *mut u8, size: usize, byte: u8) -> bool {
        unsafe { std::slice::from_raw_parts(pointer, size) }.iter().all(|found| *found == byte)
    }

    #[test]
    fn parts_are_aligned_and_apart() {
        let arena = Arena::new();
        let parts: Vec<_> = [(1, 1), (8, 8), (3, 1), (16, 16), (5, 4), (64, 64), (1, 1)]
            .into_iter()
            .zip(1_u8..)
            .map(|((size, align), byte)| unsafe {
                let pointer = arena.alloc(layout(size, align));
                fill(pointer, size, byte);
                assert_eq!(pointer.addr() % align, 0);
                assert!(arena.offset(pointer).is_some());
                (pointer, size, byte)
            })
            .collect();
        for (pointer, size, byte) in parts {
            assert!(unsafe { holds(pointer, size, byte) }, "{byte}");
        }
    }

    #[test]
    fn the_last_part_grows_where_it_is_and_is_taken_back() {
        let arena = Arena::new();
        unsafe {
            let first = arena.alloc(layout(10, 1));
            fill(first, 10, 1);
            assert_eq!(arena.realloc(first, layout(10, 1), 100), first);
            assert!(holds(first, 10, 1));
            fill(first, 100, 1);
            let second = arena.alloc(layout(10, 1));
            fill(second, 10, 2);
            // Another part is behind it now, so it moves.
            let moved = arena.realloc(first, layout(100, 1), 200);
            assert_ne!(moved, first);
            fill(moved.add(100), 100, 1);
            assert!(holds(moved, 200, 1) && holds(second, 10, 2));
            arena.dealloc(moved, layout(200, 1));
            assert_eq!(arena.alloc(layout(200, 1)), moved);
        }
    }

    #[test]
    fn what_does_not_fit_comes_from_the_system() {
        let arena = Arena::new();
        unsafe {
            let small = arena.alloc(layout(100, 1));
            fill(small, 100, 1);
            let large = arena.realloc(small, layout(100, 1), 2 * SIZE);
            assert!(arena.offset(large).is_none() && holds(large, 100, 1));
            let larger = arena.realloc(large, layout(2 * SIZE, 1), 3 * SIZE);
            assert!(arena.offset(larger).is_none() && holds(larger, 100, 1));
            arena.dealloc(larger, layout(3 * SIZE, 1));
            // What the system took is free again.
            let again = arena.alloc(layout(SIZE, 1));
            assert!(arena.offset(again).is_some());
            let full = arena.alloc_zeroed(layout(1, 1));
            assert!(arena.offset(full).is_none() && holds(full, 1, 0));
            arena.dealloc(full, layout(1, 1));
        }
    }

    #[test]
    fn a_part_that_was_used_is_zeroed_if_that_is_asked_for() {
        let arena = Arena::new();
        unsafe {
            let used = arena.alloc(layout(50, 1));
            fill(used, 50, 7);
            arena.dealloc(used, layout(50, 1));
            let zeroed = arena.alloc_zeroed(layout(50, 1));
            assert_eq!(zeroed, used);
            assert!(holds(zeroed, 50, 0));
        }
    }

    #[test]
    fn threads_get_parts_of_their_own() {
        let arena = Arena::new();
        std::thread::scope(|scope| {
            for byte in 1..=4_u8 {
                let arena = &arena;
                scope.spawn(move || unsafe {
                    for size in 1..40 {
                        let part = arena.alloc(layout(size, 2));
                        fill(part, size, byte);
                        let part = arena.realloc(part, layout(size, 2), size + 8);
                        assert!(holds(part, size, byte));
                        if size % 3 == 0 {
                            arena.dealloc(part, layout(size + 8, 2));
                        }
                    }
                });
            }
        });
    }
}
