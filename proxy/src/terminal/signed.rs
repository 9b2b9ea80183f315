//! Whether the person at a page is still signed in to the portal, as the edge follows it: a terminal ends with that.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// The session of the portal behind a page. Whoever follows it holds it weakly: it goes with the last terminal.
#[derive(Debug, Default)]
pub struct SignedIn {
    over: CancellationToken,
    why: OnceLock<String>,
    typed: AtomicBool,
}

impl SignedIn {
    /// The session is over: what stands on it is cut with these words, a sentence. The first words stay.
    pub fn end(&self, words: impl Into<String>) {
        let _ = self.why.set(words.into());
        self.over.cancel();
    }

    /// Whether the person typed since the last question: that is a use of the portal's session.
    pub fn take_typed(&self) -> bool {
        self.typed.swap(false, Ordering::Relaxed)
    }

    pub(super) fn typed(&self) {
        self.typed.store(true, Ordering::Relaxed);
    }

    pub(super) fn over(&self) -> WaitForCancellationFutureOwned {
        self.over.clone().cancelled_owned()
    }

    pub(super) fn words(&self) -> String {
        let why = self.why.get().map_or("Your session of the portal has ended.", String::as_str);
        format!(
            "Cut: {}{}",
            why.get(..1).unwrap_or_default().to_lowercase(),
            why.get(1..).unwrap_or_default()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_words_stay_and_typing_is_told_once() {
        let signed = SignedIn::default();
        signed.typed();
        assert!(signed.take_typed() && !signed.take_typed());
        signed.end("You have signed out.");
        signed.end("Something else.");
        signed.over().await;
        assert_eq!(signed.words(), "Cut: you have signed out.");
    }
}
