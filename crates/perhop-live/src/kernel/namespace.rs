//! Network namespaces without a name: they are gone with the last descriptor and socket, whatever ends the program.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use super::checked;

/// A network namespace.
#[derive(Debug)]
pub struct Namespace(OwnedFd);

impl Namespace {
    /// A new one, with nothing in it but a loopback device that is down, and what `what` makes on a thread inside it.
    ///
    /// # Errors
    /// Where the kernel does not let this process make one, and those of `what`.
    pub fn new<T: Send>(what: impl FnOnce() -> io::Result<T> + Send) -> io::Result<(Self, T)> {
        let make = || {
            // SAFETY: changes the network namespace of this thread, which ends with the closure.
            checked(unsafe { libc::unshare(libc::CLONE_NEWNET) })?;
            Ok((Self(File::open("/proc/thread-self/ns/net")?.into()), what()?))
        };
        std::thread::scope(|scope| joined(scope.spawn(make).join()))
    }

    pub(super) fn descriptor(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Calls `what` on a thread inside the namespace. Sockets and devices that it opens stay there.
    ///
    /// # Errors
    /// Where the namespace cannot be entered, and those of `what`.
    pub fn inside<T: Send>(&self, what: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        let fd = self.0.as_raw_fd();
        std::thread::scope(|scope| {
            let inside = scope.spawn(move || {
                // SAFETY: `fd` is an open descriptor of a network namespace; only this thread changes.
                checked(unsafe { libc::setns(fd, libc::CLONE_NEWNET) })?;
                what()
            });
            joined(inside.join())
        })
    }
}

/// Sets `net.<path>` of the namespace of this thread, e.g. `ipv4/tcp_sack`.
///
/// # Errors
/// Where this kernel does not have the setting or refuses the value; the error names both.
pub fn set(path: &str, value: &str) -> io::Result<()> {
    let file = format!("/proc/sys/net/{path}");
    std::fs::write(&file, value).map_err(|error| {
        io::Error::new(error.kind(), format!("net.{} = {value}: {error}", path.replace('/', ".")))
    })
}

/// The kernel's table of a namespace's devices.
#[derive(Debug)]
pub struct Devices(File);

impl Devices {
    /// That of the namespace of this thread, which can be read from then on without a privilege.
    ///
    /// # Errors
    /// Where it cannot be opened.
    pub fn new() -> io::Result<Self> {
        File::open("/proc/thread-self/net/dev").map(Self)
    }

    /// Packets that the device `name` has dropped on their way out, because nobody read them.
    ///
    /// # Errors
    /// Where the table cannot be read.
    pub fn dropped(&mut self, name: &str) -> io::Result<u64> {
        let mut table = String::new();
        self.0.rewind()?;
        self.0.read_to_string(&mut table)?;
        let row = table.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(':'));
        // receive: bytes packets errs drop fifo frame compressed multicast; transmit: bytes packets errs drop
        let dropped = row.and_then(|row| row.split_whitespace().nth(11)?.parse().ok());
        dropped.ok_or_else(|| io::Error::other(format!("/proc/net/dev has no row for {name}")))
    }
}

/// Makes this process root in a user namespace of its own. Only before any thread is started.
///
/// # Errors
/// Where the kernel or its policy does not allow user namespaces.
pub fn enter_user_namespace() -> io::Result<()> {
    // SAFETY: reads two numbers.
    let (uid, gid) = unsafe { (libc::geteuid(), libc::getegid()) };
    // SAFETY: moves this process, which has one thread, into a new user namespace.
    checked(unsafe { libc::unshare(libc::CLONE_NEWUSER) })?;
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("0 {uid} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("0 {gid} 1"))
}

fn joined<T>(answer: std::thread::Result<io::Result<T>>) -> io::Result<T> {
    answer.unwrap_or_else(|_| Err(io::Error::other("a thread of perhop-live panicked")))
}
