//! The model of a queue: what its settings say in the units of the elements.

use std::collections::BTreeMap;

use perhop_core::dscp::{ColorMap, Dscp};
use perhop_core::packet::{Color, Meta, Packet};
use perhop_core::param_error::ParamError;
use perhop_core::queue::{GredParams, RedParams, RioParams, Thresholds, VirtualQueue};
use perhop_core::rng::Stream;
use perhop_core::sink::SiteId;
use perhop_core::units::{BitRate, Bytes, QueueSize};

use crate::build::own_queue;
use crate::meant::elements::ElementError;
use crate::meant::model;
use crate::read::mistakes::Report;
use crate::read::tree::Step;
use crate::written::defaults;
use crate::written::file::Queue;
use crate::written::marks::Mark;
use crate::written::port::{self, Colors, Curve};
use crate::written::units::{Limit, Size};

/// `queue` in front of a link of `rate`.
pub(crate) fn model_queue(queue: &Queue, rate: BitRate, packet_size: Option<Size>) -> model::Queue {
    let mean = |own| mean_packet_of(own, packet_size);
    match *queue {
        Queue::Fifo { limit: Limit(limit) } => model::Queue::Fifo { limit },
        Queue::Red {
            limit,
            min_th,
            max_th,
            max_p,
            w_q,
            gentle,
            byte_mode,
            ecn,
            conventions,
            mean_packet,
        } => model::Queue::Red(RedParams {
            limit: limit.0,
            thresholds: Thresholds { min_th: min_th.0, max_th: max_th.0, max_p },
            w_q,
            gentle,
            byte_mode,
            ecn,
            conventions: conventions.model(),
            mean_packet: mean(mean_packet),
            rate,
        }),
        Queue::Custom { ref name, limit: Limit(limit), ref settings } => {
            let (name, settings) = (name.to_string(), settings.clone());
            model::Queue::Custom(model::CustomQueue { name, limit, rate, settings })
        }
        Queue::Rio { .. } | Queue::Gred { .. } => model_colored(queue, rate, packet_size),
    }
}

/// The same for a queue of several colours.
fn model_colored(queue: &Queue, rate: BitRate, packet_size: Option<Size>) -> model::Queue {
    let mean = |own| mean_packet_of(own, packet_size);
    match *queue {
        Queue::Rio {
            limit,
            ref colors,
            averaging,
            green,
            red,
            w_q,
            gentle,
            byte_mode,
            ecn,
            conventions,
            mean_packet,
        } => model::Queue::Rio(RioParams {
            limit: limit.0,
            colors: color_map(colors),
            averaging: averaging.into(),
            green: thresholds(green),
            red: thresholds(red),
            w_q,
            gentle,
            byte_mode,
            ecn,
            conventions: conventions.model(),
            mean_packet: mean(mean_packet),
            rate,
        }),
        Queue::Gred {
            limit,
            ref colors,
            averaging,
            green,
            yellow,
            red,
            w_q,
            gentle,
            byte_mode,
            ecn,
            conventions,
            mean_packet,
        } => model::Queue::Gred(GredParams {
            limit: limit.0,
            colors: color_map(colors),
            averaging: averaging.into(),
            green: virtual_queue(green, w_q),
            yellow: virtual_queue(yellow, w_q),
            red: virtual_queue(red, w_q),
            gentle,
            byte_mode,
            ecn,
            conventions: conventions.model(),
            mean_packet: mean(mean_packet),
            rate,
        }),
        Queue::Fifo { .. } | Queue::Red { .. } | Queue::Custom { .. } => {
            unreachable!("it looks at no colours")
        }
    }
}

/// The packet that sets the pace: a queue's own, or else the scenario's.
fn mean_packet_of(own: Option<Size>, packet_size: Option<Size>) -> Bytes {
    own.or(packet_size).unwrap_or_else(defaults::mean_packet).0
}

/// What the element says of these settings.
pub(crate) fn validate(queue: &Queue, packet_size: Option<Size>) -> Result<(), ParamError> {
    let any_rate = BitRate::new(1).unwrap_or_else(|| unreachable!("one bit/s is a rate"));
    let (site, stream) = (SiteId(0), Stream::new(0, 0, ""));
    own_queue::<Probe>(&model_queue(queue, any_rate, packet_size), site, stream).map(drop)
}

/// Reports what those who bring an element from outside say of it; it is written at `at`.
pub(crate) fn refuse_element(error: ElementError, at: &[Step], report: &mut Report) {
    let below = error.path.split('.').map(|key| Step::from(key.to_owned()));
    report.error(&at.iter().cloned().chain(below).collect::<Vec<_>>(), error.rule, error.hint);
}

/// The packet of an element that is only built to see whether it can be.
#[derive(Debug)]
pub(crate) struct Probe(Meta);

impl Packet for Probe {
    fn meta(&self) -> &Meta {
        &self.0
    }

    fn meta_mut(&mut self) -> &mut Meta {
        &mut self.0
    }
}

fn thresholds(curve: Curve) -> Thresholds {
    Thresholds { min_th: curve.min_th.0, max_th: curve.max_th.0, max_p: curve.max_p }
}

fn virtual_queue(queue: port::VirtualQueue, w_q: f64) -> VirtualQueue {
    let port::VirtualQueue { min_th, max_th, max_p, w_q: own, limit } = queue;
    VirtualQueue {
        thresholds: thresholds(Curve { min_th, max_th, max_p }),
        w_q: own.unwrap_or(w_q),
        limit: limit.map(|limit| limit.0),
    }
}

/// Colours as written; other marks by the drop precedence of AF, or red.
pub(crate) fn color_map(colors: &Colors) -> ColorMap {
    let written = by_mark(colors).into_iter();
    written.fold(ColorMap::af(Color::Red), |map, (dscp, color)| map.with(dscp, color.into()))
}

/// A table whose keys are marks; others are left out, and reported by the check.
pub(crate) fn by_mark<T: Copy>(table: &BTreeMap<String, T>) -> Vec<(Dscp, T)> {
    let entry = |(key, value): (&String, &T)| key.parse().ok().map(|Mark(dscp)| (dscp, *value));
    table.iter().filter_map(entry).collect()
}

/// A limit in bytes; `None` for a number of packets whose length is not known.
pub(crate) fn bytes(limit: Limit, packet_size: Option<Size>) -> Option<Bytes> {
    match limit.0 {
        QueueSize::Bytes(n) => Some(Bytes(n)),
        QueueSize::Packets(n) => packet_size.map(|Size(Bytes(size))| Bytes(n.saturating_mul(size))),
    }
}
