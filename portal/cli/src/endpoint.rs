//! The portal to call and the credential to use: from the command line, else from the profile.

use reqwest::header::HeaderValue;
use rp_base::Secret;
use url::Url;

use crate::args::Connection;
use crate::profile::{Profile, Settings};
use crate::{CliError, files, tls};

/// The credential of a request.
pub(crate) enum Credential {
    None,
    Bearer(HeaderValue),
    Cookie(HeaderValue),
}

/// A portal and a credential for it.
pub(crate) struct PortalEndpoint {
    pub(crate) portal: Url,
    pub(crate) credential: Credential,
    /// Authorities to trust beside the system's, PEM.
    pub(crate) ca: Option<String>,
    /// What to run when the portal does not know the credential; empty where signing in does not help.
    pub(crate) sign_in: String,
}

impl PortalEndpoint {
    /// A profile's token goes to the profile's portal only.
    pub(crate) fn from_connection(connection: &Connection) -> Result<Self, CliError> {
        let profile = Profile::named(connection.config_dir.as_deref(), connection.profile.as_deref());
        let settings = match &profile {
            Ok(profile) => profile.settings()?,
            Err(_) => None,
        };
        let portal = match (&connection.portal, &settings) {
            (Some(portal), _) => portal.clone(),
            (None, Some(settings)) => settings.portal.clone(),
            (None, None) => {
                let command = format!("{} --portal https://…", profile?.sign_in_command(None));
                return Err(CliError::NotSignedIn { why: "you are not signed in to a portal", command });
            }
        };
        is_safe(&portal)?;
        let remembered = settings.filter(|settings| settings.portal.origin() == portal.origin());
        let (credential, sign_in) = match given(connection)? {
            Some(credential) => (credential, String::new()),
            None => signed_in(&profile?, remembered.as_ref(), &portal)?,
        };
        let ca = match &connection.ca_file {
            Some(file) => Some(tls::authorities(file)?),
            None => remembered.and_then(|settings| settings.ca),
        };
        Ok(Self { portal, credential, ca, sign_in })
    }

    /// Without a credential.
    pub(crate) fn anonymous(portal: &Url, ca: Option<String>) -> Result<Self, CliError> {
        is_safe(portal)?;
        Ok(Self { portal: portal.clone(), credential: Credential::None, ca, sign_in: String::new() })
    }
}

/// The credential of a file that the command line names.
fn given(connection: &Connection) -> Result<Option<Credential>, CliError> {
    if let Some(file) = &connection.session_cookie_file {
        let line = files::read_line(file)?;
        let cookie = line.expose().strip_prefix("Cookie: ").unwrap_or(line.expose());
        return Ok(Some(Credential::Cookie(secret_header(cookie)?)));
    }
    match &connection.token_file {
        Some(file) => bearer(&files::read_line(file)?).map(Some),
        None => Ok(None),
    }
}

/// The profile's credential, and the command that gives a new one.
fn signed_in(
    profile: &Profile,
    remembered: Option<&Settings>,
    portal: &Url,
) -> Result<(Credential, String), CliError> {
    let command = profile.sign_in_command(Some(portal));
    if remembered.is_none() {
        return Err(CliError::NotSignedIn { why: "you are not signed in to this portal", command });
    }
    Ok((bearer(&profile.living_token(portal)?)?, command))
}

/// Credentials go over TLS, or to this machine.
fn is_safe(portal: &Url) -> Result<(), CliError> {
    if !matches!(portal.scheme(), "https" | "http") || portal.host_str().is_none() {
        return Err(CliError::Usage("--portal must be an http or https address".to_owned()));
    }
    if portal.scheme() == "http" && !is_loopback(portal) {
        return Err(CliError::Usage(
            "--portal must be https: a credential is not sent in the clear".to_owned(),
        ));
    }
    Ok(())
}

fn bearer(token: &Secret<String>) -> Result<Credential, CliError> {
    let bearer = Secret::new(format!("Bearer {}", token.expose()));
    Ok(Credential::Bearer(secret_header(bearer.expose())?))
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

/// A header that is never shown.
pub(crate) fn secret_header(text: &str) -> Result<HeaderValue, CliError> {
    let mut value = HeaderValue::from_str(text)
        .map_err(|_| CliError::Usage("the credential is not plain text".to_owned()))?;
    value.set_sensitive(true);
    Ok(value)
}
