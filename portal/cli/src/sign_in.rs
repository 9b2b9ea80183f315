//! Signing in through the portal (`contract/rules.md` §5.4 "Sign-in of the CLI"): by a browser on this
//! machine, or by a code that is entered in a browser anywhere.

mod browser;
mod device;
mod loopback;

use rp_base::Secret;
use serde_json::Value;

use crate::client::Client;
use crate::profile::Token;
use crate::{CliError, Output};

/// Where the person signs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignInMethod {
    /// In a browser here.
    Browser {
        /// Whether we open it, or the person does.
        open: bool,
        /// Whether a sign-in from before is not enough.
        fresh: bool,
    },
    /// In a browser anywhere.
    Device,
}

impl SignInMethod {
    /// A browser where one can be shown.
    pub(crate) fn detect() -> Self {
        if browser::can_open() { Self::Browser { open: true, fresh: false } } else { Self::Device }
    }
}

/// Asks the person to sign in, and gives the token.
pub(crate) async fn sign_in(client: &Client, way: SignInMethod, out: &mut Output) -> Result<Token, CliError> {
    let answer = match way {
        SignInMethod::Browser { open, fresh } => loopback::sign_in(client, open, fresh, out).await?,
        SignInMethod::Device => device::sign_in(client, out).await?,
    };
    token(answer)
}

fn token(mut answer: Value) -> Result<Token, CliError> {
    let bad = CliError::Answer("no token");
    let person = match answer.get("person") {
        Some(Value::String(name)) => name.clone(),
        Some(person) => crate::output::cell(person, &["/name", "/sub"]),
        None => String::new(),
    };
    let not_after = answer.get("not_after").cloned().and_then(|at| serde_json::from_value(at).ok());
    let token = match answer.get_mut("token").map(Value::take) {
        Some(Value::String(token)) if !token.is_empty() => Secret::new(token),
        _ => return Err(bad),
    };
    Ok(Token { token, not_after: not_after.ok_or(bad)?, person })
}
