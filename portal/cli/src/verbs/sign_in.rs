//! `aro login`, `aro logout`, `aro whoami`

use serde_json::{Value, json};

use crate::args::{Connection, LoginArgs, LogoutArgs};
use crate::client::Client;
use crate::output::cell;
use crate::profile::{Profile, Settings, Token};
use crate::sign_in::{SignInMethod, sign_in};
use crate::{CliError, Output, tls};

pub(super) async fn login(args: LoginArgs, out: &mut Output) -> Result<(), CliError> {
    let profile = Profile::named(args.config_dir.as_deref(), args.profile.as_deref())?;
    let former = profile.settings()?;
    let portal =
        args.address.or(args.portal).or_else(|| former.as_ref().map(|settings| settings.portal.clone()));
    let portal = portal.ok_or_else(|| {
        CliError::Usage(format!("say where the portal is: {} https://…", profile.sign_in_command(None)))
    })?;
    let ca = match &args.ca_file {
        Some(file) => Some(tls::authorities(file)?),
        None => former.filter(|settings| settings.portal == portal).and_then(|settings| settings.ca),
    };
    let way = match (args.device, args.no_browser || args.fresh) {
        (true, _) => SignInMethod::Device,
        (false, true) => SignInMethod::Browser { open: !args.no_browser, fresh: args.fresh },
        (false, false) => SignInMethod::detect(),
    };
    let settings = Settings { portal, ca };
    let token = signed_in(&profile, &settings, way, out).await?;
    let answer = json!({
        "person": token.person,
        "portal": settings.portal,
        "profile": profile.name,
        "not_after": token.not_after,
    });
    out.value(args.output, &answer, |answer| {
        let said = format!("{} at {} until {}", cell(answer, &["/person"]), settings.portal, token.not_after);
        format!("signed in as {}\n", rp_base::text::clean(&said, 500))
    })
}

async fn signed_in(
    profile: &Profile,
    settings: &Settings,
    way: SignInMethod,
    out: &mut Output,
) -> Result<Token, CliError> {
    let client = Client::anonymous(&settings.portal, settings.ca.clone())?;
    let token = sign_in(&client, way, out).await?;
    profile.keep(settings, &token)?;
    Ok(token)
}

/// Signs in once more to where the profile was signed in.
pub(super) async fn again(profile: &Profile, way: SignInMethod, out: &mut Output) -> Result<(), CliError> {
    let settings = profile.settings()?.ok_or_else(|| CliError::NotSignedIn {
        why: "you are not signed in to a portal",
        command: profile.sign_in_command(None),
    })?;
    signed_in(profile, &settings, way, out).await.map(|_| ())
}

/// Forgets the sign-in here whatever the portal says, so that it is gone from this machine in any case.
pub(super) async fn logout(args: &LogoutArgs, out: &mut Output) -> Result<(), CliError> {
    let connection = &args.connection;
    let profile = Profile::named(connection.config_dir.as_deref(), connection.profile.as_deref())?;
    let told = match Client::new(connection) {
        Ok(client) => client.post("/api/v1/logout", &json!({ "grants": args.grants })).await,
        Err(error) => Err(error),
    };
    if connection.token_file.is_none() && connection.session_cookie_file.is_none() {
        profile.forget()?;
    }
    let answer = told?;
    out.value(connection.output, &answer, |_| "signed out\n".to_owned())
}

pub(super) async fn whoami(connection: &Connection, out: &mut Output) -> Result<(), CliError> {
    let mut answer = Client::new(connection)?.get("/api/info", &[]).await?;
    if let Some(members) = answer.as_object_mut() {
        // It guards a session; nobody needs to see it.
        members.remove("csrf");
    }
    out.value(connection.output, &answer, |answer| {
        let roles = answer
            .get("roles")
            .and_then(Value::as_array)
            .map(|roles| roles.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "));
        let mut lines = rp_base::text::clean(&cell(answer, &["/username", "/name"]), 200);
        if let Some(roles) = roles {
            lines.push_str(&format!("\nroles: {}", rp_base::text::clean(&roles, 500)));
        }
        lines + "\n"
    })
}
