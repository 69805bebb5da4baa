//! Recovery by time: a segment is lost when one sent later has arrived and a reordering window has passed.
//!
//! Source: RFC 8985 sections 5 and 6; RFC 9937 (proportional rate reduction) as an option; the probe of the tail (section 7) is
//! the sender's. What RFC 8985 leaves open is as in Linux: lost segments leave first, in order, then new data, while cwnd
//! exceeds what is in the network; what was reported is kept after a time-out, unless the first outstanding segment is
//! among it (decision 0025). Different: no DSACK, so the reordering window does not widen (`reo_wnd_mult` is 1). Units:
//! bytes, ns.

use perhop_core::time::{Instant, Span};

use super::prr::{AckInfo, Prr};
use super::sent::{Key, Segment, Sent};
use super::{DUPLICATE_THRESHOLD, Flight, LossRecovery, Next, OnDuplicate, OnNewAck};
use crate::rate::{Leaving, LostSegment, RateEstimator, RateSample, Repair};
use crate::settings::{PrrForm, TcpParams};

/// The state of the path by the segments that have arrived.
//= rfc8985-5.3-variables
#[derive(Clone, Copy, Debug, Default)]
struct PathState {
    /// When the present acknowledgment arrived, and what its timestamps option echoes, if it has one.
    now: Instant,
    echo: Option<Instant>,
    /// The latest transmission that has arrived with any acknowledgment (`RACK.xmit_ts`, `RACK.end_seq`), and with this one.
    latest: Key,
    of_this: Option<Key>,
    /// When the first segment left that this acknowledgment reports and that has been sent once.
    reported: Option<Instant>,
    /// Round trip of the latest of the last acknowledgment that brought news.
    rtt: Span,
    /// The least round trip of what was sent once, or by an echo.
    min_rtt: Option<Span>,
    /// One past the highest byte that has arrived (`RACK.fack`).
    highest: u64,
    /// Something sent once has arrived after what lies above it.
    reordering: bool,
}

impl PathState {
    //= rfc8985-6.2-1-min-rtt
    fn sample(&mut self, rtt: Span) {
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
    }

    //= rfc8985-6.2-2-latest
    //= rfc8985-6.2-3-reordering
    fn arrived(&mut self, segment: &Segment) {
        self.reordering |= segment.end < self.highest && !segment.again;
        self.highest = self.highest.max(segment.end);
        let rtt = self.now - segment.sent;
        if segment.again {
            let first_one = self.echo.is_some_and(|echo| echo < segment.sent);
            if first_one || self.min_rtt.is_some_and(|least| rtt < least) {
                return;
            }
        } else {
            self.sample(rtt);
        }
        let key = (segment.sent, segment.end);
        if self.of_this.is_none_or(|latest| latest < key) {
            self.of_this = Some(key);
            self.rtt = rtt;
            self.latest = self.latest.max(key);
        }
    }
}

/// The result of [`Rack::detect`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Detection {
    /// Something is lost that was not before.
    pub losses: bool,
    /// A recovery must begin.
    pub begins: bool,
    /// When to look again.
    pub again: Option<Instant>,
}

/// State of loss recovery.
#[derive(Clone, Debug)]
pub struct Rack {
    sent: Sent,
    path: PathState,
    recovering: bool,
    /// One past the highest byte sent when the last recovery or time-out began, until that is acknowledged.
    point: Option<u64>,
    /// The first lost segment is to be sent again whatever the window is.
    repair: bool,
    /// A retransmission that is lost after a time-out begins a recovery.
    timeout_recovery: bool,
    limited_transmit: bool,
    /// Bytes that limited transmit has added to what is outstanding.
    limited: u64,
    use_prr: bool,
    /// cwnd when a recovery began, where proportional rate reduction counts by that.
    prior: Option<u64>,
    prr: Option<Prr>,
    /// `una` and bytes reported at the last acknowledgment, for what the next one delivers.
    delivered: u64,
    /// Where the congestion control asks for rates.
    rate: Option<Box<RateEstimator>>,
}

impl Rack {
    /// Nothing has been sent.
    #[must_use]
    pub fn new(params: &TcpParams) -> Self {
        Self {
            sent: Sent::default(),
            path: PathState::default(),
            recovering: false,
            point: None,
            repair: false,
            timeout_recovery: params.timeout_recovery,
            limited_transmit: params.limited_transmit,
            limited: 0,
            use_prr: params.prr,
            prior: (params.prr_form == PrrForm::Linux).then_some(0),
            prr: None,
            delivered: 0,
            rate: None,
        }
    }

    /// Estimates rates for a congestion control that moves the window in recoveries too: proportional rate reduction leaves it alone.
    pub fn estimate_rates(&mut self) {
        self.rate = Some(Box::default());
        self.use_prr = false;
    }

    /// The bytes `start..end` leave, for whatever reason.
    pub fn on_transmit(&mut self, now: Instant, start: u64, end: u64) {
        let (again, idle) = (end <= self.sent.max(), self.sent.len() == 0);
        self.sent.send(now, start, end);
        if let Some(rate) = &mut self.rate {
            let (in_flight, lost) = (self.sent.pipe(), self.sent.lost_total());
            rate.on_sent(now, end, Leaving { again, idle, in_flight, lost });
        }
    }

    /// An acknowledgment of everything below `una` arrived, with this echo in its timestamps option; its blocks follow.
    pub fn begin_ack(&mut self, now: Instant, echo: Option<Instant>, una: u64) {
        self.path = PathState { now, echo, of_this: None, reported: None, ..self.path };
        let news = self.sent.first().is_some_and(|first| first < una);
        if let Some(echo) = echo.filter(|&echo| news && echo <= now) {
            self.path.sample(now - echo);
        }
        let rate = &mut self.rate;
        self.sent.advance(una, |segment| {
            self.path.arrived(segment);
            if let Some(rate) = rate {
                rate.arrived(now, segment.sent, segment.end, segment.end - segment.start);
            }
        });
    }

    /// An acknowledgment of rates begins: `flight` is as before it.
    pub fn begin_rate(&mut self, flight: &Flight) {
        let pipe = self.pipe(flight);
        if let Some(rate) = &mut self.rate {
            rate.begin(pipe, self.sent.lost_total());
        }
    }

    /// The rate that an acknowledgment tells of, once everything has been made of it.
    pub fn rate_sample(&mut self, now: Instant, flight: &Flight) -> Option<RateSample> {
        let pipe = self.pipe(flight);
        let repair = match (self.recovering, self.point) {
            (true, _) => Repair::Recovery,
            (false, Some(_)) => Repair::Timeout,
            (false, None) => Repair::None,
        };
        let rate = self.rate.as_mut()?;
        let sample = rate.sample(now, self.path.min_rtt, self.sent.lost_total(), pipe, flight.una);
        Some(RateSample { repair, ..sample })
    }

    /// A segment has left: whether the congestion window is full now.
    pub fn check_full(&mut self, flight: &Flight) {
        let full = self.pipe(flight) + flight.mss > flight.cwnd;
        if let Some(rate) = self.rate.as_mut().filter(|_| full) {
            rate.fill();
        }
    }

    /// Takes out what has been lost since the last call, where rates are asked for.
    pub fn take_losses(&mut self) -> impl Iterator<Item = LostSegment> + '_ {
        self.rate.iter_mut().flat_map(|rate| rate.take_losses())
    }

    /// Segments from now on are bounded by the application.
    pub fn limit_rate(&mut self, flight: &Flight) {
        let pipe = self.pipe(flight);
        if let Some(rate) = &mut self.rate {
            rate.limit(pipe);
        }
    }

    /// Whether rates are bounded by the application.
    #[must_use]
    pub fn is_app_limited(&self) -> bool {
        self.rate.as_ref().is_some_and(|rate| rate.is_app_limited())
    }

    /// Whether something lost waits to be sent again.
    #[must_use]
    pub fn has_lost(&self) -> bool {
        self.sent.first_lost().is_some()
    }

    /// The least round trip.
    #[must_use]
    pub const fn min_rtt(&self) -> Option<Span> {
        self.path.min_rtt
    }

    /// Takes for lost what has been overtaken long enough.
    //= rfc8985-6.2-5-timer
    ///
    /// `by_timer` says that no acknowledgment has been ack_info.
    pub fn detect(&mut self, now: Instant, srtt: Span, by_timer: bool) -> Detection {
        let wait = self.path.rtt + self.reordering_window(srtt);
        let before = self.sent.gone();
        let rate = &mut self.rate;
        let (again, resent) = self.sent.detect(now, self.path.latest, wait, |segment, lost| {
            if let Some(rate) = rate {
                rate.lose(segment.sent, (segment.start, segment.end), lost);
            }
        });
        let losses = self.sent.gone() > before;
        if self.timeout_recovery && !self.recovering && (resent || by_timer && losses) {
            self.point = None;
        }
        let begins = self.point.is_none() && self.sent.has_missing();
        Detection { losses, begins, again }
    }

    /// How long a segment may be overtaken before it is lost.
    //= rfc8985-6.2-4-threshold
    //= rfc8985-6.2-4-quarter
    //= rfc8985-6.2-4-bound
    //= rfc8985-6.2-4-no-reordering
    fn reordering_window(&self, srtt: Span) -> Span {
        let threshold = self.sent.reported() >= DUPLICATE_THRESHOLD as usize;
        if !self.path.reordering && (self.point.is_some() || threshold) {
            return Span::ZERO;
        }
        let quarter = self.path.min_rtt.map_or(0, |least| least.as_nanos() / 4);
        Span::from_nanos(quarter.min(srtt.as_nanos()))
    }

    /// An acknowledgment has been ack_info, a safe one or not: proportional rate reduction counts what it delivered.
    pub fn count_delivered(&mut self, flight: &Flight, safe: bool) {
        let total = flight.una + self.sent.sacked();
        let delivered = total - self.delivered.min(total);
        self.delivered = total;
        let ack_info = AckInfo { delivered, pipe: self.pipe(flight), safe };
        if let Some(prr) = &mut self.prr {
            prr.on_ack(ack_info, flight.cwnd, flight.mss);
        }
    }

    /// A reordering timer has begun the recovery.
    pub fn count_timer(&mut self, flight: &Flight) {
        let ack_info = AckInfo { delivered: flight.mss, pipe: self.pipe(flight), safe: false };
        if let Some(prr) = self.prr.as_mut().filter(|_| self.prior.is_some()) {
            prr.on_ack(ack_info, flight.cwnd, flight.mss);
        }
    }

    /// The retransmission timer expired, `flight` being as before.
    //= rfc8985-6.3-mark
    pub fn expire(&mut self, now: Instant, srtt: Span) {
        let wait = self.path.rtt + self.reordering_window(srtt);
        let rate = &mut self.rate;
        self.sent.expire(now, wait, |segment, lost| {
            if let Some(rate) = rate {
                rate.lose(segment.sent, (segment.start, segment.end), lost);
            }
        });
    }

    /// Whether losses are being repaired, after a time-out too.
    #[must_use]
    pub const fn repairing(&self) -> bool {
        self.point.is_some()
    }

    /// Segments outstanding.
    #[must_use]
    pub fn outstanding(&self) -> usize {
        self.sent.len()
    }

    /// When the first segment left that the present acknowledgment reports and that was sent once.
    #[must_use]
    pub const fn reported(&self) -> Option<Instant> {
        self.path.reported
    }

    /// Whether the present acknowledgment reports something that had left before the first outstanding segment last did.
    #[must_use]
    pub fn reports_older(&self) -> bool {
        self.path.reported.zip(self.sent.first_sent()).is_some_and(|(reported, first)| reported < first)
    }

    /// The last segment sent.
    #[must_use]
    pub fn last(&self) -> Option<(u64, u64)> {
        self.sent.last()
    }

    //= rfc9937-6.2-inflight
    /// Bytes in the network: neither reported nor lost.
    #[must_use]
    pub const fn pipe(&self, flight: &Flight) -> u64 {
        (flight.max - flight.una).saturating_sub(self.sent.gone())
    }

    fn cwnd_allows(&self, flight: &Flight) -> bool {
        match &self.prr {
            Some(prr) => prr.permits(self.pipe(flight)),
            None => flight.cwnd >= self.pipe(flight) + flight.mss,
        }
    }
}

impl LossRecovery for Rack {
    //= rfc8985-4-sack
    fn on_sack(&mut self, flight: &Flight, blocks: &[(u64, u64)]) -> u64 {
        // what lies beyond a gap does not move the echo (RFC 7323 section 4.3), so that it says nothing of it
        self.path.echo = None;
        let mut sorted = [(0, 0); crate::segment::MAX_SACK_BLOCKS];
        let sorted = &mut sorted[..blocks.len()];
        sorted.copy_from_slice(blocks);
        // an acknowledgment that was lost may have reported the lower ones before: only in order do they show no reordering
        sorted.sort_unstable();
        let mut fresh = 0;
        let (rate, now) = (&mut self.rate, self.path.now);
        for &(start, end) in &*sorted {
            let start = start.max(flight.una);
            if start < end && end <= flight.max {
                fresh += self.sent.report(start, end, flight.mss, |segment| {
                    self.path.arrived(segment);
                    if let Some(rate) = rate {
                        rate.arrived(now, segment.sent, segment.end, segment.end - segment.start);
                    }
                    if !segment.again {
                        self.path.reported.get_or_insert(segment.sent);
                    }
                });
            }
        }
        fresh
    }

    //= rfc8985-7.4.1-more-losses
    /// Duplicates are not counted; what they report is what counts, in `detect`.
    fn on_duplicate(&mut self, flight: &Flight, _fresh: u64) -> OnDuplicate {
        if self.point.is_none() && self.sent.has_missing() {
            self.prior = self.prior.map(|_| flight.cwnd);
            OnDuplicate::Recover
        } else {
            OnDuplicate::Wait
        }
    }

    fn on_entered(&mut self, flight: &Flight) {
        self.recovering = true;
        self.repair = self.has_lost();
        self.point = Some(flight.max);
        let base = self.prior.unwrap_or_else(|| flight.max - self.delivered.min(flight.max));
        self.prr = self.use_prr.then(|| Prr::new(base));
    }

    fn on_new_ack(&mut self, _flight: &Flight, ack: u64) -> OnNewAck {
        self.limited = 0;
        if self.point.is_none_or(|point| ack >= point) {
            self.point = None;
            self.repair = false;
            self.prr = None;
            return if std::mem::take(&mut self.recovering) { OnNewAck::Exit } else { OnNewAck::Grow };
        }
        if !self.recovering {
            return OnNewAck::Grow;
        }
        OnNewAck::Partial { deflate: 0, restart_timer: true }
    }

    /// [`Rack::expire`] has marked what is lost.
    fn on_timeout(&mut self, flight: &Flight) {
        self.limited = 0;
        self.recovering = false;
        self.repair = false;
        self.prr = None;
        self.point = Some(flight.max);
    }

    /// Nothing is lost, and no recovery goes on.
    fn on_spurious_timeout(&mut self, _flight: &Flight) {
        self.sent.pardon();
        self.point = None;
    }

    fn next(&self, flight: &Flight) -> Next {
        if let Some((start, end)) = self.sent.first_lost()
            && (self.repair || self.cwnd_allows(flight))
        {
            return Next::Resend(start, end);
        }
        let permitted = if self.point.is_some() || self.limited_transmit && self.sent.sacked() > 0 {
            flight.offered() && self.cwnd_allows(flight)
        } else {
            flight.fits(0)
        };
        if permitted { Next::Segment } else { Next::Nothing }
    }

    fn on_sent(&mut self, flight: &Flight, seq: u64, end: u64) {
        self.repair = false;
        if let Some(prr) = &mut self.prr {
            prr.on_sent(end - seq);
        }
        if self.point.is_none() && !flight.fits(0) {
            self.limited += end - seq;
        }
    }

    fn sacked(&self) -> u64 {
        self.sent.sacked()
    }

    /// Skips reported data: it leaves again when it is lost, not because it comes next.
    fn skip_sacked(&self, at: u64) -> u64 {
        at.max(self.sent.max())
    }

    fn in_network(&self, flight: &Flight) -> u64 {
        self.pipe(flight)
    }

    fn limited(&self) -> u64 {
        self.limited
    }

    fn recovering(&self) -> bool {
        self.recovering
    }

    fn release(&mut self) {
        self.sent.shrink();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::PARAMS;

    //= test rfc8985-6.2-4-bound
    //= test rfc8985-6.2-4-quarter
    #[test]
    fn the_reordering_window_is_a_quarter_of_the_least_round_trip_and_at_most_srtt() {
        let mut rack = Rack::new(&PARAMS);
        let ms = Span::from_millis;
        assert_eq!(rack.reordering_window(ms(100)), Span::ZERO, "nothing has arrived");
        rack.path.sample(ms(80));
        assert_eq!(rack.reordering_window(ms(100)), ms(20));
        assert_eq!(rack.reordering_window(ms(15)), ms(15));
    }
}
