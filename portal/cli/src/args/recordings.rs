//! `aro recordings …`

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::audit::Span;
use super::{Connection, seconds};

/// `aro recordings …`
#[derive(Debug, Args)]
pub struct RecordingsArgs {
    #[command(subcommand)]
    pub verb: RecordingsVerb,
}

#[derive(Debug, Subcommand)]
pub enum RecordingsVerb {
    /// List recorded sessions, newest first: yours, for auditors everybody's
    List {
        /// Only those that showed this text, and where; the search is on the record
        search: Option<String>,
        #[command(flatten)]
        filter: Box<RecordingsFilter>,
        /// Rows at most
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
        limit: u32,
        #[command(flatten)]
        connection: Connection,
    },
    /// What is known of a recorded session
    Show {
        /// The recording's id, as aro recordings list shows it
        id: String,
        #[command(flatten)]
        connection: Connection,
    },
    /// Play a session in this terminal; Ctrl-C ends it. That it was watched is on the record
    Play(Box<PlayArgs>),
    /// Keep a session as an asciicast; that it was downloaded is on the record
    Download {
        /// The recording's id, as aro recordings list shows it
        id: String,
        /// A file that is not there yet (mode 0600); `-` is standard output
        file: PathBuf,
        #[command(flatten)]
        connection: Connection,
    },
}

/// Which recordings.
#[derive(Debug, Clone, Args)]
pub struct RecordingsFilter {
    /// Only of this person, by a part of the name; auditors only
    #[arg(long)]
    pub person: Option<String>,
    /// Only of this cluster: its name or resource id
    #[arg(long, add = crate::completer::clusters())]
    pub cluster: Option<String>,
    /// Only of sessions opened with this grant
    #[arg(long, add = crate::completer::grants())]
    pub grant: Option<String>,
    #[command(flatten)]
    pub span: Span,
}

/// `aro recordings play ID`
#[derive(Debug, Args)]
pub struct PlayArgs {
    /// The recording's id, as aro recordings list shows it
    pub id: String,
    /// How many times as fast, 0.1 to 1000
    #[arg(long, default_value = "1", value_parser = speed, value_name = "N")]
    pub speed: f64,
    /// Pauses as long as they were; without it none is longer than 2 s
    #[arg(long)]
    pub pauses: bool,
    /// Begin there, e.g. 90s or 5m: what came before is shown at once
    #[arg(long, value_parser = seconds, value_name = "TIME")]
    pub start: Option<u64>,
    #[command(flatten)]
    pub connection: Connection,
}

fn speed(text: &str) -> Result<f64, String> {
    let speed = text.trim_end_matches(['x', '×']).parse().ok().filter(|speed| (0.1..=1000.0).contains(speed));
    speed.ok_or_else(|| "give a number from 0.1 to 1000".to_owned())
}

impl RecordingsVerb {
    pub(crate) const fn connection(&self) -> &Connection {
        match self {
            Self::List { connection, .. }
            | Self::Show { connection, .. }
            | Self::Download { connection, .. } => connection,
            Self::Play(args) => &args.connection,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::speed;

    #[test]
    fn speeds_are_numbers() {
        assert_eq!((speed("2"), speed("0.5x"), speed("1000")), (Ok(2.0), Ok(0.5), Ok(1000.0)));
        for bad in ["", "0", "-1", "NaN", "inf", "1001", "fast"] {
            assert!(speed(bad).is_err(), "{bad}");
        }
    }
}
