//! `aro audit …`: what the portal is asked. Verifying an export needs no portal and is the binary's own.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::Connection;

/// `aro audit …`
#[derive(Debug, Args)]
pub struct AuditArgs {
    #[command(subcommand)]
    pub verb: AuditVerb,
}

/// Between two instants.
#[derive(Debug, Clone, Args)]
pub struct Span {
    /// Not before: a day, or an instant such as 2026-11-21T08:00:00Z
    #[arg(long, value_name = "INSTANT", value_parser = super::instant)]
    pub from: Option<String>,
    /// Before; a day is taken whole
    #[arg(long, value_name = "INSTANT", value_parser = super::instant)]
    pub to: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum AuditVerb {
    /// List entries, newest first
    List {
        #[command(flatten)]
        filter: AuditFilter,
        /// Rows at most
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
        limit: u32,
        #[command(flatten)]
        connection: Connection,
    },
    /// Write entries as JSON lines, each as it is stored, oldest first; all of them can be verified by aro audit verify
    Export {
        #[command(flatten)]
        filter: AuditFilter,
        /// Write to this file (mode 0600) instead of standard output
        #[arg(short, long, value_name = "FILE")]
        file: Option<PathBuf>,
        #[command(flatten)]
        connection: Connection,
    },
    /// Who had access to a cluster, why, and what they did
    Report {
        /// The cluster's name or resource id
        #[arg(add = crate::completer::clusters())]
        cluster: String,
        #[command(flatten)]
        span: Span,
        /// For people, for programs, or for a spreadsheet
        #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
        format: ReportFormat,
        #[command(flatten)]
        connection: Connection,
    },
}

/// Which entries.
#[derive(Debug, Clone, Args)]
pub struct AuditFilter {
    /// Only of this person
    #[arg(long)]
    pub person: Option<String>,
    /// Only on this cluster: its name or resource id
    #[arg(long, alias = "target", add = crate::completer::clusters())]
    pub cluster: Option<String>,
    /// Only this verb, e.g. get, exec, sign-in
    #[arg(long)]
    pub verb: Option<String>,
    /// Only under this grant
    #[arg(long, add = crate::completer::grants())]
    pub grant: Option<String>,
    /// Only entries with this text
    #[arg(long)]
    pub text: Option<String>,
    #[command(flatten)]
    pub span: Span,
}

/// How the report is written; `-o json` is the same as `--format json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    Text,
    Json,
    Csv,
}

impl AuditVerb {
    pub(crate) const fn connection(&self) -> &Connection {
        match self {
            Self::List { connection, .. }
            | Self::Export { connection, .. }
            | Self::Report { connection, .. } => connection,
        }
    }
}
