//! Words of the recordings under `oracles/`.

use perhop_core::packet::Ecn;

/// The two bits of the IP header, as a number from 0 to 3 (RFC 3168 section 5).
pub fn ecn(code: &str) -> Ecn {
    [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][code.parse::<usize>().expect("an ECN field")]
}
