//! A traffic conditioner: classifier, ACK marker, meter, marker and shaper in a row, each of them optional.
//!
//! Source: RFC 2475 section 2.3.3 and figure 1; RFC 3290 section 8 (traffic conditioning blocks). Different: the
//! classifier belongs to the conditioner, so that several in a row are a traffic conditioning block, and ACKs may get a
//! mark of their own before they are measured.
//! Cost: the sum of the parts that are there; on its own, one branch for each part and two additions.

use crate::ack_marking::AckMarker;
use crate::classify::{Classifier, Flow};
use crate::dscp::ColorMap;
use crate::marker::{Action, Marker};
use crate::meter::{BucketName, Meter};
use crate::packet::{Color, FlowId, Meta, Packet, PortId};
use crate::param_error::ParamError;
use crate::queue::Backlog;
use crate::shaper::{Passage, Shaper};
use crate::sink::{DropReason, Sink, SiteId};
use crate::time::Instant;
use crate::timed::Timed;

//= rfc2475-2.3.3-parts
/// The parts of a conditioner. By default it has none and passes every packet.
pub struct ConditionerParts<P> {
    /// Packets that have a class here are treated, whichever it is; without a classifier, all are.
    pub classifier: Option<Box<dyn Classifier>>,
    /// The mark that ACKs, and what else comes back without data, get before all else.
    pub ack_marker: Option<AckMarker>,
    /// Colours by code point, set before the meter sees a packet. Without it a packet comes to the meter green.
    pub colors: Option<ColorMap>,
    /// The profile. Without a meter a packet has the colour of `colors`, or is green.
    pub meter: Option<Box<dyn Meter>>,
    /// The action for each colour.
    pub marker: Marker,
    /// Where packets go whose action is [`Action::Shape`].
    pub shaper: Option<Shaper<P>>,
}

impl<P> Default for ConditionerParts<P> {
    fn default() -> Self {
        let marker = Marker::default();
        Self { classifier: None, ack_marker: None, colors: None, meter: None, marker, shaper: None }
    }
}

/// A conditioner's counts of the packets it treated, since the start of the run. Others are not counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ConditionerStats {
    /// Arrived and were green.
    pub green: Backlog,
    /// Arrived and were yellow.
    pub yellow: Backlog,
    /// Arrived and were red.
    pub red: Backlog,
    /// Went on at once.
    pub passed: Backlog,
    /// Went on after a time in the shaper.
    pub released: Backlog,
    /// Dropped, here or for want of room in the shaper.
    pub dropped: Backlog,
}

impl ConditionerStats {
    /// The counts after `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            green: self.green - before.green,
            yellow: self.yellow - before.yellow,
            red: self.red - before.red,
            passed: self.passed - before.passed,
            released: self.released - before.released,
            dropped: self.dropped - before.dropped,
        }
    }

    /// Whether all that arrived went on, was dropped, or is among the `held`, in packets and in bytes.
    #[must_use]
    pub fn conserved(&self, held: Backlog) -> bool {
        let sum = |parts: &[Backlog]| {
            parts.iter().fold((0, 0), |(packets, bytes), part| (packets + part.packets, bytes + part.bytes.0))
        };
        sum(&[self.green, self.yellow, self.red]) == sum(&[self.passed, self.released, self.dropped, held])
    }

    fn of(&mut self, color: Color) -> &mut Backlog {
        match color {
            Color::Green => &mut self.green,
            Color::Yellow => &mut self.yellow,
            Color::Red => &mut self.red,
        }
    }
}

/// Treats the packets that come in by one port of a node, or by several.
///
/// Packets that the shaper holds are overtaken by those whose action is another, but not by each other.
pub struct Conditioner<P> {
    site: SiteId,
    parts: ConditionerParts<P>,
    stats: ConditionerStats,
}

impl<P: Packet> Conditioner<P> {
    /// A conditioner of these parts, known to observers as `site`.
    ///
    /// # Errors
    /// Refuses a marker that sends packets to a shaper that is not there.
    pub fn new(site: SiteId, parts: ConditionerParts<P>) -> Result<Self, ParamError> {
        let Marker { green, yellow, red } = parts.marker;
        if parts.shaper.is_none() && [green, yellow, red].contains(&Action::Shape) {
            return Err(ParamError::new("marker", "shapes packets, and there is no shaper"));
        }
        Ok(Self { site, parts, stats: ConditionerStats::default() })
    }

    //= rfc2475-2.3.3.1-verdict
    //= rfc2475-2.3.3.2-mark
    //= rfc2475-2.3.3.2-one-or-many
    //= rfc2475-2.3.3.4-drop
    //= rfc2597-3-conditioning
    /// A packet has come in by `from`. What goes on has its mark and colour of now.
    pub fn push(&mut self, now: Instant, from: PortId, mut pkt: P, sink: &mut dyn Sink<P>) -> Passage<P> {
        if self.parts.classifier.as_ref().is_some_and(|known| known.classify(pkt.meta()).is_none()) {
            return Passage::On(pkt);
        }
        if let Some(marker) = self.parts.ack_marker.as_mut().filter(|_| AckMarker::takes(pkt.meta())) {
            pkt.meta_mut().dscp = marker.mark(pkt.meta());
        }
        let color = self.color(now, pkt.meta_mut());
        if self.parts.meter.is_some() {
            sink.coloured(now, self.site, pkt.meta());
        }
        self.stats.of(color).add(pkt.meta().len);
        match self.parts.marker.action(color) {
            Action::Pass => {}
            Action::Remark(dscp) => pkt.meta_mut().dscp = dscp,
            Action::Drop => {
                self.stats.dropped.add(pkt.meta().len);
                sink.dropped(now, self.site, pkt, DropReason::Policed);
                return Passage::Gone;
            }
            Action::Shape => match self.shape(now, from, pkt, sink) {
                Passage::On(conforming) => pkt = conforming,
                otherwise => return otherwise,
            },
        }
        self.stats.passed.add(pkt.meta().len);
        Passage::On(pkt)
    }

    /// Takes note of a flow that came after this was built: from now on its packets are classified by its five-tuple and class,
    /// and measured by its addresses.
    pub fn learn(&mut self, id: FlowId, flow: &Flow) {
        if let Some(classifier) = &mut self.parts.classifier {
            classifier.learn(id, flow);
        }
        if let Some(meter) = &mut self.parts.meter {
            meter.learn(id, flow);
        }
    }

    /// The next packet that the shaper releases by now, and the port by which it came. Ask until there is none.
    pub fn pop(&mut self, now: Instant) -> Option<(PortId, P)> {
        let (from, pkt) = self.parts.shaper.as_mut()?.pop(now)?;
        self.stats.released.add(pkt.meta().len);
        Some((from, pkt))
    }

    /// A packet leaves by the port that this conditioner's packets come in by.
    pub fn observe_reverse(&mut self, now: Instant, meta: &Meta) {
        if let Some(marker) = &mut self.parts.ack_marker {
            marker.on_data(meta);
        }
        if let Some(meter) = &mut self.parts.meter {
            meter.observe_reverse(now, meta);
        }
    }

    /// Whether it ever has a deadline.
    #[must_use]
    pub fn has_deadlines(&self) -> bool {
        self.parts.shaper.is_some() || self.parts.meter.as_ref().is_some_and(|meter| meter.has_deadlines())
    }

    /// When [`Conditioner::on_timeout`] and then [`Conditioner::pop`] should next be called, if ever.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Instant> {
        let meter = self.parts.meter.as_ref().and_then(Timed::next_timeout);
        let shaper = self.parts.shaper.as_ref().and_then(Shaper::next_timeout);
        meter.into_iter().chain(shaper).min()
    }

    /// The deadline has come. An extra call changes nothing.
    pub fn on_timeout(&mut self, now: Instant) {
        if let Some(meter) = &mut self.parts.meter {
            meter.on_timeout(now);
        }
    }

    /// The result of [`Meter::levels`].
    #[must_use]
    pub fn token_levels(&self, now: Instant) -> Vec<(BucketName, f64)> {
        self.parts.meter.as_ref().map_or_else(Vec::new, |meter| meter.levels(now))
    }

    /// The packets that wait in the shaper.
    #[must_use]
    pub fn held(&self) -> Backlog {
        self.parts.shaper.as_ref().map_or(Backlog::default(), Shaper::backlog)
    }

    /// Counters since the start of the run.
    #[must_use]
    pub const fn stats(&self) -> &ConditionerStats {
        &self.stats
    }

    /// Whether in = out + dropped + held, in packets and in bytes.
    #[must_use]
    pub fn conserved(&self) -> bool {
        self.stats.conserved(self.held())
    }

    /// The conditioner as observers know it.
    #[must_use]
    pub const fn site(&self) -> SiteId {
        self.site
    }

    /// The colour by which the marker decides. It is written to the packet if a meter or a map of colours says it.
    fn color(&mut self, now: Instant, meta: &mut Meta) -> Color {
        let Self { parts: ConditionerParts { colors, meter, .. }, .. } = self;
        let before = colors.as_ref().map_or(Color::Green, |map| map.color(meta.dscp));
        if colors.is_some() || meter.is_some() {
            meta.color = before;
        }
        if let Some(meter) = meter {
            meta.color = meter.measure(now, meta);
            return meta.color;
        }
        before
    }

    /// Through the shaper, counting what it drops.
    fn shape(&mut self, now: Instant, from: PortId, pkt: P, sink: &mut dyn Sink<P>) -> Passage<P> {
        let shaper = self.parts.shaper.as_mut().expect("`new` refuses a marker that shapes without a shaper");
        shaper.push(now, from, pkt, &mut CountingSink { dropped: &mut self.stats.dropped, sink })
    }
}

/// Hears what a shaper drops, on the way to the observer.
struct CountingSink<'a, P> {
    dropped: &'a mut Backlog,
    sink: &'a mut dyn Sink<P>,
}

impl<P: Packet> Sink<P> for CountingSink<'_, P> {
    fn dropped(&mut self, now: Instant, site: SiteId, pkt: P, why: DropReason) {
        self.dropped.add(pkt.meta().len);
        self.sink.dropped(now, site, pkt, why);
    }
}
