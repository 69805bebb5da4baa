//! A resolved scenario as JSON: nodes, links with their ports, flows.

use perhop_core::units::QueueSize;
use perhop_scenario::model::{Class, Flow, Link, NodeKind, Queue, Scenario, Scheduler, Selector};
use serde_json::{Value, json};

/// The whole scenario.
pub fn to_json(scenario: &Scenario) -> Value {
    let run = &scenario.run;
    let name = |node: usize| scenario.nodes[node].name.as_str();
    json!({
        "run": {
            "seed": run.seed,
            "replication": run.replication,
            "duration_s": run.duration.as_secs_f64(),
            "warmup_s": run.warmup.as_secs_f64(),
            "interval_s": run.interval.as_secs_f64(),
        },
        "nodes": scenario.nodes.iter().map(|node| json!({
            "name": node.name,
            "kind": match node.kind { NodeKind::Host => "host", NodeKind::Router => "router" },
        })).collect::<Vec<_>>(),
        "links": scenario.links.iter().map(|l| link(l, name(l.from), name(l.to))).collect::<Vec<_>>(),
        "flows": scenario.flows.iter().map(|f| flow(f, name(f.from), name(f.to))).collect::<Vec<_>>(),
    })
}

fn link(link: &Link, from: &str, to: &str) -> Value {
    json!({
        "name": link.name,
        "from": from,
        "to": to,
        "rate_bit_s": link.rate.bits_per_sec(),
        "delay_s": link.delay.as_secs_f64(),
        "pure_ack_bytes": link.pure_ack_size.map(|size| size.0),
        "port": {
            "path": link.port.path,
            "scheduler": match link.port.scheduler {
                Scheduler::StrictPriority => json!({"kind": "strict-priority"}),
                Scheduler::PairedCounter { data, share } => json!({
                    "kind": "paired-counter", "data": link.port.classes[data].name, "share": share,
                }),
            },
            "classes": link.port.classes.iter().map(class).collect::<Vec<_>>(),
            "backpressure": link.port.backpressure,
        },
    })
}

fn class(class: &Class) -> Value {
    let Queue::Fifo { limit } = class.queue;
    let selector = |s: &Selector| match s {
        Selector::Any => "any",
        Selector::PureAck => "pure-ack",
        Selector::Data => "data",
    };
    json!({
        "name": class.name,
        "matches": class.matches.iter().map(selector).collect::<Vec<_>>(),
        "queue": "fifo",
        "limit": match limit { QueueSize::Packets(n) => format!("{n}p"), QueueSize::Bytes(n) => format!("{n}B") },
    })
}

fn flow(flow: &Flow, from: &str, to: &str) -> Value {
    json!({
        "name": flow.name,
        "class": flow.class,
        "from": from,
        "to": to,
        "start_s": flow.start.as_secs_f64(),
        "mss_bytes": flow.tcp.params.mss.0,
        "header_bytes": flow.tcp.header.0,
        "window_bytes": flow.tcp.params.window.0,
    })
}
