//! Arguments whose values a shell completes. The values come from [`crate::names`], which reads the arguments that were typed:
//! so that arguments need not know of it, it is handed over at the start ([`set_source`]).

use std::ffi::OsStr;
use std::sync::OnceLock;

use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};

/// What an argument's value names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueKind {
    Clusters,
    Grants,
    Elevations,
    Robots,
    Profiles,
}

/// Gives the values of a kind that begin with what was typed.
type Source = fn(ValueKind, &OsStr) -> Vec<CompletionCandidate>;

static SOURCE: OnceLock<Source> = OnceLock::new();

/// Says where values come from, once for a process. Without it nothing is completed.
pub(crate) fn set_source(source: Source) {
    let _ = SOURCE.set(source);
}

fn completer(kind: ValueKind) -> ArgValueCompleter {
    ArgValueCompleter::new(move |current: &OsStr| {
        SOURCE.get().map(|source| source(kind, current)).unwrap_or_default()
    })
}

/// Completes names and resource ids of clusters.
pub(crate) fn clusters() -> ArgValueCompleter {
    completer(ValueKind::Clusters)
}

/// Completes ids of grants.
pub(crate) fn grants() -> ArgValueCompleter {
    completer(ValueKind::Grants)
}

/// Completes ids of elevations.
pub(crate) fn elevations() -> ArgValueCompleter {
    completer(ValueKind::Elevations)
}

/// Completes names of robots.
pub(crate) fn robots() -> ArgValueCompleter {
    completer(ValueKind::Robots)
}

/// Completes names of profiles.
pub(crate) fn profiles() -> ArgValueCompleter {
    completer(ValueKind::Profiles)
}
