//! Prints an error with its causes. Our errors never repeat their source's text, so the chain reads well.

use std::error::Error;
use std::fmt;

/// Displays `error: cause: cause of the cause`.
#[derive(Clone, Copy)]
pub struct Chain<'a>(&'a (dyn Error + 'a));

/// The adapter through which every error is logged.
pub fn chain(error: &dyn Error) -> Chain<'_> {
    Chain(error)
}

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

impl fmt::Debug for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
