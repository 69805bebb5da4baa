//! An application over TCP connections: it asks for a load of data, waits until all of it is there, thinks, and asks again.
//!
//! Source: the users of request and response that RFC 5681 section 4.1 and RFC 9293 section 3.7 speak of; decision 0117.
//! Different: data goes one way here, so the request is no packet. It takes the way of the acknowledgment instead: a load
//! lasts from when the data is given to the connection until the last of it is acknowledged, which is as long as at the other
//! end from the request to the last byte, where both ways of a small packet are alike. Units: bytes, ns. Cost: nothing for a
//! packet of a flow without an application but a test on its arrival; one draw for each object and each time to think, and one for the number of objects of a page.

use std::collections::VecDeque;

use perhop_core::rng::Stream;
use perhop_core::time::{Instant, Span};
use perhop_core::timed::Timed;
use perhop_core::units::Bytes;
use perhop_core::variate::Variate;
use perhop_scenario::model::ApplicationKind;

use crate::applications::player::Player;

/// The data asked for at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// When it was asked for.
    pub requested: Instant,
    /// When all of it was there.
    pub done: Option<Instant>,
    /// Its parts.
    pub objects: u32,
    /// How much they are together.
    pub bytes: Bytes,
}

impl Load {
    /// How long it took, once it is whole.
    #[must_use]
    pub fn took(&self) -> Option<Span> {
        self.done.map(|done| done - self.requested)
    }
}

/// One of its connections.
#[derive(Debug)]
struct Line {
    /// Its sending end at the host.
    slot: u32,
    /// One past the last byte that it was given.
    given: u64,
    /// Whether that byte has not been acknowledged.
    busy: bool,
}

/// An application at the host that sends.
#[derive(Debug)]
pub struct Application {
    /// Which of the scenario's it is.
    number: usize,
    kind: ApplicationKind,
    stream: Stream,
    lines: Vec<Line>,
    /// Objects of the load that no connection was given yet.
    objects: VecDeque<Bytes>,
    /// When the next load is asked for; `None` while there is one.
    next: Option<Instant>,
    loads: Vec<Load>,
    /// The player of the loads, of video.
    player: Option<Box<Player>>,
}

impl Application {
    /// Number `number` of a scenario, which does `kind` from `start` on over connections that are yet to come.
    #[must_use]
    pub fn new(number: usize, kind: ApplicationKind, stream: Stream, start: Instant) -> Self {
        let player = match &kind {
            ApplicationKind::Video(video) => Some(Box::new(Player::new(video.clone()))),
            ApplicationKind::Requests { .. } | ApplicationKind::Pages { .. } => None,
        };
        Self {
            player,
            number,
            kind,
            stream,
            lines: Vec::new(),
            objects: VecDeque::new(),
            next: Some(start),
            loads: Vec::new(),
        }
    }

    /// The sending end `slot` of the host is one of its connections.
    pub fn add_line(&mut self, slot: u32) {
        self.lines.push(Line { slot, given: 0, busy: false });
    }

    /// Which of the scenario's it is.
    #[must_use]
    pub const fn number(&self) -> usize {
        self.number
    }

    /// Its loads so far, the first first.
    #[must_use]
    pub fn loads(&self) -> &[Load] {
        &self.loads
    }

    /// The player of its loads, of video.
    #[must_use]
    pub fn player(&self) -> Option<&Player> {
        self.player.as_deref()
    }

    /// A sending end and the data that it is to be given now, if there is any. Asked until there is none.
    pub fn poll_write(&mut self) -> Option<(u32, Bytes)> {
        let line = self.lines.iter_mut().find(|line| !line.busy)?;
        let object = self.objects.pop_front()?;
        (line.busy, line.given) = (true, line.given + object.0);
        Some((line.slot, object))
    }

    /// At the sending end `slot` all before `una` is acknowledged.
    pub fn on_acknowledged(&mut self, now: Instant, slot: u32, una: u64) {
        let Some(line) = self.lines.iter_mut().find(|line| line.slot == slot) else { return };
        if !line.busy || una < line.given {
            return;
        }
        line.busy = false;
        if self.objects.is_empty() && self.lines.iter().all(|line| !line.busy) {
            self.go_on(now);
        }
    }

    /// All that was asked for is there: what else belongs to the load is asked for, or it is whole.
    fn go_on(&mut self, now: Instant) {
        let Some(load) = self.loads.last_mut() else { return };
        let think = match self.kind {
            ApplicationKind::Video(_) => {
                load.done = Some(now);
                self.next = Some(self.player.as_mut().map_or(now, |player| player.arrived(now)));
                return;
            }
            ApplicationKind::Requests { think, .. } => think,
            ApplicationKind::Pages { objects, object, think, .. } => {
                let others = if load.objects == 1 { objects.draw(&mut self.stream) } else { 0 };
                for _ in 0..others {
                    let bytes = bytes(&object, &mut self.stream);
                    self.objects.push_back(bytes);
                    load.objects += 1;
                    load.bytes += bytes;
                }
                if others > 0 {
                    return;
                }
                think
            }
        };
        load.done = Some(now);
        self.next = Some(now + Span::from_nanos(think.draw(&mut self.stream)));
    }

    fn begin_load(&mut self, now: Instant) {
        let bytes = match (&self.kind, &mut self.player) {
            (ApplicationKind::Video(_), Some(player)) => player.ask(now),
            (ApplicationKind::Requests { size, .. }, _) => bytes(size, &mut self.stream),
            (ApplicationKind::Pages { main, .. }, _) => bytes(main, &mut self.stream),
            (ApplicationKind::Video(_), None) => Bytes(1),
        };
        self.objects.push_back(bytes);
        self.loads.push(Load { requested: now, done: None, objects: 1, bytes });
    }
}

impl Timed for Application {
    fn next_timeout(&self) -> Option<Instant> {
        self.next
    }

    fn on_timeout(&mut self, now: Instant) {
        if self.next.is_some_and(|at| at <= now) {
            self.next = None;
            self.begin_load(now);
        }
    }
}

/// A size, of one byte at least.
fn bytes(size: &Variate, stream: &mut Stream) -> Bytes {
    Bytes(size.draw(stream).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_request_comes_a_time_to_think_after_the_last_byte() {
        let kind = ApplicationKind::Requests { size: Variate::Fixed(1000), think: Variate::Fixed(50) };
        let at = Instant::from_nanos;
        let mut app = Application::new(3, kind, Stream::new(1, 0, "flow.web.application"), at(100));
        app.add_line(7);
        assert_eq!((app.number(), app.poll_write(), app.next_timeout()), (3, None, Some(at(100))));
        // early: nothing happens
        app.on_timeout(at(99));
        assert_eq!((app.loads(), app.next_timeout()), (&[][..], Some(at(100))));
        app.on_timeout(at(100));
        assert_eq!(app.poll_write(), Some((7, Bytes(1000))));
        assert_eq!((app.poll_write(), app.next_timeout()), (None, None));
        app.on_acknowledged(at(130), 7, 999);
        assert_eq!(app.loads()[0].took(), None);
        app.on_acknowledged(at(140), 7, 1000);
        // the same acknowledgment again is no news
        app.on_acknowledged(at(145), 7, 1000);
        assert_eq!((app.loads()[0].took(), app.next_timeout()), (Some(Span::from_nanos(40)), Some(at(190))));
        app.on_timeout(at(190));
        assert_eq!(app.poll_write(), Some((7, Bytes(1000))));
        app.on_acknowledged(at(230), 7, 2000);
        let loads: Vec<_> = app.loads().iter().map(|load| (load.requested, load.done)).collect();
        assert_eq!(loads, [(at(100), Some(at(140))), (at(190), Some(at(230)))]);
    }

    #[test]
    fn connections_take_the_objects_of_a_page_in_turn_once_the_main_one_is_there() {
        let [main, objects, object, think] = [900, 3, 100, 50].map(Variate::Fixed);
        let kind = ApplicationKind::Pages { main, objects, object, think };
        let at = Instant::from_nanos;
        let mut app = Application::new(0, kind, Stream::new(1, 0, "flow.web.application"), at(0));
        [4, 5].into_iter().for_each(|slot| app.add_line(slot));
        app.on_timeout(at(0));
        assert_eq!((app.poll_write(), app.poll_write()), (Some((4, Bytes(900))), None));
        app.on_acknowledged(at(10), 4, 900);
        let object = |slot| Some((slot, Bytes(100)));
        assert_eq!([app.poll_write(), app.poll_write(), app.poll_write()], [object(4), object(5), None]);
        app.on_acknowledged(at(20), 5, 100);
        assert_eq!([app.poll_write(), app.poll_write()], [object(5), None]);
        app.on_acknowledged(at(30), 5, 200);
        assert_eq!((app.poll_write(), app.loads()[0].took()), (None, None));
        app.on_acknowledged(at(40), 4, 1000);
        let whole = Load { requested: at(0), done: Some(at(40)), objects: 4, bytes: Bytes(1200) };
        assert_eq!((app.loads(), app.next_timeout()), (&[whole][..], Some(at(90))));
    }
}
