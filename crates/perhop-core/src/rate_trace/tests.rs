use super::*;
use crate::rng::Stream;

/// Packets of these lengths, each as soon as the one before it is sent and not before it is there: when each is sent.
fn sent(trace: &RateTrace, packets: &[(u64, u64)]) -> Vec<u64> {
    let rate = BitRate::new(1).expect("a rate");
    let mut link = Traced::new(Arc::new(trace.clone()), rate);
    let mut free = 0;
    let mut ends = Vec::new();
    for &(there, len) in packets {
        let now = Instant::from_nanos(free.max(there));
        free = (now + link.time(now, Bytes(len), false)).as_nanos();
        ends.push(free);
    }
    ends
}

/// The same by the words of mahimahi's manual: opportunities one after the other, each of so many bytes, of which packets that
/// are there take what they need; what is left when no packet is there is lost.
fn by_opportunities(times: &[u64], bytes: u64, packets: &[(u64, u64)]) -> Vec<u64> {
    let period = times[times.len() - 1];
    let all = (0..).flat_map(|round| times.iter().map(move |time| round * period + time));
    let (mut ends, mut waiting, mut left) = (Vec::new(), packets.iter().peekable(), 0);
    for now in all {
        let mut capacity = bytes;
        loop {
            if left == 0 {
                match waiting.peek() {
                    None => return ends,
                    Some((there, _)) if *there > now => break,
                    Some((_, len)) => left = *len,
                }
            }
            let taken = capacity.min(left);
            (capacity, left) = (capacity - taken, left - taken);
            if left > 0 {
                break;
            }
            ends.push(now);
            waiting.next();
        }
    }
    ends
}

/// The same for steps: a nanosecond after the other, each with as many nanobits as its rate.
fn by_nanoseconds(steps: &[(u64, u64)], period: Option<u64>, packets: &[(u64, u64)]) -> Vec<u64> {
    let rate = |at: u64| {
        let at = period.map_or(at, |period| at % period);
        steps.iter().rev().find(|step| step.0 <= at).map_or(0, |step| u128::from(step.1))
    };
    let (mut ends, mut now, mut spare) = (Vec::new(), 0, 0);
    for &(there, len) in packets {
        if there > now {
            (now, spare) = (there, 0);
        }
        let work = u128::from(len) * 8 * NS_PER_S;
        // `spare` of the next nanosecond is taken already
        let mut got = 0;
        while got + rate(now) - spare < work {
            got += rate(now) - spare;
            (now, spare) = (now + 1, 0);
        }
        spare += work - got;
        // all of a nanosecond: what comes next begins in the one after it, past those that offer nothing
        if spare == rate(now) {
            (now, spare) = (now + 1, 0);
        }
        ends.push(now);
    }
    ends
}

/// Lengths from 40 to 1500 bytes, at random distances.
fn traffic(stream: &mut Stream, count: usize, distance: u64) -> Vec<(u64, u64)> {
    let mut there = 0;
    (0..count)
        .map(|_| {
            there += stream.below(2) * stream.below(distance);
            (there, 40 + stream.below(1461))
        })
        .collect()
}

#[test]
fn opportunities_are_as_in_the_manual_of_mahimahi() {
    for seed in 0..200 {
        let mut stream = Stream::new(seed, 0, "test");
        let mut times: Vec<u64> = (0..1 + stream.below(40)).map(|_| stream.below(30) * 1_000_000).collect();
        times.sort_unstable();
        times.push(times[times.len() - 1] + 1_000_000 * (1 + stream.below(3)));
        let packets = traffic(&mut stream, 200, 3_000_000);
        let spans: Vec<Span> = times.iter().map(|ns| Span::from_nanos(*ns)).collect();
        let trace = RateTrace::opportunities(&spans, Bytes(1500)).expect("a trace");
        assert_eq!(sent(&trace, &packets), by_opportunities(&times, 1500, &packets), "seed {seed}");
    }
}

#[test]
fn steps_are_as_counted_by_nanoseconds() {
    for seed in 0..60 {
        let mut stream = Stream::new(seed, 0, "test");
        let mut steps = vec![(0, 1 + stream.below(4_000_000_000))];
        for _ in 0..stream.below(8) {
            let rate = stream.below(4) * stream.below(9_000_000_000);
            steps.push((steps[steps.len() - 1].0 + 1 + stream.below(4000), rate));
        }
        let last = steps[steps.len() - 1].0 + 1 + stream.below(900);
        let period = (seed % 2 == 0).then_some(last);
        if period.is_none() {
            steps.push((last, 1_234_567_891));
        }
        let packets = traffic(&mut stream, 30, 1200);
        let spans: Vec<(Span, u64)> = steps.iter().map(|&(at, rate)| (Span::from_nanos(at), rate)).collect();
        let trace = RateTrace::steps(&spans, period.map(Span::from_nanos)).expect("a trace");
        assert_eq!(
            sent(&trace, &packets),
            by_nanoseconds(&steps, period, &packets),
            "seed {seed}: {steps:?}"
        );
    }
}

#[test]
fn one_step_is_a_constant_rate_whose_remainder_goes_on() {
    let rate = BitRate::new(9_999_991).expect("a rate");
    let trace = RateTrace::steps(&[(Span::ZERO, rate.bits_per_sec())], None).expect("a trace");
    let packets: Vec<(u64, u64)> = (0..1000).map(|n| (0, 40 + n * 37 % 1461)).collect();
    let mut constant = crate::serializer::Serializer::new(rate);
    let mut end = 0;
    let expected = packets.iter().map(|&(_, len)| {
        end += constant.time(Bytes(len)).as_nanos();
        end
    });
    assert_eq!(sent(&trace, &packets), expected.collect::<Vec<_>>());
    assert_eq!(trace.mean(Span::from_secs(7)), Some(rate));
}

#[test]
fn what_is_taken_is_part_of_what_is_offered() {
    let times = [0, 2, 2, 5].map(Span::from_millis);
    let trace = RateTrace::opportunities(&times, Bytes(1500)).expect("a trace");
    // 4 of 1500 bytes in 5 ms
    assert_eq!(trace.mean(Span::from_secs(1)), BitRate::new(9_600_000));
    let mut link = Traced::new(Arc::new(trace), BitRate::new(9_600_000).expect("a rate"));
    let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
    let taken = |offered, data, acks| Taken { offered, data, acks };
    assert_eq!(link.taken(at(0)), taken(12_000, 0, 0));
    // 2000 bytes: 1500 of the opportunity at 0, 500 of the first at 2
    assert_eq!(link.time(at(0), Bytes(2000), false), Span::from_millis(2));
    assert_eq!(link.taken(at(1)), taken(12_000, 12_000, 0));
    // of 2500 bytes that are left at 2 an ACK takes 40, and the rest is lost
    assert_eq!(link.time(at(2), Bytes(40), true), Span::ZERO);
    assert_eq!(link.taken(at(2)), taken(36_000, 16_000, 320));
    assert_eq!(link.time(at(4), Bytes(3000), false), Span::from_millis(1));
    // that of 5 and, the trace begins again, that of 0
    assert_eq!(link.taken(at(4)), taken(36_000, 16_000, 320));
    assert_eq!(link.taken(at(5)), taken(60_000, 40_000, 320));
}

#[test]
fn traces_without_a_meaning_are_refused() {
    let spans = |ms: &[u64]| ms.iter().map(|ms| Span::from_millis(*ms)).collect::<Vec<_>>();
    let opportunities = |ms: &[u64]| RateTrace::opportunities(&spans(ms), Bytes(1500)).map(drop);
    let refused = |field, rule: &str| Err(ParamError::new(field, rule));
    assert_eq!(opportunities(&[3, 2]), refused("times", "must not go back"));
    for nothing in [&[][..], &[0, 0]] {
        assert_eq!(opportunities(nothing), refused("times", "must offer something, the last after 0"));
    }
    let steps = |steps: &[(u64, u64)], period: Option<u64>| {
        let steps: Vec<_> = steps.iter().map(|&(ms, rate)| (Span::from_millis(ms), rate)).collect();
        RateTrace::steps(&steps, period.map(Span::from_millis)).map(drop)
    };
    assert_eq!(steps(&[], None), refused("steps", "must have a step"));
    assert_eq!(steps(&[(1, 5)], None), refused("steps", "must begin at 0"));
    assert_eq!(steps(&[(0, 5), (0, 6)], None), refused("steps", "must go on in time"));
    assert_eq!(steps(&[(0, 5), (2, 6)], Some(2)), refused("period", "must be after the last step"));
    assert_eq!(steps(&[(0, 5), (2, 0)], None), refused("steps", "must not end with a rate of 0"));
    assert_eq!(steps(&[(0, 0)], Some(2)), refused("steps", "must not end with a rate of 0"));
    assert_eq!(steps(&[(0, 5), (2, 0)], Some(4)), Ok(()));
}
