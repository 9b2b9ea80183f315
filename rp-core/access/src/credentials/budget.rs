//! What the search of one text may cost. A text that somebody made to be expensive is withheld.

/// Why a text is withheld.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Finding {
    Credentials,
    /// Nothing was found, and it is too expensive to search the rest.
    TooMuch,
}

/// Steps for each byte of the text. A text that is encoded several times, or packed to a tenth, needs about 60.
const STEPS_PER_BYTE: usize = 256;
/// Steps for any text, however short.
const LEAST_STEPS: usize = 64 * 1024;
/// Steps for any text, however long.
const MOST_STEPS: usize = 64 * 1024 * 1024;
/// Members and beginnings of keys that are looked at more closely. A bundle of certificates of 1 MiB has about 1000.
const MOST_MATCHES: usize = 10_000;
/// Bytes that everything packed in the text may have unpacked.
const MOST_UNPACKED: usize = 1024 * 1024;

/// Counts the bytes that a search has looked at (its steps), how often it looked more closely, and what it unpacked.
#[derive(Debug)]
pub(super) struct Budget {
    steps: usize,
    most_steps: usize,
    matches: usize,
    unpacked: usize,
}

impl Budget {
    /// For a text of so many bytes.
    pub(super) fn new(bytes: usize) -> Self {
        let most_steps = bytes.saturating_mul(STEPS_PER_BYTE).saturating_add(LEAST_STEPS).min(MOST_STEPS);
        Self { steps: 0, most_steps, matches: 0, unpacked: 0 }
    }

    /// So many bytes are looked at.
    ///
    /// # Errors
    /// [`Finding::TooMuch`]: they are more than the text may cost.
    pub(super) fn spend(&mut self, steps: usize) -> Result<(), Finding> {
        self.steps = self.steps.saturating_add(steps);
        if self.steps > self.most_steps { Err(Finding::TooMuch) } else { Ok(()) }
    }

    /// Something is looked at more closely.
    ///
    /// # Errors
    /// [`Finding::TooMuch`]: it was too often.
    pub(super) fn matched(&mut self) -> Result<(), Finding> {
        self.matches += 1;
        if self.matches > MOST_MATCHES { Err(Finding::TooMuch) } else { Ok(()) }
    }

    /// Bytes that may still be unpacked.
    pub(super) fn unpackable(&self) -> usize {
        (MOST_UNPACKED - self.unpacked).min(self.most_steps.saturating_sub(self.steps))
    }

    /// So many bytes were unpacked.
    ///
    /// # Errors
    /// [`Finding::TooMuch`]: they are more than [`Budget::unpackable`].
    pub(super) fn unpacked(&mut self, bytes: usize) -> Result<(), Finding> {
        if bytes > self.unpackable() {
            return Err(Finding::TooMuch);
        }
        self.unpacked += bytes;
        self.spend(bytes)
    }

    #[cfg(test)]
    pub(super) fn steps(&self) -> usize {
        self.steps
    }
}
