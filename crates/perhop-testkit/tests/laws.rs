//! The laws themselves: they accept what elements may do and refuse what they may not.

use perhop_core::classify::Classifier;
use perhop_core::packet::{ClassId, Color, Ecn, FlowId, Meta, Packet};
use perhop_core::queue::{Backlog, Fifo, Queue};
use perhop_core::sched::{Heads, Scheduler, Select, StrictPriority};
use perhop_core::sink::{Sink, SiteId};
use perhop_core::time::{Instant, Span};
use perhop_core::units::{Bytes, QueueSize};
use perhop_tcp::ack::{AckAction, AckPolicy, Arrival};
use perhop_tcp::cc::{AckSample, AfterIdle, CongestionControl, CongestionSignal, Load};
use perhop_tcp::segment::{Ack, SackBlocks, Segment};
use perhop_tcp::settings::{RecoveryKind, TcpParams};
use perhop_testkit::laws::{ack_policy, classifier, congestion_control, queue, scheduler};
use perhop_testkit::packet::TestPacket;
use perhop_testkit::permit::Permit;
use perhop_testkit::rack::Outstanding;
use perhop_testkit::tcp::RFC;
use perhop_testkit::{queue_laws, scheduler_laws};

const LIMIT: QueueSize = QueueSize::Packets(4);
const PERIOD: Span = Span::from_millis(15);

/// What is wrong with a [`Ticking`] queue.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    Nothing,
    /// A met deadline stays.
    StuckDeadline,
    /// Nobody is told that there are deadlines.
    SilentDeadline,
    /// A call before the deadline moves it.
    EarlyCallCounts,
    /// Packets vanish.
    Leak,
    /// Lengths change.
    Rewrite,
    /// A packet is marked as having met congestion, and the sink is told.
    Mark,
    /// It is marked when its turn comes, and nobody is told.
    SilentMark,
    /// A packet that waits takes another colour.
    Recolour,
}

/// A FIFO with a periodic deadline, as PIE has.
struct Ticking {
    fifo: Fifo<TestPacket>,
    next: Instant,
    flaw: Flaw,
}

impl Ticking {
    fn boxed(site: SiteId, flaw: Flaw) -> Box<dyn Queue<TestPacket>> {
        Box::new(Self { fifo: Fifo::new(site, LIMIT), next: Instant::ZERO + PERIOD, flaw })
    }
}

impl Queue<TestPacket> for Ticking {
    fn enqueue(&mut self, now: Instant, pkt: TestPacket, sink: &mut dyn Sink<TestPacket>) {
        let pkt = match self.flaw {
            Flaw::Rewrite => pkt.len(1),
            Flaw::Mark => {
                let marked = pkt.ecn(Ecn::Ce);
                sink.marked(now, SiteId(7), marked.meta());
                marked
            }
            _ => pkt,
        };
        self.fifo.enqueue(now, pkt, sink);
    }

    fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<TestPacket>) -> Option<TestPacket> {
        if self.flaw == Flaw::Leak {
            self.fifo.dequeue(now, sink)?;
        }
        let pkt = self.fifo.dequeue(now, sink)?;
        Some(match self.flaw {
            Flaw::Recolour => pkt.color(Color::Red),
            Flaw::SilentMark => pkt.ecn(Ecn::Ce),
            _ => pkt,
        })
    }

    fn peek(&self) -> Option<&Meta> {
        self.fifo.peek()
    }

    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }

    fn has_deadlines(&self) -> bool {
        self.flaw != Flaw::SilentDeadline
    }

    fn next_timeout(&self) -> Option<Instant> {
        Some(self.next)
    }

    fn on_timeout(&mut self, now: Instant, _sink: &mut dyn Sink<TestPacket>) {
        match self.flaw {
            Flaw::StuckDeadline => {}
            Flaw::EarlyCallCounts => self.next = now + PERIOD,
            _ if now >= self.next => self.next = now + PERIOD,
            _ => {}
        }
    }
}

queue_laws!(a_queue_with_a_deadline, |site| Ticking::boxed(site, Flaw::Nothing), limit = LIMIT);

const ARRIVAL: queue::Op = queue::Op::Enqueue { flow: 0, len: 99, red: false, mark: 0 };
const TEN_MS: queue::Op = queue::Op::Wait(10_000_000);

fn queue_walk(flaw: Flaw) {
    let ops = [TEN_MS, ARRIVAL, ARRIVAL, ARRIVAL, TEN_MS, queue::Op::Dequeue, TEN_MS];
    queue::early_timeouts_change_nothing(|site| Ticking::boxed(site, flaw), LIMIT, &ops);
}

#[test]
#[should_panic(expected = "a deadline at")]
fn a_deadline_must_lie_ahead() {
    queue_walk(Flaw::StuckDeadline);
}

#[test]
#[should_panic(expected = "left == right")]
fn an_early_call_must_change_nothing() {
    queue_walk(Flaw::EarlyCallCounts);
}

#[test]
#[should_panic(expected = "dequeue and peek disagree")]
fn packets_must_not_vanish() {
    queue_walk(Flaw::Leak);
}

#[test]
#[should_panic(expected = "announced once, as it waits")]
fn packets_must_not_change() {
    queue_walk(Flaw::Rewrite);
}

#[test]
#[should_panic(expected = "NotEct cannot be marked")]
fn a_packet_that_is_not_capable_must_not_be_marked() {
    queue_walk(Flaw::Mark);
}

#[test]
#[should_panic(expected = "a packet changed while it waited")]
fn a_mark_must_be_told() {
    queue_walk(Flaw::SilentMark);
}

#[test]
#[should_panic(expected = "of a queue that has none")]
fn a_deadline_must_not_come_as_a_surprise() {
    queue_walk(Flaw::SilentDeadline);
}

#[test]
#[should_panic(expected = "a packet changed while it waited")]
fn a_waiting_packet_must_keep_its_colour() {
    queue_walk(Flaw::Recolour);
}

/// Serves the first class with a packet, at most every 10 ms.
struct Regulated(Instant);

impl Scheduler for Regulated {
    fn select(&mut self, now: Instant, heads: &dyn Heads) -> Select {
        match StrictPriority.select(now, heads) {
            Select::Serve(_) if now < self.0 => Select::NotBefore(self.0),
            answer => answer,
        }
    }

    fn on_served(&mut self, now: Instant, _class: ClassId, _served: &Meta) {
        self.0 = now + Span::from_millis(10);
    }
}

scheduler_laws!(a_regulated_class, || Box::new(Regulated(Instant::ZERO)), classes = 3);

/// Answers from a list, then again from its start.
struct Scripted(&'static [Select], usize);

impl Scheduler for Scripted {
    fn select(&mut self, _now: Instant, _heads: &dyn Heads) -> Select {
        self.1 += 1;
        self.0[(self.1 - 1) % self.0.len()]
    }
}

fn scheduler_walk(answers: &'static [Select]) {
    let ops =
        [scheduler::Op::Enqueue { class: 1, len: 99, red: false, capable: false }, scheduler::Op::Dequeue];
    scheduler::serves_what_waits(|| Box::new(Scripted(answers, 0)), 2, &ops);
}

#[test]
#[should_panic(expected = "ClassId(0) has no packet")]
fn a_class_without_packets_must_not_be_served() {
    scheduler_walk(&[Select::Serve(ClassId(0))]);
}

#[test]
#[should_panic(expected = "idle although packets wait")]
fn the_link_must_not_idle_for_nothing() {
    scheduler_walk(&[Select::Idle]);
}

#[test]
#[should_panic(expected = "waits until")]
fn the_time_to_wait_for_must_lie_ahead() {
    scheduler_walk(&[Select::NotBefore(Instant::ZERO)]);
}

/// Names a time and then another.
#[test]
#[should_panic(expected = "waits for")]
fn the_time_to_wait_for_must_not_be_put_off() {
    const AT: Select = Select::NotBefore(Instant::from_nanos(1));
    const LATER: [Select; 4] =
        [AT, AT, Select::NotBefore(Instant::from_nanos(2)), Select::NotBefore(Instant::from_nanos(2))];
    let arrival = scheduler::Op::Enqueue { class: 1, len: 99, red: false, capable: false };
    let ops = [arrival, scheduler::Op::Dequeue, scheduler::Op::Dequeue];
    scheduler::serves_what_waits(|| Box::new(Scripted(&LATER, 0)), 2, &ops);
}

#[test]
#[should_panic(expected = "serves at")]
fn the_time_to_wait_for_must_not_be_brought_forward() {
    const WAIT: Select = Select::NotBefore(Instant::from_nanos(1));
    const SERVE: Select = Select::Serve(ClassId(1));
    let arrival = scheduler::Op::Enqueue { class: 1, len: 99, red: false, capable: false };
    let ops = [arrival, scheduler::Op::Dequeue, scheduler::Op::Dequeue];
    scheduler::serves_what_waits(|| Box::new(Scripted(&[WAIT, WAIT, SERVE, SERVE], 0)), 2, &ops);
}

#[test]
#[should_panic(expected = "asked twice")]
fn asking_twice_must_give_the_same_answer() {
    scheduler_walk(&[Select::Serve(ClassId(1)), Select::Serve(ClassId(0))]);
}

struct ByFlow;

impl Classifier for ByFlow {
    fn classify(&self, meta: &Meta) -> Option<ClassId> {
        u16::try_from(meta.flow.0).ok().map(ClassId)
    }
}

#[test]
#[should_panic(expected = "ClassId(2) of 2")]
fn a_class_must_exist() {
    let metas = [0, 1, 2].map(|flow| *TestPacket::data(0).flow(flow).meta());
    assert_eq!(metas[2].flow, FlowId(2));
    classifier::is_a_function_of_the_packet(|| Box::new(ByFlow), 2, &metas);
}

/// Shrinks without a floor, never takes a time-out back, and widens when it should not.
struct Faulty(u64);

impl CongestionControl for Faulty {
    fn on_ack(&mut self, _now: Instant, _ack: &AckSample) {}

    fn on_congestion(&mut self, _now: Instant, _signal: CongestionSignal, _load: &Load) {
        self.0 /= 2;
    }

    fn on_recovery_exit(&mut self, _now: Instant) {}

    fn on_spurious_timeout(&mut self, _now: Instant) {}

    fn on_restart_after_idle(&mut self, _now: Instant, _left: &AfterIdle) {
        self.0 += 1;
    }

    fn deflate(&mut self, _by: Bytes) {}

    fn limit(&mut self, to: Bytes) {
        self.0 = self.0.min(to.0);
    }

    fn cwnd(&self) -> Bytes {
        Bytes(self.0)
    }

    fn ssthresh(&self) -> Bytes {
        Bytes(u64::MAX)
    }
}

const MSS: Bytes = Bytes(1000);
const NO_LOAD: Load = Load { in_flight: Bytes(0), inflation: Bytes(0), window: Bytes(0), kept: Bytes(0) };

fn faulty(mss: Bytes) -> Box<dyn CongestionControl> {
    Box::new(Faulty(2 * mss.0))
}

#[test]
#[should_panic(expected = "cwnd 500B below one segment of 1000B")]
fn a_window_must_hold_a_segment() {
    let ops = [congestion_control::Op::Congestion(CongestionSignal::Timeout, NO_LOAD); 2];
    congestion_control::keeps_its_floors(faulty, MSS, &ops);
}

#[test]
#[should_panic(expected = "cwnd 500B below one segment of 1000B")]
fn a_limited_window_must_hold_a_segment() {
    congestion_control::keeps_its_floors(faulty, MSS, &[congestion_control::Op::Limit(Bytes(500))]);
}

#[test]
#[should_panic(expected = "Deflate(Bytes(700)) left 2000B of 2000B")]
fn a_window_must_be_deflated() {
    congestion_control::shrinks_as_told(faulty, MSS, &[congestion_control::Op::Deflate(Bytes(700))]);
}

#[test]
#[should_panic(expected = "RestartAfterIdle left 2001B of 2000B")]
fn idleness_must_not_widen_the_window() {
    congestion_control::shrinks_as_told(faulty, MSS, &[congestion_control::Op::RestartAfterIdle]);
}

#[test]
#[should_panic(expected = "(Bytes(1000), Bytes(18446744073709551615)) of (Bytes(2000), ")]
fn a_spurious_timeout_must_be_taken_back() {
    congestion_control::takes_a_timeout_back(faulty, MSS, &[], &NO_LOAD);
}

/// Asks for the same delay, in ns, whatever arrives; for nothing without one.
struct Stubborn(Option<u64>);

impl AckPolicy for Stubborn {
    fn on_arrival(&mut self, now: Instant, _seg: &Arrival) -> AckAction {
        self.0.map_or(AckAction::None, |ns| AckAction::Delay(now + Span::from_nanos(ns)))
    }
}

const IN_ORDER: Arrival = Arrival { in_order: true, fills_gap: false, old: false, delivered: 1460 };

/// Arrivals 10 ns apart, to be acknowledged within 20 ns.
fn ack_walk(delay: Option<u64>, arrivals: &[Arrival]) {
    let ops: Vec<_> = arrivals.iter().map(|arrival| (10, *arrival)).collect();
    let bounds = ack_policy::Bounds { within: Span::from_nanos(20), reports: Span::from_nanos(5) };
    ack_policy::acknowledges_in_time(|| Box::new(Stubborn(delay)), bounds, &ops);
}

/// Reports at once where `self.0` have not been made, else as the rest says.
struct Reporting(u32, AckAction);

impl AckPolicy for Reporting {
    fn on_arrival(&mut self, _now: Instant, _seg: &Arrival) -> AckAction {
        self.0 = self.0.saturating_sub(1);
        if self.0 > 0 { AckAction::Now } else { self.1 }
    }
}

/// Four arrivals beyond a gap 10 ns apart, of which the last is answered so.
fn report_walk(last: AckAction) {
    let ops = [(10, Arrival { in_order: false, ..IN_ORDER }); 4];
    let bounds = ack_policy::Bounds { within: Span::from_nanos(20), reports: Span::from_nanos(5) };
    ack_policy::acknowledges_in_time(|| Box::new(Reporting(4, last)), bounds, &ops);
}

#[test]
fn the_fourth_report_may_wait() {
    report_walk(AckAction::Delay(Instant::from_nanos(45)));
}

#[test]
#[should_panic(expected = "waits until 0.000000046s")]
fn the_fourth_report_must_be_made_in_time() {
    report_walk(AckAction::Delay(Instant::from_nanos(46)));
}

#[test]
#[should_panic(expected = "is never acknowledged")]
fn the_fourth_report_must_be_made() {
    report_walk(AckAction::None);
}

#[test]
fn a_segment_may_wait_once_the_last_one_is_acknowledged() {
    ack_walk(Some(10), &[IN_ORDER; 3]);
}

#[test]
#[should_panic(expected = "the second left waiting")]
fn the_second_segment_must_be_acknowledged() {
    ack_walk(Some(11), &[IN_ORDER; 2]);
}

#[test]
#[should_panic(expected = "is never acknowledged")]
fn a_segment_must_be_acknowledged_if_no_other_comes() {
    ack_walk(None, &[IN_ORDER]);
}

#[test]
#[should_panic(expected = "waits until 0.000000031s, not 0.000000020s from 0.000000010s")]
fn a_segment_must_be_acknowledged_in_time() {
    ack_walk(Some(21), &[IN_ORDER]);
}

#[test]
#[should_panic(expected = "must be acknowledged at once")]
fn a_segment_beyond_a_gap_must_be_acknowledged() {
    ack_walk(Some(10), &[Arrival { in_order: false, ..IN_ORDER }]);
}

#[test]
#[should_panic(expected = "must be acknowledged at once")]
fn a_segment_into_a_gap_must_be_acknowledged() {
    ack_walk(Some(10), &[Arrival { fills_gap: true, ..IN_ORDER }]);
}

/// Ten segments of 1000 bytes out of an endless number, of which segments so numbered have been reported, one for an
/// acknowledgment; the window is six.
fn outstanding(recovery: RecoveryKind, reported: &[u64]) -> (Permit, Outstanding) {
    let params = TcpParams { mss: MSS, recovery, limited_transmit: false, ..RFC };
    let mut at = Outstanding { una: 0, max: 10_000, limit: u64::MAX, window: 100_000 };
    let mut permit = Permit::new(&params);
    for number in reported {
        let mut sack = SackBlocks::default();
        sack.push(number * 1000, (number + 1) * 1000);
        let ack = Ack { window: Bytes(at.window), sack, ..Ack::default() };
        permit.hear(&mut at, &ack, 6000, false);
    }
    (permit, at)
}

fn segment(number: u64) -> Segment {
    Segment { seq: number * 1000, end: (number + 1) * 1000, ..Segment::default() }
}

#[test]
fn a_sender_may_repair_what_is_lost_then_send_new_data_while_the_pipe_has_room() {
    let (mut permit, mut at) = outstanding(RecoveryKind::Sack, &[2, 3, 4, 5, 6]);
    assert!(permit.recovering());
    // in the network: 7, 8, 9 and what is sent
    for number in [0, 1, 10] {
        permit.send(&at, &segment(number), 6000);
        at.max = at.max.max((number + 1) * 1000);
    }
}

#[test]
#[should_panic(expected = "with 6000 in the network of 6000")]
fn the_pipe_must_not_overflow() {
    let (mut permit, mut at) = outstanding(RecoveryKind::Sack, &[2, 3, 4, 5, 6]);
    for number in [0, 1, 10, 11] {
        permit.send(&at, &segment(number), 6000);
        at.max = at.max.max((number + 1) * 1000);
    }
}

#[test]
#[should_panic(expected = "the first outstanding is repaired first")]
fn a_recovery_must_begin_with_the_first_segment() {
    let (mut permit, at) = outstanding(RecoveryKind::NewReno, &[2, 3, 4]);
    permit.send(&at, &segment(10), 6000);
}

#[test]
#[should_panic(expected = "the next hole is")]
fn a_hole_must_not_be_left_out() {
    let (mut permit, at) = outstanding(RecoveryKind::Sack, &[3, 4, 5, 6, 7]);
    permit.send(&at, &segment(0), 6000);
    permit.send(&at, &segment(2), 6000);
}

#[test]
#[should_panic(expected = "before a lost one")]
fn new_data_must_not_leave_before_what_is_lost() {
    let (mut permit, at) = outstanding(RecoveryKind::Sack, &[2, 3, 4, 5, 6]);
    permit.send(&at, &segment(0), 6000);
    permit.send(&at, &segment(10), 6000);
}

#[test]
#[should_panic(expected = "beyond 6000 from 0, after 2 duplicates")]
fn two_duplicates_must_not_widen_the_window() {
    let (mut permit, at) = outstanding(RecoveryKind::Reno, &[2, 3]);
    permit.send(&at, &segment(10), 6000);
}

#[test]
#[should_panic(expected = "beyond an inflated 10000")]
fn four_duplicates_must_not_widen_the_window_by_more() {
    let (mut permit, at) = outstanding(RecoveryKind::Reno, &[2, 3, 4, 5]);
    permit.send(&at, &segment(0), 6000);
    permit.send(&at, &segment(10), 6000);
}
