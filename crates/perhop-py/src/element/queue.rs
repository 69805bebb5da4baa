//! A queue whose decisions a class in Python makes. It holds the packets itself, so that none is lost or made up.

use std::collections::VecDeque;
use std::sync::Arc;

use perhop_core::packet::{Ecn, Meta, Packet as AnyPacket};
use perhop_core::queue::{Backlog, Queue};
use perhop_core::sink::{DropReason, Sink, SiteId};
use perhop_core::time::Instant;
use perhop_core::units::{Bytes, QueueSize};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::failure::Failure;
use super::packet::{GONE, Packet, WAITING};
use super::place::{Act, Place, reason, reasons};
use super::{Class, method};

/// A queue in Python.
pub struct PyQueue<P> {
    class: Class,
    site: SiteId,
    limit: QueueSize,
    owner: u64,
    enqueue: Py<PyAny>,
    dequeue: Py<PyAny>,
    peek: Option<Py<PyAny>>,
    deadlines: Option<[Py<PyAny>; 2]>,
    place: Py<Place>,
    /// The packets that wait, in order of arrival, each with its number in that order.
    held: VecDeque<(u64, P)>,
    bytes: Bytes,
    arrivals: u64,
    failure: Arc<Failure>,
}

impl<P: AnyPacket> PyQueue<P> {
    /// The queue that `object` of `class` decides for.
    pub fn new(
        class: Class,
        object: &Bound<'_, PyAny>,
        place: Bound<'_, Place>,
        (site, limit): (SiteId, QueueSize),
        failure: Arc<Failure>,
    ) -> PyResult<Self> {
        let deadlines = match (method(object, "next_timeout")?, method(object, "on_timeout")?) {
            (Some(next), Some(on)) => Some([next, on]),
            _ => None,
        };
        Ok(Self {
            class,
            site,
            limit,
            owner: place.borrow().owner,
            enqueue: object.getattr("enqueue")?.unbind(),
            dequeue: object.getattr("dequeue")?.unbind(),
            peek: method(object, "peek")?,
            deadlines,
            place: place.unbind(),
            held: VecDeque::new(),
            bytes: Bytes(0),
            arrivals: 0,
            failure,
        })
    }

    /// Calls Python, and keeps what it raises.
    fn call<T>(
        &self,
        method: &'static str,
        now: Instant,
        call: impl FnOnce(Python<'_>) -> PyResult<T>,
    ) -> Option<T> {
        self.failure.guard(&self.class, method, now, call)
    }

    /// The place in `held` of the packet with this number.
    fn position(&self, serial: u64) -> Option<usize> {
        self.held.binary_search_by_key(&serial, |(number, _)| *number).ok()
    }

    fn take(&mut self, serial: u64) -> Option<P> {
        let at = self.position(serial)?;
        self.remove(at)
    }

    fn remove(&mut self, at: usize) -> Option<P> {
        let (_, pkt) = self.held.remove(at)?;
        self.bytes -= pkt.meta().len;
        Some(pkt)
    }

    /// Does what the class did in this call with packets that wait, and with `arriving`; returns how many were dropped.
    fn act(
        &mut self,
        now: Instant,
        acts: Vec<Act>,
        mut arriving: Option<&mut P>,
        sink: &mut dyn Sink<P>,
    ) -> usize {
        let mut dropped = 0;
        for act in acts {
            match act {
                Act::Drop(serial, why) => {
                    if let Some(pkt) = self.take(serial) {
                        dropped += 1;
                        sink.dropped(now, self.site, pkt, why);
                    }
                }
                Act::Mark(serial) => {
                    let waiting = self.position(serial).map(|at| &mut self.held[at].1);
                    if let Some(pkt) = waiting.or(arriving.as_deref_mut()) {
                        pkt.meta_mut().ecn = Ecn::Ce;
                        sink.marked(now, self.site, pkt.meta());
                    }
                }
            }
        }
        dropped
    }

    /// The packet that `answer` of `method` is, if it waits here.
    fn own<'py>(&self, method: &str, answer: &'py Bound<'_, PyAny>) -> PyResult<&'py Bound<'py, Packet>> {
        let packet = answer.cast::<Packet>().map_err(|_| {
            let found = answer.get_type();
            PyValueError::new_err(format!("{method} returned {found}: a packet or None is asked for"))
        })?;
        let known = packet.get().owner == self.owner && packet.get().state() == WAITING;
        known.then_some(packet).ok_or_else(|| {
            PyValueError::new_err(format!("{method} returned a packet that does not wait here"))
        })
    }

    /// Asks whether an arrival may join; `None` if it may, else why not.
    fn ask(&self, py: Python<'_>, now: Instant, meta: Meta) -> PyResult<(Option<DropReason>, Vec<Act>)> {
        let packet = Bound::new(py, Packet::new(meta, self.owner, self.arrivals))?;
        let answer = self.enqueue.bind(py).call1((now.as_nanos(), &packet))?;
        let mut place = self.place.bind(py).borrow_mut();
        let why = if answer.is_none() {
            packet.get().set_state(WAITING);
            if !place.waiting.has_room(self.limit, meta.len) {
                let limit = self.limit;
                return Err(PyValueError::new_err(format!("enqueue took more than the limit of {limit}")));
            }
            place.waiting.add(meta.len);
            None
        } else {
            packet.get().set_state(GONE);
            let name = answer.extract::<&str>().map_err(|_| {
                let found = answer.get_type();
                let rule = format!("enqueue returned {found}: None, or a reason to drop, is asked for");
                PyValueError::new_err(rule)
            })?;
            let known = reason(name).ok_or_else(|| {
                PyValueError::new_err(format!(
                    "enqueue returned the reason {name:?}, which is not one of {}",
                    reasons()
                ))
            });
            Some(known?)
        };
        Ok((why, std::mem::take(&mut place.acts)))
    }

    /// Asks for the next packet, by its number, and what was done besides.
    fn next(&self, py: Python<'_>, now: Instant) -> PyResult<(Option<u64>, Vec<Act>)> {
        let answer = self.dequeue.bind(py).call1((now.as_nanos(),))?;
        let mut place = self.place.bind(py).borrow_mut();
        let acts = std::mem::take(&mut place.acts);
        if answer.is_none() {
            let waiting = place.waiting.packets;
            let drops = acts.iter().any(|act| matches!(act, Act::Drop(..)));
            if waiting > 0 && !drops {
                let rule = format!("dequeue returned nothing although packets wait: {waiting}");
                return Err(PyValueError::new_err(rule));
            }
            return Ok((None, acts));
        }
        let packet = self.own("dequeue", &answer)?;
        packet.get().set_state(GONE);
        place.remove(packet.get().len());
        Ok((Some(packet.get().serial), acts))
    }
}

impl<P: AnyPacket> Queue<P> for PyQueue<P> {
    fn enqueue(&mut self, now: Instant, mut pkt: P, sink: &mut dyn Sink<P>) {
        pkt.meta_mut().enqueued_at = now;
        let answer = self.call("enqueue", now, |py| self.ask(py, now, *pkt.meta()));
        let Some((why, acts)) = answer else {
            return sink.dropped(now, self.site, pkt, DropReason::Overflow);
        };
        self.act(now, acts, Some(&mut pkt), sink);
        if let Some(why) = why {
            sink.dropped(now, self.site, pkt, why);
        } else {
            sink.enqueued(now, self.site, pkt.meta());
            self.bytes += pkt.meta().len;
            self.held.push_back((self.arrivals, pkt));
        }
        self.arrivals += 1;
    }

    fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> Option<P> {
        let Some((serial, acts)) = self.call("dequeue", now, |py| self.next(py, now)) else {
            return self.remove(0);
        };
        self.act(now, acts, None, sink);
        self.take(serial?)
    }

    fn peek(&self) -> Option<&Meta> {
        let front = self.held.front()?;
        let Some(peek) = &self.peek else { return Some(front.1.meta()) };
        let now = front.1.meta().enqueued_at;
        let found = self.call("peek", now, |py| {
            let answer = peek.bind(py).call0()?;
            self.own("peek", &answer).map(|packet| packet.get().serial)
        });
        let at = found.and_then(|serial| self.position(serial)).unwrap_or(0);
        Some(self.held[at].1.meta())
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.held.len() as u64, bytes: self.bytes }
    }

    fn has_deadlines(&self) -> bool {
        self.deadlines.is_some()
    }

    fn next_timeout(&self) -> Option<Instant> {
        let [next, _] = self.deadlines.as_ref()?;
        self.call("next_timeout", Instant::ZERO, |py| deadline(next.bind(py)))?
    }

    fn on_timeout(&mut self, now: Instant, sink: &mut dyn Sink<P>) {
        let Some([next, on]) = &self.deadlines else { return };
        let acts = self.call("on_timeout", now, |py| {
            on.bind(py).call1((now.as_nanos(),))?;
            if let Some(at) = deadline(next.bind(py))?.filter(|at| *at <= now) {
                let rule = format!(
                    "on_timeout would be called for ever: after on_timeout({}) next_timeout returned {}",
                    now.as_nanos(),
                    at.as_nanos()
                );
                return Err(PyValueError::new_err(rule));
            }
            Ok(std::mem::take(&mut self.place.bind(py).borrow_mut().acts))
        });
        self.act(now, acts.unwrap_or_default(), None, sink);
    }
}

/// The answer of `next`: a time in ns, or nothing.
fn deadline(next: &Bound<'_, PyAny>) -> PyResult<Option<Instant>> {
    let answer = next.call0()?;
    if answer.is_none() {
        return Ok(None);
    }
    let ns = answer.extract::<u64>().map_err(|_| {
        let rule = format!("next_timeout returned {answer}: a time in ns from 0 on, or None, is asked for");
        PyValueError::new_err(rule)
    })?;
    Ok(Some(Instant::from_nanos(ns)))
}
