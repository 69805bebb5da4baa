//! The model of a conditioner: what its settings say in the units of the elements.

use std::collections::{BTreeMap, BTreeSet};

use perhop_core::ack_marking::{self, ClassMarks, MarkMap};
use perhop_core::classify::Pattern;
use perhop_core::dscp::Dscp;
use perhop_core::marker;
use perhop_core::meter::{
    SrTcmParams, TcpFriendlyParams, TokenBucketParams, TrTcmDiffServParams, TrTcmParams, TswParams,
};
use perhop_core::packet::TrafficClass;
use perhop_core::shaper::ShaperParams;
use perhop_core::units::Bytes;

use crate::lower::queue::{by_mark, bytes, color_map};
use crate::meant::model;
use crate::words::marks::Mark;
use crate::words::units::{Limit, Size};
use crate::written::conditioner::{AckMarking, Conditioner, Marker, Meter, Shaper};

/// The conditioner without its place.
pub(crate) fn parts(
    conditioner: &Conditioner,
    pattern: Pattern,
    packet_size: Option<Size>,
    classes: &BTreeMap<String, TrafficClass>,
) -> model::Conditioner {
    let colors = match &conditioner.meter {
        Some(
            Meter::SrTcm { color_aware: true, colors, .. }
            | Meter::TrTcm { color_aware: true, colors, .. }
            | Meter::TrTcmDiffserv { color_aware: true, colors, .. },
        ) => Some(color_map(colors)),
        Some(Meter::Custom { .. } | Meter::Python { .. }) => Some(color_map(&BTreeMap::new())),
        _ => None,
    };
    model::Conditioner {
        path: String::new(),
        node: 0,
        from: Vec::new(),
        pattern: pattern.into(),
        ack_marking: conditioner.ack_marking.as_ref().map(|marking| ack_marking(marking, classes)),
        colors,
        meter: conditioner.meter.as_ref().map(|meter| model_meter(meter, packet_size)),
        per: conditioner.per,
        marker: model_marker(conditioner.marker),
        shaper: conditioner.shaper.map(|shaper| model_shaper(shaper, packet_size)),
    }
}

/// `marker` as the elements have it.
pub(crate) fn model_marker(marker: Marker) -> marker::Marker {
    marker::Marker { green: marker.green.0, yellow: marker.yellow.0, red: marker.red.0 }
}

/// `meter` as the elements have it; a burst whose bytes are not known is one byte, and reported by the check.
pub(crate) fn model_meter(meter: &Meter, packet_size: Option<Size>) -> model::Meter {
    let burst = |limit: Limit| bytes(limit, packet_size).unwrap_or(Bytes(1));
    match meter {
        Meter::TokenBucket { cir, cbs } => {
            model::Meter::TokenBucket(TokenBucketParams { cir: cir.0, cbs: burst(*cbs) })
        }
        Meter::SrTcm { cir, cbs, ebs, color_aware, .. } => model::Meter::SrTcm(SrTcmParams {
            cir: cir.0,
            cbs: burst(*cbs),
            ebs: burst(*ebs),
            color_aware: *color_aware,
        }),
        Meter::TrTcm { cir, cbs, pir, pbs, color_aware, .. } => model::Meter::TrTcm(TrTcmParams {
            cir: cir.0,
            cbs: burst(*cbs),
            pir: pir.0,
            pbs: burst(*pbs),
            color_aware: *color_aware,
        }),
        Meter::TrTcmDiffserv { cir, cbs, eir, ebs, color_aware, .. } => {
            model::Meter::TrTcmDiffServ(TrTcmDiffServParams {
                cir: cir.0,
                cbs: burst(*cbs),
                eir: eir.0,
                ebs: burst(*ebs),
                color_aware: *color_aware,
            })
        }
        Meter::Tsw2cm { cir, window } => {
            model::Meter::Tsw(TswParams { cir: cir.0, pir: None, window: window.0 })
        }
        Meter::Tsw3cm { cir, pir, window } => {
            model::Meter::Tsw(TswParams { cir: cir.0, pir: Some(pir.0), window: window.0 })
        }
        Meter::TcpFriendly { .. } => model::Meter::TcpFriendly(tcp_friendly(meter, packet_size)),
        Meter::Custom { name, settings } => {
            let (name, settings) = (name.to_string(), settings.clone());
            model::Meter::Custom(model::CustomMeter { name, settings, code: None })
        }
        Meter::Python { file, name, settings } => {
            let (name, settings, code) = (name.to_string(), settings.clone(), Some(model::Code::named(file)));
            model::Meter::Custom(model::CustomMeter { name, settings, code })
        }
    }
}

/// The TCP-friendly marker, which `meter` is.
fn tcp_friendly(meter: &Meter, run_size: Option<Size>) -> TcpFriendlyParams {
    let Meter::TcpFriendly {
        interval,
        tokens,
        packet_size: own,
        small_window,
        gain_window,
        gain_packets,
        shortage,
        fraction,
        new_flow,
        beyond_tokens,
        carry_spacing,
        carry_tokens,
        forget_after,
    } = meter
    else {
        unreachable!("its kind is known")
    };
    TcpFriendlyParams {
        interval: interval.0,
        tokens: *tokens,
        packet_size: own.or(run_size).map_or(Bytes(1), |size| size.0),
        small_window: *small_window,
        gain_window: *gain_window,
        gain_packets: *gain_packets,
        shortage: (*shortage).into(),
        fraction: (*fraction).into(),
        new_flow: (*new_flow).into(),
        beyond_tokens: (*beyond_tokens).into(),
        carry_spacing: (*carry_spacing).into(),
        carry_tokens: *carry_tokens,
        forget_after: *forget_after,
    }
}

/// `shaper` as the elements have it.
pub(crate) fn model_shaper(shaper: Shaper, packet_size: Option<Size>) -> ShaperParams {
    let burst = bytes(shaper.burst, packet_size).unwrap_or(Bytes(1));
    ShaperParams { rate: shaper.rate.0, burst, limit: shaper.limit.0 }
}

/// `marking` as the elements have it.
pub(crate) fn ack_marking(
    marking: &AckMarking,
    classes: &BTreeMap<String, TrafficClass>,
) -> ack_marking::AckMarking {
    match marking {
        AckMarking::BestEffort => ack_marking::AckMarking::BestEffort,
        AckMarking::PerClass { marks } => {
            let known = marks.iter().filter_map(|(name, mark)| Some((*classes.get(name)?, mark.0)));
            let marks = known.fold(ClassMarks::new(), |marks, (class, dscp)| marks.with(class, dscp));
            ack_marking::AckMarking::PerClass(marks)
        }
        AckMarking::PerMark { marks, rule } => {
            let given = by_mark(marks).into_iter();
            let map = given
                .fold(MarkMap::all(Dscp::DEFAULT), |map, (of_data, Mark(of_ack))| map.with(of_data, of_ack));
            ack_marking::AckMarking::PerMark { map, rule: (*rule).into() }
        }
        AckMarking::Copy { rule } => {
            ack_marking::AckMarking::PerMark { map: MarkMap::identity(), rule: (*rule).into() }
        }
    }
}

/// Every mark that `marking` may give.
pub(crate) fn marks_given(marking: &AckMarking, data: &BTreeSet<Dscp>) -> BTreeSet<Dscp> {
    let mut given = BTreeSet::from([Dscp::DEFAULT]);
    match marking {
        AckMarking::BestEffort => {}
        AckMarking::PerClass { marks } | AckMarking::PerMark { marks, .. } => {
            given.extend(marks.values().map(|mark| mark.0));
        }
        AckMarking::Copy { .. } => given.extend(data),
    }
    given
}
