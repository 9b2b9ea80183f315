//! Where log lines go: standard error or a file, in pieces that many lines share.
//!
//! A `write` to a file waits while the file system commits, and each commit of a store makes it do so. A worker that
//! logs a request would wait with it, and every request on that worker. So the lines of the busiest access logs
//! ([`GATHERED`]) are gathered, and a thread writes them within [`GATHER_FOR`]; a process that is killed loses at most
//! those. All others are written at once, after what was gathered before them.

use std::io::{self, IsTerminal as _, Write};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tracing::{Level, Metadata};
use tracing_subscriber::fmt::MakeWriter;

use super::LogOutput;

/// Targets that log a line for each request to a cluster.
const GATHERED: [&str; 2] = ["proxy.access", "prom.access"];
/// Longest time for which a line waits for others.
const GATHER_FOR: Duration = Duration::from_millis(100);
/// Bytes that are gathered at most. A thread that logs more writes them itself: a slow disk slows down who logs, and
/// memory stays bounded.
const MOST_GATHERED: usize = 1 << 20;
/// Room that is kept between two writes.
const ROOM: usize = 64 << 10;

/// Gathers lines and writes them. A cheap clone.
#[derive(Debug, Clone)]
pub(super) struct LogWriter(Arc<Shared>);

struct Shared {
    gathered: Mutex<Vec<u8>>,
    /// Told when the first line is gathered.
    begun: Condvar,
    /// Taken before `gathered`, so that lines stay in their order.
    output: Mutex<Box<dyn Write + Send>>,
    /// A person watches: each line is written at once.
    at_once: bool,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("at_once", &self.at_once).finish_non_exhaustive()
    }
}

impl LogWriter {
    /// A terminal gets each line at once.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(super) fn open(output: LogOutput) -> io::Result<Self> {
        match output {
            LogOutput::StandardError => Self::new(Box::new(io::stderr()), io::stderr().is_terminal()),
            LogOutput::File(file) => Self::new(Box::new(file), false),
        }
    }

    fn new(output: Box<dyn Write + Send>, at_once: bool) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            gathered: Mutex::default(),
            begun: Condvar::new(),
            output: Mutex::new(output),
            at_once,
        });
        if !at_once {
            let shared = Arc::clone(&shared);
            std::thread::Builder::new().name("log".into()).spawn(move || shared.run())?;
        }
        Ok(Self(shared))
    }

    /// Writes what was gathered, now.
    pub(super) fn flush(&self) {
        // A log that cannot be written has nobody to be told.
        let _ = self.0.write_out(&[]);
    }
}

impl Shared {
    /// Writes what is gathered, as long as the process lives.
    fn run(&self) {
        loop {
            let mut gathered = self.gathered.lock();
            while gathered.is_empty() {
                self.begun.wait(&mut gathered);
            }
            drop(gathered);
            std::thread::sleep(GATHER_FOR);
            let _ = self.write_out(&[]);
        }
    }

    /// Writes what was gathered, and then `line`.
    fn write_out(&self, line: &[u8]) -> io::Result<()> {
        let mut output = self.output.lock();
        let mut lines = std::mem::replace(&mut *self.gathered.lock(), Vec::with_capacity(ROOM));
        lines.extend_from_slice(line);
        output.write_all(&lines)?;
        output.flush()
    }

    /// Gathers a line; false where there is no room for it.
    fn gather(&self, line: &[u8]) -> bool {
        let mut gathered = self.gathered.lock();
        if gathered.len() + line.len() > MOST_GATHERED {
            return false;
        }
        let first = gathered.is_empty();
        gathered.extend_from_slice(line);
        drop(gathered);
        if first {
            self.begun.notify_one();
        }
        true
    }
}

/// Writes the lines of one event.
#[derive(Debug)]
pub(super) struct EventWriter<'a> {
    shared: &'a Shared,
    at_once: bool,
}

impl Write for EventWriter<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.at_once || !self.shared.gather(line) {
            self.shared.write_out(line)?;
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for LogWriter {
    type Writer = EventWriter<'a>;

    fn make_writer(&'a self) -> Self::Writer {
        EventWriter { shared: &self.0, at_once: true }
    }

    fn make_writer_for(&'a self, meta: &Metadata<'_>) -> Self::Writer {
        let gathered = *meta.level() > Level::WARN && GATHERED.contains(&meta.target());
        EventWriter { shared: &self.0, at_once: self.0.at_once || !gathered }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Default)]
    struct File(Arc<Mutex<Vec<Vec<u8>>>>);

    impl Write for File {
        fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
            self.0.lock().push(piece.to_vec());
            Ok(piece.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn log(writer: &LogWriter, at_once: bool, line: &str) {
        EventWriter { shared: &writer.0, at_once }.write_all(line.as_bytes()).unwrap();
    }

    #[test]
    fn lines_share_a_write_and_a_warning_comes_after_what_was_before_it() {
        let file = File::default();
        let writer = LogWriter::new(Box::new(file.clone()), false).unwrap();
        log(&writer, false, "one\n");
        log(&writer, false, "two\n");
        log(&writer, true, "warning\n");
        assert_eq!(file.0.lock().concat(), b"one\ntwo\nwarning\n");
        log(&writer, false, "three\n");
        let end = std::time::Instant::now() + Duration::from_secs(20);
        while !file.0.lock().concat().ends_with(b"three\n") {
            assert!(std::time::Instant::now() < end, "the line was not written");
            std::thread::yield_now();
        }
    }

    #[test]
    fn what_has_no_room_is_written_by_who_logs_it() {
        let file = File::default();
        let writer = LogWriter::new(Box::new(file.clone()), false).unwrap();
        // Nobody else writes while the output is taken, so all of it must be gathered.
        let line = vec![b'x'; MOST_GATHERED / 2];
        let output = writer.0.output.lock();
        assert!(writer.0.gather(&line) && writer.0.gather(&line) && !writer.0.gather(b"y"));
        drop(output);
        log(&writer, false, "y\n");
        writer.flush();
        assert!(file.0.lock().concat().ends_with(b"xy\n"));
    }

    #[test]
    fn the_end_writes_what_was_gathered() {
        let file = File::default();
        let writer = LogWriter::new(Box::new(file.clone()), false).unwrap();
        log(&writer, false, "last\n");
        writer.flush();
        assert_eq!(file.0.lock().concat(), b"last\n");
    }
}
