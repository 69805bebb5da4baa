//! The pseudo-code of RFC 9332 appendices A.1 and A.2, line by line, against the queue.

use std::collections::VecDeque;

use perhop_core::packet::{Ecn, Packet};
use perhop_core::queue::{DualPi2, DualPi2Params, Queue};
use perhop_core::rng::Stream;
use perhop_core::sink::{DropReason, SiteId};
use perhop_core::time::{Instant, Span};
use perhop_core::units::QueueSize;
use perhop_testkit::packet::TestPacket;
use perhop_testkit::sink::{Event, Recorder};

#[derive(Clone, Copy)]
struct Pkt {
    id: u32,
    len: i64,
    /// 0 not-ECT, 1 ECT(1), 2 ECT(0), 3 CE.
    ecn: u8,
    came: u64,
}

/// `lq` or `cq`.
#[derive(Default)]
struct Fifo {
    waiting: VecDeque<Pkt>,
    count: f64,
}

impl Fifo {
    fn time(&self, now: u64) -> f64 {
        self.waiting.front().map_or(0.0, |first| seconds(now - first.came))
    }
}

fn seconds(ns: u64) -> f64 {
    Span::from_nanos(ns).as_secs_f64()
}

fn recur(count: &mut f64, likelihood: f64) -> bool {
    *count += likelihood;
    if *count > 1.0 {
        *count -= 1.0;
        return true;
    }
    false
}

/// The two queues with the names of the RFC.
struct Pseudocode {
    lq: Fifo,
    cq: Fifo,
    target: f64,
    alpha: f64,
    beta: f64,
    k: f64,
    min_th: u64,
    range: u64,
    th_len: usize,
    tshift: Option<u64>,
    /// Of 16 bytes that are sent while both wait.
    classic_of_16: i64,
    ahead: i64,
    p: f64,
    prevq: f64,
    p_cl: f64,
    p_c: f64,
    dropped: Vec<u32>,
}

impl Pseudocode {
    fn new(params: DualPi2Params, classic_of_16: i64) -> Self {
        Self {
            lq: Fifo::default(),
            cq: Fifo::default(),
            target: params.target.as_secs_f64(),
            alpha: params.alpha,
            beta: params.beta,
            k: params.coupling,
            min_th: params.l4s_threshold.as_nanos(),
            range: params.l4s_range.as_nanos(),
            th_len: params.l4s_packets as usize,
            tshift: params.time_shift.map(Span::as_nanos),
            classic_of_16,
            ahead: 0,
            p: 0.0,
            prevq: 0.0,
            p_cl: 0.0,
            p_c: 0.0,
            dropped: Vec::new(),
        }
    }

    /// Figures 6 and 8.
    fn update(&mut self, now: u64) {
        let (lq, cq) = (self.lq.time(now), self.cq.time(now));
        let curq = if lq > cq { lq } else { cq };
        self.p = self.p + self.alpha * (curq - self.target) + self.beta * (curq - self.prevq);
        self.p = self.p.clamp(0.0, 1.0);
        self.p_cl = (self.k * self.p).min(1.0);
        self.p_c = self.p * self.p;
        self.prevq = curq;
    }

    fn laqm(&self, qdelay: u64) -> f64 {
        if qdelay >= self.min_th + self.range {
            1.0
        } else if qdelay > self.min_th {
            (qdelay - self.min_th) as f64 / self.range as f64
        } else {
            0.0
        }
    }

    fn scheduler_is_lq(&self) -> bool {
        let (Some(l), Some(c)) = (self.lq.waiting.front(), self.cq.waiting.front()) else {
            return self.cq.waiting.is_empty();
        };
        match self.tshift {
            Some(tshift) => l.came <= c.came + tshift,
            None => self.ahead <= 0,
        }
    }

    /// Figure 7.
    fn dequeue(&mut self, now: u64) -> Option<Pkt> {
        while !self.lq.waiting.is_empty() || !self.cq.waiting.is_empty() {
            let both = !self.lq.waiting.is_empty() && !self.cq.waiting.is_empty();
            let lq = self.scheduler_is_lq();
            let mut pkt = if lq { self.lq.waiting.pop_front() } else { self.cq.waiting.pop_front() }?;
            if lq {
                if self.p_cl < 1.0 {
                    let native =
                        if self.lq.waiting.len() > self.th_len { self.laqm(now - pkt.came) } else { 0.0 };
                    if recur(&mut self.lq.count, native.max(self.p_cl)) {
                        pkt.ecn = 3;
                    }
                } else {
                    if recur(&mut self.lq.count, self.p_c) {
                        self.dropped.push(pkt.id);
                        continue;
                    }
                    if recur(&mut self.lq.count, self.p_cl) {
                        pkt.ecn = 3;
                    }
                }
            } else if recur(&mut self.cq.count, self.p_c) {
                if pkt.ecn == 0 || self.p_c >= (1.0 / (self.k * self.k)).min(1.0) {
                    self.dropped.push(pkt.id);
                    continue;
                }
                pkt.ecn = 3;
            }
            if self.lq.waiting.is_empty() && self.cq.waiting.is_empty() {
                self.ahead = 0;
            } else if both {
                self.ahead += pkt.len * if lq { self.classic_of_16 } else { self.classic_of_16 - 16 };
            }
            return Some(pkt);
        }
        None
    }
}

const ECN: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];

/// Phases of silence, of light and of heavy load; every departure, drop and mark is compared.
#[test]
fn the_queue_decides_as_the_pseudocode() {
    let rfc = DualPi2Params { limit: QueueSize::Packets(1_000_000), ..DualPi2Params::RFC9332 };
    let shifted = DualPi2Params { time_shift: Some(Span::from_millis(20)), coupling: 1.5, ..rfc };
    let ramp = Span::from_millis(8);
    let wild =
        DualPi2Params { alpha: 2.0, beta: 7.0, l4s_range: ramp, l4s_packets: 0, classic_share: 0.5, ..rfc };
    let (mut drops, mut marks, mut saturated) = (0, 0, 0);
    for (variant, params) in [rfc, shifted, wild].into_iter().enumerate() {
        let mut queue = DualPi2::new(SiteId(0), params).expect("sound parameters");
        let mut paper = Pseudocode::new(params, if variant == 2 { 8 } else { 1 });
        let mut draws = Stream::new(9, variant as u64, "operations");
        let (mut now, mut tick, mut sink) = (0, params.t_update.as_nanos(), Recorder::default());
        for step in 0..60_000u32 {
            let phase = step as usize / 1500 % 6;
            now += draws.below(200_000) * if phase == 5 && step % 50 == 0 { 2000 } else { 1 };
            while tick < now {
                paper.update(tick);
                tick += params.t_update.as_nanos();
            }
            let at = Instant::from_nanos(now);
            sink.events.clear();
            if draws.below(100) < [45, 58, 52, 30, 66, 20][phase] {
                let len = [40, 576, 1250, 1500, 1 + draws.below(1500)][draws.below(5) as usize];
                let ecn = draws.below(4) as u8;
                let pkt = Pkt { id: step, len: len as i64, ecn, came: now };
                queue.enqueue(at, TestPacket::data(step).len(len).ecn(ECN[usize::from(ecn)]), &mut sink);
                if ecn % 2 == 1 { &mut paper.lq } else { &mut paper.cq }.waiting.push_back(pkt);
                continue;
            }
            saturated += u32::from(paper.p_cl >= 1.0);
            let expected = paper.dequeue(now).map(|pkt| (pkt.id, ECN[usize::from(pkt.ecn)]));
            let left = queue.dequeue(at, &mut sink).map(|pkt| (pkt.id(), pkt.meta().ecn));
            assert_eq!(left, expected, "operation {step} of {variant}");
            let ours =
                sink.of(Event::Dropped(DropReason::Early)).map(|meta| meta.tcp.expect("a number").seq_end);
            assert!(ours.eq(paper.dropped.iter().copied()), "operation {step} of {variant}");
            assert_eq!(
                queue.base_probability().to_bits(),
                paper.p.to_bits(),
                "operation {step} of {variant}"
            );
            drops += paper.dropped.len();
            marks += sink.of(Event::Marked).count();
            paper.dropped.clear();
        }
    }
    assert!(
        drops > 1000 && marks > 1000 && saturated > 1000,
        "{drops} drops, {marks} marks, {saturated} say little"
    );
}
