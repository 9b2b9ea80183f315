//! Chance is passed in, so that tests repeat.

use std::sync::Arc;

use aws_lc_rs::rand::{SecureRandom as _, SystemRandom as Source};
use uuid::Uuid;

/// Where random bytes come from.
pub trait Random: Send + Sync + std::fmt::Debug + 'static {
    /// Fills `out`.
    fn fill(&self, out: &mut [u8]);

    /// A version-4 UUID (RFC 9562).
    fn uuid(&self) -> Uuid {
        let mut bytes = [0u8; 16];
        self.fill(&mut bytes);
        uuid::Builder::from_random_bytes(bytes).into_uuid()
    }

    /// A number below one, with 53 random bits.
    fn unit(&self) -> f64 {
        let mut bytes = [0u8; 8];
        self.fill(&mut bytes);
        #[expect(clippy::cast_precision_loss, reason = "53 bits fit a double exactly")]
        let value = (u64::from_le_bytes(bytes) >> 11) as f64;
        value / 9_007_199_254_740_992.0
    }
}

/// A source that many parts share.
pub type SharedRandom = Arc<dyn Random>;

/// The operating system's source, through the crypto library.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemRandom;

impl Random for SystemRandom {
    fn fill(&self, out: &mut [u8]) {
        // Without randomness the process cannot continue safely, so it aborts.
        if Source::new().fill(out).is_err() {
            std::process::abort();
        }
    }
}
