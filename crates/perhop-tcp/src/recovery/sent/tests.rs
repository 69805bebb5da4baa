//! The list by hand; that it agrees with a walk over all segments is a law of the sender.

use super::*;

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

/// Segments 0 to 9 of ten bytes, each sent at its number in milliseconds.
fn ten() -> Sent {
    let mut sent = Sent::default();
    for n in 0..10 {
        sent.send(at(n), 10 * n, 10 * n + 10);
    }
    sent
}

/// The ends of what `run` tells.
fn reported(run: impl FnOnce(&mut dyn FnMut(&Segment))) -> Vec<u64> {
    let mut ends = Vec::new();
    run(&mut |segment| ends.push(segment.end));
    ends
}

#[test]
fn each_segment_is_told_once_whether_it_is_reported_or_acknowledged() {
    let mut sent = ten();
    assert_eq!(reported(|report| assert_eq!(sent.report(20, 40, 10, report), 20)), [30, 40]);
    assert_eq!(reported(|report| assert_eq!(sent.report(20, 50, 10, report), 10)), [50]);
    assert_eq!((sent.sacked(), sent.reported(), sent.gone()), (30, 3, 30));
    assert_eq!(reported(|report| sent.advance(60, report)), [10, 20, 60]);
    assert_eq!((sent.sacked(), sent.reported(), sent.first()), (0, 0, Some(60)));
}

//= test rfc8985-6.2-5-detect
//= test rfc8985-6.2-5-sent-after
#[test]
fn what_is_overtaken_and_old_enough_is_lost_and_the_rest_waits() {
    let mut sent = ten();
    sent.report(40, 50, 10, |_| {});
    // 4 left at 4 ms; at 7 ms with 5 ms to wait what left at 2 ms or before is lost, and 3 will be at 8 ms
    assert_eq!(sent.detect(at(7), (at(4), 50), Span::from_millis(5), |_, _| ()).0, Some(at(8)));
    assert_eq!((sent.first_lost(), sent.gone()), (Some((0, 10)), 40));
    assert_eq!(sent.detect(at(8), (at(4), 50), Span::from_millis(5), |_, _| ()).0, None, "5 left later");
    assert_eq!(sent.gone(), 50);
}

//= test rfc8985-6.1-transmit
#[test]
fn what_is_sent_again_is_judged_by_its_last_time() {
    let mut sent = ten();
    sent.detect(at(100), (at(9), 100), Span::ZERO, |_, _| ());
    assert_eq!(sent.gone(), 90, "all but the last");
    sent.send(at(100), 0, 10);
    sent.send(at(100), 10, 20);
    assert_eq!((sent.gone(), sent.first_lost()), (70, Some((20, 30))));
    assert_eq!(
        sent.detect(at(150), (at(100), 20), Span::from_millis(50), |_, _| ()).0,
        None,
        "of one time the lower is overtaken"
    );
    assert_eq!(sent.first_lost(), Some((0, 10)));
}

//= test rfc8985-6.3-mark
#[test]
fn an_expiry_takes_the_first_and_what_is_old_and_keeps_what_is_reported() {
    let mut sent = ten();
    sent.report(30, 40, 10, |_| {});
    sent.expire(at(10), Span::from_millis(5), |_, _| ());
    // left at 5 ms or before: 0 to 5 without 3
    assert_eq!((sent.gone(), sent.sacked()), (60, 10));
    let mut young = ten();
    young.expire(at(10), Span::from_millis(50), |_, _| ());
    assert_eq!((young.first_lost(), young.gone()), (Some((0, 10)), 10));
}

#[test]
fn reports_are_forgotten_when_the_first_segment_is_among_them() {
    let mut sent = ten();
    sent.report(0, 50, 10, |_| {});
    sent.expire(at(10), Span::ZERO, |_, _| ());
    assert_eq!((sent.sacked(), sent.reported(), sent.gone()), (0, 0, 100));
}

#[test]
fn what_is_pardoned_can_be_lost_again() {
    let mut sent = ten();
    sent.expire(at(10), Span::ZERO, |_, _| ());
    sent.pardon();
    assert_eq!((sent.gone(), sent.first_lost()), (0, None));
    sent.detect(at(20), (at(5), 60), Span::ZERO, |_, _| ());
    assert_eq!(sent.gone(), 50);
}

#[test]
fn a_segment_of_which_a_part_is_reported_or_sent_again_becomes_two() {
    let mut sent = ten();
    assert_eq!(reported(|report| assert_eq!(sent.report(13, 17, 10, report), 4)), [17]);
    sent.send(at(50), 0, 5);
    sent.detect(at(60), (at(9), 100), Span::ZERO, |_, _| ());
    assert_eq!(sent.first_lost(), Some((5, 10)));
    assert_eq!(sent.gone(), 4 + 5 + 3 + 3 + 70);
}
