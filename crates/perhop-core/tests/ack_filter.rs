//! The ACK filter by its clauses, and that nothing is lost by it.

use perhop_core::packet::{Acknowledgment, Dir, FlowId, Kind, Meta, Packet, TcpView};
use perhop_core::queue::{
    AckFilter, Backlog, Cobalt, CobaltParams, Codel, CodelParams, Fifo, Fq, FqParams, Queue,
};
use perhop_core::rng::Stream;
use perhop_core::sink::{DropReason, Sink, SiteId};
use perhop_core::time::Instant;
use perhop_core::units::{Bytes, QueueSize};
use perhop_testkit::published;

const ECE: u8 = 0x40;
const CWR: u8 = 0x80;
const BOTH: [AckFilter; 2] = [AckFilter::Conservative, AckFilter::Aggressive];

/// A packet that says itself what it acknowledges.
#[derive(Clone, Debug)]
struct Pkt {
    id: u32,
    meta: Meta,
    ack: Option<Acknowledgment>,
}

impl Packet for Pkt {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn meta_mut(&mut self) -> &mut Meta {
        &mut self.meta
    }

    fn acknowledgment(&self) -> Option<Acknowledgment> {
        self.ack
    }
}

impl Pkt {
    /// A pure ACK of 40 bytes.
    fn ack(number: u32) -> Self {
        let ack = Acknowledgment::new(number, true);
        let tcp = Some(TcpView { ack: number, flags: 0x10, ..TcpView::default() });
        let meta = Meta { len: Bytes(40), kind: Kind::PureAck, dir: Dir::Reverse, tcp, ..Meta::default() };
        Self { id: 0, meta, ack: Some(ack) }
    }

    fn data() -> Self {
        let tcp = Some(TcpView::default());
        let meta = Meta { len: Bytes(1500), kind: Kind::Data, dir: Dir::Reverse, tcp, ..Meta::default() };
        Self { id: 0, meta, ack: None }
    }

    fn with(mut self, change: impl FnOnce(&mut Acknowledgment)) -> Self {
        change(self.ack.as_mut().expect("an acknowledgment"));
        self
    }

    fn sack(self, blocks: &[(u32, u32)]) -> Self {
        self.with(|ack| blocks.iter().for_each(|(start, end)| ack.add_sack(*start, *end)))
    }

    fn congestion(mut self, flags: u8) -> Self {
        self.meta.tcp.as_mut().expect("TCP").flags |= flags;
        self
    }

    const fn of(mut self, flow: u32, dir: Dir) -> Self {
        (self.meta.flow, self.meta.dir) = (FlowId(flow), dir);
        self
    }
}

/// What was dropped: which, and why.
#[derive(Default)]
struct Dropped(Vec<(u32, DropReason)>);

impl Sink<Pkt> for Dropped {
    fn dropped(&mut self, _now: Instant, site: SiteId, pkt: Pkt, why: DropReason) {
        assert_eq!(site, SiteId(3));
        self.0.push((pkt.id, why));
    }
}

fn fifo(filter: AckFilter, limit: QueueSize) -> Fifo<Pkt> {
    Fifo::new(SiteId(3), limit).filtering(Some(filter))
}

/// Which of these, by position, are dropped as they come.
fn dropped_of(mut queue: impl Queue<Pkt>, packets: &[Pkt]) -> Vec<(u32, DropReason)> {
    let mut sink = Dropped::default();
    for (id, pkt) in (0..).zip(packets) {
        queue.enqueue(Instant::ZERO, Pkt { id, ..pkt.clone() }, &mut sink);
    }
    sink.0
}

/// Which of these the filter drops in a queue that has room.
fn filtered(filter: AckFilter, packets: &[Pkt]) -> Vec<u32> {
    let found = dropped_of(fifo(filter, QueueSize::Packets(100)), packets);
    assert!(found.iter().all(|(_, why)| *why == DropReason::AckFilter));
    found.into_iter().map(|(id, _)| id).collect()
}

fn of_both(packets: &[Pkt]) -> [Vec<u32>; 2] {
    BOTH.map(|filter| filtered(filter, packets))
}

//= test ackfilter-ack_filter-two
//= test ackfilter-ack_filter-aggressive
#[test]
fn the_first_of_two_redundant_ones_goes_and_aggressively_the_only_one() {
    let acks = [1, 2, 3, 4].map(|n| Pkt::ack(n * 1000));
    assert_eq!(of_both(&acks), [vec![0, 1], vec![0, 1, 2]]);
    // with another packet of the flow between them, not even aggressively
    let between = [Pkt::ack(1000), Pkt::data(), Pkt::ack(2000)];
    assert_eq!(of_both(&between), [vec![], vec![]]);
    // one of another flow is none between them
    let between = [Pkt::ack(1000), Pkt::data().of(1, Dir::Reverse), Pkt::ack(2000)];
    assert_eq!(of_both(&between), [vec![], vec![0]]);
}

//= test ackfilter-ack_filter-trigger
#[test]
fn only_an_acknowledgment_of_the_same_flow_makes_redundant() {
    let first = [Pkt::ack(1000), Pkt::ack(2000).with(|ack| ack.alone = false)];
    let then = |last: Pkt| filtered(AckFilter::Conservative, &[&first[..1], &first[..1], &[last]].concat());
    assert_eq!(then(Pkt::ack(2000)), [0]);
    // data that acknowledge do, too
    let mut data = Pkt::ack(2000).with(|ack| ack.alone = false);
    (data.meta.kind, data.meta.len) = (Kind::Data, Bytes(1500));
    assert_eq!(then(data), [0]);
    for other in [Pkt::data(), Pkt::ack(2000).of(1, Dir::Reverse), Pkt::ack(2000).of(0, Dir::Forward)] {
        assert_eq!(then(other), []);
    }
}

//= test ackfilter-may_drop-alone
//= test ackfilter-may_drop-numbers
#[test]
fn what_says_more_stays() {
    let after = Pkt::ack(2000).with(|ack| ack.timestamps = Some((7, u32::MAX)));
    let stays = |first: Pkt| filtered(AckFilter::Aggressive, &[first, after.clone()]).is_empty();
    assert!(!stays(Pkt::ack(1999)));
    assert!(stays(Pkt::ack(2000)), "a duplicate");
    assert!(stays(Pkt::ack(2001)), "a later one");
    assert!(!stays(Pkt::ack(2000u32.wrapping_sub(1 << 30))), "before it, modulo 2^32");
    assert!(stays(Pkt::ack(1000).with(|ack| ack.alone = false)), "a FIN, say");
    let stamped = |value, echo| Pkt::ack(1000).with(|ack| ack.timestamps = Some((value, echo)));
    assert!(!stays(stamped(7, u32::MAX)) && !stays(stamped(6, u32::MAX - 1)));
    assert!(stays(stamped(8, u32::MAX)), "a later clock");
    assert!(stays(stamped(7, 0)), "a later echo");
}

//= test ackfilter-sack_compare-sack
#[test]
fn what_reports_more_stays() {
    let pair = |first: &[(u32, u32)], number: u32, then: &[(u32, u32)]| {
        let packets = [Pkt::ack(1000).sack(first), Pkt::ack(number).sack(then)];
        !filtered(AckFilter::Aggressive, &packets).is_empty()
    };
    assert!(pair(&[], 1000, &[(2000, 3000)]), "the first to report");
    assert!(!pair(&[(2000, 3000)], 1000, &[(2000, 3000)]), "a duplicate");
    assert!(pair(&[(2000, 3000)], 1000, &[(2000, 4000)]), "a longer block");
    assert!(pair(&[(2000, 3000)], 1000, &[(5000, 6000), (2000, 3000)]), "one block more");
    assert!(!pair(&[(2000, 3000), (7000, 8000)], 1000, &[(5000, 6000), (2000, 3000)]), "another block");
    assert!(pair(&[(2000, 3000)], 1500, &[(2000, 3000)]), "the same block, and more acknowledged");
    assert!(!pair(&[(2000, 3000)], 3000, &[]), "acknowledged by now, but not reported");
    assert!(!pair(&[(0, 500)], 1500, &[(0, 500)]), "below its own number: a duplicate arrived");
}

//= test ackfilter-ack_filter-congestion
#[test]
fn what_changes_between_two_is_heard() {
    let with = |flags: &[u8]| {
        let acks = (1..).zip(flags).map(|(n, flags)| Pkt::ack(n * 1000).congestion(*flags));
        of_both(&acks.collect::<Vec<_>>())
    };
    for flag in [ECE, CWR] {
        assert_eq!(with(&[0, flag]), [vec![], vec![]]);
        assert_eq!(with(&[flag, 0]), [vec![], vec![]]);
        assert_eq!(with(&[0, flag, 0]), [vec![], vec![]]);
        assert_eq!(with(&[flag, flag, flag]), [vec![0], vec![0, 1]]);
        assert_eq!(with(&[0, flag, flag, flag]), [vec![1], vec![1, 2]]);
    }
}

/// An arrival that finds the queue full takes the place of one that it makes redundant, if that is enough.
#[test]
fn a_full_queue_still_takes_what_makes_another_redundant() {
    let acks = [1, 2, 3].map(|n| Pkt::ack(n * 1000));
    let filter = AckFilter::Conservative;
    let full = |limit| dropped_of(fifo(filter, limit), &acks);
    assert_eq!(full(QueueSize::Packets(2)), [(0, DropReason::AckFilter)]);
    assert_eq!(full(QueueSize::Bytes(80)), [(0, DropReason::AckFilter)]);
    let longer = [acks[0].clone(), acks[1].clone(), acks[2].clone().sack(&[(5000, 6000)])].map(|mut pkt| {
        pkt.meta.len = Bytes(if pkt.acknowledgment().expect("one").sack().is_empty() { 40 } else { 52 });
        pkt
    });
    let limit = QueueSize::Bytes(80);
    assert_eq!(dropped_of(fifo(filter, limit), &longer), [(2, DropReason::Overflow)]);
}

#[test]
fn the_other_queues_filter_as_well() {
    let acks = [1, 2, 3].map(|n| Pkt::ack(n * 1000));
    let limit = QueueSize::Packets(100);
    let ack_filter = Some(AckFilter::Aggressive);
    let cobalt = CobaltParams { limit, p_inc: 0.0, p_dec: 1.0, ack_filter, ..published::COBALT };
    let cobalt = Cobalt::new(SiteId(3), cobalt, Stream::new(1, 0, "queue")).expect("sound");
    let codel = CodelParams { limit, ack_filter, ..published::CODEL };
    let codel = Codel::new(SiteId(3), codel).expect("sound");
    let both = [(0, DropReason::AckFilter), (1, DropReason::AckFilter)];
    assert_eq!((dropped_of(cobalt, &acks), dropped_of(codel, &acks)), (both.to_vec(), both.to_vec()));
}

/// Each flow filters in a queue of its own, and what waits in all is counted.
#[test]
fn flow_queueing_filters_by_its_queues() {
    let params = FqParams { limit: QueueSize::Packets(100), queues: 1024, ..published::FQ };
    let make = |_| Ok(fifo(AckFilter::Aggressive, QueueSize::Packets(100)));
    let mut queue = Fq::new(SiteId(3), params, Stream::new(1, 0, "queue"), make).expect("sound");
    let mut sink = Dropped::default();
    for id in 0..30 {
        let pkt = Pkt::ack(1000 * id).of(id % 3, Dir::Reverse);
        queue.enqueue(Instant::ZERO, Pkt { id, ..pkt }, &mut sink);
    }
    assert_eq!(sink.0.len(), 27);
    assert_eq!(queue.backlog(), Backlog { packets: 3, bytes: Bytes(120) });
    let mut left: Vec<u32> =
        std::iter::from_fn(|| queue.dequeue(Instant::ZERO, &mut sink)).map(|pkt| pkt.id).collect();
    left.sort_unstable();
    assert_eq!(left, [27, 28, 29]);
}

/// Whether `later` acknowledges all that `ack` does.
fn says_as_much(later: &Pkt, ack: &Acknowledgment) -> bool {
    let Some(then) = later.acknowledgment() else { return false };
    let holds = |(start, end): &(u32, u32)| {
        let within =
            |(from, to): &(u32, u32)| start.wrapping_sub(*from) < 1 << 31 && to.wrapping_sub(*end) < 1 << 31;
        then.sack().iter().any(within)
    };
    then.number.wrapping_sub(ack.number) < 1 << 31 && ack.sack().iter().all(holds)
}

/// Any arrivals of two flows: only pure ACKs are dropped; for each of them one that came later and went on says as much; no
/// change of the flags is lost; what is left goes on in order.
#[test]
fn nothing_is_lost() {
    for (variant, filter) in (0..).zip(BOTH) {
        let mut draws = Stream::new(9, variant, "operations");
        let mut queue = fifo(filter, QueueSize::Packets(1_000_000));
        let mut sink = Dropped::default();
        let (mut sent, mut out) = (Vec::<Pkt>::new(), Vec::<u32>::new());
        let mut numbers = [0u32, 4_294_900_000];
        let mut flags = 0;
        for id in 0..20_000 {
            if draws.below(100) < [55, 40][id as usize / 500 % 2] {
                let flow = draws.below(2) as u32;
                let number = &mut numbers[flow as usize];
                *number = number.wrapping_add(1000 * draws.below(3) as u32);
                let mut blocks = [(0, 0); 3].map(|_| {
                    let start = number.wrapping_add(1000 + 1000 * draws.below(4) as u32);
                    (start, start.wrapping_add(1000 + 1000 * draws.below(3) as u32))
                });
                blocks[0].0 = number.wrapping_add(1000);
                if draws.below(9) == 0 {
                    flags ^= [ECE, CWR][draws.below(2) as usize];
                }
                let pkt = match draws.below(12) {
                    0 => Pkt::data(),
                    1 => Pkt::ack(*number).with(|ack| ack.alone = false),
                    _ => Pkt::ack(*number).sack(&blocks[..draws.below(4) as usize]),
                };
                let pkt = Pkt { id: sent.len() as u32, ..pkt.of(flow, Dir::Reverse).congestion(flags) };
                sent.push(pkt.clone());
                queue.enqueue(Instant::ZERO, pkt, &mut sink);
            } else {
                out.extend(queue.dequeue(Instant::ZERO, &mut sink).map(|pkt| pkt.id));
            }
        }
        while let Some(pkt) = queue.dequeue(Instant::ZERO, &mut sink) {
            out.push(pkt.id);
        }
        let gone: Vec<u32> = sink.0.iter().map(|(id, _)| *id).collect();
        assert!(gone.len() > 500 && out.len() + gone.len() == sent.len(), "{} gone", gone.len());
        assert!(out.is_sorted() && sink.0.iter().all(|(_, why)| *why == DropReason::AckFilter));
        let of = |id: u32| &sent[id as usize];
        for id in gone {
            let ack = of(id).acknowledgment().expect("an acknowledgment");
            assert!(ack.alone);
            let later = out[out.partition_point(|out| *out < id)..].iter().map(|id| of(*id));
            let mut own = later.filter(|pkt| pkt.meta.flow == of(id).meta.flow).take(60);
            assert!(own.any(|pkt| says_as_much(pkt, &ack)), "{id} was lost");
        }
        for flow in [0, 1].map(FlowId) {
            let changes = |ids: &mut dyn Iterator<Item = &Pkt>| {
                let own = ids.filter(|pkt| pkt.meta.flow == flow);
                let mut flags: Vec<u8> =
                    own.map(|pkt| pkt.meta.tcp.expect("TCP").flags & (ECE | CWR)).collect();
                flags.dedup();
                flags
            };
            let (all, through) = (changes(&mut sent.iter()), changes(&mut out.iter().map(|id| of(*id))));
            assert!(all.len() > 100 && all == through, "a change of flow {flow:?} was lost");
        }
    }
}
