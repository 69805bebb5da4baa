//! Waiting for descriptors, with nanoseconds.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use perhop_core::time::Span;

use super::checked;

/// The events of a descriptor that are waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interest {
    /// That there is something to read.
    Read,
    /// That there is something to read, or room to write.
    ReadWrite,
    /// That it is over, which epoll always tells.
    End,
}

/// An epoll instance whose descriptors are known by numbers.
#[derive(Debug)]
pub struct Poller {
    epoll: OwnedFd,
    events: Vec<libc::epoll_event>,
}

impl Poller {
    /// One that waits for nothing.
    ///
    /// # Errors
    /// Where the kernel has no room.
    pub fn new() -> io::Result<Self> {
        // SAFETY: makes a descriptor, which is owned from here on.
        let epoll = unsafe { OwnedFd::from_raw_fd(checked(libc::epoll_create1(libc::EPOLL_CLOEXEC))?) };
        Ok(Self { epoll, events: vec![libc::epoll_event { events: 0, u64: 0 }; 256] })
    }

    /// Waits for `fd` as number `id` from now on.
    ///
    /// # Errors
    /// Where it is waited for already.
    pub fn add(&self, fd: BorrowedFd<'_>, id: u64, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, id, interest)
    }

    /// Waits for something else of `fd`.
    ///
    /// # Errors
    /// Where it is not waited for.
    pub fn change(&self, fd: BorrowedFd<'_>, id: u64, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, id, interest)
    }

    /// Waits for `fd` no more.
    ///
    /// # Errors
    /// Where it is not waited for.
    pub fn remove(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_DEL, fd, 0, Interest::End)
    }

    fn control(&self, what: libc::c_int, fd: BorrowedFd<'_>, id: u64, interest: Interest) -> io::Result<()> {
        let events = match interest {
            Interest::Read => libc::EPOLLIN,
            Interest::ReadWrite => libc::EPOLLIN | libc::EPOLLOUT,
            Interest::End => 0,
        };
        let mut event = libc::epoll_event { events: events.cast_unsigned(), u64: id };
        // SAFETY: both descriptors are open, and the event lives through the call.
        checked(unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), what, fd.as_raw_fd(), &raw mut event) })
            .map(drop)
    }

    /// The numbers of those that are ready, after at most `longest`.
    ///
    /// # Errors
    /// Of the kernel; a signal is none, it ends the wait.
    pub fn wait(&mut self, longest: Span) -> io::Result<impl Iterator<Item = u64> + '_> {
        let ns = longest.as_nanos().min(1_000_000_000);
        // a __kernel_timespec, whose seconds have 64 bits where those of libc's timespec may have 32
        let timeout = [(ns / 1_000_000_000).cast_signed(), (ns % 1_000_000_000).cast_signed()];
        let capacity = libc::c_int::try_from(self.events.len()).unwrap_or(libc::c_int::MAX);
        // SAFETY: the kernel writes at most `capacity` events into a list that has as many, and reads one __kernel_timespec,
        // which is two i64; every argument is as wide as syscall(2) reads it.
        let answer = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                libc::c_long::from(self.epoll.as_raw_fd()),
                self.events.as_mut_ptr(),
                libc::c_long::from(capacity),
                timeout.as_ptr(),
                std::ptr::null::<libc::sigset_t>(),
                0_usize,
            )
        };
        let ready = match usize::try_from(answer) {
            Ok(ready) => ready,
            Err(_) => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => 0,
                error => return Err(error),
            },
        };
        Ok(self.events[..ready].iter().map(|event| event.u64))
    }
}
