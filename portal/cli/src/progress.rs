//! What a person at a terminal sees while an answer takes longer than a second.

use std::io::{self, IsTerminal as _, Write};
use std::time::Duration;

use rp_base::text;
use tokio::time::Instant;

/// Between two showings; the first comes after as long.
const PERIOD: Duration = Duration::from_secs(1);

/// Whether standard error is a terminal on which a line can be replaced.
pub(crate) fn can_show() -> bool {
    io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|terminal| terminal != "dumb")
}

/// Waits for `work`. Meanwhile a line on standard error says `what` is waited for and for how many seconds; it is taken away
/// at the end. Nothing is shown where [`can_show`] is false.
pub(crate) async fn shown<T>(what: &str, work: impl Future<Output = T>) -> T {
    if can_show() { shown_to(&mut io::stderr(), PERIOD, what, work).await } else { work.await }
}

async fn shown_to<T>(
    notes: &mut impl Write,
    period: Duration,
    what: &str,
    work: impl Future<Output = T>,
) -> T {
    tokio::pin!(work);
    let began = Instant::now();
    let mut is_shown = false;
    loop {
        if let Ok(done) = tokio::time::timeout(period, &mut work).await {
            if is_shown {
                replace(notes, "");
            }
            return done;
        }
        is_shown = true;
        replace(notes, &format!("{}, {} s", text::clean(what, 100), began.elapsed().as_secs()));
    }
}

/// Puts a line in the place of the one before; write errors are ignored.
fn replace(notes: &mut impl Write, line: &str) {
    let _ = write!(notes, "\r\x1b[K{line}");
    let _ = notes.flush();
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

    use super::*;

    /// Tells of each line that was shown.
    struct Notes(Vec<u8>, UnboundedSender<()>);

    impl Write for Notes {
        fn write(&mut self, data: &[u8]) -> io::Result<usize> {
            self.0.extend_from_slice(data);
            Ok(data.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            let _ = self.1.send(());
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_line_stands_while_the_answer_is_not_there_and_goes_with_it() {
        let (told, mut shown) = unbounded_channel();
        let mut notes = Notes(Vec::new(), told);
        let slow = async {
            shown.recv().await;
            7
        };
        let done = shown_to(&mut notes, Duration::from_millis(1), "waiting for p", slow).await;
        let text = String::from_utf8(notes.0).unwrap();
        assert_eq!(done, 7);
        assert!(text.starts_with("\r\x1b[Kwaiting for p, 0 s") && text.ends_with("\r\x1b[K"), "{text:?}");
    }

    #[tokio::test]
    async fn nothing_is_shown_of_what_is_there_at_once() {
        let (told, _shown) = unbounded_channel();
        let mut notes = Notes(Vec::new(), told);
        assert_eq!(shown_to(&mut notes, PERIOD, "waiting for p", async { 7 }).await, 7);
        assert!(notes.0.is_empty());
    }
}
