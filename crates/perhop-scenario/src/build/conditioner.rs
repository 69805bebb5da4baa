//! Conditioners and their meters.

use std::sync::Arc;

use perhop_core::ack_marking::AckMarker;
use perhop_core::classify::{Classifier, FlowTable};
use perhop_core::conditioner::{Conditioner, ConditionerParts};
use perhop_core::meter::{Meter, SrTcm, TcpFriendly, TokenBucket, TrTcm, TrTcmDiffServ, Tsw};
use perhop_core::packet::Packet;
use perhop_core::param_error::ParamError;
use perhop_core::rng::Stream;
use perhop_core::shaper::Shaper;
use perhop_core::sink::SiteId;

use super::{MeterScope, Registry};
use crate::meant::elements::ElementError;
use crate::meant::model;

/// The conditioner `given`, which `classifier` brings its packets.
pub(super) fn conditioner<P: Packet>(
    run: &model::Run,
    given: &model::Conditioner,
    classifier: Box<dyn Classifier>,
    flows: &Arc<FlowTable>,
    site: SiteId,
    outside: &Registry<P>,
) -> Result<Conditioner<P>, ElementError> {
    let path = format!("{}.meter", given.path);
    let stream = Stream::new(run.seed, run.replication, &path);
    let built =
        given.meter.as_ref().map(|params| meter(params, &MeterScope::of(given, flows), stream, outside));
    let shaper = given.shaper.map(|params| Shaper::new(site, params)).transpose();
    let own = |error: ParamError| ElementError::from(error).at(&given.path);
    let parts = ConditionerParts {
        classifier: Some(classifier),
        ack_marker: given.ack_marking.clone().map(AckMarker::new),
        colors: given.colors.clone(),
        meter: built.transpose().map_err(|error| error.at(&path))?,
        marker: given.marker,
        shaper: shaper.map_err(own)?,
    };
    Conditioner::new(site, parts).map_err(own)
}

/// The meter of these settings, or a bank of it.
///
/// # Errors
/// What the element says of them.
pub fn meter<P: Packet>(
    params: &model::Meter,
    scope: &MeterScope,
    stream: Stream,
    outside: &Registry<P>,
) -> Result<Box<dyn Meter>, ElementError> {
    match params {
        model::Meter::Custom(given) => outside.build_meter(given, scope, stream),
        own => Ok(own_meter(own, scope, stream)?.unwrap_or_else(|| unreachable!("it is not from outside"))),
    }
}

/// The meter, unless it is from outside.
pub(crate) fn own_meter(
    params: &model::Meter,
    scope: &MeterScope,
    stream: Stream,
) -> Result<Option<Box<dyn Meter>>, ParamError> {
    Ok(Some(match params {
        model::Meter::TokenBucket(params) => scope.take(TokenBucket::new(*params)?),
        model::Meter::SrTcm(params) => scope.take(SrTcm::new(*params)?),
        model::Meter::TrTcm(params) => scope.take(TrTcm::new(*params)?),
        model::Meter::TrTcmDiffServ(params) => scope.take(TrTcmDiffServ::new(*params)?),
        model::Meter::Tsw(params) => scope.take(Tsw::new(*params, stream)?),
        model::Meter::TcpFriendly(params) => Box::new(TcpFriendly::new(*params)?),
        model::Meter::Custom(_) => return Ok(None),
    }))
}
