//! `aro credential`: what kubectl runs for a token (client.authentication.k8s.io/v1).

use std::io::IsTerminal as _;

use rp_base::{Clock as _, SystemClock};
use serde_json::{Value, json};

use super::sign_in;
use crate::args::{Connection, CredentialArgs, Format};
use crate::cache::{Cache, Cached};
use crate::client::Client;
use crate::profile::Profile;
use crate::sign_in::SignInMethod;
use crate::{CliError, Exit, Output};

pub(super) async fn run(args: CredentialArgs, out: &mut Output) -> Result<(), CliError> {
    let profile = Profile::named(args.config_dir.as_deref(), Some(&args.profile))?;
    let cache = Cache::for_grant(&profile, &args.grant)?;
    let cached = match cache.fresh()? {
        Some(cached) => cached,
        None => fetch(&args, &profile, &cache, out).await?,
    };
    out.raw(cached.exec_credential().expose())
}

async fn fetch(
    args: &CredentialArgs,
    profile: &Profile,
    cache: &Cache,
    out: &mut Output,
) -> Result<Cached, CliError> {
    let lock = cache.lock(profile).await?;
    if let Some(cached) = cache.fresh()? {
        return Ok(cached);
    }
    let connection = connection(args);
    let mut renewed = renew(&connection, &args.grant).await;
    // A process that waited for another process's sign-in does not start one more.
    let may_ask = !lock.waited && args.token_file.is_none() && is_interactive();
    if may_ask && renewed.as_ref().is_err_and(|error| error.exit() == Exit::NotSignedIn) {
        out.note("Your sign-in has ended.");
        sign_in::again(profile, SignInMethod::detect(), out).await?;
        renewed = renew(&connection, &args.grant).await;
    }
    match renewed {
        Ok(cached) => {
            cache.keep(&lock, &cached)?;
            Ok(cached)
        }
        Err(error) => {
            if matches!(error.exit(), Exit::NotAllowed | Exit::NotFound | Exit::Usage) {
                cache.forget();
            }
            Err(error)
        }
    }
}

/// A token of a grant without a word to anybody: the one that is kept, else a new one.
///
/// # Errors
/// The portal gives none, such as when the sign-in has ended.
pub(super) async fn silent(
    connection: &Connection,
    profile: &Profile,
    grant: &str,
) -> Result<Cached, CliError> {
    let cache = Cache::for_grant(profile, grant)?;
    if let Some(cached) = cache.fresh()? {
        return Ok(cached);
    }
    let lock = cache.lock(profile).await?;
    if let Some(cached) = cache.fresh()? {
        return Ok(cached);
    }
    let cached = renew(connection, grant).await?;
    cache.keep(&lock, &cached)?;
    Ok(cached)
}

async fn renew(connection: &Connection, grant: &str) -> Result<Cached, CliError> {
    let client = Client::new(connection)?;
    let taken = SystemClock.now();
    let mut answer = client.post(&format!("/api/v1/grants/{grant}/token"), &json!({})).await?;
    if let Some(members) = answer.as_object_mut() {
        members.insert("taken".to_owned(), json!(taken));
    }
    serde_json::from_value(answer).map_err(|_| CliError::Answer("no token"))
}

/// Only what the kubeconfig says: the environment of a shell may be about another portal.
fn connection(args: &CredentialArgs) -> Connection {
    Connection {
        portal: args.portal.clone(),
        profile: Some(args.profile.clone()),
        token_file: args.token_file.clone(),
        session_cookie_file: None,
        ca_file: args.ca_file.clone(),
        config_dir: args.config_dir.clone(),
        output: Format::Table,
    }
}

/// Whether a person can answer: from kubectl's exec info, else whether there is a terminal.
fn is_interactive() -> bool {
    let said = std::env::var("KUBERNETES_EXEC_INFO").ok();
    let said: Option<Value> = said.and_then(|text| serde_json::from_str(&text).ok());
    match said.as_ref().and_then(|info| info.pointer("/spec/interactive")).and_then(Value::as_bool) {
        Some(interactive) => interactive,
        None => std::io::stdin().is_terminal() && std::io::stderr().is_terminal(),
    }
}
