//! Ports: queues, classifiers, schedulers, and what a link loses.

use std::sync::Arc;

use perhop_core::classify::{
    BehaviorAggregate, Classifier, FlowTable, KindClassifier, KindSet, MarkSet, MultiField, Pattern, Selector,
};
use perhop_core::dscp::Dscp;
use perhop_core::gilbert_elliott::GilbertElliott;
use perhop_core::losses::Losses;
use perhop_core::outgoing::{LinkOptions, Outgoing};
use perhop_core::packet::{ClassId, FlowId, Kind, OnWire, Packet};
use perhop_core::param_error::ParamError;
use perhop_core::port::{Class, Port};
use perhop_core::queue::{
    AnyQueue, Cake, Cobalt, CobaltParams, Codel, CodelParams, DocsisPie, DualPi2, Fifo, Fq, FqParams, Gred,
    LinuxDualPi2, LinuxPie, LinuxPieParams, Pie, PieParams, Red, Rio,
};
use perhop_core::rng::Stream;
use perhop_core::sched::{Cbq, Drr, Htb, PairedCounter, Scheduler, Shaped, StrictPriority, Wfq, Wrr};
use perhop_core::sink::SiteId;
use perhop_core::units::BitRate;

use super::Registry;
use super::sites::{Sites, index};
use crate::meant::elements::ElementError;
use crate::meant::model;

/// The interface that feeds `link`, which observers know as `site`; its classes become sites.
pub(super) fn outgoing<P: OnWire>(
    scenario: &model::Scenario,
    link: &model::Link,
    site: SiteId,
    outside: &Registry<P>,
    sites: &mut Sites,
) -> Result<Outgoing<P>, ElementError> {
    let port = &link.port;
    let run = &scenario.run;
    let mut classes: Vec<Class<P>> = Vec::with_capacity(port.classes.len());
    for class in &port.classes {
        let path = format!("{}.class.{}", port.path, class.name);
        let queue_path = format!("{path}.queue");
        let stream = Stream::new(run.seed, run.replication, &queue_path);
        let site = sites.intern(&path);
        let queue = queue(&class.queue, site, stream, &scenario.flow_table, outside)
            .map_err(|error| error.at(&queue_path))?;
        classes.push(Class::new(site, queue));
    }
    let built = match (classes.len(), classes.pop()) {
        (1, Some(class)) if takes_all(&port.classes[0]) && !regulates(port) => Port::single(class),
        (_, last) => {
            classes.extend(last);
            let path = format!("{}.scheduler", port.path);
            let stream = Stream::new(run.seed, run.replication, &path);
            let rate = port.shaper.map_or(link.rate, |shaper| shaper.rate);
            let mut scheduler =
                scheduler(&port.scheduler, rate, stream, outside).map_err(|error| error.at(&path))?;
            if let Some(params) = port.shaper {
                let path = format!("{}.shaper", port.path);
                let shaped = Shaped::new(params, scheduler).map_err(ElementError::from);
                scheduler = Box::new(shaped.map_err(|error| error.at(&path))?);
            }
            Port::new(site, classifier(&port.classes), classes, scheduler)
        }
    };
    let losses = losses(scenario, link, site);
    let (pure_ack_size, backpressure) = (link.pure_ack_size, port.backpressure);
    Ok(Outgoing::new(built, LinkOptions { pure_ack_size, backpressure, losses }))
}

/// The queue of these settings; `flows` are those of the scenario.
///
/// # Errors
/// What the element says of them.
pub fn queue<P: Packet>(
    params: &model::Queue,
    site: SiteId,
    stream: Stream,
    flows: &Arc<FlowTable>,
    outside: &Registry<P>,
) -> Result<AnyQueue<P>, ElementError> {
    match params {
        model::Queue::Custom(given) => outside.build_queue(given, site, stream),
        own => {
            let built = own_queue(own, site, stream, flows)?;
            Ok(built.unwrap_or_else(|| unreachable!("it is not from outside")))
        }
    }
}

/// The queue, unless it is from outside.
pub(crate) fn own_queue<P: Packet>(
    params: &model::Queue,
    site: SiteId,
    stream: Stream,
    flows: &Arc<FlowTable>,
) -> Result<Option<AnyQueue<P>>, ParamError> {
    Ok(Some(match params {
        model::Queue::Fifo { limit, ack_filter } => Fifo::new(site, *limit).filtering(*ack_filter).into(),
        model::Queue::Red(params) => Box::new(Red::new(site, *params, stream)?).into(),
        model::Queue::Rio(params) => Box::new(Rio::new(site, params.clone(), stream)?).into(),
        model::Queue::Gred(params) => Box::new(Gred::new(site, params.clone(), stream)?).into(),
        model::Queue::Codel(params) => Box::new(Codel::new(site, *params)?).into(),
        model::Queue::Cobalt(params) => Box::new(Cobalt::new(site, *params, stream)?).into(),
        model::Queue::Fq { params, queue } => flow_queue(*params, queue, site, stream)?,
        model::Queue::Pie(params) => Box::new(Pie::new(site, *params, stream)?).into(),
        model::Queue::LinuxPie(params) => Box::new(LinuxPie::new(site, *params, stream)?).into(),
        model::Queue::DocsisPie(params) => Box::new(DocsisPie::new(site, *params, stream)?).into(),
        model::Queue::Cake(params) => Box::new(Cake::new(site, *params, Arc::clone(flows), stream)?).into(),
        model::Queue::DualPi2(params) => Box::new(DualPi2::new(site, *params)?).into(),
        model::Queue::LinuxDualPi2(params) => Box::new(LinuxDualPi2::new(site, *params, stream)?).into(),
        model::Queue::Custom(_) => return Ok(None),
    }))
}

/// A queue for each flow, like `inside`; what each draws is its own.
fn flow_queue<P: Packet>(
    params: FqParams,
    inside: &model::Queue,
    site: SiteId,
    stream: Stream,
) -> Result<AnyQueue<P>, ParamError> {
    let limit = params.limit_inside(inside.limit());
    let draws = stream.clone();
    let own_draws = move |number: u32| {
        let mut stream = draws.clone();
        stream.turn_to(number.into());
        stream
    };
    Ok(match inside {
        model::Queue::Fifo { ack_filter, .. } => {
            let ack_filter = *ack_filter;
            let make = move |_| Ok(Fifo::new(site, limit).filtering(ack_filter));
            Box::new(Fq::new(site, params, stream, make)?).into()
        }
        model::Queue::Codel(own) => {
            let own = CodelParams { limit, ..*own };
            Box::new(Fq::new(site, params, stream, move |_| Codel::new(site, own))?).into()
        }
        model::Queue::Cobalt(own) => {
            let own = CobaltParams { limit, ..*own };
            let make = move |number| Cobalt::new(site, own, own_draws(number));
            Box::new(Fq::new(site, params, stream, make)?).into()
        }
        model::Queue::Pie(own) => {
            let own = PieParams { limit, ..*own };
            let make = move |number| Pie::new(site, own, own_draws(number));
            Box::new(Fq::new(site, params, stream, make)?).into()
        }
        model::Queue::LinuxPie(own) => {
            let own = LinuxPieParams { limit, ..*own };
            let make = move |number| LinuxPie::new(site, own, own_draws(number));
            Box::new(Fq::new(site, params, stream, make)?).into()
        }
        _ => unreachable!("the check lets no other queue be that of a flow"),
    })
}

/// The scheduler of these settings, in front of a link of `rate`.
///
/// # Errors
/// What the element says of them.
fn scheduler<P: Packet>(
    params: &model::Scheduler,
    rate: BitRate,
    stream: Stream,
    outside: &Registry<P>,
) -> Result<Box<dyn Scheduler>, ElementError> {
    match params {
        model::Scheduler::Custom(given) => outside.build_scheduler(given, stream),
        own => Ok(own_scheduler(own, rate)?.unwrap_or_else(|| unreachable!("it is not from outside"))),
    }
}

/// The scheduler, unless it is from outside.
pub(crate) fn own_scheduler(
    params: &model::Scheduler,
    rate: BitRate,
) -> Result<Option<Box<dyn Scheduler>>, ParamError> {
    Ok(Some(match params {
        model::Scheduler::StrictPriority => Box::new(StrictPriority),
        model::Scheduler::PairedCounter { data, share } => {
            let id = |i: usize| ClassId(u16::try_from(i).unwrap_or(u16::MAX));
            let built = PairedCounter::new(id(*data), id(1 - data), *share);
            Box::new(built.map_err(|error| ParamError::new("share", error.to_string()))?)
        }
        model::Scheduler::Wrr(weights) => Box::new(Wrr::new(weights)?),
        model::Scheduler::Drr(quanta) => Box::new(Drr::new(quanta)?),
        model::Scheduler::Wfq(weights) => Box::new(Wfq::new(weights)?),
        model::Scheduler::Cbq(classes) => Box::new(Cbq::new(rate, classes)?),
        model::Scheduler::Htb { rate, burst, classes } => Box::new(Htb::new(*rate, *burst, classes)?),
        model::Scheduler::Custom(_) => return Ok(None),
    }))
}

fn losses(scenario: &model::Scenario, link: &model::Link, site: SiteId) -> Option<Losses> {
    if link.loss <= 0.0 && link.burst_loss.is_none() && link.losses.is_empty() {
        return None;
    }
    let listed = link.losses.iter().map(|loss| {
        let tcp = &scenario.flows[loss.flow].tcp.params;
        let syn = tcp.handshake && loss.packet == 0;
        let data = loss.packet - u64::from(tcp.handshake && !syn);
        let key = (FlowId(index(loss.flow)), if syn { 0 } else { data * tcp.mss.0 }, syn);
        (key, loss.transmission, loss.mark)
    });
    let stream = |of: &str| {
        Stream::new(scenario.run.seed, scenario.run.replication, &format!("link.{}.{of}", link.name))
    };
    let bursts = link.burst_loss.as_ref().map(|params| GilbertElliott::new(params, stream("burst_loss")));
    let bursts = bursts.map(|built| built.unwrap_or_else(|error| unreachable!("it was checked: {error}")));
    Some(Losses::new(site, link.loss, stream("loss"), bursts, &listed.collect::<Vec<_>>()))
}

/// Whether no packet is left out by a port whose only class this is.
fn takes_all(class: &model::Class) -> bool {
    !class.matches.iter().any(|selector| matches!(selector, model::Selector::Mark(_)))
}

/// Whether a port may keep its only class waiting.
fn regulates(port: &model::Port) -> bool {
    use model::Scheduler::{Cbq, Custom, Htb};
    port.shaper.is_some() || matches!(port.scheduler, Cbq(_) | Custom(_) | Htb { .. })
}

fn classifier(classes: &[model::Class]) -> Box<dyn Classifier> {
    if let Some(by_mark) = behavior_aggregate(classes) {
        return Box::new(by_mark);
    }
    if classes.iter().all(takes_all) {
        let kinds = |class: &model::Class| class.matches.iter().map(kind_selector).collect::<Vec<_>>();
        let selectors: Vec<Vec<Selector>> = classes.iter().map(kinds).collect();
        return Box::new(KindClassifier::new(selectors.iter().map(Vec::as_slice)));
    }
    let rule = |(id, class): (u16, &model::Class)| {
        class.matches.iter().map(|selector| (ClassId(id), pattern(*selector))).collect::<Vec<_>>()
    };
    let rules: Vec<(ClassId, Pattern)> = (0u16..).zip(classes).flat_map(rule).collect();
    Box::new(MultiField::new(&rules, &FlowTable::new()))
}

/// The classifier of a port whose classes ask for marks, or for anything: `None` where one asks for more, or none for marks.
fn behavior_aggregate(classes: &[model::Class]) -> Option<BehaviorAggregate> {
    if classes.iter().all(takes_all) {
        return None;
    }
    let mut pairs = Vec::new();
    for (id, class) in (0u16..).map(ClassId).zip(classes) {
        for selector in &class.matches {
            match selector {
                model::Selector::Mark(dscp) => pairs.push((id, *dscp)),
                model::Selector::Any => pairs.extend((0..64).filter_map(Dscp::new).map(|dscp| (id, dscp))),
                model::Selector::PureAck | model::Selector::Data => return None,
            }
        }
    }
    Some(BehaviorAggregate::new(&pairs))
}

fn kind_selector(selector: &model::Selector) -> Selector {
    match selector {
        model::Selector::PureAck => Selector::PureAck,
        model::Selector::Data => Selector::Data,
        model::Selector::Any | model::Selector::Mark(_) => Selector::Any,
    }
}

fn pattern(selector: model::Selector) -> Pattern {
    let (kinds, marks) = match selector {
        model::Selector::Any => (None, None),
        model::Selector::PureAck => (Some(KindSet::NONE.with(Kind::PureAck)), None),
        model::Selector::Data => (Some(KindSet::ALL.without(Kind::PureAck)), None),
        model::Selector::Mark(dscp) => (None, Some(MarkSet::NONE.with(dscp))),
    };
    Pattern { kinds, marks, ..Pattern::default() }
}
