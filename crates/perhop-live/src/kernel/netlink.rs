//! rtnetlink: the device, address and route of a host, asked of the kernel without a program between (rtnetlink(7)).

use std::collections::BTreeMap;
use std::ffi::CString;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::checked;

/// The settings of a host's device and of the route through it.
#[derive(Clone, Copy, Debug)]
pub struct Interface<'a> {
    /// Its address, alone in its network.
    pub address: Ipv4Addr,
    /// Largest packet, bytes.
    pub mtu: u32,
    /// Packets that wait for being read.
    pub queue: u32,
    /// Segments that may leave as one; `None` leaves the kernel's number.
    pub segments: Option<u32>,
    /// Metrics of the default route, as iproute2 names and writes them.
    pub route: &'a BTreeMap<&'static str, String>,
}

/// The index of `lo` in every namespace.
const LOOPBACK: u32 = 1;
/// `RTAX_*` of linux/rtnetlink.h.
const RTAX_INITCWND: u16 = 11;
const RTAX_RTO_MIN: u16 = 13;
const RTAX_QUICKACK: u16 = 15;
const RTAX_CC_ALGO: u16 = 16;
/// Bytes before a message's own struct, and before an attribute's value.
const HEADER: usize = 16;
const ATTRIBUTE: usize = 4;

impl Interface<'_> {
    /// Brings up `device`, with the loopback device, in the network namespace of this thread.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn bring_up(&self, device: &str) -> io::Result<()> {
        let socket = Socket::new()?;
        let name = CString::new(device).map_err(io::Error::other)?;
        // SAFETY: reads a string with its end.
        let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
        socket.ask("lo", &Message::link(LOOPBACK))?;
        let mut address = Message::new(libc::RTM_NEWADDR, libc::NLM_F_CREATE | libc::NLM_F_EXCL);
        address.struct_of(&[libc::AF_INET as u8, 32, 0, libc::RT_SCOPE_UNIVERSE], &[index]);
        address.attribute(libc::IFA_LOCAL, &self.address.octets());
        address.attribute(libc::IFA_ADDRESS, &self.address.octets());
        socket.ask("address", &address)?;
        let mut link = Message::link(index);
        link.attribute(libc::IFLA_MTU, &self.mtu.to_ne_bytes());
        link.attribute(libc::IFLA_TXQLEN, &self.queue.to_ne_bytes());
        if let Some(segments) = self.segments {
            link.attribute(libc::IFLA_GSO_MAX_SEGS, &segments.to_ne_bytes());
        }
        socket.ask(device, &link)?;
        let mut route = Message::new(libc::RTM_NEWROUTE, libc::NLM_F_CREATE | libc::NLM_F_EXCL);
        let (table, by) = (libc::RT_TABLE_MAIN, libc::RTPROT_BOOT);
        route.struct_of(
            &[libc::AF_INET as u8, 0, 0, 0, table, by, libc::RT_SCOPE_LINK, libc::RTN_UNICAST],
            &[0],
        );
        route.attribute(libc::RTA_OIF, &index.to_ne_bytes());
        let mut metrics = Message::default();
        for (name, value) in self.route {
            let (kind, value) = metric(name, value)?;
            metrics.attribute(kind, &value);
        }
        if !self.route.is_empty() {
            route.attribute(libc::RTA_METRICS, &metrics.0);
        }
        let metrics: String = self.route.iter().map(|(name, value)| format!(" {name} {value}")).collect();
        socket.ask(&format!("route{metrics}"), &route)
    }
}

/// A metric of a route as the kernel takes it.
fn metric(name: &str, value: &str) -> io::Result<(u16, Vec<u8>)> {
    let kind = match name {
        "congctl" => return Ok((RTAX_CC_ALGO, value.as_bytes().to_vec())),
        "initcwnd" => RTAX_INITCWND,
        "rto_min" => RTAX_RTO_MIN,
        "quickack" => RTAX_QUICKACK,
        _ => return Err(io::Error::other(format!("route: {name} is no metric that is set here"))),
    };
    // the kernel counts this one in ms
    let number: u32 = value.trim_end_matches("ms").parse().map_err(io::Error::other)?;
    Ok((kind, number.to_ne_bytes().to_vec()))
}

/// A request, without its header.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn new(kind: u16, flags: libc::c_int) -> Self {
        let flags = (flags | libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16;
        let mut bytes = vec![0; HEADER];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        Self(bytes)
    }

    /// Sets a device up: a struct ifinfomsg.
    fn link(index: u32) -> Self {
        let mut message = Self::new(libc::RTM_NEWLINK, 0);
        let up = libc::IFF_UP.cast_unsigned();
        message.struct_of(&[0; 4], &[index, up, up]);
        message
    }

    /// Appends the struct that is a kind's own.
    fn struct_of(&mut self, bytes: &[u8], numbers: &[u32]) {
        self.0.extend_from_slice(bytes);
        numbers.iter().for_each(|number| self.0.extend_from_slice(&number.to_ne_bytes()));
    }

    fn attribute(&mut self, kind: u16, value: &[u8]) {
        let len = u16::try_from(ATTRIBUTE + value.len()).unwrap_or(u16::MAX);
        self.0.extend_from_slice(&len.to_ne_bytes());
        self.0.extend_from_slice(&kind.to_ne_bytes());
        self.0.extend_from_slice(value);
        self.0.resize(self.0.len().next_multiple_of(ATTRIBUTE), 0);
    }
}

/// A socket of rtnetlink in the namespace of the thread that made it.
struct Socket(OwnedFd);

impl Socket {
    fn new() -> io::Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        // SAFETY: makes a descriptor, which is owned from here on.
        unsafe {
            let fd = libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE);
            Ok(Self(OwnedFd::from_raw_fd(checked(fd)?)))
        }
    }

    /// Sends a request and reads its answer: the errno of a struct nlmsgerr, 0 where it was done.
    fn ask(&self, what: &str, message: &Message) -> io::Result<()> {
        let mut bytes = message.0.clone();
        let len = u32::try_from(bytes.len()).map_err(io::Error::other)?;
        bytes[..4].copy_from_slice(&len.to_ne_bytes());
        let fd = self.0.as_raw_fd();
        let mut answer = [0_u8; 4096];
        // SAFETY: the kernel reads as many bytes as there are, and writes at most as many as there is room for.
        let got = unsafe {
            if libc::send(fd, bytes.as_ptr().cast(), bytes.len(), 0) < 0 {
                -1
            } else {
                libc::recv(fd, answer.as_mut_ptr().cast(), answer.len(), 0)
            }
        };
        if got < 0 {
            return Err(io::Error::last_os_error());
        }
        let errno = answer[HEADER..].first_chunk().map_or(0, |&bytes| i32::from_ne_bytes(bytes));
        if errno == 0 {
            return Ok(());
        }
        let error = io::Error::from_raw_os_error(-errno);
        Err(io::Error::new(error.kind(), format!("rtnetlink: {what}: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_padded_and_metrics_are_numbers_or_names() {
        let mut message = Message::default();
        let (kind, value) = metric("congctl", "bbr").expect("a metric");
        message.attribute(kind, &value);
        let (kind, value) = metric("rto_min", "1000ms").expect("a metric");
        message.attribute(kind, &value);
        let mut bytes = [7_u16.to_ne_bytes(), RTAX_CC_ALGO.to_ne_bytes()].concat();
        bytes.extend_from_slice(b"bbr\0");
        bytes.extend([8_u16.to_ne_bytes(), RTAX_RTO_MIN.to_ne_bytes()].concat());
        bytes.extend(1000_u32.to_ne_bytes());
        assert_eq!(message.0, bytes);
        assert!(metric("mtu", "1500").is_err());
        assert!(metric("initcwnd", "ten").is_err());
    }
}
