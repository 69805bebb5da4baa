//! What the paper leaves open: each choice, and what it changes.

use perhop_core::meter::{BeyondTokens, CarrySpacing, Fraction, NewFlow, TcpFriendly, TcpFriendlyParams};
use perhop_core::packet::FlowId;
use perhop_core::time::Span;
use perhop_core::timed::Timed;
use perhop_core::units::Bytes;

use super::common::{Lab, PACKET, T, params};

const SMALL: u32 = 1;
const LARGE: u32 = 10;

#[test]
fn a_new_flow_takes_what_nobody_was_allocated() {
    let mut lab = Lab::new(params(3));
    assert_eq!(lab.send(0, 2, SMALL) + &lab.send(1, 2, SMALL), "III-");
}

#[test]
fn a_new_flow_with_a_large_window_is_no_small_one() {
    assert_eq!(Lab::new(params(3)).send(0, 3, LARGE), "I--", "its first packet is a window of one");
}

#[test]
fn or_a_new_flow_is_out() {
    for beyond_tokens in [BeyondTokens::Out, BeyondTokens::Surplus, BeyondTokens::SmallWindowIn] {
        let mut lab = Lab::new(TcpFriendlyParams { new_flow: NewFlow::Out, beyond_tokens, ..params(3) });
        assert_eq!(lab.send(0, 2, SMALL), "--", "{beyond_tokens:?}");
        lab.next();
        assert_eq!(lab.send(0, 2, SMALL), "II", "{beyond_tokens:?}");
    }
}

/// A flow that sent 2 packets sends 5, and there are 4 tokens.
fn five_for_two(beyond_tokens: BeyondTokens, window: u32) -> String {
    let mut lab = Lab::new(TcpFriendlyParams { beyond_tokens, ..params(4) });
    lab.send(0, 2, window);
    lab.next();
    lab.send(0, 5, window)
}

//= test feroz2000-3-all-small-windows-in
#[test]
fn beyond_its_tokens() {
    let marks = |beyond| [SMALL, LARGE].map(|window| five_for_two(beyond, window));
    assert_eq!(marks(BeyondTokens::Out), ["II---", "II---"]);
    assert_eq!(marks(BeyondTokens::Surplus), ["IIII-", "IIII-"]);
    assert_eq!(marks(BeyondTokens::SmallWindowIn), ["IIIII", "II---"]);
}

/// Exactly none is left after the second packet: neither half a packet more, nor a gap in what the spare ones serve.
//= test feroz2000-3-run-out
#[test]
fn the_last_whole_token_is_the_last() {
    let mut lab = Lab::new(TcpFriendlyParams { fraction: Fraction::RoundUp, ..params(4) });
    lab.send(0, 2, LARGE);
    lab.next();
    assert_eq!((lab.grant(0), lab.send(0, 5, LARGE).as_str()), ((2_000_000, 0), "II---"));
    assert_eq!(lab.grant(0).0, 0);

    // 3 tokens for twice 2 packets: one each, one packet apart, and a spare one
    let spare = BeyondTokens::Surplus;
    let mut lab =
        Lab::new(TcpFriendlyParams { fraction: Fraction::Floor, beyond_tokens: spare, ..params(3) });
    lab.send(0, 2, LARGE);
    lab.send(1, 2, LARGE);
    lab.next();
    assert_eq!([0, 1].map(|flow| lab.grant(flow)), [(1_000_000, 1_000_000); 2]);
    assert_eq!([0, 1].map(|flow| lab.send(flow, 5, LARGE)), ["-II--", "-I---"]);
}

#[test]
fn a_small_window_uses_its_last_own_token_before_a_spare_one() {
    let text = BeyondTokens::SmallWindowIn;
    let mut lab = Lab::new(TcpFriendlyParams { beyond_tokens: text, carry_tokens: 9, ..params(3) });
    lab.send(0, 1, SMALL); // new: takes one of three
    lab.next(); // of 3 + 2 it gets one, four are spare
    assert_eq!((lab.grant(0).0, lab.send(0, 1, SMALL).as_str()), (1_000_000, "I"));
    assert_eq!(lab.grant(0).0, 0, "its own");
    lab.next();
    assert_eq!(lab.grant(0).0, 1_000_000, "and not one kept beside a new one");
}

#[test]
fn the_text_marks_small_windows_in_however_few_tokens_there_are() {
    let text = TcpFriendlyParams { beyond_tokens: BeyondTokens::SmallWindowIn, ..params(1) };
    let mut lab = Lab::new(text);
    assert_eq!(lab.send(0, 3, SMALL), "III", "a new one as well");
    lab.next();
    assert_eq!(lab.send(0, 3, SMALL), "III");
    assert_eq!(Lab::new(params(1)).send(0, 3, SMALL), "I--");
}

/// Two flows that each sent 2 packets and now send 6, and 3 tokens: 1.5 each, S = 1/3.
fn halves(fraction: Fraction) -> [String; 2] {
    let mut lab = Lab::new(TcpFriendlyParams { fraction, ..params(3) });
    lab.send(0, 2, LARGE);
    lab.send(1, 2, LARGE);
    lab.next();
    [0, 1].map(|flow| lab.send(flow, 6, LARGE))
}

#[test]
fn parts_of_a_token() {
    assert_eq!(halves(Fraction::Carry), ["-I----", "-I----"]);
    assert_eq!(halves(Fraction::Floor), ["-I----", "-I----"]);
    assert_eq!(halves(Fraction::RoundUp), ["-II---", "-II---"], "4 IN for 3 tokens");
}

#[test]
fn what_was_rounded_up_is_not_owed() {
    let mut lab = Lab::new(TcpFriendlyParams { fraction: Fraction::RoundUp, ..params(3) });
    lab.send(0, 2, LARGE);
    lab.send(1, 2, LARGE);
    lab.next();
    assert_eq!([0, 1].map(|flow| lab.send(flow, 6, LARGE)), ["-II---", "-II---"]);
    lab.next();
    assert_eq!([0, 1].map(|flow| lab.grant(flow).0), [1_500_000, 1_500_000], "of 3 tokens again");
}

/// Two flows of 2 packets an interval, and one token: half a token each, S = 3.
fn one_between_two(fraction: Fraction) -> Vec<String> {
    let mut lab = Lab::new(TcpFriendlyParams { fraction, small_window: 0.0, ..params(1) });
    let mut interval = || {
        let marks = lab.send(0, 2, LARGE);
        assert_eq!(lab.send(1, 2, LARGE), marks, "flows alike are treated alike");
        lab.next();
        marks
    };
    (0..5).map(|_| interval()).collect()
}

#[test]
fn parts_add_up_from_interval_to_interval() {
    assert_eq!(one_between_two(Fraction::Carry), ["--", "--", "-I", "--", "-I"]);
    assert_eq!(one_between_two(Fraction::Floor), ["--", "--", "--", "--", "--"]);
}

/// E = 10 that hardly moves, and 4 tokens: S = 1.5. Marks of the interval after one with `before` packets.
fn after(carry_spacing: CarrySpacing, before: u32) -> String {
    let slow = TcpFriendlyParams { gain_packets: 1e-9, carry_spacing, ..params(4) };
    let mut lab = Lab::new(slow);
    lab.send(0, 10, LARGE);
    lab.next();
    lab.send(0, before, LARGE);
    lab.next();
    assert_eq!(lab.grant(0).1, 1_499_999);
    lab.send(0, 3, LARGE)
}

#[test]
fn spacing_from_interval_to_interval() {
    // one packet: "-"; four: "--I-", the next spacing corrected to 1
    let marks = |carry| [1, 4].map(|before| after(carry, before));
    assert_eq!(marks(CarrySpacing::Count), ["-I-", "-I-"]);
    assert_eq!(marks(CarrySpacing::CountAndCorrection), ["-I-", "I--"]);
    assert_eq!(marks(CarrySpacing::Nothing), ["--I", "--I"]);
}

#[test]
fn without_the_correction_each_interval_rounds_a_gap_up() {
    let ins = |carry_spacing| {
        let mut lab = Lab::new(TcpFriendlyParams { carry_spacing, ..params(13) });
        let mut interval = || {
            let marks = [0, 1].map(|flow| lab.send(flow, 10, LARGE));
            lab.next();
            marks[0].matches('I').count()
        };
        (0..7).map(|_| interval()).skip(1).collect::<Vec<_>>()
    };
    // 6.5 tokens for 10 packets: S = 0.538461
    assert_eq!(ins(CarrySpacing::Count), [6, 6, 6, 6, 6, 6]);
    assert_eq!(ins(CarrySpacing::CountAndCorrection), [6, 7, 6, 7, 6, 7]);
}

#[test]
fn unused_tokens_are_lost_or_go_over_up_to_a_cap() {
    let first = |carry_tokens, idle: u32| {
        let mut lab = Lab::new(TcpFriendlyParams { carry_tokens, ..params(3) });
        (0..idle).for_each(|_| lab.next());
        lab.send(0, 20, SMALL).matches('I').count()
    };
    assert_eq!([0, 1, 2, 9].map(|idle| first(0, idle)), [3, 3, 3, 3]);
    assert_eq!([0, 1, 2, 9].map(|idle| first(2, idle)), [3, 5, 5, 5]);
    assert_eq!([0, 1, 2, 9].map(|idle| first(7, idle)), [3, 6, 9, 10]);
}

#[test]
fn tokens_that_a_flow_did_not_use_go_over_as_well() {
    let saving = TcpFriendlyParams { carry_tokens: 9, fraction: Fraction::Floor, ..params(3) };
    let mut lab = Lab::new(saving);
    lab.send(0, 3, LARGE); // takes one
    lab.next(); // a pool of 5: 3 are allocated
    lab.send(0, 1, LARGE); // takes one
    lab.next(); // a pool of 3 + 2 + 2: 1 is allocated
    assert_eq!(lab.send(1, 20, SMALL).matches('I').count(), 6);
}

#[test]
fn a_forgotten_flow_gives_its_token_back() {
    let mut lab = Lab::new(TcpFriendlyParams { carry_tokens: 9, forget_after: 1, ..params(3) });
    lab.send(0, 3, SMALL); // takes all
    lab.next(); // 3 for it again, which it does not use
    lab.next(); // a pool of 3 + 3
    assert_eq!(lab.send(1, 20, SMALL).matches('I').count(), 6);
}

#[test]
fn a_flow_is_forgotten() {
    let mut lab = Lab::new(TcpFriendlyParams { forget_after: 2, ..params(3) });
    assert_eq!(lab.meter.next_timeout(), None, "nothing to do");
    lab.send(0, 2, LARGE);
    assert_eq!(lab.meter.next_timeout(), Some(lab.now + T));
    lab.next();
    lab.send(5, 1, LARGE);
    lab.next();
    assert!(lab.meter.flow(FlowId(0)).is_some(), "one interval without a packet");
    lab.next();
    assert!(lab.meter.flow(FlowId(0)).is_none(), "two");
    assert!(lab.meter.flow(FlowId(5)).is_some(), "the other one sent later");
    lab.next();
    assert!(lab.meter.flow(FlowId(5)).is_none());
    assert_eq!(lab.meter.next_timeout(), None);
}

#[test]
fn refuses_what_it_cannot_work_with() {
    let good = params(3);
    let bad = [
        ("interval", TcpFriendlyParams { interval: Span::ZERO, ..good }),
        ("packet_size", TcpFriendlyParams { packet_size: Bytes(0), ..good }),
        ("packet_size", TcpFriendlyParams { packet_size: Bytes(65_536), ..good }),
        ("small_window", TcpFriendlyParams { small_window: -1.0, ..good }),
        ("small_window", TcpFriendlyParams { small_window: f64::NAN, ..good }),
        ("gain_window", TcpFriendlyParams { gain_window: 0.0, ..good }),
        ("gain_window", TcpFriendlyParams { gain_window: 1.1, ..good }),
        ("gain_packets", TcpFriendlyParams { gain_packets: f64::NAN, ..good }),
        ("gain_packets", TcpFriendlyParams { gain_packets: -0.5, ..good }),
        ("forget_after", TcpFriendlyParams { forget_after: 0, ..good }),
        ("forget_after", TcpFriendlyParams { forget_after: 10_001, ..good }),
    ];
    for (field, params) in bad {
        assert_eq!(TcpFriendly::new(params).expect_err(field).field, field);
    }
    let edge = Bytes(u64::from(PACKET));
    assert!(TcpFriendly::new(TcpFriendlyParams::new(Span::from_nanos(1), u32::MAX, edge)).is_ok());
}
