//! The model of a queue: what its settings say in the units of the elements.

use std::collections::BTreeMap;
use std::sync::Arc;

use perhop_core::dscp::{ColorMap, Dscp};
use perhop_core::framing::Framing;
use perhop_core::packet::{Color, Meta, Packet};
use perhop_core::param_error::ParamError;
use perhop_core::queue::{
    CakeParams, CobaltParams, CodelParams, DocsisPieParams, DualPi2Params, FqParams, GredParams,
    LinuxDualPi2Params, LinuxPieParams, PieParams, RedParams, RioParams, Thresholds, VirtualQueue,
};
use perhop_core::rng::Stream;
use perhop_core::serializer::Serializer;
use perhop_core::sink::SiteId;
use perhop_core::units::{BitRate, Bytes, QueueSize};

use crate::build::own_queue;
use crate::meant::elements::ElementError;
use crate::meant::model;
use crate::read::mistakes::Report;
use crate::read::tree::Step;
use crate::words::conventions::{LikeDualPi2, LikePie};
use crate::words::files::FileName;
use crate::words::marks::{Colors, Mark};
use crate::words::names::Label;
use crate::words::setting::SettingsTable;
use crate::words::units::{Limit, Rate, Size, Time};
use crate::written::defaults;
use crate::written::file::schema;
use crate::written::queue::{self, Curve, Queue};

/// `queue` in front of a link of `rate`.
pub(crate) fn model_queue(queue: &Queue, rate: BitRate, packet_size: Option<Size>) -> model::Queue {
    // The parameters of a queue that drops early: its own, and those that all have.
    macro_rules! params {
        ($early:ident, $params:ident { $($own:ident $(: $value:expr)?),+ $(,)? }) => {
            $params {
                $($own $(: $value)?,)+
                limit: queue.limit().0,
                gentle: $early.gentle,
                byte_mode: $early.byte_mode,
                ecn: $early.ecn,
                conventions: $early.conventions.model(),
                mean_packet: $early.mean_packet.or(packet_size).unwrap_or_else(defaults::mean_packet).0,
                rate,
            }
        };
    }
    match (queue, queue.early_detection()) {
        (&Queue::Red { min_th, max_th, max_p, .. }, Some(early)) => {
            let thresholds = thresholds(Curve { min_th, max_th, max_p });
            model::Queue::Red(params!(early, RedParams { thresholds, w_q: early.w_q }))
        }
        (&Queue::Rio { ref colors, averaging, green, red, .. }, Some(early)) => model::Queue::Rio(params!(
            early,
            RioParams {
                colors: color_map(colors),
                averaging: averaging.into(),
                green: thresholds(green),
                red: thresholds(red),
                w_q: early.w_q,
            }
        )),
        (&Queue::Gred { ref colors, averaging, green, yellow, red, .. }, Some(early)) => {
            model::Queue::Gred(params!(
                early,
                GredParams {
                    colors: color_map(colors),
                    averaging: averaging.into(),
                    green: virtual_queue(green, early.w_q),
                    yellow: virtual_queue(yellow, early.w_q),
                    red: virtual_queue(red, early.w_q),
                }
            ))
        }
        (Queue::Custom { name, limit, settings }, _) => outside(name, *limit, settings, None, rate),
        (Queue::Python { file, name, limit, settings }, _) => {
            outside(name, *limit, settings, Some(file), rate)
        }
        (Queue::Codel { .. }, _) => codel(queue),
        (Queue::Cobalt { .. }, _) => cobalt(queue, rate),
        (Queue::Fq { queue: inside, .. }, _) => fq(queue, model_queue(inside, rate, packet_size)),
        (Queue::Pie { .. }, _) => pie(queue, packet_size),
        (&Queue::DocsisPie { limit, target, rate: own }, _) => docsis_pie(limit, target, own, rate),
        (Queue::DualPi2 { .. }, _) => dual_pi2(queue),
        (Queue::Cake { .. }, _) => cake(queue),
        (Queue::Fifo { limit: Limit(limit), ack_filter }, _) => {
            model::Queue::Fifo { limit: *limit, ack_filter: ack_filter.model() }
        }
        (Queue::Red { .. } | Queue::Rio { .. } | Queue::Gred { .. }, None) => unreachable!("it drops early"),
    }
}

/// `CoDel` as `queue` has it.
fn codel(queue: &Queue) -> model::Queue {
    let &Queue::Codel { limit, target, interval, ecn, ce_threshold, conventions, ack_filter } = queue else {
        unreachable!("it is CoDel")
    };
    model::Queue::Codel(CodelParams {
        limit: limit.0,
        target: target.0,
        interval: interval.0,
        ecn,
        ce_threshold: ce_threshold.map(|Time(span)| span),
        conventions: conventions.model(),
        ack_filter: ack_filter.model(),
    })
}

/// `DualPI2` as `queue` has it, with what its conventions have where nothing is written.
fn dual_pi2(queue: &Queue) -> model::Queue {
    let &Queue::DualPi2 {
        limit: Limit(limit),
        target: Time(target),
        t_update,
        alpha,
        beta,
        coupling,
        l4s_threshold,
        l4s_range,
        l4s_packets,
        classic_share,
        time_shift,
        conventions,
    } = queue
    else {
        unreachable!("it is DualPI2")
    };
    let [t_update, l4s_threshold, l4s_range, time_shift] =
        [t_update, l4s_threshold, l4s_range, time_shift].map(|time| time.map(|Time(span)| span));
    match conventions.like {
        LikeDualPi2::Rfc9332 => {
            let rfc = DualPi2Params::RFC9332;
            model::Queue::DualPi2(DualPi2Params {
                limit,
                target,
                t_update: t_update.unwrap_or(rfc.t_update),
                alpha: alpha.unwrap_or(rfc.alpha),
                beta: beta.unwrap_or(rfc.beta),
                coupling,
                l4s_threshold: l4s_threshold.unwrap_or(rfc.l4s_threshold),
                l4s_range: l4s_range.unwrap_or(rfc.l4s_range),
                l4s_packets: l4s_packets.unwrap_or(rfc.l4s_packets),
                classic_share: classic_share.unwrap_or(rfc.classic_share),
                time_shift,
            })
        }
        LikeDualPi2::Linux => {
            let linux = LinuxDualPi2Params::LINUX;
            model::Queue::LinuxDualPi2(LinuxDualPi2Params {
                limit,
                target,
                t_update: t_update.unwrap_or(linux.t_update),
                alpha: alpha.unwrap_or(linux.alpha),
                beta: beta.unwrap_or(linux.beta),
                coupling,
                l4s_threshold: l4s_threshold.unwrap_or(linux.l4s_threshold),
                classic_share: classic_share.unwrap_or(linux.classic_share),
                mtu: conventions.mtu.map_or(linux.mtu, |Size(mtu)| mtu),
            })
        }
    }
}

/// CAKE as `queue` has it.
fn cake(queue: &Queue) -> model::Queue {
    let &Queue::Cake { limit, rate, overhead, mpu, tins, isolation, rtt, mtu, ack_filter } = queue else {
        unreachable!("it is CAKE")
    };
    model::Queue::Cake(CakeParams {
        limit: limit.0,
        rate: rate.map(|Rate(rate)| rate),
        framing: Framing { overhead: overhead.0, mpu: mpu.0 },
        tins: tins.into(),
        isolation: isolation.into(),
        rtt: rtt.0,
        mtu: mtu.0,
        ack_filter: ack_filter.model(),
    })
}

/// COBALT as `queue` has it, in front of a link of `rate`.
fn cobalt(queue: &Queue, rate: BitRate) -> model::Queue {
    let &Queue::Cobalt { limit, target, interval, mtu, ecn, p_inc, p_dec, ack_filter } = queue else {
        unreachable!("it is COBALT")
    };
    model::Queue::Cobalt(CobaltParams {
        limit: limit.0,
        target: target.0,
        interval: interval.0,
        packet_time: Serializer::new(rate).time(mtu.0),
        ecn,
        p_inc,
        p_dec,
        ack_filter: ack_filter.model(),
    })
}

/// Flow queueing as `queue` has it, each flow in a queue like `inside`.
fn fq(queue: &Queue, inside: model::Queue) -> model::Queue {
    let &Queue::Fq { limit: Limit(limit), queues, quantum: Size(quantum), drop_batch, conventions, .. } =
        queue
    else {
        unreachable!("it is flow queueing")
    };
    let params = FqParams { limit, queues, quantum, drop_batch, conventions: conventions.model() };
    model::Queue::Fq { params, queue: Box::new(inside) }
}

/// PIE as `queue` has it, with what its conventions have where nothing is written.
fn pie(queue: &Queue, packet_size: Option<Size>) -> model::Queue {
    let &Queue::Pie {
        limit: Limit(limit),
        target: Time(target),
        t_update: Time(t_update),
        max_burst: Time(max_burst),
        alpha,
        beta,
        delay_from,
        active_from,
        derandomize,
        cap_adjustment,
        byte_mode,
        ecn,
        mark_ecnth,
        mean_packet,
        conventions,
    } = queue
    else {
        unreachable!("it is PIE")
    };
    let delay_from = delay_from.into();
    match conventions.like {
        LikePie::Rfc8033 => model::Queue::Pie(PieParams {
            limit,
            target,
            t_update,
            max_burst,
            alpha,
            beta,
            delay_from,
            active_from: active_from.map(|Limit(from)| from),
            derandomize: derandomize.unwrap_or_default(),
            cap_adjustment: cap_adjustment.unwrap_or_default(),
            byte_mode,
            ecn,
            mark_ecnth: mark_ecnth.unwrap_or_else(defaults::mark_ecnth),
            mean_packet: mean_packet.or(packet_size).unwrap_or_else(defaults::pie_mean_packet).0,
        }),
        LikePie::Linux => model::Queue::LinuxPie(LinuxPieParams {
            limit,
            target,
            t_update,
            max_burst,
            alpha,
            beta,
            delay_from,
            byte_mode,
            ecn,
            mtu: mean_packet.unwrap_or_else(defaults::pie_mtu).0,
        }),
    }
}

fn docsis_pie(Limit(limit): Limit, Time(target): Time, own: Option<Rate>, rate: BitRate) -> model::Queue {
    model::Queue::DocsisPie(DocsisPieParams { limit, target, rate: own.map_or(rate, |Rate(own)| own) })
}

/// A queue from outside; of one in Python `file` is where its class is.
fn outside(
    name: &Label,
    limit: Limit,
    settings: &SettingsTable,
    file: Option<&FileName>,
    rate: BitRate,
) -> model::Queue {
    let code = file.map(model::Code::named);
    let (name, settings) = (name.to_string(), settings.clone());
    model::Queue::Custom(model::CustomQueue { name, limit: limit.0, rate, settings, code })
}

/// The kinds of queues that have `setting`, for a hint: `` `rio` or `gred` ``.
pub(crate) fn kinds_with(setting: &str) -> String {
    let kinds = schema()["$defs"]["Queue"]["oneOf"].as_array().into_iter().flatten();
    let with = kinds.map(|kind| &kind["properties"]).filter(|settings| settings.get(setting).is_some());
    let names: Vec<_> = with.filter_map(|of| Some(format!("`{}`", of["kind"]["const"].as_str()?))).collect();
    match names.split_last() {
        Some((last, others @ [_, ..])) => format!("{} or {last}", others.join(", ")),
        _ => names.concat(),
    }
}

/// The element's verdict on these settings.
pub(crate) fn validate(queue: &Queue, packet_size: Option<Size>) -> Result<(), ParamError> {
    let any_rate = BitRate::new(1).unwrap_or_else(|| unreachable!("one bit/s is a rate"));
    let (site, stream) = (SiteId(0), Stream::new(0, 0, ""));
    let flows = Arc::default();
    own_queue::<TrialPacket>(&model_queue(queue, any_rate, packet_size), site, stream, &flows).map(drop)
}

/// Reports what those who bring an element from outside say of it; it is written at `at`.
pub(crate) fn refuse_element(error: ElementError, at: &[Step], report: &mut Report) {
    let below = error.path.split('.').map(|key| Step::from(key.to_owned()));
    report.error(&at.iter().cloned().chain(below).collect::<Vec<_>>(), error.rule, error.hint);
}

/// The packet of an element that is only built to see whether it can be.
#[derive(Debug)]
pub(crate) struct TrialPacket(Meta);

impl Packet for TrialPacket {
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

fn virtual_queue(queue: queue::VirtualQueue, w_q: f64) -> VirtualQueue {
    let queue::VirtualQueue { min_th, max_th, max_p, w_q: own, limit } = queue;
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
