//! The receiver by hand, and against a set of bytes.

use std::collections::BTreeSet;

use perhop_core::time::{Instant, Span};
use perhop_core::timed::Timed;
use perhop_core::units::Bytes;
use perhop_tcp::ack::{AckPolicy, Delayed, EverySegment};
use perhop_tcp::receiver::{Receiver, ReceiverParams};
use perhop_tcp::segment::{Ack, MAX_SACK_BLOCKS, Segment};
use proptest::prelude::*;

const TIMEOUT: u64 = 200;

const PARAMS: ReceiverParams = ReceiverParams {
    window: Bytes(100_000),
    sack_blocks: 3,
    sack_forgets: false,
    ecn: true,
    exact_echo: false,
    accurate: false,
};

fn at(ms: u64) -> Instant {
    Instant::ZERO + Span::from_millis(ms)
}

fn receiver(policy: Box<dyn AckPolicy>) -> Receiver {
    Receiver::new(PARAMS, policy)
}

fn every() -> Receiver {
    receiver(Box::new(EverySegment))
}

fn delayed() -> Receiver {
    receiver(Box::new(Delayed::new(Span::from_millis(TIMEOUT))))
}

/// Data that left at `sent`.
fn data(seq: u64, end: u64, sent: Instant) -> Segment {
    Segment { seq, end, sent, ect: true, ..Segment::default() }
}

/// The answer to data that left 10 ms ago.
fn hear(r: &mut Receiver, ms: u64, seq: u64, end: u64) -> Option<Ack> {
    r.on_segment(at(ms), &data(seq, end, at(ms - 10)), false);
    r.poll_transmit(at(ms))
}

/// The number of the answer, where there is one.
fn number(r: &mut Receiver, ms: u64, seq: u64, end: u64) -> Option<u64> {
    hear(r, ms, seq, end).map(|ack| ack.ack)
}

fn blocks(r: &mut Receiver, seq: u64, end: u64) -> Vec<(u64, u64)> {
    hear(r, 10, seq, end).map(|ack| ack.sack.as_slice().to_vec()).unwrap_or_default()
}

mod numbers {
    use super::*;

    #[test]
    fn a_gap_holds_the_acknowledgment_until_it_is_filled() {
        let mut r = every();
        assert_eq!(number(&mut r, 10, 0, 10), Some(10));
        assert_eq!(number(&mut r, 10, 20, 30), Some(10));
        assert_eq!(number(&mut r, 10, 0, 10), Some(10));
        assert_eq!(number(&mut r, 10, 10, 20), Some(30));
        assert_eq!((r.ack(), r.delivered()), (30, Bytes(30)));
    }

    #[test]
    fn a_segment_is_acknowledged_once() {
        let mut r = every();
        assert_eq!(number(&mut r, 10, 0, 10), Some(10));
        assert_eq!(r.poll_transmit(at(10)), None);
        assert_eq!(r.poll_transmit(at(10_000)), None);
    }

    //= test rfc7323-2.2-unscaled-syn
    #[test]
    fn a_syn_is_answered_each_time_with_a_window_of_16_bits() {
        let mut r = delayed();
        for ms in [5, 1005] {
            r.on_segment(at(ms), &Segment { syn: true, ..data(0, 0, at(ms)) }, false);
            let ack = r.poll_transmit(at(ms)).unwrap();
            assert_eq!((ack.syn, ack.ack, ack.window, ack.echo), (true, 0, Bytes(65_535), at(ms)));
        }
        assert_eq!(number(&mut r, 1010, 0, 10), None);
        let ack = hear(&mut r, 1010, 10, 20).unwrap();
        assert_eq!((ack.syn, ack.ack, ack.window), (false, 20, Bytes(100_000)));
    }

    #[test]
    fn a_fin_takes_a_number_that_is_not_delivered() {
        let mut r = delayed();
        r.on_segment(at(1), &Segment { fin: true, ..data(10, 16, at(0)) }, false);
        assert_eq!(r.poll_transmit(at(1)).map(|ack| ack.ack), Some(0));
        assert_eq!(r.delivered(), Bytes(0));
        assert_eq!(number(&mut r, 10, 0, 10), Some(16));
        assert_eq!(r.delivered(), Bytes(15));
    }

    #[test]
    fn a_fin_without_data_is_acknowledged_at_once() {
        let mut r = delayed();
        assert_eq!(number(&mut r, 10, 0, 10), None);
        r.on_segment(at(11), &Segment { fin: true, ..data(10, 11, at(10)) }, false);
        assert_eq!(r.poll_transmit(at(11)).map(|ack| ack.ack), Some(11));
        assert_eq!((r.ack(), r.delivered()), (11, Bytes(10)));
        assert_eq!(r.next_timeout(), None);
    }

    #[test]
    fn a_segment_without_a_number_is_not_acknowledged() {
        let mut r = every();
        assert_eq!(number(&mut r, 10, 0, 0), None);
        assert_eq!(number(&mut r, 10, 0, 10), Some(10));
        assert_eq!(number(&mut r, 10, 9, 9), Some(10), "unless it asks whether anyone is there");
    }
}

mod delays {
    use super::*;

    #[test]
    fn the_second_segment_is_acknowledged_at_once() {
        let mut r = delayed();
        for i in 0..4 {
            assert_eq!(number(&mut r, 10, 20 * i, 20 * i + 10), None);
            assert_eq!(number(&mut r, 10, 20 * i + 10, 20 * i + 20), Some(20 * i + 20));
            assert_eq!(r.next_timeout(), None);
        }
    }

    #[test]
    fn a_single_segment_is_acknowledged_after_the_timeout() {
        let mut r = delayed();
        assert_eq!(number(&mut r, 10, 0, 10), None);
        assert_eq!(r.next_timeout(), Some(at(10 + TIMEOUT)));
        r.on_timeout(at(9 + TIMEOUT));
        assert_eq!(r.poll_transmit(at(9 + TIMEOUT)), None);
        r.on_timeout(at(10 + TIMEOUT));
        assert_eq!(r.next_timeout(), None);
        r.on_timeout(at(10 + TIMEOUT));
        assert_eq!(r.poll_transmit(at(10 + TIMEOUT)).map(|ack| ack.ack), Some(10));
        assert_eq!(number(&mut r, 300, 10, 20), None, "the next one waits again");
    }

    #[test]
    fn a_driver_may_ask_before_it_tells_of_the_timeout() {
        let mut r = delayed();
        assert_eq!(number(&mut r, 10, 0, 10), None);
        assert_eq!(r.poll_transmit(at(10 + TIMEOUT)).map(|ack| ack.ack), Some(10));
        assert_eq!(r.next_timeout(), None);
    }

    #[test]
    fn what_is_out_of_order_is_acknowledged_at_once() {
        let mut r = delayed();
        assert_eq!(number(&mut r, 10, 10, 20), Some(0));
        assert_eq!(number(&mut r, 10, 30, 40), Some(0));
        assert_eq!(number(&mut r, 10, 30, 40), Some(0), "a duplicate");
        assert_eq!(number(&mut r, 10, 0, 5), Some(5), "a part of a gap");
        assert_eq!(number(&mut r, 10, 5, 10), Some(20), "a gap, with another after it");
        assert_eq!(number(&mut r, 10, 20, 30), Some(40), "the last gap");
        assert_eq!(number(&mut r, 10, 0, 10), Some(40), "a duplicate");
        assert_eq!(number(&mut r, 10, 40, 50), None);
        assert_eq!(number(&mut r, 10, 60, 70), Some(50), "with what has waited");
    }
}

mod sack {
    use super::*;

    #[test]
    fn the_island_with_the_latest_segment_comes_first() {
        let mut r = every();
        assert!(blocks(&mut r, 0, 10).is_empty());
        assert_eq!(blocks(&mut r, 20, 30), [(20, 30)]);
        assert_eq!(blocks(&mut r, 40, 50), [(40, 50), (20, 30)]);
        assert_eq!(blocks(&mut r, 60, 70), [(60, 70), (40, 50), (20, 30)]);
        assert_eq!(blocks(&mut r, 80, 90), [(80, 90), (60, 70), (40, 50)]);
        assert_eq!(blocks(&mut r, 30, 35), [(20, 35), (80, 90), (60, 70)]);
        assert_eq!(blocks(&mut r, 60, 70), [(60, 70), (20, 35), (80, 90)], "a duplicate too");
    }

    #[test]
    fn islands_that_meet_are_reported_as_one() {
        let mut r = every();
        for (seq, end) in [(20, 30), (40, 50), (60, 70)] {
            blocks(&mut r, seq, end);
        }
        assert_eq!(blocks(&mut r, 30, 40), [(20, 50), (60, 70)]);
        assert_eq!(blocks(&mut r, 10, 100), [(10, 100)]);
    }

    #[test]
    fn a_segment_that_advances_the_acknowledgment_leaves_the_latest_islands() {
        let mut r = every();
        for (seq, end) in [(60, 70), (20, 30), (40, 50), (10, 20)] {
            blocks(&mut r, seq, end);
        }
        assert_eq!(blocks(&mut r, 0, 10), [(40, 50), (60, 70)]);
        assert_eq!(blocks(&mut r, 30, 40), [(60, 70)]);
        assert!(blocks(&mut r, 50, 60).is_empty());
    }

    /// RFC 2018 section 7, case 3: of eight segments the second, fourth, sixth and eighth are lost, then two come late.
    #[test]
    fn every_other_segment_lost() {
        let mut r = every();
        let segment = |n: u64| (500 * n, 500 * n + 500);
        let [s0, s2, s4, s6] = [0, 2, 4, 6].map(segment);
        assert!(blocks(&mut r, s0.0, s0.1).is_empty());
        assert_eq!(blocks(&mut r, s2.0, s2.1), [s2]);
        assert_eq!(blocks(&mut r, s4.0, s4.1), [s4, s2]);
        assert_eq!(blocks(&mut r, s6.0, s6.1), [s6, s4, s2]);
        let (seq, end) = segment(3);
        assert_eq!(blocks(&mut r, seq, end), [(s2.0, s4.1), s6]);
        let (seq, end) = segment(1);
        assert_eq!(
            hear(&mut r, 10, seq, end).map(|ack| (ack.ack, ack.sack.as_slice().to_vec())),
            Some((2500, vec![s6]))
        );
    }

    #[test]
    fn without_the_option_nothing_is_reported() {
        let mut r = Receiver::new(ReceiverParams { sack_blocks: 0, ..PARAMS }, Box::new(EverySegment));
        assert!(blocks(&mut r, 20, 30).is_empty());
    }
}

mod timestamps {
    use super::*;

    fn echo(r: &mut Receiver, ms: u64, seq: u64, end: u64) -> Option<Instant> {
        hear(r, ms, seq, end).map(|ack| ack.echo)
    }

    //= test rfc7323-4.3-recent
    //= test rfc7323-4.3-delayed
    /// RFC 7323 section 4.3, case (A): the earliest segment that an acknowledgment covers.
    #[test]
    fn a_delayed_acknowledgment_echoes_the_earlier_segment() {
        let mut r = delayed();
        assert_eq!(echo(&mut r, 20, 0, 10), None);
        assert_eq!(echo(&mut r, 30, 10, 20), Some(at(10)));
        assert_eq!(echo(&mut r, 40, 20, 30), None);
        r.on_timeout(at(40 + TIMEOUT));
        assert_eq!(r.poll_transmit(at(40 + TIMEOUT)).map(|ack| ack.echo), Some(at(30)));
    }

    //= test rfc7323-4.3-gap
    //= test rfc7323-4.3-filler
    /// Case (B): the last segment that advanced the acknowledgment.
    #[test]
    fn what_lies_beyond_a_gap_is_not_echoed() {
        let mut r = every();
        assert_eq!(echo(&mut r, 20, 0, 10), Some(at(10)));
        assert_eq!(echo(&mut r, 30, 20, 30), Some(at(10)));
        assert_eq!(echo(&mut r, 40, 30, 40), Some(at(10)));
        // Case (C): the segment that fills the gap.
        assert_eq!(echo(&mut r, 90, 10, 20), Some(at(80)));
    }

    //= test rfc7323-4.3-update
    #[test]
    fn an_old_segment_does_not_turn_the_echo_back() {
        let mut r = every();
        assert_eq!(echo(&mut r, 50, 0, 10), Some(at(40)));
        assert_eq!(echo(&mut r, 60, 0, 10), Some(at(50)), "sent again later");
        r.on_segment(at(70), &data(0, 10, at(1)), false);
        assert_eq!(r.poll_transmit(at(70)).map(|ack| ack.echo), Some(at(50)));
    }
}

mod marks {
    use super::*;

    fn ece(r: &mut Receiver, seq: u64, cwr: bool, ce: bool) -> Option<bool> {
        r.on_segment(at(10), &Segment { cwr, ..data(seq, seq + 10, at(0)) }, ce);
        r.poll_transmit(at(10)).map(|ack| ack.ece)
    }

    #[test]
    fn a_mark_is_echoed_until_the_window_is_reduced() {
        let mut r = every();
        assert_eq!(ece(&mut r, 0, false, false), Some(false));
        assert_eq!(ece(&mut r, 10, false, true), Some(true));
        assert_eq!(ece(&mut r, 20, false, false), Some(true));
        assert_eq!(ece(&mut r, 30, true, false), Some(false));
        assert_eq!(ece(&mut r, 40, false, false), Some(false));
        assert_eq!(
            ece(&mut r, 50, true, true),
            Some(true),
            "a mark on the segment that says so is a new one"
        );
    }

    #[test]
    fn a_delayed_acknowledgment_echoes_a_mark_of_either_segment() {
        let mut r = delayed();
        assert_eq!(ece(&mut r, 0, false, true), None);
        assert_eq!(ece(&mut r, 10, false, false), Some(true));
    }

    #[test]
    fn nothing_is_echoed_without_ecn() {
        let mut r = Receiver::new(ReceiverParams { ecn: false, ..PARAMS }, Box::new(EverySegment));
        assert_eq!(ece(&mut r, 0, false, true), Some(false));
    }
}

proptest! {
    #[test]
    fn equals_a_set_of_bytes(
        segments in prop::collection::vec((0u64..80, 1u64..12), 1..80),
        sack_blocks in 0..=MAX_SACK_BLOCKS as u8,
    ) {
        let mut r = Receiver::new(ReceiverParams { sack_blocks, ..PARAMS }, Box::new(EverySegment));
        let mut bytes = BTreeSet::new();
        for (seq, len) in segments {
            let end = seq + len;
            bytes.extend(seq..end);
            let ack = hear(&mut r, 10, seq, end).unwrap();
            let contiguous = (0..).find(|byte| !bytes.contains(byte)).unwrap();
            prop_assert_eq!((ack.ack, r.ack(), r.delivered()), (contiguous, contiguous, Bytes(contiguous)));
            let reported = ack.sack.as_slice();
            let mut islands: BTreeSet<(u64, u64)> = BTreeSet::new();
            for &start in bytes.iter().filter(|byte| **byte > contiguous && !bytes.contains(&(**byte - 1))) {
                islands.insert((start, (start..).find(|byte| !bytes.contains(byte)).unwrap()));
            }
            prop_assert_eq!(reported.len(), islands.len().min(usize::from(sack_blocks)), "as many as fit");
            for (i, block) in reported.iter().enumerate() {
                prop_assert!(islands.contains(block), "{:?} of {:?}", block, islands);
                prop_assert!(!reported[..i].contains(block));
            }
            if seq > contiguous && let Some(&(start, stop)) = reported.first() {
                prop_assert!(start <= seq && end <= stop, "the first block holds the latest segment");
            }
        }
    }

    #[test]
    fn with_delays_every_segment_is_acknowledged_in_time(
        segments in prop::collection::vec((0u64..300, 0u64..60, 1u64..12), 1..80),
    ) {
        let mut r = delayed();
        let mut now = 100;
        let mut acknowledged = 0;
        let mut waiting_since = None;
        for (wait, seq, len) in segments {
            let until = now + wait;
            if let Some(deadline) = r.next_timeout().filter(|&deadline| deadline <= at(until)) {
                r.on_timeout(deadline);
                acknowledged = r.poll_transmit(deadline).unwrap().ack;
                prop_assert!(waiting_since.take().is_some_and(|since| deadline <= at(since + TIMEOUT)));
            }
            now = until;
            let before = r.ack();
            match hear(&mut r, now, seq, seq + len) {
                Some(ack) => {
                    acknowledged = ack.ack;
                    waiting_since = None;
                }
                None => {
                    prop_assert!(waiting_since.replace(now).is_none(), "the second waits");
                    prop_assert!(r.ack() > before && r.next_timeout().is_some());
                }
            }
            prop_assert!(acknowledged == r.ack() || waiting_since.is_some());
        }
    }
}

//= test draft-accecn-34-3.2.1-initial
//= test draft-accecn-34-3.2.2-count
//= test draft-accecn-34-3.2.2.5.1-change
//= test draft-accecn-34-3.2.2.5.1-increment
#[test]
fn marks_are_counted_and_the_first_of_a_run_and_each_second_are_acknowledged_at_once() {
    let params = ReceiverParams { ecn: true, accurate: true, ..PARAMS };
    let mut receiver = Receiver::new(params, Box::new(Delayed::new(Span::from_millis(200))));
    let mut acks = Vec::new();
    for (segment, ce) in (0u64..).zip([false, true, true, true, false, true, false, false]) {
        let now = Instant::from_nanos(segment);
        let one = Segment { seq: segment * 1000, end: (segment + 1) * 1000, sent: now, ..Segment::default() };
        receiver.on_segment(now, &one, ce);
        acks.push(receiver.poll_transmit(now).map(|ack| (ack.ack / 1000, ack.ace, ack.ece)));
    }
    let expected = [
        None,
        Some((2, 6, false)), // the first mark
        None,                // one more
        Some((4, 0, false)), // two since
        None,
        Some((6, 1, false)), // a mark after a packet without
        None,
        Some((8, 1, false)), // two segments
    ];
    assert_eq!(acks, expected);
}
