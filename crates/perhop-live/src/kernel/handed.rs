//! The input of this program: a scenario, and open descriptors for its output.

use std::io::{self, Read};
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use super::checked;

/// Most descriptors in one message; the kernel takes 253.
const MOST: usize = 200;
/// Room for a message's descriptors, as the kernel aligns them.
const ROOM: usize =
    size_of::<libc::cmsghdr>() / size_of::<u64>() + MOST * size_of::<RawFd>() / size_of::<u64>() + 1;
/// The longest scenario, bytes.
const LONGEST: u64 = 64 << 20;

/// Reads `count` descriptors from standard input, a Unix socket: messages of one byte with up to 200 each.
///
/// # Errors
/// Where standard input is no Unix socket, or says something else; where a descriptor is no file that may be written.
pub fn descriptors(count: usize) -> io::Result<Vec<OwnedFd>> {
    let mut all = Vec::new();
    while all.len() < count {
        let more =
            message().map_err(|error| io::Error::new(error.kind(), format!("standard input: {error}")))?;
        if more.is_empty() {
            return Err(io::Error::other(format!(
                "standard input: {} of {count} descriptors came",
                all.len()
            )));
        }
        all.extend(more);
    }
    if all.len() > count || all.iter().any(|fd| !is_written(fd)) {
        return Err(io::Error::other(
            "standard input: a descriptor too many, or one of no file that may be written",
        ));
    }
    Ok(all)
}

/// Reads a scenario from standard input: its length, eight bytes with the highest first, then its text.
///
/// # Errors
/// Where less comes.
pub fn text() -> io::Result<Vec<u8>> {
    let mut length = [0; 8];
    io::stdin().read_exact(&mut length)?;
    let length = u64::from_be_bytes(length);
    if length > LONGEST {
        return Err(io::Error::other(format!("a scenario of {length} bytes; at most {LONGEST}")));
    }
    let mut text = Vec::new();
    io::stdin().take(length).read_to_end(&mut text)?;
    if (text.len() as u64) < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(text)
}

/// The descriptors of the next message.
fn message() -> io::Result<Vec<OwnedFd>> {
    let mut byte = 0_u8;
    let mut part = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    let mut control = [0_u64; ROOM];
    // SAFETY: a struct of integers and pointers, for which zeros are valid.
    let mut head: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    head.msg_iov = &raw mut part;
    head.msg_iovlen = 1;
    head.msg_control = control.as_mut_ptr().cast();
    head.msg_controllen = size_of_val(&control) as _;
    // SAFETY: the kernel writes one byte, and at most as many bytes of control messages as there is room; all of it lives on.
    let read = unsafe { libc::recvmsg(libc::STDIN_FILENO, &raw mut head, libc::MSG_CMSG_CLOEXEC) };
    if read < 0 {
        return Err(io::Error::last_os_error());
    }
    let mut found = Vec::new();
    // SAFETY: the macros walk the control messages that the kernel has written into `control`; each descriptor is a new one of this
    // process, owned from here on.
    unsafe {
        let mut control = libc::CMSG_FIRSTHDR(&raw const head);
        while !control.is_null() {
            if (*control).cmsg_level == libc::SOL_SOCKET && (*control).cmsg_type == libc::SCM_RIGHTS {
                let data: *const RawFd = libc::CMSG_DATA(control).cast();
                let length = (*control).cmsg_len as usize - libc::CMSG_LEN(0) as usize;
                for k in 0..length / size_of::<RawFd>() {
                    found.push(OwnedFd::from_raw_fd(data.add(k).read_unaligned()));
                }
            }
            control = libc::CMSG_NXTHDR(&raw const head, control);
        }
    }
    Ok(found)
}

/// Whether a descriptor is of a regular file, and was opened to be written.
fn is_written(fd: &OwnedFd) -> bool {
    // SAFETY: a struct of integers, for which zeros are valid.
    let mut status: libc::stat = unsafe { MaybeUninit::zeroed().assume_init() };
    // SAFETY: writes one stat; the descriptor is open.
    let known = checked(unsafe { libc::fstat(fd.as_raw_fd(), &raw mut status) });
    // SAFETY: reads flags of an open descriptor.
    let flags = checked(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFL) });
    known.is_ok()
        && status.st_mode & libc::S_IFMT == libc::S_IFREG
        && flags.is_ok_and(|flags| flags & libc::O_ACCMODE != libc::O_RDONLY)
}
