//! Why an answer was cut short.

/// An answer that did not come to its end. The client sees a cut, never foreign bytes.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    #[error("the access ended")]
    Ended,
    #[error("the cluster sent nothing for too long")]
    Silent,
    #[error("the client took nothing for too long")]
    Untaken,
    #[error("the cluster broke off")]
    Broken(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("the answer could not be searched for credentials")]
    Unsearched(#[source] tokio::task::JoinError),
}
