//! The portal session of a terminal's page: the terminal ends when the person is signed out.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// The portal session of a page. The portal holds it weakly: it is dropped with the last terminal.
#[derive(Debug, Default)]
pub struct PortalSession {
    over: CancellationToken,
    why: OnceLock<String>,
    typed: AtomicBool,
}

impl PortalSession {
    /// Ends the session: its terminals are cut with this sentence. The first sentence stays.
    pub fn end(&self, words: impl Into<String>) {
        let _ = self.why.set(words.into());
        self.over.cancel();
    }

    /// Whether the person typed since the last call: typing counts as use of the portal session.
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
        let signed = PortalSession::default();
        signed.typed();
        assert!(signed.take_typed() && !signed.take_typed());
        signed.end("You have signed out.");
        signed.end("Something else.");
        signed.over().await;
        assert_eq!(signed.words(), "Cut: you have signed out.");
    }
}
