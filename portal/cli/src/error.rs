//! What went wrong, for a person and for a script.

use std::path::PathBuf;
use std::process::ExitCode;

use serde::{Deserialize, Serialize};

/// Exit codes, for help texts.
pub const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  failed
  2  the command line, or what it carries, is wrong
  3  not signed in
  4  not allowed
  5  not found
  6  the portal, its sign-in provider or a cluster is away, or asked too often";

/// How a verb ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Ok,
    Failed,
    Usage,
    NotSignedIn,
    NotAllowed,
    NotFound,
    Away,
}

impl Exit {
    /// The number of [`EXIT_CODES`].
    pub const fn number(self) -> u8 {
        self as u8
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.number())
    }
}

/// An error as the portal words it (`contract/rules.md` §5.15 "Error on the wire").
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    pub code: String,
    pub message: String,
    #[serde(default)]
    pub side: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub action: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub request_id: String,
}

/// Why a verb failed.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    #[error("{}", refusal.message)]
    Refused { status: u16, refusal: Refusal },
    #[error("the portal's answer cannot be understood ({0})")]
    Answer(&'static str),
    #[error("cannot reach the portal at {host}")]
    Unreachable {
        host: String,
        #[source]
        cause: reqwest::Error,
    },
    #[error("{why}")]
    NotSignedIn { why: &'static str, command: String },
    #[error("the sign-in was declined: {0}")]
    Declined(String),
    #[error("nobody signed in within {0} minutes")]
    Waited(u64),
    #[error("the operation failed: {0}")]
    OperationFailed(String),
    #[error("{what} is still in progress after {seconds} s")]
    NotOver { what: String, seconds: u64 },
    #[error("the elevation is {0}")]
    NotElevated(String),
    #[error("{path} can be read by others (mode {mode:04o}): what it holds is not used", path = path.display())]
    Exposed { path: PathBuf, mode: u32 },
    #[error("another program holds {path}", path = path.display())]
    Busy { path: PathBuf },
    #[error("cannot run {program}")]
    Program {
        program: String,
        #[source]
        cause: std::io::Error,
    },
    #[error("{path} {what}", path = path.display())]
    BadFile { path: PathBuf, what: &'static str },
    #[error("cannot use {path}", path = path.display())]
    File {
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    #[error("cannot listen on {address}")]
    Listen {
        address: std::net::SocketAddr,
        #[source]
        cause: std::io::Error,
    },
    #[error("{host} does not answer: {why}")]
    Away { host: String, why: String },
    #[error("{0}")]
    Usage(String),
    #[error("no cluster is called {0}")]
    NoSuchCluster(String),
    #[error("cannot prepare TLS")]
    Tls(#[source] rustls::Error),
    #[error("cannot write the answer")]
    Output(#[source] std::io::Error),
}

impl CliError {
    /// The exit status for it.
    pub fn exit(&self) -> Exit {
        match self {
            // A code that was not entered in time (RFC 8628 §3.5), was used already or is unknown.
            Self::Refused { refusal, .. }
                if matches!(refusal.code.as_str(), "expired_token" | "invalid_grant") =>
            {
                Exit::NotSignedIn
            }
            Self::Refused { status, .. } => match status {
                300..=399 | 401 => Exit::NotSignedIn,
                400 | 409 | 413 | 415 | 422 => Exit::Usage,
                403 => Exit::NotAllowed,
                404 | 410 => Exit::NotFound,
                429 | 502..=504 => Exit::Away,
                _ => Exit::Failed,
            },
            Self::Unreachable { .. } | Self::Away { .. } => Exit::Away,
            Self::NotSignedIn { .. } | Self::Waited(_) => Exit::NotSignedIn,
            Self::Declined(_) | Self::NotElevated(_) => Exit::NotAllowed,
            Self::Usage(_) | Self::BadFile { .. } | Self::Exposed { .. } => Exit::Usage,
            Self::NoSuchCluster(_) => Exit::NotFound,
            Self::Answer(_)
            | Self::OperationFailed(_)
            | Self::NotOver { .. }
            | Self::File { .. }
            | Self::Busy { .. }
            | Self::Program { .. }
            | Self::Listen { .. }
            | Self::Tls(_)
            | Self::Output(_) => Exit::Failed,
        }
    }

    /// Whether the other end of standard output's pipe was closed.
    pub(crate) fn is_reader_gone(&self) -> bool {
        matches!(self, Self::Output(cause) if cause.kind() == std::io::ErrorKind::BrokenPipe)
    }

    /// Whether the portal or its proxy says that an access is over: it has expired, was revoked or forgotten, or is a
    /// shell whose elevation has ended. A kept access that is refused so is not used again.
    pub(crate) fn is_ended_access(&self) -> bool {
        let Self::Refused { refusal, .. } = self else { return false };
        matches!(
            refusal.code.as_str(),
            "grant_ended" | "grant_not_found" | "unknown_token" | "elevation_over"
        )
    }

    /// The error in the form of the API's errors, whether the portal or this program found it.
    pub fn refusal(&self) -> Refusal {
        let own;
        let (code, action) = match self {
            Self::Refused { refusal, .. } => return refusal.clone(),
            Self::Answer(_) => ("bad_answer", "Check that its address is that of a portal of this product."),
            Self::Unreachable { .. } => (
                "portal_unreachable",
                "Check the portal's address, its authority (--ca-file) and the network.",
            ),
            Self::NotSignedIn { command, .. } => {
                own = format!("Run: {command}");
                ("not_signed_in", own.as_str())
            }
            Self::Declined(_) => ("sign_in_declined", "Run aro login again to try once more."),
            Self::Waited(_) => {
                ("sign_in_waited", "Run aro login again; without a browser here: aro login --device")
            }
            Self::OperationFailed(_) => {
                ("operation_failed", "Steps, log and diagnostics stand on the cluster's page of operations.")
            }
            Self::NotOver { .. } => ("not_over", "Look at it with: aro manifests list CLUSTER"),
            Self::NotElevated(_) => ("not_elevated", "Look at it with: aro elevations list"),
            Self::Exposed { path, .. } => {
                own = format!(
                    "If nobody else read it: chmod 600 {}. If somebody may have: aro logout --grants, then aro login.",
                    path.display()
                );
                ("exposed_file", own.as_str())
            }
            Self::Busy { .. } => ("busy", "Wait until it is done, or end it."),
            Self::Program { .. } => ("program", "Install it, or put it on the PATH."),
            Self::BadFile { .. } | Self::File { .. } => ("bad_file", ""),
            Self::Listen { .. } => (
                "listen",
                "Give another address by --listen, or another port by --port; port 0 is any that is free.",
            ),
            Self::Away { .. } => ("proxy_unreachable", "Try again in a moment; check the network."),
            Self::Usage(_) => ("usage", ""),
            Self::NoSuchCluster(_) => ("cluster_not_found", "Look for it with: aro clusters"),
            Self::Tls(_) => ("tls", ""),
            Self::Output(_) => ("output", ""),
        };
        Refusal {
            code: code.to_owned(),
            message: rp_base::chain(self).to_string(),
            side: "you".to_owned(),
            action: action.to_owned(),
            request_id: String::new(),
        }
    }
}
