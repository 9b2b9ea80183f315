//! A portal that is away while a verb waits for the end of something: one that restarts is waited for.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use crate::{CliError, Exit, Output};

/// A portal that is away for so long is given up.
const MOST: Duration = Duration::from_secs(60);

/// Since when the portal does not answer.
#[derive(Debug)]
pub(super) struct Outage {
    since: Option<Instant>,
    most: Duration,
}

impl Default for Outage {
    fn default() -> Self {
        Self { since: None, most: MOST }
    }
}

impl Outage {
    /// What the portal answered; `None`: it is away, and is to be asked again.
    ///
    /// # Errors
    /// The portal refused, or it is away for too long.
    pub(super) fn answer(
        &mut self,
        asked: Result<Value, CliError>,
        out: &mut Output,
    ) -> Result<Option<Value>, CliError> {
        let error = match asked {
            Ok(answer) => {
                self.since = None;
                return Ok(Some(answer));
            }
            Err(error) => error,
        };
        let away = self.since.get_or_insert_with(Instant::now).elapsed();
        if error.exit() != Exit::Away || away >= self.most {
            out.progress_ends();
            return Err(error);
        }
        out.progress(&format!("waiting for the portal, {} s", away.as_secs()));
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn away() -> Result<Value, CliError> {
        Err(CliError::Away { host: "portal.example".to_owned(), why: "it restarts".to_owned() })
    }

    fn output() -> Output {
        Output::with_writers(Box::new(std::io::sink()), Box::new(std::io::sink()))
    }

    #[tokio::test]
    async fn a_portal_that_restarts_is_waited_for_and_one_that_stays_away_is_not() {
        let mut outage = Outage::default();
        assert_eq!(outage.answer(away(), &mut output()).unwrap(), None);
        outage.most = Duration::ZERO;
        assert_eq!(outage.answer(away(), &mut output()).unwrap_err().exit(), Exit::Away);
        assert_eq!(outage.answer(Ok(Value::Null), &mut output()).unwrap(), Some(Value::Null));
        assert!(outage.since.is_none(), "an answer begins anew");
        let mut outage = Outage::default();
        let refused = Err(CliError::NoSuchCluster("harbor".to_owned()));
        assert_eq!(outage.answer(refused, &mut output()).unwrap_err().exit(), Exit::NotFound);
    }
}
