//! Blocking access to standard streams.
//!
//! Another program that shares a stream, such as Node.js, ssh and some CI systems, may have made it
//! non-blocking. Writing to a full one, or reading from an empty one, then fails at once. Every use of a
//! standard stream goes through here and waits for room or data, as on any other stream.

use std::io::{self, ErrorKind, Read, Stderr, Stdin, Stdout, Write};
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, poll};

/// A stream that waits instead of failing with "would block".
pub struct Patient<S>(S);

/// Standard output. Callers write pieces that belong together at once.
pub fn output() -> Patient<Stdout> {
    Patient(io::stdout())
}

/// Standard error.
pub fn errors() -> Patient<Stderr> {
    Patient(io::stderr())
}

/// Standard input.
pub fn input() -> Patient<Stdin> {
    Patient(io::stdin())
}

impl<S: AsFd> Patient<S> {
    /// Repeats a call until it would not block, with waits in between.
    fn patiently<T>(
        &mut self,
        ready: PollFlags,
        mut act: impl FnMut(&mut S) -> io::Result<T>,
    ) -> io::Result<T> {
        loop {
            match act(&mut self.0) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    // An end, an error and a signal end the wait as well; the next attempt tells which it was.
                    let _ = poll(&mut [PollFd::new(&self.0, ready)], None);
                }
                done => return done,
            }
        }
    }
}

impl<S: Write + AsFd> Write for Patient<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.patiently(PollFlags::OUT, |stream| stream.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.patiently(PollFlags::OUT, Write::flush)
    }
}

impl<S: Read + AsFd> Read for Patient<S> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.patiently(PollFlags::IN, |stream| stream.read(bytes))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;
    use std::thread;

    use super::*;

    #[test]
    fn a_full_stream_is_waited_for_and_nothing_is_lost_or_doubled() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        let sent: Vec<u8> = (0..4_000_000_u32).map(|n| (n % 251) as u8).collect();
        let expected = sent.clone();
        let writer = thread::spawn(move || Patient(ours).write_all(&sent));
        let mut received = Vec::new();
        theirs.read_to_end(&mut received).unwrap();
        writer.join().unwrap().unwrap();
        assert_eq!(received, expected);
    }

    #[test]
    fn an_empty_stream_is_waited_for_until_its_end() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        let reader = thread::spawn(move || {
            let mut received = Vec::new();
            Patient(ours).read_to_end(&mut received).map(|_| received)
        });
        theirs.write_all(b"some").unwrap();
        theirs.write_all(b"thing").unwrap();
        drop(theirs);
        assert_eq!(reader.join().unwrap().unwrap(), b"something");
    }

    #[test]
    fn a_reader_that_goes_away_ends_the_wait() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        let mut ours = Patient(ours);
        let writer = thread::spawn(move || ours.write_all(&vec![0; 4_000_000]));
        drop(theirs);
        assert_eq!(writer.join().unwrap().unwrap_err().kind(), ErrorKind::BrokenPipe);
    }
}
