//! Programs in a namespace, and the sockets that they open.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::namespace::Namespace;
use super::priority::ordinary;
use super::privilege::User;
use super::socket::Stream;
use super::{checked, descriptor, program};

/// A program that runs, or is held until it may, without privileges. It ends with the thread that started it, however that ends.
#[derive(Debug)]
pub struct Process {
    child: Child,
    handle: OwnedFd,
    output: File,
}

const NO_FLAGS: libc::c_long = 0;
/// Waits for a line, and becomes the program.
const HELD: &str = r#"read -r _ && exec "$@" </dev/null"#;
/// More descriptors than a program that is watched has open.
const MOST_DESCRIPTORS: RawFd = 64;
/// How often it is looked whether a program has ended, and how many times: 2 s in all.
const LOOK_EVERY: Duration = Duration::from_millis(2);
const LOOKS: u32 = 1000;

impl Namespace {
    /// Puts a program inside, to be started by [`Process::start`], when this process may have lost its right to enter. What it
    /// says is kept.
    ///
    /// # Errors
    /// Where there is no such program, and of the kernel.
    pub fn hold(&self, name: &str, words: &[String]) -> io::Result<Process> {
        let (network, parent, user) = (self.descriptor(), std::process::id(), User::unprivileged());
        // SAFETY: makes a descriptor, which is owned from here on; the name is a string with its end.
        let output =
            unsafe { File::from_raw_fd(checked(libc::memfd_create(c"output".as_ptr(), libc::MFD_CLOEXEC))?) };
        let mut command = Command::new(program("sh")?);
        command.args(["-c", HELD, "sh"]).arg(program(name)?).args(words);
        command.stdin(Stdio::piped()).stdout(output.try_clone()?).stderr(output.try_clone()?);
        let enter = move || {
            // SAFETY: system calls alone, as between fork and exec they must be; `network` is open in the child too.
            unsafe {
                // the set-up is real-time, and iperf3 spins
                ordinary();
                checked(libc::setns(network, libc::CLONE_NEWNET))?;
                user.become_for_good()?;
                // after the user has changed, which would undo it
                checked(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong))?;
                // whoever ended before that call sends no signal any more
                if libc::getppid().cast_unsigned() != parent {
                    libc::_exit(1);
                }
            }
            Ok(())
        };
        // SAFETY: `enter` allocates nothing and takes no lock.
        let spawned = unsafe { command.pre_exec(enter) }.spawn();
        let child = spawned.map_err(|error| io::Error::new(error.kind(), format!("{name}: {error}")))?;
        // SAFETY: makes a descriptor of a child that is not waited for yet, which is owned from here on.
        let handle = unsafe {
            let id = libc::c_long::from(child.id());
            OwnedFd::from_raw_fd(descriptor(libc::syscall(libc::SYS_pidfd_open, id, NO_FLAGS))?)
        };
        Ok(Process { child, handle, output })
    }
}

impl Process {
    /// Lets it begin.
    ///
    /// # Errors
    /// Where it has ended.
    pub fn start(&mut self) -> io::Result<()> {
        self.child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(b"\n"))
    }

    /// Whether it has ended.
    ///
    /// # Errors
    /// Of the kernel.
    pub fn ended(&mut self) -> io::Result<bool> {
        Ok(self.child.try_wait()?.is_some())
    }

    /// Its TCP connection from `port`, if it has one. The program shares it: it is over only when this one is dropped too.
    ///
    /// # Errors
    /// Where the kernel does not let this process look (`pidfd_getfd`, since Linux 5.6).
    pub fn connection(&self, port: u16) -> io::Result<Option<Stream>> {
        for number in 3..MOST_DESCRIPTORS {
            // SAFETY: makes a descriptor, which is owned from here on; every argument is as wide as syscall(2) reads it.
            let answer = unsafe {
                libc::syscall(
                    libc::SYS_pidfd_getfd,
                    libc::c_long::from(self.handle.as_raw_fd()),
                    libc::c_long::from(number),
                    NO_FLAGS,
                )
            };
            match descriptor(answer) {
                Err(error) if error.raw_os_error() == Some(libc::EBADF) => {}
                Err(error) => return Err(io::Error::new(error.kind(), format!("pidfd_getfd: {error}"))),
                Ok(fd) => {
                    // SAFETY: a new descriptor, owned from here on.
                    let stream = Stream::from(unsafe { OwnedFd::from_raw_fd(fd) });
                    if stream.port() == Some(port) {
                        return Ok(Some(stream));
                    }
                }
            }
        }
        Ok(None)
    }

    /// Asks it to end, as Ctrl-C does.
    ///
    /// # Errors
    /// Of the kernel; that it has ended is none.
    pub fn interrupt(&self) -> io::Result<()> {
        // SAFETY: takes numbers, and no information about the signal; every argument is as wide as syscall(2) reads it.
        let answer = unsafe {
            libc::syscall(
                libc::SYS_pidfd_send_signal,
                libc::c_long::from(self.handle.as_raw_fd()),
                libc::c_long::from(libc::SIGINT),
                std::ptr::null::<libc::siginfo_t>(),
                NO_FLAGS,
            )
        };
        match descriptor(answer) {
            Err(error) if error.raw_os_error() != Some(libc::ESRCH) => Err(error),
            _ => Ok(()),
        }
    }

    /// Its output, when it has ended; it is killed if that takes too long.
    ///
    /// # Errors
    /// Of the kernel.
    pub fn output(&mut self) -> io::Result<String> {
        for _ in 0..LOOKS {
            if self.ended()? {
                break;
            }
            std::thread::sleep(LOOK_EVERY);
        }
        self.child.kill()?;
        self.child.wait()?;
        let mut bytes = Vec::new();
        self.output.rewind()?;
        self.output.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // one that has ended is none
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
