//! The allocator of the Python extension, counting.

#![allow(unsafe_code, reason = "GlobalAlloc is an unsafe trait; every call goes to mimalloc as it came")]

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use mimalloc::MiMalloc;

/// What a program allocates, counted.
pub struct Counting;

static LIVE: AtomicU64 = AtomicU64::new(0);
static PEAK: AtomicU64 = AtomicU64::new(0);
static CALLS: AtomicU64 = AtomicU64::new(0);

/// Bytes allocated and not freed.
pub fn live_bytes() -> u64 {
    LIVE.load(Relaxed)
}

/// Most bytes that were live at once since [`forget_peak`].
pub fn peak_bytes() -> u64 {
    PEAK.load(Relaxed)
}

/// Starts to look for the peak anew, from what is live now.
pub fn forget_peak() {
    PEAK.store(live_bytes(), Relaxed);
}

/// Allocations and reallocations so far.
pub fn calls() -> u64 {
    CALLS.load(Relaxed)
}

fn grew(by: usize) {
    CALLS.fetch_add(1, Relaxed);
    let live = LIVE.fetch_add(by as u64, Relaxed) + by as u64;
    PEAK.fetch_max(live, Relaxed);
}

fn shrank(by: usize) {
    LIVE.fetch_sub(by as u64, Relaxed);
}

// SAFETY: every method hands its arguments to `MiMalloc` unchanged and returns what `MiMalloc` returns.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grew(layout.size());
        // SAFETY: the caller's promises are passed on.
        unsafe { MiMalloc.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grew(layout.size());
        // SAFETY: the caller's promises are passed on.
        unsafe { MiMalloc.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        shrank(layout.size());
        // SAFETY: the caller's promises are passed on.
        unsafe { MiMalloc.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // both blocks may exist while the contents are moved
        grew(size);
        shrank(layout.size());
        // SAFETY: the caller's promises are passed on.
        unsafe { MiMalloc.realloc(block, layout, size) }
    }
}
