//! RIO by the clauses of its paper. Green is IN, red and yellow are OUT.

use perhop_core::packet::{Color, Dscp, Packet};
use perhop_core::queue::{Averaging, Backlog, Queue, Rio, RioParams};
use perhop_core::time::Span;
use perhop_core::units::{Bytes, QueueSize};
use perhop_testkit::aqm::{self, RIO, packets};
use perhop_testkit::packet::{AF11, AF12, AF13, TestPacket};

use super::lab::{FORCED, IN, Lab, OVERFLOW, SITE, close};

const OUT: Dscp = Dscp::DEFAULT;

fn lab(averaging: Averaging, params: RioParams) -> Lab<Rio<TestPacket>> {
    Lab::new(aqm::rio(SITE, RioParams { averaging, ..params }))
}

fn arrive(lab: &mut Lab<Rio<TestPacket>>, marks: &[Dscp]) {
    marks.iter().for_each(|&dscp| assert_eq!(lab.arrive_as(dscp, 1250), IN));
}

fn out_of_reach() -> RioParams {
    let limit = QueueSize::Packets(1000);
    RioParams { limit, green: packets(900, 999, 0.1), red: packets(900, 999, 0.1), w_q: 0.5, ..RIO }
}

/// The average is what waits, and drops come only by force: IN at 6 packets, OUT at 3.
fn sharp() -> RioParams {
    let limit = QueueSize::Packets(100);
    RioParams { limit, green: packets(5, 6, 1e-12), red: packets(2, 3, 1e-12), w_q: 1.0, ..RIO }
}

//= test clark1998-rio-in-average
//= test clark1998-rio-total-average
//= test clark1998-rio-steps
#[test]
fn coupled_in_averages_in_and_out_averages_all() {
    let mut lab = lab(Averaging::Coupled, out_of_reach());
    let steps = [
        (OUT, [0.0, 0.0]),
        (AF11, [0.0, 0.5]),
        (OUT, [0.0, 1.25]),
        (AF11, [0.5, 2.125]),
        (AF11, [1.25, 3.0625]),
        (AF12, [1.25, 4.031_25]),
    ];
    for (dscp, averages) in steps {
        assert_eq!(lab.arrive_as(dscp, 1250), IN);
        close(&lab.queue.averages(), &averages);
    }
}

#[test]
fn decoupled_each_averages_its_own() {
    let mut lab = lab(Averaging::Decoupled, out_of_reach());
    let steps = [
        (OUT, [0.0, 0.0]),
        (AF11, [0.0, 0.0]),
        (OUT, [0.0, 0.5]),
        (AF11, [0.5, 0.5]),
        (AF11, [1.25, 0.5]),
        (AF12, [1.25, 1.25]),
    ];
    for (dscp, averages) in steps {
        lab.arrive_as(dscp, 1250);
        close(&lab.queue.averages(), &averages);
    }
}

#[test]
fn shared_one_averages_all() {
    let mut lab = lab(Averaging::Shared, out_of_reach());
    for (dscp, average) in [(OUT, 0.0), (AF11, 0.5), (OUT, 1.25), (AF11, 2.125), (AF11, 3.0625)] {
        lab.arrive_as(dscp, 1250);
        close(&lab.queue.averages(), &[average; 2]);
    }
}

//= test clark1998-rio-curves
//= test clark1998-rio-forced
#[test]
fn what_waits_of_in_drops_out_but_what_waits_of_out_spares_in() {
    let mut coupled = lab(Averaging::Coupled, sharp());
    assert_eq!([AF11; 3].map(|dscp| coupled.arrive_as(dscp, 1)), [IN; 3]);
    assert_eq!([OUT, AF12, AF13].map(|dscp| coupled.arrive_as(dscp, 1)), [FORCED; 3]);
    assert_eq!([AF11; 4].map(|dscp| coupled.arrive_as(dscp, 1)), [IN, IN, IN, FORCED]);

    let mut decoupled = lab(Averaging::Decoupled, sharp());
    assert_eq!([AF11; 3].map(|dscp| decoupled.arrive_as(dscp, 1)), [IN; 3]);
    assert_eq!([OUT, AF12, AF13, OUT].map(|dscp| decoupled.arrive_as(dscp, 1)), [IN, IN, IN, FORCED]);
    assert_eq!([AF11; 4].map(|dscp| decoupled.arrive_as(dscp, 1)), [IN, IN, IN, FORCED]);

    let mut shared = lab(Averaging::Shared, sharp());
    assert_eq!([OUT, OUT, OUT, OUT].map(|dscp| shared.arrive_as(dscp, 1)), [IN, IN, IN, FORCED]);
    assert_eq!([AF11; 4].map(|dscp| shared.arrive_as(dscp, 1)), [IN, IN, IN, FORCED]);
}

/// When the last packet comes, IN has been empty for 20 ms, two packets; OUT has not.
#[test]
fn an_average_is_idle_while_nothing_of_what_it_counts_waits() {
    for (averaging, averages) in [
        // in: 0, 0.5, and a quarter of that. All find 0, 1, 2, after two departures 1, then 2
        (Averaging::Coupled, [0.125, 1.5625]),
        // out finds 0, 1
        (Averaging::Decoupled, [0.125, 0.5]),
        (Averaging::Shared, [1.5625; 2]),
    ] {
        let mut lab = lab(averaging, out_of_reach());
        arrive(&mut lab, &[AF11, AF11, OUT]);
        assert!(lab.depart().is_some() && lab.depart().is_some());
        arrive(&mut lab, &[OUT]);
        lab.pass(Span::from_millis(20));
        arrive(&mut lab, &[AF11]);
        close(&lab.queue.averages(), &averages);
    }
}

/// All leave, and 10 ms later each average has halved.
#[test]
fn every_average_decays_while_nothing_waits() {
    for (averaging, averages) in [
        // in: 0.5 halved. All: 2.125 halved by the first, which the second finds waiting
        (Averaging::Coupled, [0.25, 1.03125]),
        (Averaging::Decoupled, [0.25, 0.25]),
        (Averaging::Shared, [1.03125; 2]),
    ] {
        let mut lab = lab(averaging, out_of_reach());
        arrive(&mut lab, &[OUT, OUT, AF11, AF11]);
        lab.empty();
        lab.pass(Span::from_millis(10));
        arrive(&mut lab, &[AF11, OUT]);
        close(&lab.queue.averages(), &averages);
    }
}

//= test clark1998-rio-fifo
//= test rfc2597-2-order
//= test rfc2597-2-two-levels
#[test]
fn one_queue_in_order_with_its_colours_for_all_to_see() {
    let mut lab = lab(Averaging::Coupled, out_of_reach());
    let marks = [(OUT, Color::Red), (AF11, Color::Green), (AF12, Color::Yellow), (AF13, Color::Red)];
    for (dscp, color) in marks {
        // a meter's verdict of elsewhere is overruled
        let seen = lab.arrival(|id| TestPacket::data(id).dscp(dscp).len(100).color(Color::Yellow));
        assert_eq!(seen, (IN, color));
    }
    let backlog = |packets| Backlog { packets, bytes: Bytes(100 * packets) };
    assert_eq!(lab.queue.backlogs(), [backlog(1), backlog(3)]);
    for (dscp, color) in marks {
        let meta = *lab.depart().expect("a packet that waits").meta();
        assert_eq!((meta.dscp, meta.color), (dscp, color));
    }
    assert_eq!(lab.queue.backlogs(), [backlog(0), backlog(0)]);
}

#[test]
fn a_drop_is_seen_with_its_colour() {
    let limit = QueueSize::Packets(1);
    let mut lab = lab(Averaging::Coupled, RioParams { limit, ..out_of_reach() });
    lab.arrive_as(AF11, 1);
    for (dscp, color) in [(AF11, Color::Green), (AF12, Color::Yellow), (OUT, Color::Red)] {
        assert_eq!(lab.arrival(|id| TestPacket::data(id).dscp(dscp)), (OVERFLOW, color));
    }
    assert_eq!(lab.queue.backlog().packets, 1);
}
