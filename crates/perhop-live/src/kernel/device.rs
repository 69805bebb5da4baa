//! A TUN device: what a host of the scenario sends comes out of it, what is written to it arrives at the host.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

use super::checked;

/// A TUN device without a packet information header.
#[derive(Debug)]
pub struct Tun(File);

impl Tun {
    /// The device `name` in the network namespace of this thread.
    ///
    /// # Errors
    /// Where `/dev/net/tun` cannot be opened, or the device cannot be made.
    pub fn open(name: &str) -> io::Result<Self> {
        let path = "/dev/net/tun";
        let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(path);
        let file = file.map_err(|error| io::Error::new(error.kind(), format!("{path}: {error}")))?;
        // SAFETY: a struct of integers and a union of such, for which zeros are valid.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().zip(name.bytes().take(libc::IFNAMSIZ - 1)) {
            *to = from.cast_signed();
        }
        #[expect(clippy::cast_possible_truncation, reason = "the flags fit into 16 bits")]
        let flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
        request.ifr_ifru.ifru_flags = flags;
        // SAFETY: TUNSETIFF reads an ifreq and writes the name into it; `request` lives that long.
        checked(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) })?;
        // else closing the file takes the device away, 20 ms each; so it goes with its namespace, in the background
        // SAFETY: TUNSETPERSIST takes a number.
        checked(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETPERSIST, 1 as libc::c_ulong) })?;
        Ok(Self(file))
    }

    /// The next packet that the host sends; `None` if there is none now.
    ///
    /// # Errors
    /// Of the device.
    pub fn read(&self, into: &mut [u8]) -> io::Result<Option<usize>> {
        // SAFETY: the kernel writes at most as many bytes as there is room for. By number, since the C library's call may be
        // cancelled, which costs each a twentieth of the forwarder's time.
        let got = unsafe { libc::syscall(libc::SYS_read, self.0.as_raw_fd(), into.as_mut_ptr(), into.len()) };
        match usize::try_from(got) {
            Ok(len) => Ok(Some(len)),
            Err(_) => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
                error => Err(error),
            },
        }
    }

    /// A packet arrives at the host.
    ///
    /// # Errors
    /// Of the device: a packet that is not IP among them.
    pub fn write(&self, packet: &[u8]) -> io::Result<()> {
        // SAFETY: the kernel reads as many bytes as there are.
        let put =
            unsafe { libc::syscall(libc::SYS_write, self.0.as_raw_fd(), packet.as_ptr(), packet.len()) };
        if put < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
