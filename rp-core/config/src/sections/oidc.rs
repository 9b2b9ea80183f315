//! `[oidc]` and `[roles]`: the provider, and which of its groups make whom.

use std::path::PathBuf;

use rp_settings::check::missing_once;
use rp_settings::{
    Key, Kind, Reader, SecretFile, Section, groups, optional_file, optional_text, read_by, secret, section,
    text, texts, url, values,
};
use url::Url;

section! {
    /// The OpenID Connect provider. Exactly one of a client secret or a key with its certificate.
    "oidc" pub(crate) struct Client {
        /// The provider's issuer.
        issuer: Option<Url> = url(),
        /// Our client id at the provider.
        client_id: Option<String> = optional_text().also("AZURE_PORTAL_CLIENT_ID"),
        /// File with the client secret.
        client_secret_file: Option<SecretFile> = secret(),
        /// PEM: RSA key of the client assertion (private_key_jwt).
        client_key_file: Option<SecretFile> = secret(),
        /// PEM: the certificate of that key; its thumbprint is sent along.
        client_cert_file: Option<PathBuf> = optional_file(),
    }
}

section! {
    /// What is asked of the provider.
    "oidc" pub struct OidcOptions {
        /// Scopes to ask for.
        scopes: Vec<String> = texts("openid,profile"),
        /// The claim of the ID token by which clusters and the audit log know a person, such as `oid` or `sub`, which
        /// nobody can change; unset: `preferred_username`, else an `email` that is verified, else `sub`.
        identity_claim: Option<String> = optional_text(),
        /// The claim of the ID token that lists groups.
        groups_claim: String = text("groups"),
        /// Where groups are asked for that do not fit into a token: `token` (nowhere: a page explains), `userinfo`, or
        /// a URL that lists them.
        groups_from: GroupSource = read_by(Kind::Text, "token", groups_from),
        /// The audience of access tokens that applications present to the JSON API; empty: none is taken.
        api_audience: Option<String> = optional_text(),
        /// PEM: a CA to trust for the provider, beside the system's.
        ca_file: Option<PathBuf> = optional_file(),
    }
}

section! {
    /// Which of the provider's groups make whom.
    "roles" pub struct Roles {
        /// Groups whose people see lists and pages.
        viewer: Vec<String> = groups(),
        /// Groups whose people also get read grants.
        sre: Vec<String> = groups().also("AZURE_PORTAL_ACCESS_GROUP_IDS"),
        /// Groups whose people may get write and admin rights.
        elevated: Vec<String> = groups().also("AZURE_PORTAL_ELEVATED_GROUP_IDS"),
        /// Groups whose people decide on elevations.
        approver: Vec<String> = groups(),
        /// Groups whose people read the audit log and all grants.
        auditor: Vec<String> = groups(),
        /// Groups whose people import clusters and revoke anything.
        admin: Vec<String> = groups(),
    }
}

pub(crate) const SECTION: Section = &[Client::GROUP, OidcOptions::GROUP];

/// There when the issuer is.
#[derive(Debug, Clone)]
pub struct Oidc {
    pub issuer: Url,
    pub client_id: String,
    pub credential: OidcCredential,
    pub options: OidcOptions,
}

/// How we show the provider who we are.
#[derive(Debug, Clone)]
pub enum OidcCredential {
    /// `client_secret_basic` or `client_secret_post`.
    Secret(SecretFile),
    /// `private_key_jwt` (RFC 7523); the certificate's thumbprint goes into the header.
    Key { key_file: SecretFile, cert_file: Option<PathBuf> },
}

/// Where to read groups that do not fit into a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupSource {
    Token,
    Userinfo,
    Address(Url),
}

fn groups_from(r: &mut Reader, key: &'static Key) -> GroupSource {
    let text = r.text(key).unwrap_or_default();
    match text.as_str() {
        "" | "token" => GroupSource::Token,
        "userinfo" => GroupSource::Userinfo,
        // Its query string is not interpreted here.
        text => values::url(text.split('?').next().unwrap_or_default())
            .and_then(|_| Url::parse(text).ok())
            .map_or_else(
                || {
                    let message = "must be token, userinfo, or a URL such as \"https://host/path\"";
                    r.mistake(key.path, message);
                    GroupSource::Token
                },
                GroupSource::Address,
            ),
    }
}

/// A provider with exactly one way to show it who we are.
pub(crate) fn read(r: &mut Reader) -> Option<Oidc> {
    let (client, options) = (Client::read(r), OidcOptions::read(r));
    if r.is_set("oidc.issuer") && client.client_id.is_none() && !r.is_set("oidc.client_id") {
        missing_once(r, "oidc.client_id", "is needed with oidc.issuer");
    }
    if client.client_cert_file.is_some() && client.client_key_file.is_none() {
        r.mistake("oidc.client_cert_file", "needs oidc.client_key_file, the key of the certificate");
    }
    if client.client_key_file.is_some()
        && client.client_secret_file.is_none()
        && !r.is_set("oidc.client_cert_file")
    {
        missing_once(
            r,
            "oidc.client_cert_file",
            "is needed with oidc.client_key_file: its thumbprint names the key",
        );
    }
    if r.is_set("oidc.scopes") && !options.scopes.iter().any(|scope| scope == "openid") {
        r.mistake("oidc.scopes", "must contain openid");
    }
    let Client { issuer, client_id, client_secret_file, client_key_file, client_cert_file } = client;
    let credential = credential(r, client_secret_file, client_key_file, client_cert_file)?;
    Some(Oidc { issuer: issuer?, client_id: client_id?, credential, options })
}

fn credential(
    r: &mut Reader,
    secret: Option<SecretFile>,
    key: Option<SecretFile>,
    cert_file: Option<PathBuf>,
) -> Option<OidcCredential> {
    match (secret, key) {
        (Some(secret), None) => return Some(OidcCredential::Secret(secret)),
        (None, Some(key_file)) => return Some(OidcCredential::Key { key_file, cert_file }),
        (Some(_), Some(_)) => {
            r.mistake("oidc.client_key_file", "stands beside oidc.client_secret_file: leave one of them out");
        }
        (None, None) => {
            if r.is_set("oidc.issuer") {
                missing_once(
                    r,
                    "oidc.client_secret_file",
                    "is needed with oidc.issuer, or oidc.client_key_file in its place",
                );
            }
        }
    }
    None
}
