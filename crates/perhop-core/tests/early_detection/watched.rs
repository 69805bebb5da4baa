//! What a queue tells of its early detection, in closed form.

use perhop_core::packet::Color;
use perhop_core::queue::average::Unit;
use perhop_core::queue::{Averaging, EarlyState, Fifo, GredParams, Queue, RedParams};
use perhop_core::units::QueueSize;
use perhop_testkit::aqm::{self, GRED, RED, RIO, bytes, packets};
use perhop_testkit::packet::TestPacket;

use super::lab::{Lab, SITE, close};

const LONG: QueueSize = QueueSize::Packets(1000);

fn only(queue: &impl Queue<TestPacket>) -> EarlyState {
    let [state] = queue.early_states()[..] else { panic!("RED has one average") };
    state
}

#[test]
fn the_average_of_a_constant_backlog_nears_it_geometrically() {
    let params = RedParams { limit: LONG, thresholds: packets(900, 999, 0.1), w_q: 0.125, ..RED };
    let mut lab = Lab::new(aqm::red(SITE, params));
    for _ in 0..10 {
        lab.arrive(1250);
    }
    let (_, first) = only(&*lab.queue).average.expect("RED has one");
    for arrival in 1..200 {
        lab.depart();
        lab.arrive(1250);
        close(
            &[only(&*lab.queue).average.expect("RED has one").1],
            &[9.0 + (first - 9.0) * 0.875_f64.powi(arrival)],
        );
    }
}

/// With a weight of 1 the average is what the arrival found.
#[test]
fn the_probability_rises_between_the_thresholds_and_beyond_if_gentle() {
    for gentle in [false, true] {
        let params = RedParams { limit: LONG, thresholds: packets(5, 10, 0.1), w_q: 1.0, gentle, ..RED };
        let mut lab = Lab::new(aqm::red(SITE, params));
        let mut seen = 0.0;
        for _ in 0..2000 {
            let found = u32::try_from(lab.queue.backlog().packets).map(f64::from).expect("a short queue");
            lab.arrive(1250);
            let probability = match found {
                below if below < 5.0 => 0.0,
                between if between < 10.0 => 0.1 * (between - 5.0) / 5.0,
                steep if gentle && steep < 20.0 => 0.1 + 0.9 * (steep - 10.0) / 10.0,
                _ => 1.0,
            };
            let state = only(&*lab.queue);
            let (unit, average) = state.average.expect("RED has one");
            assert_eq!((state.color, unit), (None, Unit::Packets));
            close(&[average, state.probability], &[found, probability]);
            seen = found.max(seen);
        }
        // from one half on the second arrival after a drop is dropped for certain: the queue grows no longer
        close(&[seen], &[if gentle { 15.0 } else { 10.0 }]);
    }
}

#[test]
fn colours_come_best_first_and_a_shared_average_is_that_of_all() {
    let mut rio = Lab::new(aqm::rio(SITE, RIO));
    let params = GredParams { averaging: Averaging::Shared, ..GRED };
    let mut gred = Lab::new(aqm::gred(SITE, params));
    let params = RedParams { thresholds: bytes(1250, 9000, 0.1), w_q: 1.0, ..RED };
    let mut red = Lab::new(aqm::red(SITE, params));
    for _ in 0..3 {
        rio.arrive(1250);
        gred.arrive(1250);
        red.arrive(1250);
    }
    let colors = |states: Vec<EarlyState>| states.iter().map(|state| state.color).collect::<Vec<_>>();
    assert_eq!(colors(rio.queue.early_states()), [Some(Color::Green), Some(Color::Red)]);
    assert_eq!(
        colors(gred.queue.early_states()),
        [Some(Color::Green), Some(Color::Yellow), Some(Color::Red)]
    );
    let averages = gred.queue.early_states().into_iter();
    let averages: Vec<f64> = averages.filter_map(|state| Some(state.average?.1)).collect();
    assert!(averages[0] > 0.0);
    close(&averages, &[averages[0]; 3]);
    let state = only(&*red.queue);
    let (unit, average) = state.average.expect("RED has one");
    assert_eq!(unit, Unit::Bytes);
    close(&[average, state.probability], &[2500.0, 0.1 * 1250.0 / 7750.0]);
    assert_eq!(Fifo::<TestPacket>::new(SITE, LONG).early_states(), []);
}
