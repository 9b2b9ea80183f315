//! A question about a cluster, answered by a program that looks at the cluster with a credential that only reads
//! (`contract/frontend.md` §11.10).
//!
//! [`Investigator`] is what the API asks; [`KubernetesPods`] is its provider: a pod in a sandbox of a management cluster. The
//! question goes in as data, the answer comes out as bytes that nobody trusts: [`AnswerText`] makes text of them.
//!
//! Entry rule: what starts, bounds or removes an investigation, and knows no HTTP of ours.

mod answer;
mod credential;
mod error;
mod investigator;
mod pods;
mod question;

pub use answer::{AnswerText, MOST_ANSWER};
pub use credential::{
    CredentialError, DIAGNOSTICS_USER, DiagnosticsKubeconfig, GraphCredentials, KubeconfigIssuer,
};
pub use error::{InvestigateError, ManagementError};
pub use investigator::{Investigation, Investigator};
pub use pods::{KubernetesPods, PodTimes};
pub use question::{MOST_QUESTION, Question, QuestionError};
