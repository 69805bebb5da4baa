//! A queue from outside that acts at departure and at deadlines of its own, at a router and at a host.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use perhop_core::packet::{Ecn, Meta, Packet};
use perhop_core::queue::{Backlog, Fifo, Queue};
use perhop_core::sink::{DropReason, Sink, SiteId};
use perhop_core::time::{Instant, Span};
use perhop_scenario::{NoFiles, load_with};
use perhop_sim::{Registry, Results, Simulation, TraceKinds};

use crate::diffserv::queue;

const PATH: &str = include_str!("scenarios/path.toml");
const PERIOD: Span = Span::from_millis(500);

/// What the queue itself counted.
#[derive(Default)]
struct Counted {
    calls: AtomicU64,
    marked: AtomicU64,
    dropped: AtomicU64,
}

/// At its turn it drops every 100th packet, and marks every 20th of the others if it can be; at each deadline it drops the first that waits.
struct Own<P> {
    site: SiteId,
    fifo: Fifo<P>,
    turns: u64,
    deadline: Instant,
    counted: Arc<Counted>,
}

impl<P: Packet> Own<P> {
    fn drop_first(&mut self, now: Instant, sink: &mut dyn Sink<P>) {
        if let Some(pkt) = self.fifo.dequeue(now, sink) {
            self.counted.dropped.fetch_add(1, Relaxed);
            sink.dropped(now, self.site, pkt, DropReason::Sojourn);
        }
    }
}

impl<P: Packet> Queue<P> for Own<P> {
    fn enqueue(&mut self, now: Instant, pkt: P, sink: &mut dyn Sink<P>) {
        self.fifo.enqueue(now, pkt, sink);
    }

    fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> Option<P> {
        self.turns += 1;
        if self.turns.is_multiple_of(100) {
            self.drop_first(now, sink);
        }
        let mut pkt = self.fifo.dequeue(now, sink)?;
        if self.turns.is_multiple_of(20) && pkt.meta().ecn == Ecn::Ect0 {
            pkt.meta_mut().ecn = Ecn::Ce;
            self.counted.marked.fetch_add(1, Relaxed);
            sink.marked(now, self.site, pkt.meta());
        }
        Some(pkt)
    }

    fn peek(&self) -> Option<&Meta> {
        self.fifo.peek()
    }

    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }

    fn has_deadlines(&self) -> bool {
        true
    }

    fn next_timeout(&self) -> Option<Instant> {
        Some(self.deadline)
    }

    fn on_timeout(&mut self, now: Instant, sink: &mut dyn Sink<P>) {
        if now >= self.deadline {
            self.counted.calls.fetch_add(1, Relaxed);
            self.deadline = now + PERIOD;
            self.drop_first(now, sink);
        }
    }
}

const OWN: &str = "name = \"all\"\nqueue = { kind = \"custom\", name = \"own\", limit = \"20p\" }\n";

/// Ten seconds of two flows with the queue where `text` has it: what the run says, and what the queue says.
fn run(text: &str, changes: &[&str]) -> (Results, Arc<Counted>) {
    let counted = Arc::new(Counted::default());
    let mut elements = Registry::new();
    let shared = Arc::clone(&counted);
    elements.queue("own", move |place, _| {
        let (fifo, counted) = (Fifo::new(place.site, place.limit), Arc::clone(&shared));
        Ok(Own { site: place.site, fifo, turns: 0, deadline: Instant::ZERO + PERIOD, counted })
    });
    let changes: Vec<String> = changes.iter().map(ToString::to_string).collect();
    let loaded = load_with(text.as_bytes(), "path.toml", &changes, &elements, &NoFiles).expect("no mistake");
    let run = Simulation::with_elements(&loaded.scenario, TraceKinds::default(), &elements);
    let results = run.expect("what was loaded is built").finish();
    assert_eq!(results.invariants, Vec::<String>::new());
    (results, counted)
}

/// Everything that the queue did is in its row; in ten seconds it meets nineteen deadlines, the twentieth is the end.
fn agrees(results: &Results, place: &str, counted: &Counted, marks: bool) {
    let row = queue(results, &format!("port.{place}.class.all"));
    let [calls, marked, dropped] =
        [&counted.calls, &counted.marked, &counted.dropped].map(|counter| counter.load(Relaxed));
    assert_eq!((calls, row.drops.marked), (19, marked));
    assert_eq!((marked > 5, dropped > 1), (marks, true), "{marked} marked, {dropped} dropped");
    assert_eq!(row.drops.of(DropReason::Sojourn), dropped);
    let full = row.drops.of(DropReason::Overflow);
    assert_eq!((row.stats.dropped.packets, row.drops.by_color), (dropped + full, [dropped + full, 0, 0]));
}

#[test]
fn at_a_router_all_that_it_does_is_counted() {
    let text = PATH.replace("name = \"all\"\n", OWN);
    let (results, counted) = run(&text, &["flow.f.tcp.ecn=true"]);
    agrees(&results, "r-b", &counted, true);
    let (results, counted) = run(&text, &[]);
    agrees(&results, "r-b", &counted, false);
}

/// With and without backpressure, which must hear of what is dropped.
#[test]
fn at_a_host_too() {
    for pressure in ["", "backpressure = 10\n"] {
        let port = format!("[[port]]\nat = \"a[1]\"\nto = \"r\"\n{pressure}[[port.class]]\n{OWN}");
        let (results, counted) = run(&(PATH.to_owned() + &port), &["flow.f.tcp.ecn=true"]);
        agrees(&results, "a[1]-r", &counted, true);
    }
}
