//! A receive buffer that grows with what comes in a round trip, and a window that grows into it with each segment.
//!
//! Source: `net/ipv4/tcp_input.c` of Linux 6.18 (`tcp_init_buffer_space`, `tcp_grow_window`, `tcp_rcv_space_adjust`,
//! `tcp_rcvbuf_grow`). Different: the round trip is that of the handshake. Units: bytes, of payload where not of memory.

use perhop_core::time::{Instant, Span};
use perhop_core::units::Bytes;

/// Memory that a segment takes beside its payload (`truesize` is 2304 for 1460).
const OVERHEAD: u64 = 844;
/// Segments that come in a round trip at first (`TCP_INIT_CWND`).
const FIRST_ROUND: u64 = 10;
/// Segments by which the window grows at most for each that arrives.
const GROWTH: u64 = 2;

/// The settings of a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BufferParams {
    /// Payload of a full segment.
    pub mss: Bytes,
    /// Memory at first.
    pub first: Bytes,
    /// Memory at most.
    pub most: Bytes,
}

/// The buffer of an application that reads at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buffer {
    mss: u64,
    /// The window (`rcv_ssthresh`), what it may grow to (`window_clamp`), and what that may.
    window: u64,
    clamp: u64,
    most: u64,
    /// The most that has come in a round trip (`rcvq_space.space`).
    round: u64,
    /// Bytes that have come in this one, and when that began.
    come: u64,
    began: Option<Instant>,
}

impl Buffer {
    pub(super) const fn new(params: BufferParams) -> Self {
        let mss = params.mss.0;
        Self {
            mss,
            // before a segment has come half of the memory is taken to be payload, less one segment
            window: (params.first.0 / 2).saturating_sub(mss),
            clamp: params.first.0 / (mss + OVERHEAD) * mss,
            most: params.most.0 / (mss + OVERHEAD) * mss,
            round: FIRST_ROUND * mss,
            come: 0,
            began: None,
        }
    }

    /// A segment arrived. Returns whether the window grows.
    pub(super) fn grow(&mut self) -> bool {
        let grows = self.window < self.clamp;
        if grows {
            self.window = self.clamp.min(self.window + GROWTH * self.mss);
        }
        grows
    }

    /// `bytes` that came in order have been read.
    pub(super) fn read(&mut self, now: Instant, bytes: u64, round_trip: Span) {
        self.come += bytes;
        if now - *self.began.get_or_insert(now) < round_trip {
            return;
        }
        if self.come > self.round {
            // twice as much as came, and what it has grown by twice over
            let twice = 2 * self.come;
            let more = (2 * twice).saturating_mul(self.come - self.round) / self.round;
            self.clamp = self.clamp.max(twice.saturating_add(more).min(self.most));
            self.round = self.come;
        }
        (self.come, self.began) = (0, Some(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1460;
    const ROUND_TRIP: Span = Span::from_millis(20);

    fn buffer() -> Buffer {
        Buffer::new(BufferParams { mss: Bytes(MSS), first: Bytes(131_072), most: Bytes(6_291_456) })
    }

    /// Segments that arrive before the window has stopped growing.
    fn growing(buffer: &mut Buffer) -> usize {
        (0..10_000).take_while(|_| buffer.grow()).count()
    }

    /// So many segments come in each round trip, evenly.
    fn rounds(buffer: &mut Buffer, segments: [u64; 3]) {
        for (round, count) in segments.into_iter().enumerate() {
            for n in 0..count {
                let at = round as u64 * 20_000 + n * 20_000 / count;
                buffer.read(Instant::from_nanos(at * 1000), MSS, ROUND_TRIP);
            }
        }
        buffer.read(Instant::from_nanos(60_000_000), MSS, ROUND_TRIP);
    }

    #[test]
    fn the_window_grows_from_half_of_the_memory_by_two_segments_each() {
        // from 64,076 to 56 segments
        assert_eq!(growing(&mut buffer()), 7);
    }

    #[test]
    fn ten_segments_a_round_trip_let_nothing_grow() {
        let mut buffer = buffer();
        growing(&mut buffer);
        rounds(&mut buffer, [9, 10, 10]);
        assert_eq!(growing(&mut buffer), 0);
    }

    #[test]
    fn twice_as_much_in_each_round_trip_makes_room_for_six_times_as_much() {
        let mut buffer = buffer();
        growing(&mut buffer);
        rounds(&mut buffer, [9, 20, 40]);
        assert_eq!(buffer.clamp, 6 * 40 * MSS);
        assert_eq!(growing(&mut buffer), (240 - 56) / 2);
    }

    #[test]
    fn it_does_not_shrink_and_has_a_bound() {
        let mut buffer = buffer();
        rounds(&mut buffer, [9, 20, 40]);
        for at in [80, 100] {
            buffer.read(Instant::from_nanos(at * 1_000_000), 41 * MSS, ROUND_TRIP);
        }
        assert_eq!(buffer.clamp, 240 * MSS);
        buffer.read(Instant::from_nanos(1_000_000_000), 1 << 60, ROUND_TRIP);
        assert_eq!(buffer.clamp, 6_291_456 / 2304 * MSS);
    }
}
