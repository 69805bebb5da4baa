//! Applications as a driver reads them: what they ask for, and over which flows.

use std::ops::Range;
use std::sync::Arc;

use perhop_core::time::Span;
use perhop_core::units::BitRate;
use perhop_core::variate::Variate;

/// An application over flows between two hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Application {
    /// `web[3]`, or the plain name where it is one alone.
    pub name: String,
    /// Its kind, with what it needs.
    pub kind: ApplicationKind,
    /// Its TCP flows.
    pub flows: Range<usize>,
}

/// A call: two UDP flows, one each way.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// `voice[3]`, or the plain name where it is one alone.
    pub name: String,
    /// The first of its UDP flows; the second is the way back.
    pub first: usize,
    /// How long the first packet that arrives waits to be played.
    pub jitter_buffer: Span,
    /// Equipment impairment factor.
    pub ie: f64,
    /// Packet-loss robustness factor.
    pub bpl: f64,
}

impl Call {
    /// The flow the other way than UDP flow `udp`.
    #[must_use]
    pub const fn other(&self, udp: usize) -> usize {
        if udp == self.first { self.first + 1 } else { self.first }
    }
}

/// Video in chunks at rates that a buffer chooses; lengths of time are of video.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Video {
    /// The rates, the lowest first; at least one.
    pub ladder: Arc<[BitRate]>,
    /// Of a chunk.
    pub chunk: Span,
    /// The most that the buffer holds.
    pub buffer: Span,
    /// Up to here the lowest rate.
    pub reservoir: Span,
    /// From so much more on the highest.
    pub cushion: Span,
}

/// The kind of an application.
#[derive(Clone, Debug, PartialEq)]
pub enum ApplicationKind {
    /// Replies over one connection, one after the other.
    Requests {
        /// Bytes of each; none is below one.
        size: Variate,
        /// From a reply to the next request, ns.
        think: Variate,
    },
    /// Pages: a main object, then others over all its connections.
    Pages {
        /// Bytes of a main object.
        main: Variate,
        /// How many others there are.
        objects: Variate,
        /// Bytes of each.
        object: Variate,
        /// From a page to the next, ns.
        think: Variate,
    },
    /// Video in chunks, one after the other.
    Video(Video),
}

impl ApplicationKind {
    /// Its name in a file.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Requests { .. } => "requests",
            Self::Pages { .. } => "pages",
            Self::Video(_) => "video",
        }
    }

    /// Bytes of a load on average, and seconds from its end to the next; of video the most, and a chunk.
    #[must_use]
    pub fn load(&self) -> (f64, f64) {
        match self {
            Self::Requests { size, think } => (size.mean(), think.mean() / 1e9),
            Self::Pages { main, objects, object, think } => {
                (main.mean() + objects.mean() * object.mean(), think.mean() / 1e9)
            }
            // at the highest rate, where no chunk waits
            Self::Video(Video { ladder, chunk, .. }) => {
                let seconds = chunk.as_secs_f64();
                let highest = ladder.last().map_or(0, |rate| rate.bits_per_sec());
                #[expect(clippy::cast_precision_loss, reason = "a rough number")]
                let bytes = highest as f64 * seconds / 8.0;
                (bytes, seconds)
            }
        }
    }
}
