//! GRED: three virtual queues in one.

use perhop_core::packet::Dscp;
use perhop_core::queue::{Averaging, Gred, GredParams, VirtualQueue};
use perhop_core::time::Span;
use perhop_core::units::QueueSize;
use perhop_testkit::aqm::{self, GRED, packets};
use perhop_testkit::packet::{AF11, AF12, AF13, TestPacket};

use super::lab::{FORCED, IN, Lab, OVERFLOW, SITE, close};

const OUT_OF_REACH: VirtualQueue = VirtualQueue { thresholds: packets(900, 999, 0.1), w_q: 0.5, limit: None };

fn lab(averaging: Averaging, [green, yellow, red]: [VirtualQueue; 3]) -> Lab<Gred<TestPacket>> {
    let limit = QueueSize::Packets(1000);
    Lab::new(aqm::gred(SITE, GredParams { limit, averaging, green, yellow, red, ..GRED }))
}

fn arrive(lab: &mut Lab<Gred<TestPacket>>, marks: &[Dscp]) {
    marks.iter().for_each(|&dscp| assert_eq!(lab.arrive_as(dscp, 1250), IN));
}

/// Green and red with a weight of 1/2, yellow with 1/4. Two arrivals of each colour, worst first.
#[test]
fn averages_count_as_their_mode_has_it() {
    let queues = [OUT_OF_REACH, VirtualQueue { w_q: 0.25, ..OUT_OF_REACH }, OUT_OF_REACH];
    for (averaging, averages) in [
        // green: 0, 1. yellow: 0, 1, 2, 3 by quarters. red: 0 to 5 by halves
        (Averaging::Coupled, [0.5, 1.265_625, 4.031_25]),
        (Averaging::Decoupled, [0.5, 0.25, 0.5]),
        // red 0, 1: 0.5; yellow 2, 3 by quarters: 0.875, 1.40625; green 4, 5: 2.703125, 3.8515625
        (Averaging::Shared, [3.851_562_5; 3]),
        // of its own 0.5, 0.25 and 0.5
        (Averaging::Summed, [0.5, 0.75, 1.25]),
    ] {
        let mut lab = lab(averaging, queues);
        arrive(&mut lab, &[AF13, AF13, AF12, AF12, AF11, AF11]);
        close(&lab.queue.averages(), &averages);
    }
}

/// Green and yellow leave at 0, red stays; the next packets come 20 ms, two packets, later.
#[test]
fn a_virtual_queue_is_idle_by_itself() {
    for (averaging, averages) in [
        // green: 0, 0.5, a quarter of it. Yellow finds 0 to 3: 2.125; a quarter of it; then one. Red finds 0 to 4, and
        // then 1, 2, 3
        (Averaging::Coupled, [0.125, 0.765_625, 2.507_812_5]),
        // red finds 0 and 1
        (Averaging::Decoupled, [0.125, 0.125, 0.5]),
        (Averaging::Shared, [2.507_812_5; 3]),
        // as decoupled; something of each waits
        (Averaging::Summed, [0.125, 0.25, 0.75]),
    ] {
        let mut lab = lab(averaging, [OUT_OF_REACH; 3]);
        arrive(&mut lab, &[AF12, AF12, AF11, AF11, AF13]);
        for _ in 0..4 {
            assert!(lab.depart().is_some());
        }
        lab.pass(Span::from_millis(20));
        arrive(&mut lab, &[AF12, AF11, AF13]);
        close(&lab.queue.averages(), &averages);
    }
}

/// What is idle is not added, however long it was; green comes back with its average, and decays by that time.
#[test]
fn a_sum_leaves_out_what_is_idle() {
    let mut lab = lab(Averaging::Summed, [OUT_OF_REACH; 3]);
    arrive(&mut lab, &[AF11, AF11, AF11, AF13]);
    close(&lab.queue.averages(), &[1.25, 1.25, 1.25]);
    for _ in 0..3 {
        assert!(lab.depart().is_some());
    }
    close(&lab.queue.averages(), &[1.25, 0.0, 0.0]);
    arrive(&mut lab, &[AF13]);
    close(&lab.queue.averages(), &[1.25, 0.0, 0.5]);
    lab.pass(Span::from_millis(10));
    arrive(&mut lab, &[AF11]);
    close(&lab.queue.averages(), &[0.625, 0.625, 1.125]);
}

#[test]
fn a_worse_colour_goes_first() {
    let sharp =
        |min_th| VirtualQueue { thresholds: packets(min_th, min_th + 1, 1e-12), w_q: 1.0, limit: None };
    let queues = [sharp(5), sharp(3), sharp(1)];
    let mut shared = lab(Averaging::Shared, queues);
    assert_eq!([AF13; 3].map(|dscp| shared.arrive_as(dscp, 1)), [IN, IN, FORCED]);
    assert_eq!([AF12; 3].map(|dscp| shared.arrive_as(dscp, 1)), [IN, IN, FORCED]);
    assert_eq!([AF11; 3].map(|dscp| shared.arrive_as(dscp, 1)), [IN, IN, FORCED]);
    let mut decoupled = lab(Averaging::Decoupled, queues);
    assert_eq!([AF12; 5].map(|dscp| decoupled.arrive_as(dscp, 1)), [IN, IN, IN, IN, FORCED]);
    assert_eq!([AF13; 3].map(|dscp| decoupled.arrive_as(dscp, 1)), [IN, IN, FORCED]);
    let mut coupled = lab(Averaging::Coupled, queues);
    assert_eq!([AF12; 2].map(|dscp| coupled.arrive_as(dscp, 1)), [IN, IN]);
    assert_eq!([AF13, AF11, AF11].map(|dscp| coupled.arrive_as(dscp, 1)), [FORCED, IN, IN]);
    assert_eq!([AF12, AF11].map(|dscp| coupled.arrive_as(dscp, 1)), [FORCED, IN]);
}

#[test]
fn a_virtual_queue_may_have_a_limit_of_its_own() {
    let limited = |limit| VirtualQueue { limit: Some(limit), ..OUT_OF_REACH };
    let queues = [OUT_OF_REACH, limited(QueueSize::Packets(2)), limited(QueueSize::Bytes(100))];
    let mut lab = lab(Averaging::Decoupled, queues);
    assert_eq!([AF12; 3].map(|dscp| lab.arrive_as(dscp, 1000)), [IN, IN, OVERFLOW]);
    assert_eq!([61, 40, 39].map(|len| lab.arrive_as(AF13, len)), [IN, OVERFLOW, IN]);
    assert_eq!([AF11; 3].map(|dscp| lab.arrive_as(dscp, 1000)), [IN; 3]);
    lab.depart();
    assert_eq!([AF12; 2].map(|dscp| lab.arrive_as(dscp, 1000)), [IN, OVERFLOW]);
}
