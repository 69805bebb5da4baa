//! Bodies of fuzz targets, and their replay over seeded byte strings where no fuzzer runs.

use arbitrary::{Arbitrary, Unstructured};
use perhop_core::packet::{Dscp, Ecn};
use perhop_core::queue::Fifo;
use perhop_core::rng::Stream;
use perhop_core::units::QueueSize;
use perhop_tcp::settings::{Growth, Guard, RecoveryKind, TcpParams};
use perhop_wire::{checksums, parse, rewrite_ds, set_window, window_scale};

use crate::aqm;
use crate::channel::Fate;
use crate::laws::{connection, queue, sender};
use crate::tcp::{OLD, RFC};

/// Operations of one input: more would only take longer.
const MOST_OPS: usize = 1000;
/// Fates of packets each way, as many as [`connection::networks`] has.
const MOST_FATES: usize = 150;

/// Elements made of all bytes that are left, at most so many: a derived list tosses a coin before each, and of random bytes
/// has one on average.
fn rest<'a, T: Arbitrary<'a>>(u: &mut Unstructured<'a>, most: usize) -> arbitrary::Result<Vec<T>> {
    let mut all = Vec::new();
    while !u.is_empty() && all.len() < most {
        all.push(u.arbitrary()?);
    }
    Ok(all)
}

/// Input of [`queue_ops`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QueueOps {
    /// Size of the queue.
    pub limit: u16,
    /// Whether `limit` counts bytes.
    pub in_bytes: bool,
    /// Which queue, modulo 4: drop-tail, RED, RIO, GRED.
    pub kind: u8,
    /// What is done to it.
    pub ops: Vec<queue::Op>,
}

impl<'a> Arbitrary<'a> for QueueOps {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let (limit, in_bytes, kind) = u.arbitrary()?;
        Ok(Self { limit, in_bytes, kind, ops: rest(u, MOST_OPS)? })
    }
}

/// Settings of a TCP.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Arbitrary)]
pub struct Settings {
    /// Which recovery, as [`Settings::params`] counts them.
    pub recovery: u8,
    /// Whether the window grows as a cubic function.
    pub cubic: bool,
    /// Whether conventions are those of old stacks.
    pub old: bool,
    /// What may be had or not.
    pub options: sender::Options,
}

impl Settings {
    /// What they stand for.
    #[must_use]
    pub fn params(&self) -> TcpParams {
        let recoveries = [
            (RecoveryKind::Tahoe, false, false),
            (RecoveryKind::Reno, false, false),
            (RecoveryKind::NewReno, false, false),
            (RecoveryKind::Sack, false, false),
            (RecoveryKind::Sack, true, false),
            (RecoveryKind::Sack1996, false, false),
            (RecoveryKind::Sack, false, true),
            (RecoveryKind::Sack, true, true),
        ];
        let (recovery, prr, rack) = recoveries[usize::from(self.recovery) % recoveries.len()];
        let cc = if self.cubic { Growth::Cubic } else { Growth::Reno };
        let conventions = if self.old { OLD } else { RFC };
        // without a guard a counted pipe takes what a time-out sends again for new data
        let guard = if recovery == RecoveryKind::Sack1996 { Guard::Careful } else { conventions.guard };
        TcpParams { cc, recovery, prr, rack, guard, ..conventions }
    }
}

/// Input of [`sender_ops`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SenderOps {
    /// What is to survive.
    pub settings: Settings,
    /// What happens to it.
    pub ops: Vec<sender::Op>,
}

impl<'a> Arbitrary<'a> for SenderOps {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        Ok(Self { settings: u.arbitrary()?, ops: rest(u, MOST_OPS)? })
    }
}

/// Input of [`connection()`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Connection {
    /// What is to arrive.
    pub settings: Settings,
    /// What happens on the way.
    pub network: connection::Network,
}

impl<'a> Arbitrary<'a> for Connection {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let (settings, delayed, windows, writes) = u.arbitrary()?;
        let mut network = connection::Network { delayed, windows, writes, ..Default::default() };
        let lengths: [u8; 2] = u.arbitrary()?;
        for (fates, length) in [&mut network.there, &mut network.back].into_iter().zip(lengths) {
            for _ in 0..usize::from(length) % MOST_FATES {
                // three of four pass: where next to nothing does, a transfer is all time-outs
                let passes = u.arbitrary::<u8>()? < 192;
                fates.push(if passes { Fate::Passes } else { u.arbitrary()? });
            }
        }
        Ok(Self { settings, network })
    }
}

/// Input of [`wire`]: bytes that may be made to look like a packet, for few of those by chance do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PacketBytes {
    /// Which fields are made right: bit 0 the IP version and its header, bit 1 the IP length, bit 2 no fragment, bit 3 TCP,
    /// bit 4 a length of 120 bytes at most, bit 5 IPv6 for IPv4, bit 6 UDP and its length where it is
    /// not TCP, bit 7 the checksums of what can be read.
    pub right: u8,
    /// The new DS and ECN fields.
    pub traffic_class: u8,
    /// The new window.
    pub window: u16,
    /// The packet.
    pub bytes: Vec<u8>,
}

/// The packet is all that is left: a derived list tosses a coin before each element, and of random bytes has one on average.
impl<'a> Arbitrary<'a> for PacketBytes {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let (right, traffic_class, window) = u.arbitrary()?;
        let bytes = u.bytes(u.len())?.to_vec();
        Ok(Self { right, traffic_class, window, bytes })
    }
}

impl PacketBytes {
    /// The bytes that [`wire`] is about.
    #[must_use]
    pub fn packet(&self) -> Vec<u8> {
        let has = |bit: u8| self.right >> bit & 1 == 1;
        let mut bytes = self.bytes.clone();
        if has(4) {
            bytes.truncate(usize::from(self.window) % 121);
        }
        let len = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
        let (first, length, protocol, header) = if has(5) { (0x60, 4, 6, 40) } else { (0x45, 2, 9, 20) };
        let above = len.saturating_sub(header).to_be_bytes();
        let mut set = |right: bool, at: usize, value: &[u8]| {
            if right && let Some(place) = bytes.get_mut(at..at + value.len()) {
                place.copy_from_slice(value);
            }
        };
        set(has(0), 0, &[first]);
        set(has(1), length, &if has(5) { above } else { len.to_be_bytes() });
        set(has(2) && !has(5), 6, &[0x40, 0]);
        set(has(6), protocol, &[17]);
        set(has(6) && !has(3), usize::from(header) + 4, &above);
        set(has(3), protocol, &[6]);
        if has(7) {
            right_checksums(&mut bytes);
        }
        bytes
    }
}

/// Puts right checksums into a packet that can be read.
fn right_checksums(bytes: &mut [u8]) {
    let Ok(view) = parse(bytes) else { return };
    let (ip, total) = (view.ip_header_len as usize, view.total_len as usize);
    let v4 = bytes[0] >> 4 == 4;
    if v4 {
        bytes[10..12].fill(0);
        let sum = internet_checksum(&[&bytes[..ip]]);
        bytes[10..12].copy_from_slice(&sum.to_be_bytes());
    }
    let at = ip
        + match view.protocol {
            6 => 16,
            17 => 6,
            _ => return,
        };
    bytes[at..at + 2].fill(0);
    let [high, low] = u16::try_from(total - ip).unwrap_or_default().to_be_bytes();
    let addresses = if v4 { &bytes[12..20] } else { &bytes[8..40] };
    let sum = internet_checksum(&[addresses, &[0, view.protocol, high, low], &bytes[ip..total]]);
    // of UDP zero means none (RFC 768), and the other zero is as right
    let sum = if sum == 0 { 0xffff } else { sum };
    bytes[at..at + 2].copy_from_slice(&sum.to_be_bytes());
}

/// RFC 1071, as written there: words added, carries folded.
fn internet_checksum(parts: &[&[u8]]) -> u16 {
    let mut sum = 0;
    for pair in parts.iter().flat_map(|part| part.chunks(2)) {
        sum += u32::from(pair[0]) << 8 | pair.get(1).copied().map_or(0, u32::from);
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from((sum & 0xffff) + (sum >> 16)).unwrap_or_default()
}

/// Whatever bytes come: nothing panics, what is refused stays as it is, and what is written is read again, with the checksums
/// as right as before.
///
/// # Panics
/// When that is not so.
pub fn wire(input: &PacketBytes) {
    let mut bytes = input.packet();
    let (given, sums, before) = (bytes.clone(), checksums(&bytes), parse(&bytes));
    let _ = window_scale(&bytes);
    let dscp = Dscp::new(input.traffic_class >> 2).unwrap_or_default();
    let ecn = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(input.traffic_class & 3)];
    match rewrite_ds(&mut bytes, dscp, ecn) {
        Err(_) => {
            assert!(before.is_err(), "a packet that can be read can be marked");
            assert_eq!(bytes, given, "what is refused stays as it is");
        }
        Ok(changed) => assert_eq!(changed, bytes != given, "a change is told"),
    }
    let Ok(mut view) = before else { return };
    (view.dscp, view.ecn) = (dscp, ecn);
    assert_eq!(parse(&bytes), Ok(view), "nothing but the mark is another");
    set_window(&mut bytes, &view, input.window);
    if let Some(tcp) = &mut view.tcp {
        tcp.window = input.window;
    }
    assert_eq!(parse(&bytes), Ok(view), "nothing but the window is another");
    assert_eq!(checksums(&bytes), sums, "a checksum stays as right as it was");
}

/// A queue obeys its laws; a limit of packets is taken modulo 32, and a queue of [`aqm`] has its own.
pub fn queue_ops(input: &QueueOps) {
    let limit = u64::from(input.limit);
    let limit = if input.in_bytes { QueueSize::Bytes(limit) } else { QueueSize::Packets(limit % 32) };
    match input.kind % 4 {
        0 => queue::repeats(|site| Box::new(Fifo::new(site, limit)), limit, &input.ops),
        1 => queue::repeats(|site| aqm::red(site, aqm::RED), aqm::RED.limit, &input.ops),
        2 => queue::repeats(|site| aqm::rio(site, aqm::RIO), aqm::RIO.limit, &input.ops),
        _ => queue::repeats(|site| aqm::gred(site, aqm::GRED), aqm::GRED.limit, &input.ops),
    }
}

/// A sender keeps its books and windows.
pub fn sender_ops(input: &SenderOps) {
    sender::survives(&input.settings.params(), &input.settings.options, &input.ops);
}

/// A transfer ends, whatever happens on the way.
pub fn connection(input: &Connection) {
    connection::delivers(&input.settings.params(), &input.settings.options, &input.network);
}

/// Runs `body` on `runs` inputs made of seeded bytes, the same every time.
///
/// # Panics
/// When `body` does; what it was given then is printed.
pub fn replay<T: for<'a> Arbitrary<'a> + core::fmt::Debug>(runs: u64, body: impl Fn(&T)) {
    for run in 0..runs {
        let mut stream = Stream::new(run, 0, "fuzz");
        let length = stream.below(4096);
        let bytes: Vec<u8> = (0..length).map(|_| u8::try_from(stream.below(256)).unwrap_or(0)).collect();
        if let Ok(input) = T::arbitrary_take_rest(Unstructured::new(&bytes)) {
            let _shown = ShownOnPanic(&input);
            body(&input);
        }
    }
}

/// The mean of what `count` finds in the inputs that [`replay`] makes: how much of its body they reach.
pub fn reached<T: for<'a> Arbitrary<'a> + core::fmt::Debug>(runs: u64, count: impl Fn(&T) -> usize) -> usize {
    let total = core::cell::Cell::new(0);
    replay(runs, |input| total.set(total.get() + count(input)));
    total.get() / usize::try_from(runs).unwrap_or(usize::MAX)
}

struct ShownOnPanic<'a, T: core::fmt::Debug>(&'a T);

impl<T: core::fmt::Debug> Drop for ShownOnPanic<'_, T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("fuzz input: {:?}", self.0);
        }
    }
}
