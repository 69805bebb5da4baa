//! The parts of a resolved scenario as JSON: nodes, links with their ports, flows; and ports, conditioners and TCPs as they are written.

use std::collections::BTreeMap;

use perhop_core::marker::Action;
use perhop_core::packet::Color;
use perhop_core::queue::Thresholds;
use perhop_core::units::QueueSize;
use perhop_scenario::Loaded;
use perhop_scenario::model::{
    Application, Class, Conditioner, Flow, Link, Meter, Node, NodeKind, Run, Scenario, Scheduler, Selector,
    Udp,
};
use serde_json::{Value, json};

/// A part of the scenario. Only one entry of a list is a value at a time: a hundred thousand links would take a gigabyte.
pub fn to_json(loaded: &Loaded, part: &str) -> serde_json::Result<String> {
    let Loaded { file, scenario, .. } = loaded;
    let name = |node: usize| scenario.nodes[node].name.as_str();
    Ok(match part {
        "run" => run(&scenario.run).to_string(),
        "nodes" => list(&scenario.nodes, node),
        "links" => list(&scenario.links, |l| link(l, name(l.from), name(l.to))),
        "bare_links" => list(&scenario.links, |l| {
            json!([name(l.from), name(l.to), l.rate.bits_per_sec(), l.delay.as_secs_f64()])
        }),
        "conditioners" => list(&scenario.conditioners, |c| conditioner(c, scenario)),
        "settings" => {
            let tcp = list(&file.flow, |flow| {
                let mut of = json!({"name": flow.name, "tcp": flow.tcp, "ack": flow.ack});
                if let Some(control) = &flow.control {
                    of["control"] = json!(control);
                }
                of
            });
            let ports = serde_json::to_string(&file.port)?;
            let treated = serde_json::to_string(&file.conditioner)?;
            let promises = serde_json::to_string(&file.sla)?;
            format!(r#"{{"port":{ports},"conditioner":{treated},"flow":{tcp},"sla":{promises}}}"#)
        }
        "udp" => list(&scenario.udp, |f| udp(f, name(f.from), name(f.to))),
        "flows" => {
            let profiles: BTreeMap<String, String> =
                file.flow.iter().map(|flow| (flow.name.to_string(), flow.tcp.profile.to_string())).collect();
            let profile = |flow: &Flow| profiles.get(flow.name.split('[').next().unwrap_or_default());
            list(&scenario.flows, |f| flow(f, name(f.from), name(f.to), profile(f)))
        }
        "applications" => list(&scenario.applications, application),
        "calls" => list(&scenario.calls, |call| {
            json!({
                "name": call.name,
                "jitter_buffer_s": call.jitter_buffer.as_secs_f64(),
                "ie": call.ie,
                "bpl": call.bpl,
            })
        }),
        "arrivals_per_s" => {
            let arrivals: BTreeMap<String, f64> = loaded.arrivals().into_iter().collect();
            serde_json::to_string(&arrivals)?
        }
        other => unreachable!("{other} is no part of a scenario"),
    })
}

fn run(run: &Run) -> Value {
    json!({
        "seed": run.seed,
        "replication": run.replication,
        "duration_s": run.duration.as_secs_f64(),
        "warmup_s": run.warmup.as_secs_f64(),
        "interval_s": run.interval.as_secs_f64(),
        "processing_jitter_s": run.processing_jitter.as_secs_f64(),
    })
}

fn node(node: &Node) -> Value {
    json!({
        "name": node.name,
        "kind": match node.kind { NodeKind::Host => "host", NodeKind::Router => "router" },
    })
}

fn list<T>(items: &[T], value: impl Fn(&T) -> Value) -> String {
    let mut text = String::from("[");
    for (i, item) in items.iter().enumerate() {
        text.push_str(if i > 0 { "," } else { "" });
        text.push_str(&value(item).to_string());
    }
    text + "]"
}

fn link(link: &Link, from: &str, to: &str) -> Value {
    json!({
        "name": link.name,
        "from": from,
        "to": to,
        "rate_bit_s": link.rate.bits_per_sec(),
        "delay_s": link.delay.as_secs_f64(),
        "pure_ack_bytes": link.pure_ack_size.map(|size| size.0),
        "burst_loss": link.burst_loss.map(|chain| json!({
            "mean_loss": chain.mean_loss(), "mean_burst_packets": chain.mean_burst(),
        })),
        "trace": link.trace.as_ref().map(|(name, _)| name.as_str()),
        "port": {
            "path": link.port.path,
            "scheduler": match &link.port.scheduler {
                Scheduler::StrictPriority => json!({"kind": "strict-priority"}),
                Scheduler::PairedCounter { data, share } => json!({
                    "kind": "paired-counter", "data": link.port.classes[*data].name, "share": share,
                }),
                Scheduler::Wrr(weights) => json!({"kind": "wrr", "weights": weights}),
                Scheduler::Wfq(weights) => json!({"kind": "wfq", "weights": weights}),
                Scheduler::Drr(quanta) => json!({
                    "kind": "drr", "quanta_bytes": quanta.iter().map(|q| q.0).collect::<Vec<_>>(),
                }),
                Scheduler::Custom(given) => json!({"kind": given.name}),
                Scheduler::Cbq(classes) => json!({
                    "kind": "cbq", "shares": classes.iter().map(|c| c.share).collect::<Vec<_>>(),
                }),
                Scheduler::Htb { rate, classes, .. } => json!({
                    "kind": "htb",
                    "rate_bit_s": rate.bits_per_sec(),
                    "rates_bit_s": classes.iter().map(|c| c.rate.bits_per_sec()).collect::<Vec<_>>(),
                }),
            },
            "shaper": link.port.shaper.map(|shaper| json!({
                "rate_bit_s": shaper.rate.bits_per_sec(),
                "burst_bytes": shaper.burst.0,
                "overhead_bytes": shaper.framing.overhead.0,
                "mpu_bytes": shaper.framing.mpu.0,
            })),
            "classes": link.port.classes.iter().map(class).collect::<Vec<_>>(),
            "backpressure": link.port.backpressure,
        },
    })
}

fn class(class: &Class) -> Value {
    let selector = |s: &Selector| match s {
        Selector::Any => "any".to_owned(),
        Selector::PureAck => "pure-ack".to_owned(),
        Selector::Data => "data".to_owned(),
        Selector::Mark(dscp) => dscp.to_string(),
    };
    json!({
        "name": class.name,
        "matches": class.matches.iter().map(selector).collect::<Vec<_>>(),
        "queue": class.queue.kind(),
        "filters_acks": class.queue.filters_acks(),
        "limit": class.queue.limit().to_string(),
        "thresholds": class.queue.thresholds().iter().map(thresholds).collect::<Vec<_>>(),
    })
}

fn thresholds((color, own): &(Option<Color>, Thresholds)) -> Value {
    let amount = |size| match size {
        QueueSize::Packets(amount) | QueueSize::Bytes(amount) => amount,
    };
    json!({
        "color": color.map(Color::name),
        "min_th": amount(own.min_th),
        "max_th": amount(own.max_th),
    })
}

fn application(application: &Application) -> Value {
    let (bytes, pause) = application.kind.load();
    json!({
        "name": application.name,
        "kind": application.kind.name(),
        "flows": application.flows.len(),
        "mean_load_bytes": bytes,
        "mean_think_s": pause,
    })
}

fn flow(flow: &Flow, from: &str, to: &str, profile: Option<&String>) -> Value {
    json!({
        "name": flow.name,
        "class": flow.class,
        "labels": &*flow.labels,
        "mark": flow.mark.to_string(),
        "from": from,
        "to": to,
        "start_s": flow.start.as_secs_f64(),
        "start_jitter_s": flow.start_jitter.as_secs_f64(),
        "profile": profile,
        "mss_bytes": flow.tcp.params.mss.0,
        "header_bytes": flow.tcp.header.0,
        "window_bytes": flow.tcp.params.window.0,
        "size_bytes": flow.tcp.params.size.map(|size| size.0),
        "has_application": flow.application.is_some(),
    })
}

fn udp(flow: &Udp, from: &str, to: &str) -> Value {
    json!({
        "name": flow.name,
        "class": flow.class,
        "labels": &*flow.labels,
        "mark": flow.mark.to_string(),
        "from": from,
        "to": to,
        "start_s": flow.start.as_secs_f64(),
        "start_jitter_s": flow.start_jitter.as_secs_f64(),
        "rate_bit_s": flow.rate.bits_per_sec(),
        "packet_bytes": flow.packet_size.0,
        "capture": flow.capture.as_ref().map(|capture| json!({
            "packets": capture.packets.len(),
            "duration_s": capture.packets.last().map_or(0.0, |(after, _)| after.as_secs_f64()),
            "repeats": capture.period.is_some(),
        })),
    })
}

fn conditioner(conditioner: &Conditioner, scenario: &Scenario) -> Value {
    let action = |action: Action| match action {
        Action::Pass => "pass".to_owned(),
        Action::Drop => "drop".to_owned(),
        Action::Shape => "shape".to_owned(),
        Action::Remark(dscp) => dscp.to_string(),
    };
    let marker = conditioner.marker;
    json!({
        "path": conditioner.path,
        "at": scenario.nodes[conditioner.node].name,
        "from": conditioner.from.iter().map(|l| scenario.links[*l].name.as_str()).collect::<Vec<_>>(),
        "meter": conditioner.meter.as_ref().map(Meter::kind),
        "cir_bit_s": conditioner.meter.as_ref().and_then(Meter::committed).map(|cir| cir.bits_per_sec()),
        "per": conditioner.per.name(),
        "marker": { "green": action(marker.green), "yellow": action(marker.yellow), "red": action(marker.red) },
        "ack_marking": conditioner.ack_marking.is_some(),
        "shaper": conditioner.shaper.is_some(),
    })
}
