//! Verbs for people: they talk to the portal's JSON API, never to the store.
//!
//! Standard output carries the answer and nothing else; everything else goes to standard error.

mod args;
mod client;
mod error;
mod files;
mod output;
#[cfg(test)]
mod tests;
mod verbs;

use std::process::ExitCode;

pub use args::{
    AuditArgs, AuditVerb, ClustersArgs, ClustersVerb, Connection, Format, GrantsArgs, GrantsVerb,
    KubeconfigArgs, Verb, WhoamiArgs,
};
pub use error::{CliError, EXIT_CODES, Exit, Refusal};
pub use output::Output;

/// Runs a verb; prints its answer or its error. The exit code is one of [`EXIT_CODES`].
pub async fn run(verb: Verb, out: &mut Output) -> ExitCode {
    run_to_exit(verb, out).await.into()
}

/// As [`run`], with an exit status that can be compared.
pub async fn run_to_exit(verb: Verb, out: &mut Output) -> Exit {
    let format = verb.format();
    match verbs::execute(verb, out).await {
        Ok(()) => Exit::Ok,
        Err(error) => {
            out.error(&error, format);
            error.exit()
        }
    }
}
