//! A congestion control whose windows a class in Python keeps, as its attributes `cwnd` and `ssthresh`.

use std::sync::Arc;

use perhop_core::time::{Instant, Span};
use perhop_core::units::Bytes;
use perhop_tcp::cc::{AckSample, AfterIdle, CongestionControl, CongestionSignal, Load};
use perhop_tcp::settings::TcpParams;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::failure::Failure;
use super::{Class, method};

/// A new acknowledgment.
#[pyclass(frozen, get_all)]
pub struct Ack {
    /// Bytes that let the window grow.
    acked: u64,
    /// These and what is outstanding after it, bytes.
    in_flight: u64,
    /// Whether the congestion window bounded the sender.
    cwnd_limited: bool,
    /// Round trip of the segment that caused it, ns; None where that is not certain.
    rtt: Option<u64>,
    /// Smoothed round trip, ns; None before the first sample.
    srtt: Option<u64>,
}

/// The sender's state when congestion is found, in bytes.
#[pyclass(frozen, get_all)]
pub struct CongestionLoad {
    /// Outstanding.
    in_flight: u64,
    /// By what a recovery inflates the window.
    inflation: u64,
    /// The receiver's window.
    window: u64,
    /// Still in the network, which a time-out leaves in the window.
    kept: u64,
}

/// A congestion control in Python.
pub struct PyControl {
    class: Class,
    object: Py<PyAny>,
    mss: u64,
    /// As the last call left them.
    cwnd: f64,
    ssthresh: f64,
    /// Both before the last time-out, until anything else shrinks the window.
    before: Option<(f64, f64)>,
    failure: Arc<Failure>,
}

impl PyControl {
    /// The control that `object` of `class` keeps windows for.
    pub fn new(
        class: Class,
        object: &Bound<'_, PyAny>,
        params: &TcpParams,
        failure: Arc<Failure>,
    ) -> PyResult<Self> {
        let mss = params.mss.0;
        let (cwnd, ssthresh) = windows(object, mss)?;
        let object = object.clone().unbind();
        Ok(Self { class, object, mss, cwnd, ssthresh, before: None, failure })
    }

    /// Calls the method `name`; where the class has none `otherwise` says what becomes of cwnd and ssthresh.
    fn call(
        &mut self,
        name: &'static str,
        now: Instant,
        call: impl FnOnce(Python<'_>, &Bound<'_, PyAny>) -> PyResult<()>,
        otherwise: impl FnOnce(&Self) -> (f64, f64),
    ) {
        let found = self.failure.guard(&self.class, name, now, |py| {
            let object = self.object.bind(py);
            if let Some(own) = method(object, name)? {
                call(py, own.bind(py))?;
            } else {
                let (cwnd, ssthresh) = otherwise(self);
                object.setattr("cwnd", cwnd)?;
                object.setattr("ssthresh", ssthresh)?;
            }
            windows(object, self.mss)
        });
        // after an error they stay as they are
        (self.cwnd, self.ssthresh) = found.unwrap_or((self.cwnd, self.ssthresh));
    }

    /// No less than a segment.
    #[expect(clippy::cast_precision_loss, reason = "windows stay below 2^53 bytes")]
    const fn floor(&self, cwnd: f64) -> f64 {
        cwnd.max(self.mss as f64)
    }
}

#[expect(clippy::cast_precision_loss, reason = "windows stay below 2^53 bytes")]
impl CongestionControl for PyControl {
    fn on_ack(&mut self, now: Instant, ack: &AckSample) {
        let ns = |span: Option<Span>| span.map(Span::as_nanos);
        let given = Ack {
            acked: ack.acked.0,
            in_flight: ack.in_flight.0,
            cwnd_limited: ack.cwnd_limited,
            rtt: ns(ack.rtt),
            srtt: ns(ack.srtt),
        };
        let call = |_: Python<'_>, to: &Bound<'_, PyAny>| to.call1((now.as_nanos(), given)).map(drop);
        self.call("on_ack", now, call, |own| (own.cwnd, own.ssthresh));
    }

    fn on_congestion(&mut self, now: Instant, signal: CongestionSignal, load: &Load) {
        let word = match signal {
            CongestionSignal::FastRetransmit => "fast-retransmit",
            CongestionSignal::Timeout => "timeout",
            CongestionSignal::RepeatedTimeout => "repeated-timeout",
            CongestionSignal::EcnEcho => "ecn-echo",
        };
        match signal {
            CongestionSignal::Timeout => self.before = Some((self.cwnd, self.ssthresh)),
            CongestionSignal::RepeatedTimeout => {}
            CongestionSignal::FastRetransmit | CongestionSignal::EcnEcho => self.before = None,
        }
        let given = CongestionLoad {
            in_flight: load.in_flight.0,
            inflation: load.inflation.0,
            window: load.window.0,
            kept: load.kept.0,
        };
        let call = |_: Python<'_>, to: &Bound<'_, PyAny>| to.call1((now.as_nanos(), word, given)).map(drop);
        self.call("on_congestion", now, call, |own| (own.cwnd, own.ssthresh));
    }

    fn on_recovery_exit(&mut self, now: Instant) {
        let call = |_: Python<'_>, to: &Bound<'_, PyAny>| to.call1((now.as_nanos(),)).map(drop);
        self.call("on_recovery_exit", now, call, |own| (own.ssthresh, own.ssthresh));
    }

    fn on_spurious_timeout(&mut self, now: Instant) {
        let before = self.before.take();
        let call = |_: Python<'_>, to: &Bound<'_, PyAny>| to.call1((now.as_nanos(),)).map(drop);
        self.call("on_spurious_timeout", now, call, |own| {
            let (cwnd, ssthresh) = before.unwrap_or((own.cwnd, own.ssthresh));
            (own.cwnd.max(cwnd), own.ssthresh.max(ssthresh))
        });
    }

    fn on_restart_after_idle(&mut self, now: Instant, left: &AfterIdle) {
        let call = |_: Python<'_>, to: &Bound<'_, PyAny>| to.call1((now.as_nanos(),)).map(drop);
        self.call("on_restart_after_idle", now, call, |own| {
            (own.floor(own.cwnd.min(left.cwnd.0 as f64)), own.ssthresh.max(left.ssthresh.0 as f64))
        });
    }

    fn deflate(&mut self, by: Bytes) {
        let call = |_: Python<'_>, to: &Bound<'_, PyAny>| to.call1((by.0,)).map(drop);
        self.call("deflate", Instant::ZERO, call, |own| (own.floor(own.cwnd - by.0 as f64), own.ssthresh));
    }

    fn limit(&mut self, to: Bytes) {
        let call = |_: Python<'_>, own: &Bound<'_, PyAny>| own.call1((to.0,)).map(drop);
        self.call("limit", Instant::ZERO, call, |own| (own.floor(own.cwnd.min(to.0 as f64)), own.ssthresh));
    }

    fn cwnd(&self) -> Bytes {
        whole(self.cwnd)
    }

    fn ssthresh(&self) -> Bytes {
        whole(self.ssthresh)
    }
}

/// Both attributes of `object`: a segment at least, and two.
#[expect(clippy::cast_precision_loss, reason = "windows stay below 2^53 bytes")]
fn windows(object: &Bound<'_, PyAny>, mss: u64) -> PyResult<(f64, f64)> {
    let read = |name: &str, least: u64| {
        let found = object.getattr(name)?;
        let bytes = found.extract::<f64>().ok().filter(|bytes| *bytes >= least as f64);
        bytes.ok_or_else(|| {
            PyValueError::new_err(format!(
                "{name} is {found}: a number of bytes from {least} on is asked for"
            ))
        })
    };
    Ok((read("cwnd", mss)?, read("ssthresh", 2 * mss)?))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturates, and is never negative"
)]
const fn whole(bytes: f64) -> Bytes {
    Bytes(bytes as u64)
}
