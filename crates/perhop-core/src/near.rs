//! Fetching memory ahead of its use. `core::hint::prefetch_read` will take the crate's place once it is stable.

/// Starts to fetch the cache line where `value` begins, and does not wait for it. Other processors than x86-64 ignore it.
#[inline]
pub fn near<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    safe_arch::prefetch_t0(value);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
