//! The interface to Linux, and nothing else: namespaces, TUN devices, timers, sockets, settings.
//!
//! The only place with `unsafe`: each block is one system call whose arguments are checked here.

#![expect(unsafe_code, reason = "system calls")]

mod clock;
mod controls;
mod device;
mod handed;
mod namespace;
mod netlink;
mod poll;
mod priority;
mod privilege;
mod process;
mod socket;
mod tcp_info;

pub use clock::Clock;
pub use controls::{congestion_controls, default_qdisc};
pub use device::Tun;
pub use handed::{descriptors, text};
pub use namespace::{Devices, Namespace, enter_user_namespace, set};
pub use netlink::Interface;
pub use poll::{Interest, Poller};
pub use priority::{Priority, cpu_time, exact_timers, limit, more_files, ordinary, realtime, thread_time};
pub use privilege::{User, is_root, program};
pub use process::Process;
pub use socket::{Listener, Options, Stream, Udp, is_uncut};
pub use tcp_info::TcpInfo;

use std::io;

/// The result of a system call that returns -1 where it fails.
fn checked(answer: libc::c_int) -> io::Result<libc::c_int> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

/// The same of a call by number, which gives a descriptor or 0.
fn descriptor(answer: libc::c_long) -> io::Result<libc::c_int> {
    if answer < 0 {
        Err(io::Error::last_os_error())
    } else {
        libc::c_int::try_from(answer).map_err(io::Error::other)
    }
}
