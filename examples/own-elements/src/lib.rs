//! A meter and a queue from outside of perhop, and the names by which a scenario file can ask for them.

pub mod meter;
pub mod queue;

use perhop_sim::Registry;

use crate::meter::{TswTcm, TswTcmParams};
use crate::queue::{DropFront, DropFrontParams};

/// What this crate brings. The keys of the settings are those of `scenario.toml`.
#[must_use]
pub fn elements() -> Registry {
    let mut registry = Registry::new();
    registry
        .queue("drop-front", |place, _| DropFront::new(place.site, DropFrontParams { limit: place.limit }));
    registry.meter("tsw-tcm", |place, settings| {
        let (ctr, ptr) = (settings.need("ctr")?, settings.need("ptr")?);
        TswTcm::new(TswTcmParams { ctr, ptr, window: settings.need("window")? }, place.stream())
    });
    registry
}
