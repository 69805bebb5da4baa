//! The applications: connections of the kernel's TCP that send and receive, on one thread that never waits for one of them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::net::SocketAddrV4;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use perhop_core::histogram::Histogram;
use perhop_core::time::{Instant, Span};
use perhop_core::timed::Timed;
use perhop_sim::Application;

use crate::kernel::{Clock, Interest, Listener, Poller, Stream, exact_timers};
use crate::kernel_host::LatestTcpInfo;

/// How often `TCP_INFO` is read.
const READ_EVERY: Span = Span::from_millis(100);
/// How long the thread sleeps at most, so that it sees that it is to stop.
const LONGEST_SLEEP: Span = Span::from_millis(50);

/// A TCP flow to be.
pub struct Sender {
    /// Its name in messages.
    pub name: String,
    /// Its host's node.
    pub node: usize,
    /// When it opens.
    pub start: Instant,
    /// The socket, bound to the flow's port.
    pub socket: Stream,
    /// Where it connects to.
    pub to: SocketAddrV4,
    /// Its data.
    pub data: Data,
    /// Where what `TCP_INFO` tells is put.
    pub latest: Arc<LatestTcpInfo>,
}

/// The data of a TCP flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// Without an end.
    Endless,
    /// So many bytes more, and then a FIN where the connection closes.
    Transfer {
        /// Bytes that the kernel has not.
        left: u64,
        /// Whether a FIN follows.
        close: bool,
    },
    /// Loads of an application, as it asks for them.
    OnDemand {
        /// Which one, by its place in [`Work::applications`].
        application: usize,
        /// Bytes that the kernel has had.
        written: u64,
        /// Bytes asked for that the kernel has not.
        left: u64,
    },
}

/// All there is to do.
#[derive(Default)]
pub struct Work {
    /// The applications, by their numbers, each with the node of its connections.
    pub applications: Vec<(usize, Application)>,
    /// In order of their starts.
    pub senders: VecDeque<Sender>,
    /// One at each host that receives TCP.
    pub listeners: Vec<Listener>,
}

/// By node: the congestion controls of the connections that began there, by the kernel's names.
pub type Controls = BTreeMap<usize, BTreeSet<String>>;

/// The thread's report when it stops.
#[derive(Debug, Default)]
pub struct Report {
    /// How late it read `TCP_INFO`, ns: how long its sockets may have waited for it.
    pub lag: Histogram,
    /// Errors, in words.
    pub broken: Vec<String>,
    /// Those of the connections that are open at the end, or have handed over all their bytes.
    pub controls: Controls,
    /// The applications, as they are at the end, each with its node.
    pub applications: Vec<(usize, Application)>,
}

enum Item {
    Listener(Listener),
    Sender(Sender),
    /// One that has handed over all its bytes; it may break still.
    Done(Sender),
    Sink(Stream),
    Gone,
}

struct Loop {
    poller: Poller,
    items: Vec<Item>,
    waiting: VecDeque<Sender>,
    applications: Vec<(usize, Application)>,
    clock: Clock,
    buffer: Vec<u8>,
    report: Report,
}

/// Does the work until `stop`.
///
/// # Errors
/// Of the kernel; a broken connection is in the report.
pub fn serve(work: Work, clock: Clock, stop: &AtomicBool) -> io::Result<Report> {
    exact_timers();
    let mut all = Loop {
        poller: Poller::new()?,
        items: Vec::new(),
        waiting: work.senders,
        applications: work.applications,
        clock,
        buffer: vec![0; 1 << 18],
        report: Report::default(),
    };
    for listener in work.listeners {
        all.add(Item::Listener(listener))?;
    }
    let mut next_reading = Instant::ZERO + READ_EVERY;
    let mut ready = Vec::new();
    while !stop.load(Relaxed) {
        let opens = all.waiting.front().map(|sender| sender.start);
        let asks = all.applications.iter().filter_map(|(_, application)| application.next_timeout());
        let first = asks.chain(opens).min().unwrap_or(Instant::MAX);
        let sleep = clock.until(first.min(next_reading)).min(LONGEST_SLEEP);
        ready.clear();
        ready.extend(all.poller.wait(sleep)?);
        for &id in &ready {
            all.serve(usize::try_from(id).unwrap_or(usize::MAX))?;
        }
        let now = clock.now();
        while all.waiting.front().is_some_and(|sender| sender.start <= now) {
            all.open()?;
        }
        for application in 0..all.applications.len() {
            all.applications[application].1.on_timeout(now);
            all.write(application)?;
        }
        if now >= next_reading {
            all.read();
        }
        // one that was missed counts as one that was late
        while now >= next_reading {
            all.report.lag.record((now - next_reading).as_nanos());
            next_reading += READ_EVERY;
        }
    }
    all.read();
    all.controls()?;
    Ok(Report { applications: all.applications, ..all.report })
}

impl Loop {
    fn add(&mut self, item: Item) -> io::Result<()> {
        let id = self.items.len() as u64;
        match &item {
            Item::Listener(listener) => self.poller.add(listener.as_fd(), id, Interest::Read)?,
            Item::Sender(sender) => self.poller.add(sender.socket.as_fd(), id, Interest::ReadWrite)?,
            Item::Sink(stream) => self.poller.add(stream.as_fd(), id, Interest::Read)?,
            Item::Done(_) | Item::Gone => {}
        }
        self.items.push(item);
        Ok(())
    }

    fn open(&mut self) -> io::Result<()> {
        let Some(sender) = self.waiting.pop_front() else { return Ok(()) };
        if let Err(error) = sender.socket.connect(sender.to) {
            self.report.broken.push(format!("flow {} could not connect: {error}", sender.name));
            return Ok(());
        }
        if let Data::OnDemand { application, .. } = sender.data {
            sender.socket.tell_acknowledgments()?;
            let slot = u32::try_from(self.items.len()).map_err(io::Error::other)?;
            self.applications[application].1.add_line(slot);
        }
        self.add(Item::Sender(sender))
    }

    fn serve(&mut self, id: usize) -> io::Result<()> {
        let Some(item) = self.items.get_mut(id) else { return Ok(()) };
        match item {
            Item::Listener(listener) => {
                let mut new = Vec::new();
                while let Some(stream) = listener.accept()? {
                    new.push(stream);
                }
                for stream in new {
                    self.add(Item::Sink(stream))?;
                }
            }
            Item::Sender(sender) => {
                if let Data::OnDemand { application, written, .. } = sender.data {
                    // one that has nothing to write meets no error by writing
                    if let Err(error) = sender.socket.ended() {
                        self.report.broken.push(format!("flow {}: {error}", sender.name));
                        *item = Item::Gone;
                        return Ok(());
                    }
                    let una = written - sender.socket.unacknowledged()?;
                    let slot = u32::try_from(id).map_err(io::Error::other)?;
                    self.applications[application].1.on_acknowledged(self.clock.now(), slot, una);
                    self.write(application)?;
                }
                self.push(id)?;
            }
            Item::Done(sender) => {
                self.poller.remove(sender.socket.as_fd())?;
                if let Err(error) = sender.socket.ended() {
                    self.report.broken.push(format!(
                        "flow {}: {error}, after its last byte was handed to the kernel",
                        sender.name
                    ));
                }
            }
            // whoever broke it has said so at the other end
            Item::Sink(stream) => loop {
                match stream.read(&mut self.buffer) {
                    Ok(None) => break,
                    Ok(Some(0)) | Err(_) => {
                        *item = Item::Gone;
                        break;
                    }
                    Ok(Some(_)) => {}
                }
            },
            Item::Gone => {}
        }
        Ok(())
    }

    /// Gives the connections of an application what they are to send now.
    fn write(&mut self, application: usize) -> io::Result<()> {
        while let Some((slot, bytes)) = self.applications[application].1.poll_write() {
            let id = slot as usize;
            if let Item::Sender(Sender { data: Data::OnDemand { left, .. }, .. }) = &mut self.items[id] {
                *left += bytes.0;
                self.push(id)?;
            }
        }
        Ok(())
    }

    /// Gives the kernel what it takes of sender `id`, and waits for what comes next there.
    fn push(&mut self, id: usize) -> io::Result<()> {
        let Item::Sender(sender) = &mut self.items[id] else { return Ok(()) };
        let pushed = sender.push(&self.buffer).and_then(|left| match (left, sender.data) {
            (false, Data::Transfer { close: true, .. }) => sender.socket.finish().map(|()| left),
            _ => Ok(left),
        });
        let left = match pushed {
            Ok(left) => left,
            Err(error) => {
                self.report.broken.push(format!("flow {}: {error}", sender.name));
                self.items[id] = Item::Gone;
                return Ok(());
            }
        };
        let interest = if left { Interest::ReadWrite } else { Interest::End };
        self.poller.change(sender.socket.as_fd(), id as u64, interest)?;
        if !left
            && matches!(sender.data, Data::Transfer { .. })
            && let Item::Sender(sender) = std::mem::replace(&mut self.items[id], Item::Gone)
        {
            self.items[id] = Item::Done(sender);
        }
        Ok(())
    }

    /// Reads `TCP_INFO` of every sender.
    fn read(&self) {
        for item in &self.items {
            let (Item::Sender(sender) | Item::Done(sender)) = item else { continue };
            // a connection that is over keeps what was told last
            if let Ok(info) = sender.socket.info() {
                sender.latest.store(&info);
            }
        }
    }

    /// Notes what every sender's congestion control is.
    fn controls(&mut self) -> io::Result<()> {
        for item in &self.items {
            let (Item::Sender(sender) | Item::Done(sender)) = item else { continue };
            let own = self.report.controls.entry(sender.node).or_default();
            own.insert(sender.socket.congestion()?);
        }
        Ok(())
    }
}

impl Sender {
    /// Gives the kernel what it takes; whether there is more for it.
    fn push(&mut self, zeros: &[u8]) -> io::Result<bool> {
        loop {
            let left = match self.data {
                Data::Endless => u64::MAX,
                Data::Transfer { left, .. } | Data::OnDemand { left, .. } => left,
            };
            let most = usize::try_from(left).unwrap_or(usize::MAX).min(zeros.len());
            if most == 0 {
                return Ok(false);
            }
            let Some(sent) = self.socket.write(&zeros[..most])? else { return Ok(true) };
            match &mut self.data {
                Data::Endless => {}
                Data::Transfer { left, .. } => *left -= sent as u64,
                Data::OnDemand { written, left, .. } => {
                    *written += sent as u64;
                    *left -= sent as u64;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::{SocketAddr, TcpListener, TcpStream};

    use perhop_core::rng::Stream as RandomStream;
    use perhop_core::variate::Variate;
    use perhop_scenario::model::ApplicationKind;

    use super::*;
    use crate::kernel::Options;

    /// The errors of a transfer of 1000 bytes over the loopback device, at the other end of which `other` is done.
    fn broken_by(close: bool, other: impl FnOnce(TcpStream) + Send) -> Vec<String> {
        served(Data::Transfer { left: 1000, close }, Vec::new(), other).broken
    }

    /// The report on one connection that sends `data` for 0.4 s.
    fn served(
        data: Data,
        applications: Vec<(usize, Application)>,
        other: impl FnOnce(TcpStream) + Send,
    ) -> Report {
        let server = TcpListener::bind(("127.0.0.1", 0)).expect("a listener");
        let SocketAddr::V4(to) = server.local_addr().expect("its address") else { panic!("not IPv4") };
        let options = Options { max_segment: 1448, ..Options::default() };
        let (socket, _) = Stream::bound(0, &options).expect("a socket");
        let latest = Arc::<LatestTcpInfo>::default();
        let sender = Sender { name: "short".into(), node: 0, start: Instant::ZERO, socket, to, data, latest };
        let work = Work { senders: [sender].into(), applications, ..Work::default() };
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let served = scope.spawn(|| serve(work, Clock::starting_in(Span::ZERO), &stop));
            other(server.accept().expect("a connection").0);
            std::thread::sleep(std::time::Duration::from_millis(200));
            stop.store(true, Relaxed);
            served.join().expect("no panic").expect("no error")
        })
    }

    /// Waits for data and closes: what was not read makes it a reset.
    fn reset(stream: TcpStream) {
        std::thread::sleep(std::time::Duration::from_millis(200));
        stream.peek(&mut [0]).expect("data");
    }

    #[test]
    fn a_connection_that_breaks_after_its_last_byte_is_told() {
        for close in [false, true] {
            let broken = broken_by(close, reset);
            assert_eq!(broken.len(), 1, "{broken:?}");
            assert!(broken[0].starts_with("flow short: Connection reset by peer"), "{broken:?}");
        }
    }

    #[test]
    fn an_application_hears_of_acknowledgments_and_its_connection_of_a_reset() {
        let kind = ApplicationKind::Requests {
            size: Variate::Fixed(1000),
            think: Variate::Fixed(Span::from_secs(9).as_nanos()),
        };
        let data = || Data::OnDemand { application: 0, written: 0, left: 0 };
        let application =
            || vec![(0, Application::new(0, kind.clone(), RandomStream::new(1, 0, "web"), Instant::ZERO))];
        let mut kept = None;
        let report = served(data(), application(), |mut stream| {
            stream.read_exact(&mut [0; 1000]).expect("data");
            kept = Some(stream);
        });
        assert_eq!((report.broken.len(), report.applications[0].1.loads().len()), (0, 1));
        assert!(report.applications[0].1.loads()[0].took().is_some());
        // what was acknowledged and not read makes its end a reset, while nothing is written
        let report = served(data(), application(), reset);
        assert_eq!(report.broken.len(), 1, "{:?}", report.broken);
        assert!(report.broken[0].starts_with("flow short: Connection reset by peer"), "{:?}", report.broken);
    }

    #[test]
    fn one_that_ends_or_stays_is_not() {
        let read = |mut stream: TcpStream| {
            stream.read_exact(&mut [0; 1000]).expect("data");
            stream
        };
        assert_eq!(broken_by(true, |stream| drop(read(stream))), Vec::<String>::new());
        // the other end says nothing more, but has broken nothing
        assert_eq!(broken_by(false, |stream| drop(read(stream))), Vec::<String>::new());
        let mut kept = None;
        assert_eq!(broken_by(false, |stream| kept = Some(read(stream))), Vec::<String>::new());
        drop(kept);
    }
}
