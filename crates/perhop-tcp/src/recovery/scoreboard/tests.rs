//! The board by hand, and against the definitions of RFC 6675 section 4 byte by byte.

use perhop_testkit::sack::Reported;
use proptest::prelude::*;

use super::*;

const MSS: u64 = 10;

/// A board on which segments of ten bytes have been reported, by their numbers.
fn board(max: u64, segments: &[u64]) -> Scoreboard {
    let mut board = Scoreboard::default();
    for segment in segments {
        board.update(0, max * MSS, MSS, &[(segment * MSS, (segment + 1) * MSS)]);
    }
    board
}

//= test rfc6675-4-update
//= test rfc6675-3-scoreboard
//= test rfc2018-5-record
#[test]
fn ranges_that_touch_become_one_and_what_is_known_is_not_counted_again() {
    let mut board = board(10, &[2, 4]);
    assert_eq!(board.update(0, 100, MSS, &[(30, 40), (20, 50)]).fresh, 10);
    assert_eq!((board.sacked(), board.hole(0)), (30, Some((0, 20))));
    assert_eq!(board.update(0, 100, MSS, &[(20, 50)]).fresh, 0);
}

#[test]
fn what_was_never_sent_or_is_empty_or_is_acknowledged_is_not_taken() {
    let mut board = Scoreboard::default();
    assert_eq!(board.update(20, 100, MSS, &[(90, 101), (50, 50), (60, 50), (0, 20)]).fresh, 0);
    assert!(board.ranges.is_empty(), "what ends where the unacknowledged begins is no range of none, either");
    assert_eq!(board.update(20, 100, MSS, &[(10, 30)]).fresh, 10, "of the range 20 to 30 lies beyond");
}

//= test rfc6675-4-is-lost
//= test rfc6675-2-threshold
#[test]
fn three_segments_above_or_three_ranges_mean_a_loss_two_do_not() {
    assert!(!board(10, &[1, 2]).is_lost(0));
    assert!(board(10, &[1, 2, 3]).is_lost(0));
    let scattered = board(10, &[2, 4, 6]);
    assert!(scattered.is_lost(19) && !scattered.is_lost(30), "one range is left above the last hole");
    let mut bytes = Scoreboard::default();
    bytes.update(0, 100, MSS, &[(20, 40)]);
    assert!(!bytes.is_lost(19), "two segments are not more than two");
    bytes.update(0, 100, MSS, &[(40, 41)]);
    assert!(bytes.is_lost(19), "a byte more is");
}

//= test rfc6675-4-set-pipe
//= test rfc6675-4-set-pipe-outstanding
//= test rfc6675-4-set-pipe-retransmitted
#[test]
fn the_pipe_holds_what_is_neither_reported_nor_lost_and_what_was_sent_again() {
    let mut board = board(10, &[1, 4, 5, 6]);
    // lost: 0, 2 and 3; on their way: 7, 8 and 9
    assert_eq!(board.pipe(0, 100), 30);
    board.begin(0);
    board.mark_resent(10);
    assert_eq!(board.pipe(0, 100), 40);
    board.mark_resent(30);
    assert_eq!(board.pipe(0, 100), 50, "segment 1, below the mark, has arrived");
    // a byte that is not lost and was sent again counts twice
    board.mark_resent(80);
    assert_eq!(board.pipe(0, 100), 70);
}

#[test]
fn a_hole_ends_at_the_next_range_and_what_was_sent_again_is_none() {
    let mut board = board(10, &[2, 5]);
    assert_eq!(board.hole(0), Some((0, 20)));
    board.mark_resent(10);
    assert_eq!(board.hole(0), Some((10, 20)));
    board.mark_resent(20);
    assert_eq!(board.hole(0), Some((30, 50)));
    board.mark_resent(50);
    assert_eq!(board.hole(0), None, "nothing above 60 has been reported");
    assert_eq!(board.last_hole(0, 100), Some((60, 100)));
    assert_eq!(board.last_hole(0, 60), Some((30, 50)));
}

//= test rfc2018-5-timeout-forget
#[test]
fn nothing_is_known_after_it_is_cleared() {
    let mut board = board(10, &[1, 4, 5, 6]);
    board.mark_resent(30);
    board.clear();
    assert_eq!((board.sacked(), board.pipe(0, 100), board.hole(0)), (0, 100, None));
    assert!(!board.is_lost(0));
}

/// Something that happens to a board.
#[derive(Clone, Copy, Debug)]
enum Op {
    /// A range, from the first outstanding byte, is reported.
    Report(u64, u64),
    /// So many bytes are acknowledged.
    Advance(u64),
    /// So many bytes more are sent.
    Send(u64),
    Begin,
    /// Everything up to so many bytes beyond the first outstanding one has been sent again.
    Resend(u64),
    Clear,
}

fn ops(unit: u64) -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        12 => (0u64..30, 1u64..6).prop_map(move |(at, len)| Op::Report(at * unit, (at + len) * unit)),
        3 => (0u64..6).prop_map(move |by| Op::Advance(by * unit)),
        4 => (1u64..6).prop_map(move |by| Op::Send(by * unit)),
        1 => Just(Op::Begin),
        4 => (0u64..30).prop_map(move |to| Op::Resend(to * unit)),
        1 => Just(Op::Clear),
    ];
    prop::collection::vec(op, 0..120)
}

/// Both boards, told alike, answer alike about every byte.
fn agree(ops: Vec<Op>) {
    let (mut board, mut model) = (Scoreboard::default(), Reported::default());
    let (mut una, mut max) = (0, 20 * MSS);
    for op in ops {
        match op {
            Op::Report(start, end) => {
                let block = [(una + start, una + end)];
                let known = model.lost().max(una);
                let fresh = model.update(una, max, MSS, &block).len() as u64;
                let losses = (known..model.lost()).any(|seq| !model.contains(seq));
                assert_eq!(board.update(una, max, MSS, &block), News { fresh, losses });
            }
            Op::Advance(by) => {
                una = max.min(una + by);
                board.advance(una);
                model.advance(una);
            }
            Op::Send(by) => max = (max + by).min(una + 40 * MSS),
            Op::Begin => {
                board.begin(una);
                model.begin(una);
            }
            Op::Resend(to) => {
                board.mark_resent(max.min(una + to));
                model.mark_resent(max.min(una + to));
            }
            Op::Clear => {
                board.clear();
                model.clear();
            }
        }
        assert_eq!(board.sacked(), model.len(), "after {op:?}");
        assert_eq!(board.pipe(una, max), model.pipe(una, max), "after {op:?}");
        assert_eq!(board.hole(una), model.hole(una), "after {op:?}");
        assert_eq!(board.last_hole(una, max), model.last_hole(una, max), "after {op:?}");
        for seq in una..max {
            assert_eq!(board.skip(seq), model.skip(seq), "from {seq} after {op:?}");
            assert!(model.contains(seq) || board.is_lost(seq) == model.is_lost(seq), "{seq} after {op:?}");
        }
    }
}

proptest! {
    //= test rfc6675-4-set-pipe
    //= test rfc6675-4-is-lost
    #[test]
    fn equals_the_definitions_in_whole_segments(ops in ops(MSS)) {
        agree(ops);
    }

    #[test]
    fn equals_the_definitions_in_bytes(ops in ops(3)) {
        agree(ops);
    }
}
