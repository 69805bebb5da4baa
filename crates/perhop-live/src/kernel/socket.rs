//! Sockets of the kernel's TCP and UDP, which never block.

use std::io;
use std::mem::size_of;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::checked;
use super::tcp_info::{ROOM, TcpInfo};

/// The options of a TCP socket beyond the settings of its namespace.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// `IP_TOS`: the DS field, shifted.
    pub tos: u8,
    /// `TCP_CONGESTION`.
    pub congestion: String,
    /// `TCP_MAXSEG`, bytes, options included.
    pub max_segment: u32,
    /// `TCP_RTO_MAX_MS` (since Linux 6.15), if it is to be set.
    pub max_rto_ms: Option<u32>,
    /// `TCP_DELACK_MAX_US` (since Linux 6.16), if it is to be set.
    pub max_ack_delay_us: Option<u32>,
}

/// `TCP_CA_NAME_MAX`.
const MOST_OF_A_NAME: usize = 16;
const TCP_RTO_MAX_MS: libc::c_int = 44;
const TCP_DELACK_MAX_US: libc::c_int = 46;

impl Options {
    /// Sets them; what this kernel does not have is returned by name.
    fn apply(&self, fd: &OwnedFd) -> io::Result<Vec<&'static str>> {
        option(fd, libc::IPPROTO_IP, libc::IP_TOS, &libc::c_int::from(self.tos))?;
        option(fd, libc::IPPROTO_TCP, libc::TCP_MAXSEG, &self.max_segment)?;
        option(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, &1_i32)?;
        if !self.congestion.is_empty() {
            let name = self.congestion.as_bytes();
            let len = libc::socklen_t::try_from(name.len()).map_err(io::Error::other)?;
            // SAFETY: the kernel reads `len` bytes of a string that has as many.
            checked(unsafe {
                libc::setsockopt(
                    fd.as_raw_fd(),
                    libc::IPPROTO_TCP,
                    libc::TCP_CONGESTION,
                    name.as_ptr().cast(),
                    len,
                )
            })
            .map_err(|error| {
                io::Error::new(error.kind(), format!("congestion control {}: {error}", self.congestion))
            })?;
        }
        let mut lacking = Vec::new();
        for (name, number, value) in [
            ("TCP_RTO_MAX_MS", TCP_RTO_MAX_MS, self.max_rto_ms),
            ("TCP_DELACK_MAX_US", TCP_DELACK_MAX_US, self.max_ack_delay_us),
        ] {
            if let Some(value) = value
                && option(fd, libc::IPPROTO_TCP, number, &value).is_err()
            {
                lacking.push(name);
            }
        }
        Ok(lacking)
    }
}

/// A TCP socket of one connection.
#[derive(Debug)]
pub struct Stream(OwnedFd);

impl Stream {
    /// A socket that will connect from `port` of the namespace of this thread. Returns also which options this kernel lacks.
    ///
    /// # Errors
    /// Of the kernel.
    pub fn bound(port: u16, options: &Options) -> io::Result<(Self, Vec<&'static str>)> {
        let fd = socket(libc::SOCK_STREAM)?;
        let lacking = options.apply(&fd)?;
        bind(&fd, port)?;
        Ok((Self(fd), lacking))
    }

    /// The port from which it is connected; none while it is not, or where it is no TCP over IPv4.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        let mut address = raw(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0));
        let (mut len, to) = (ADDRESS_LEN, (&raw mut address).cast());
        // SAFETY: the kernel writes at most `len` bytes of an address into a sockaddr_in that has as many, twice.
        let answer = unsafe {
            match libc::getpeername(self.0.as_raw_fd(), to, &raw mut len) {
                0 => libc::getsockname(self.0.as_raw_fd(), to, &raw mut len),
                none => none,
            }
        };
        let found = answer == 0 && libc::c_int::from(address.sin_family) == libc::AF_INET;
        found.then(|| u16::from_be(address.sin_port))
    }

    /// Begins to connect to `to`, from any namespace.
    ///
    /// # Errors
    /// Of the kernel; that the connection is not made yet is none.
    pub fn connect(&self, to: SocketAddrV4) -> io::Result<()> {
        match connect(&self.0, to) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
            _ => Ok(()),
        }
    }

    /// Gives the kernel some of `bytes` to send: how many. `None` if it has no room, or no connection yet.
    ///
    /// # Errors
    /// Where the connection is broken.
    pub fn write(&self, bytes: &[u8]) -> io::Result<Option<usize>> {
        // SAFETY: the kernel reads at most as many bytes as there are.
        let sent =
            unsafe { libc::send(self.0.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) };
        would_block(sent)
    }

    /// Takes what has arrived: how much, 0 at the end. `None` if there is nothing now.
    ///
    /// # Errors
    /// Where the connection is broken.
    pub fn read(&self, into: &mut [u8]) -> io::Result<Option<usize>> {
        // SAFETY: the kernel writes at most as many bytes as there is room for.
        let got = unsafe { libc::recv(self.0.as_raw_fd(), into.as_mut_ptr().cast(), into.len(), 0) };
        would_block(got)
    }

    /// Lets epoll tell an error, which is none, when all of a write is acknowledged: `SOF_TIMESTAMPING_TX_ACK`.
    ///
    /// # Errors
    /// Of the kernel.
    pub fn tell_acknowledgments(&self) -> io::Result<()> {
        let flags = libc::SOF_TIMESTAMPING_TX_ACK
            | libc::SOF_TIMESTAMPING_SOFTWARE
            | libc::SOF_TIMESTAMPING_OPT_TSONLY;
        option(&self.0, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, &flags)
    }

    /// How many bytes are written and not acknowledged: `SIOCOUTQ`. What [`Self::tell_acknowledgments`] has told is taken away.
    ///
    /// # Errors
    /// Of the kernel.
    pub fn unacknowledged(&self) -> io::Result<u64> {
        // SAFETY: a message without room for data or control, of which the kernel says how long it was.
        while unsafe {
            let mut message: libc::msghdr = std::mem::zeroed();
            libc::recvmsg(self.0.as_raw_fd(), &raw mut message, libc::MSG_ERRQUEUE)
        } >= 0
        {}
        let mut bytes: libc::c_int = 0;
        // SAFETY: the kernel writes one integer.
        checked(unsafe { libc::ioctl(self.0.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) })?;
        u64::try_from(bytes).map_err(io::Error::other)
    }

    /// Sends no more: a FIN follows what was written.
    ///
    /// # Errors
    /// Where there is no connection.
    pub fn finish(&self) -> io::Result<()> {
        // SAFETY: takes a descriptor and a number.
        checked(unsafe { libc::shutdown(self.0.as_raw_fd(), libc::SHUT_WR) }).map(drop)
    }

    /// Whether it ended well, asked once: `SO_ERROR`, which asking clears.
    ///
    /// # Errors
    /// What broke it.
    pub fn ended(&self) -> io::Result<()> {
        let (mut why, mut len): (libc::c_int, _) = (0, INTEGER_LEN);
        // SAFETY: the kernel writes at most `len` bytes into an integer that has as many.
        checked(unsafe {
            libc::getsockopt(
                self.0.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_ERROR,
                (&raw mut why).cast(),
                &raw mut len,
            )
        })?;
        if why == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(why)) }
    }

    /// The kernel's name of its congestion control, `TCP_CONGESTION`: what it has now, which a kernel may have changed.
    ///
    /// # Errors
    /// Of the kernel.
    pub fn congestion(&self) -> io::Result<String> {
        let mut name = [0_u8; MOST_OF_A_NAME];
        let mut len = libc::socklen_t::try_from(MOST_OF_A_NAME).map_err(io::Error::other)?;
        // SAFETY: the kernel writes at most `len` bytes into a buffer that has as many.
        checked(unsafe {
            libc::getsockopt(
                self.0.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_CONGESTION,
                name.as_mut_ptr().cast(),
                &raw mut len,
            )
        })?;
        let end = name.iter().position(|&byte| byte == 0).unwrap_or(MOST_OF_A_NAME);
        Ok(String::from_utf8_lossy(&name[..end]).into_owned())
    }

    /// The kernel's `TCP_INFO` of it.
    ///
    /// # Errors
    /// Of the kernel.
    pub fn info(&self) -> io::Result<TcpInfo> {
        let mut info = [0; ROOM];
        let mut len = libc::socklen_t::try_from(ROOM).map_err(io::Error::other)?;
        // SAFETY: the kernel writes at most `len` bytes into a buffer that has as many.
        checked(unsafe {
            libc::getsockopt(
                self.0.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                info.as_mut_ptr().cast(),
                &raw mut len,
            )
        })?;
        Ok(TcpInfo::read(&info))
    }
}

impl From<OwnedFd> for Stream {
    fn from(socket: OwnedFd) -> Self {
        Self(socket)
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A TCP socket that takes connections.
#[derive(Debug)]
pub struct Listener(OwnedFd);

impl Listener {
    /// One at `port` of the namespace of this thread.
    ///
    /// # Errors
    /// Of the kernel.
    pub fn new(port: u16, options: &Options) -> io::Result<Self> {
        let fd = socket(libc::SOCK_STREAM)?;
        options.apply(&fd)?;
        bind(&fd, port)?;
        // SAFETY: takes a descriptor and a number.
        checked(unsafe { libc::listen(fd.as_raw_fd(), 4096) })?;
        Ok(Self(fd))
    }

    /// The next connection, if one has come.
    ///
    /// # Errors
    /// Of the kernel.
    pub fn accept(&self) -> io::Result<Option<Stream>> {
        let none = std::ptr::null_mut();
        // SAFETY: nothing is written where both pointers are null.
        let fd = unsafe {
            libc::accept4(self.0.as_raw_fd(), none, none.cast(), libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC)
        };
        match checked(fd) {
            // SAFETY: a new descriptor, owned from here on.
            Ok(fd) => Ok(Some(Stream(unsafe { OwnedFd::from_raw_fd(fd) }))),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A UDP socket.
#[derive(Debug)]
pub struct Udp(OwnedFd);

impl Udp {
    /// One at `port` of the namespace of this thread, whose packets carry `tos`.
    ///
    /// # Errors
    /// Of the kernel.
    pub fn new(port: u16, tos: u8) -> io::Result<Self> {
        let fd = socket(libc::SOCK_DGRAM)?;
        option(&fd, libc::IPPROTO_IP, libc::IP_TOS, &libc::c_int::from(tos))?;
        bind(&fd, port)?;
        Ok(Self(fd))
    }

    /// One at `port` that throws away what arrives, before it wakes anybody: the filter passes none of a packet.
    ///
    /// # Errors
    /// Of the kernel.
    pub fn drain(port: u16) -> io::Result<Self> {
        let udp = Self::new(port, 0)?;
        let mut code = libc::sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k: 0 };
        let filter = libc::sock_fprog { len: 1, filter: &raw mut code };
        option(&udp.0, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &filter)?;
        Ok(udp)
    }

    /// Sends to `to` from now on.
    ///
    /// # Errors
    /// Of the kernel.
    pub fn connect(&self, to: SocketAddrV4) -> io::Result<()> {
        connect(&self.0, to)
    }

    /// Cuts what it is given to send into packets of `payload` bytes (`UDP_SEGMENT`); with 0 it cuts no more.
    ///
    /// # Errors
    /// Of the kernel.
    pub fn cut(&self, payload: usize) -> io::Result<()> {
        let bytes = libc::c_int::try_from(payload).map_err(io::Error::other)?;
        option(&self.0, libc::SOL_UDP, libc::UDP_SEGMENT, &bytes)
    }

    /// Makes the kernel refuse all that the socket sends as long as it cuts: it cuts nothing without checksums.
    #[cfg(test)]
    pub fn refuse_to_cut(&self) -> io::Result<()> {
        option(&self.0, libc::SOL_SOCKET, libc::SO_NO_CHECK, &1_i32)
    }

    /// Sends `payload`; whether the kernel took it.
    ///
    /// # Errors
    /// Of the kernel; that it has no room is none.
    pub fn send(&self, payload: &[u8]) -> io::Result<bool> {
        // SAFETY: the kernel reads as many bytes as there are.
        let sent = unsafe { libc::send(self.0.as_raw_fd(), payload.as_ptr().cast(), payload.len(), 0) };
        Ok(would_block(sent)?.is_some())
    }
}

/// Whether the kernel may have refused to cut packets: before Linux 6.11 it did so for a device that computes no checksums (`EIO`), and
/// before 5.16 for as many as it cuts at most, since it counted headers too (`EINVAL`).
#[must_use]
pub fn is_uncut(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EIO | libc::EINVAL))
}

#[expect(clippy::cast_possible_truncation, reason = "16")]
const ADDRESS_LEN: libc::socklen_t = size_of::<libc::sockaddr_in>() as libc::socklen_t;

#[expect(clippy::cast_possible_truncation, reason = "4")]
const INTEGER_LEN: libc::socklen_t = size_of::<libc::c_int>() as libc::socklen_t;

fn raw(address: SocketAddrV4) -> libc::sockaddr_in {
    #[expect(clippy::cast_possible_truncation, reason = "2")]
    let sin_family = libc::AF_INET as libc::sa_family_t;
    libc::sockaddr_in {
        sin_family,
        sin_port: address.port().to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(address.ip().octets()) },
        sin_zero: [0; 8],
    }
}

fn socket(kind: libc::c_int) -> io::Result<OwnedFd> {
    // SAFETY: makes a descriptor, which is owned from here on.
    unsafe {
        let fd = libc::socket(libc::AF_INET, kind | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC, 0);
        Ok(OwnedFd::from_raw_fd(checked(fd)?))
    }
}

fn bind(fd: &OwnedFd, port: u16) -> io::Result<()> {
    let address = raw(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port));
    // SAFETY: reads one sockaddr_in of the given size.
    checked(unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), ADDRESS_LEN) }).map(drop)
}

fn connect(fd: &OwnedFd, to: SocketAddrV4) -> io::Result<()> {
    let address = raw(to);
    // SAFETY: reads one sockaddr_in of the given size.
    checked(unsafe { libc::connect(fd.as_raw_fd(), (&raw const address).cast(), ADDRESS_LEN) }).map(drop)
}

fn option<T: Copy>(fd: &OwnedFd, level: libc::c_int, name: libc::c_int, value: &T) -> io::Result<()> {
    let len = libc::socklen_t::try_from(size_of::<T>()).map_err(io::Error::other)?;
    // SAFETY: the kernel reads `len` bytes of a value that has as many.
    checked(unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, std::ptr::from_ref(value).cast(), len) })
        .map(drop)
}

fn would_block(answer: libc::ssize_t) -> io::Result<Option<usize>> {
    match usize::try_from(answer) {
        Ok(count) => Ok(Some(count)),
        Err(_) => match io::Error::last_os_error() {
            error if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::NotConnected) => {
                Ok(None)
            }
            error => Err(error),
        },
    }
}
