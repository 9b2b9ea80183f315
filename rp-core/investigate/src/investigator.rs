//! What the API asks of a provider.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use rp_documents::ClusterDocument;

use crate::error::InvestigateError;
use crate::question::Question;

/// Starts investigations.
#[async_trait]
pub trait Investigator: Send + Sync + fmt::Debug + 'static {
    /// Starts the program that answers a question about a cluster, and waits until it runs.
    ///
    /// # Errors
    /// It does not run; nothing of it stays.
    async fn begin(
        &self,
        cluster: &ClusterDocument,
        question: &Question,
    ) -> Result<Box<dyn Investigation>, InvestigateError>;

    /// The longest time that an answer takes once it has begun.
    fn within(&self) -> Duration;
}

/// An investigation that runs. What it needed is removed when it is closed, and also when it is dropped.
#[async_trait]
pub trait Investigation: Send + 'static {
    /// The next piece of what the program prints; `None`: it prints no more. The bytes are not trusted
    /// ([`crate::AnswerText`]).
    ///
    /// # Errors
    /// No more can be read.
    async fn next(&mut self) -> Result<Option<Bytes>, InvestigateError>;

    /// Waits for the end of the program, to be called after its last piece.
    ///
    /// # Errors
    /// It failed or was ended.
    async fn end(&mut self) -> Result<(), InvestigateError>;

    /// Ends the program if it still runs, and removes what it needed.
    ///
    /// # Errors
    /// Something may stay until a later investigation removes it.
    async fn close(self: Box<Self>) -> Result<(), InvestigateError>;
}
