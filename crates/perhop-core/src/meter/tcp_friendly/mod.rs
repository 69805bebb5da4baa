//! Marks the packets of TCP flows IN or OUT so that small windows lose nothing and OUT packets stand apart.
//!
//! Source: A. Feroz, S. Kalyanaraman, A. Rao, "A TCP-friendly traffic marker for IP differentiated services", 2000,
//! Algorithms 1 and 2. What the paper leaves open is a parameter: docs/decisions/0015-tcp-friendly-marker.md.
//! Different: fixed-point arithmetic in parts of 10^6; a spacing never begins with more OUT packets than it has.
//! Units: a token is one packet, of any length. Cost: an addition to each average and a few comparisons for a packet;
//! for each flow and interval two divisions and its part of a sort. After n intervals without a packet, at most
//! `forget_after` allocations are made up for; the rest is one formula.

mod allocation;
mod estimate;
mod flow;
mod params;
mod spacing;

pub use params::{BeyondTokens, CarrySpacing, Fraction, NewFlow, Shortage, TcpFriendlyParams};
pub use spacing::Spacing;

use super::Meter;
use crate::packet::{Color, Dir, FlowId, Kind, Meta, TcpView};
use crate::param_error::ParamError;
use crate::time::Instant;
use crate::timed::Timed;
use allocation::Demands;
use estimate::ONE;
use flow::Flow;
use params::Checked;

/// No flow at this place of the index.
const NOWHERE: u32 = u32::MAX;

/// One pool of tokens for all flows it sees: green is IN, red is OUT.
///
/// What is not sent by a TCP flow's sender (UDP, acknowledgments, whatever goes back) has no window: it is OUT, takes no
/// token and is not counted. A SYN or FIN without data is a packet of its flow that says nothing of the window.
#[derive(Clone, Debug)]
pub struct TcpFriendly {
    params: TcpFriendlyParams,
    checked: Checked,
    /// Place in `flows` by flow number; flow numbers are small and dense.
    index: Vec<u32>,
    flows: Vec<Flow>,
    demands: Demands,
    /// Tokens of this interval that no flow was allocated, in parts of 10^6.
    surplus: i64,
    /// The end of this interval.
    boundary: Instant,
}

/// The marker's state of a flow, for people and tables.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FlowState {
    /// W(i), in packets.
    pub window: f64,
    /// E(i), in packets for each interval.
    pub packets: f64,
    /// Tokens left in this interval.
    pub tokens: f64,
    /// S(i) as allocated: OUT packets between two IN packets.
    pub spacing: f64,
}

impl TcpFriendly {
    /// A marker that knows no flow, at the start of the run.
    ///
    /// # Errors
    /// Refuses an interval of 0, a gain outside (0, 1], a packet size outside 1..=65535 bytes, a small window outside
    /// 0..=10^6 packets, and a `forget_after` outside 1..=10,000.
    pub fn new(params: TcpFriendlyParams) -> Result<Self, ParamError> {
        let checked = params.check()?;
        Ok(Self {
            params,
            checked,
            index: Vec::new(),
            flows: Vec::new(),
            demands: Demands::default(),
            surplus: checked.tokens,
            boundary: Instant::ZERO + params.interval,
        })
    }

    /// Its state of `flow` since the last packet or time-out; `None` of a new or forgotten flow.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "for display; the marker never reads it back")]
    pub fn flow(&self, flow: FlowId) -> Option<FlowState> {
        let flow = self.flows.get(self.place(flow)?)?;
        let one = ONE as f64;
        Some(FlowState {
            window: flow.window.get() as f64 / one / f64::from(self.checked.packet_size),
            packets: flow.packets.get() as f64 / one,
            tokens: flow.tokens as f64 / one,
            spacing: flow.spacing.allocated() as f64 / one,
        })
    }

    fn place(&self, flow: FlowId) -> Option<usize> {
        self.index.get(flow.0 as usize).copied().filter(|&place| place != NOWHERE).map(|place| place as usize)
    }

    /// The place of the flow, which may be new.
    //= feroz2000-3-identify
    fn place_or_new(&mut self, meta: &Meta, tcp: TcpView) -> usize {
        if let Some(place) = self.place(meta.flow) {
            return place;
        }
        let number = meta.flow.0 as usize;
        if self.index.len() <= number {
            self.index.resize(number + 1, NOWHERE);
        }
        let place = self.flows.len();
        self.index[number] = u32::try_from(place).expect("fewer flows than flow numbers");
        self.flows.push(Flow::new(meta.flow, meta.kind, tcp, self.checked.packet_size));
        place
    }

    /// Ends every interval that is over at `now`.
    //= feroz2000-3-interval
    fn catch_up(&mut self, now: Instant) {
        if now < self.boundary {
            return;
        }
        let interval = self.params.interval.as_nanos();
        let over = now.saturating_since(self.boundary).as_nanos() / interval + 1;
        let mut left = over;
        while left > 0 && !self.flows.is_empty() {
            self.end_interval();
            left -= 1;
        }
        if left > 0 {
            let unused = i128::from(left - 1) * i128::from(self.checked.tokens) + i128::from(self.surplus);
            self.surplus = self.pool(i64::try_from(unused).unwrap_or(i64::MAX));
        }
        let ns = self.boundary.as_nanos().saturating_add(over.saturating_mul(interval));
        self.boundary = Instant::from_nanos(ns);
    }

    /// The next interval's tokens, when `unused` are left of this one's.
    fn pool(&self, unused: i64) -> i64 {
        self.checked.tokens + unused.min(self.checked.carry_tokens)
    }

    fn end_interval(&mut self) {
        let mut unused = self.surplus;
        let mut place = 0;
        while let Some(flow) = self.flows.get_mut(place) {
            unused += flow.end_interval(self.checked.gain_packets, self.params.fraction);
            if flow.idle < self.params.forget_after {
                place += 1;
            } else {
                unused += flow.tokens;
                self.forget(place);
            }
        }
        self.allocate(self.pool(unused));
    }

    /// The last flow takes the place of the forgotten one; no answer depends on the order of flows.
    fn forget(&mut self, place: usize) {
        let flow = self.flows.swap_remove(place);
        self.index[flow.id.0 as usize] = NOWHERE;
        if let Some(moved) = self.flows.get(place) {
            self.index[moved.id.0 as usize] = u32::try_from(place).expect("fewer flows than flow numbers");
        }
    }

    /// Algorithm 1.
    fn allocate(&mut self, pool: i64) {
        self.demands.small.clear();
        self.demands.large.clear();
        for flow in &self.flows {
            let small = flow.is_small(&self.checked);
            let list = if small { &mut self.demands.small } else { &mut self.demands.large };
            list.push(flow.packets.get());
        }
        let (small, large) = self.demands.divide(pool, self.params.shortage);
        self.surplus = pool;
        for flow in &mut self.flows {
            let grant = if flow.is_small(&self.checked) { small } else { large };
            let demand = flow.packets.get();
            let tokens = grant.tokens(demand, self.params.fraction);
            // Without tokens the paper gives no spacing: the last one stays.
            let between = if tokens > 0 { grant.spacing(demand, tokens) } else { flow.spacing.allocated() };
            flow.spacing.set(between, self.params.carry_spacing);
            flow.tokens += tokens;
            self.surplus -= tokens;
        }
    }

    /// Algorithm 2 for a packet of the flow at `place`.
    fn mark(&mut self, place: usize) -> Color {
        let flow = &mut self.flows[place];
        let beyond = self.params.beyond_tokens;
        let mut spare = Spare(&mut self.surplus);
        let small = || flow.is_small(&self.checked);
        if flow.packets.is_empty() {
            let served = self.params.new_flow == NewFlow::SmallWindow && small();
            return color(served && (spare.take() || beyond == BeyondTokens::SmallWindowIn));
        }
        //= feroz2000-3-all-small-windows-in
        if beyond == BeyondTokens::SmallWindowIn && small() {
            if flow.tokens >= ONE {
                flow.tokens -= ONE;
            } else {
                spare.take();
            }
            return Color::Green;
        }
        //= feroz2000-3-run-out
        if flow.tokens <= 0 {
            return color(beyond == BeyondTokens::Surplus && spare.take());
        }
        if !flow.spacing.due() {
            flow.spacing.put_out();
            return Color::Red;
        }
        //= feroz2000-3-decrement
        if flow.tokens >= ONE || self.params.fraction == Fraction::RoundUp {
            flow.tokens -= ONE;
        } else if beyond != BeyondTokens::Surplus || !spare.take() {
            return Color::Red;
        }
        flow.spacing.put_in();
        Color::Green
    }
}

/// The tokens that no flow was allocated.
struct Spare<'a>(&'a mut i64);

impl Spare<'_> {
    /// Takes a whole one, if there is one.
    fn take(&mut self) -> bool {
        let there = *self.0 >= ONE;
        if there {
            *self.0 -= ONE;
        }
        there
    }
}

const fn color(is_in: bool) -> Color {
    if is_in { Color::Green } else { Color::Red }
}

impl Timed for TcpFriendly {
    /// The end of the interval, while there are flows to allocate tokens to. A late call changes no answer.
    fn next_timeout(&self) -> Option<Instant> {
        (!self.flows.is_empty()).then_some(self.boundary)
    }

    fn on_timeout(&mut self, now: Instant) {
        self.catch_up(now);
    }
}

impl Meter for TcpFriendly {
    fn measure(&mut self, now: Instant, meta: &Meta) -> Color {
        self.catch_up(now);
        let (Some(tcp), Dir::Forward, Kind::Data | Kind::Syn | Kind::Other) = (meta.tcp, meta.dir, meta.kind)
        else {
            return Color::Red;
        };
        let place = self.place_or_new(meta, tcp);
        self.flows[place].sent(meta.kind, tcp, self.checked.gain_window);
        self.mark(place)
    }

    fn observe_reverse(&mut self, now: Instant, meta: &Meta) {
        self.catch_up(now);
        if let (Some(tcp), Dir::Reverse, Some(place)) = (meta.tcp, meta.dir, self.place(meta.flow)) {
            self.flows[place].acked(tcp.ack);
        }
    }

    fn has_deadlines(&self) -> bool {
        true
    }
}
