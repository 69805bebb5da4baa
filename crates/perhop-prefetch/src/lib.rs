//! Asks the processor to load what will be needed soon.
//!
//! It changes what a program costs and nothing that it does: whether the value arrives in time, or at all, shows nowhere.

/// A line of the cache.
const LINE: usize = 64;

/// Begins to load every line of `value`, without waiting for it. Does nothing where the processor is not an x86-64.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    let start = std::ptr::from_ref(value).cast::<i8>();
    for line in 0..size_of::<T>().div_ceil(LINE) {
        load(start.wrapping_add(line * LINE));
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[expect(unsafe_code, reason = "the intrinsic takes an address")]
fn load(address: *const i8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: the instruction is in every x86-64 and neither faults nor changes what a program sees, whatever the address.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address) }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
const fn load(_address: *const i8) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_any_size_stay_as_they_are() {
        let (long, short, none) = ([7u64; 100], 7u8, [0u8; 0]);
        prefetch(&long);
        prefetch(&short);
        prefetch(&none);
        assert!(long.iter().all(|&word| word == 7) && short == 7 && none.is_empty());
    }
}
