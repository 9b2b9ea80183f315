//! Verbs for people: they talk to the portal's JSON API, never to the store.
//!
//! Standard output carries the answer and nothing else; everything else goes to standard error.

mod answer;
mod args;
mod cache;
mod cast;
mod client;
mod completer;
mod endpoint;
mod error;
mod files;
mod kubeconfig;
mod names;
mod output;
mod platform;
mod profile;
mod progress;
mod reference;
mod report;
mod sign_in;
mod ssh;
mod table;
#[cfg(test)]
mod tests;
mod tls;
mod tunnel;
mod verbs;

use std::process::ExitCode;

pub use args::{
    AccessArgs, ActionArgs, AuditArgs, AuditFilter, AuditVerb, ClusterFilter, ClustersArgs, ClustersVerb,
    Connection, ConsoleArgs, CredentialArgs, CsrActionArgs, CsrArgs, CsrVerb, DrainArgs, ElevateArgs,
    ElevationVerb, ElevationsArgs, EventsArgs, Format, GrantsArgs, GrantsVerb, ImportTunnel, KubeconfigArgs,
    KubectlArgs, LoginArgs, LogoutArgs, LogsArgs, ManifestsArgs, ManifestsVerb, NodeActionArgs, NodeArgs,
    NodeVerb, NotificationsArgs, NotificationsVerb, ObjectsArgs, OperationsArgs, OperationsVerb,
    OperatorArgs, OperatorVerb, OrderArgs, PlayArgs, PodArgs, PodVerb, ProfileArgs, ProfileVerb, PromqlArgs,
    ProxyLocalArgs, RecordingsArgs, RecordingsFilter, RecordingsVerb, ReportFormat, RevokeArgs,
    RobotCreateArgs, RobotsArgs, RobotsVerb, ScpArgs, SerialArgs, SetFlagsArgs, Span, SshArgs, SshConfigArgs,
    SshRefreshArgs, SshVerb, TunnelArgs, Verb, WhoamiArgs, WorkloadArgs, WorkloadKindArg, WorkloadVerb,
};
pub use cache::cached_credential;
pub use error::{CliError, EXIT_CODES, Exit, Refusal};
pub use names::complete_names;
pub use output::Output;
pub use reference::{JsonAnswer, VERBS, VerbReference};

/// Runs a verb; prints its answer or its error. The exit code is one of [`EXIT_CODES`].
pub async fn run(verb: Verb, out: &mut Output) -> ExitCode {
    run_to_exit(verb, out).await.into()
}

/// As [`run`], with an exit status that can be compared.
pub async fn run_to_exit(verb: Verb, out: &mut Output) -> Exit {
    let format = verb.format();
    match verbs::execute(verb, out).await {
        Ok(()) => Exit::Ok,
        // `aro … | head`: the reader wanted no more.
        Err(error) if error.is_reader_gone() => Exit::Ok,
        Err(error) => {
            out.error(&error, format);
            error.exit()
        }
    }
}
