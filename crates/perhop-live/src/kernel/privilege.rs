//! Privileges, and giving them up for good.

use std::io;
use std::path::PathBuf;

use super::checked;

/// The user without privileges: the one that called `sudo`, else nobody.
const NOBODY: libc::uid_t = 65_534;
/// Where programs are looked for by sudo's leave: `PATH` may be the user's.
const SYSTEM: [&str; 7] = [
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
    "/run/current-system/sw/bin",
];
/// `capset(2)`: the header's version, with two sets of 32 capabilities each.
const CAPABILITIES: u32 = 0x2008_0522;

/// The user who runs programs without privileges.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct User {
    /// A user and a group by number, where the process is root.
    other: Option<(libc::uid_t, libc::gid_t)>,
}

impl User {
    /// Where root runs this process, the user that `sudo` names, or nobody; else who runs it now. Root of a user namespace that
    /// an ordinary user made is that user: such a namespace is known by its refusal of `setgroups`.
    #[must_use]
    pub fn unprivileged() -> Self {
        let ordinary = std::fs::read("/proc/self/setgroups").is_ok_and(|says| says.starts_with(b"deny"));
        if !is_root() || ordinary {
            return Self { other: None };
        }
        let named = |name| std::env::var(name).ok()?.parse::<u32>().ok().filter(|&id| id != 0);
        let sudo = named("SUDO_UID").zip(named("SUDO_GID"));
        Self { other: Some(sudo.unwrap_or((NOBODY, NOBODY))) }
    }

    /// Makes the process this user, with no capability, no other group and no way back. Only while it has one thread: others would
    /// keep their capabilities. Allocates nothing, so that it may stand between fork and exec.
    ///
    /// # Errors
    /// Of the kernel: the process must not go on then.
    pub fn become_for_good(self) -> io::Result<()> {
        // SAFETY: sets a flag of this thread; every argument is as wide as prctl(2) reads it.
        checked(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1_usize, 0_usize, 0_usize, 0_usize) })?;
        self.other.map_or(Ok(()), |(uid, gid)| switch(uid, gid))?;
        let header: [u32; 2] = [CAPABILITIES, 0];
        let none: [u32; 6] = [0; 6];
        // SAFETY: reads a header of a version and a process, and two sets of three 32-bit masks.
        let answer = unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr()) };
        if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

fn switch(uid: libc::uid_t, gid: libc::gid_t) -> io::Result<()> {
    // SAFETY: numbers; with no groups the list is not read.
    unsafe {
        checked(libc::setgroups(0, std::ptr::null()))?;
        checked(libc::setresgid(gid, gid, gid))?;
        checked(libc::setresuid(uid, uid, uid))?;
        if libc::setresuid(0, 0, 0) == 0 {
            return Err(io::Error::other("privileges came back"));
        }
    }
    Ok(())
}

/// Where the program `name` is: its name alone, to be looked for in `PATH`, unless a user came here by sudo.
///
/// # Errors
/// Where such a user's program is not in the folders of the system.
pub fn program(name: &str) -> io::Result<PathBuf> {
    if !(is_root() && std::env::var_os("SUDO_UID").is_some()) {
        return Ok(name.into());
    }
    let found = SYSTEM.iter().map(|folder| PathBuf::from(folder).join(name)).find(|path| path.is_file());
    found.ok_or_else(|| {
        io::Error::new(io::ErrorKind::NotFound, format!("{name} is in none of {}", SYSTEM.join(", ")))
    })
}

/// Whether this process is root, or was made so by [`super::enter_user_namespace`].
#[must_use]
pub fn is_root() -> bool {
    // SAFETY: reads a number; it cannot fail.
    unsafe { libc::geteuid() == 0 }
}
