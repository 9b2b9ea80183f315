//! Who may call the resource provider.

use std::path::PathBuf;
use std::time::Duration;

use rp_settings::check::{missing_once, pair};
use rp_settings::{
    Key, Kind, Reader, Word as _, duration, optional_file, optional_text, origin, read_by, section, texts,
    url, word, words,
};
use url::Url;

section! {
    /// How ARM's client certificates are recognised.
    "rp" pub struct ArmCallers {
        /// Where ARM publishes the certificates that it calls with; empty: the cloud's address.
        arm_metadata: Option<Url> = origin(""),
        /// PEM: a CA to trust for that address beside the host's.
        arm_metadata_ca_file: Option<PathBuf> = optional_file(),
        /// How often they are read again.
        arm_refresh: Duration = duration("1h"),
        /// PEM: in the place of the published certificates, authorities whose certificates may call as ARM.
        arm_ca_file: Option<PathBuf> = optional_file(),
        /// The common name that those certificates must have.
        arm_common_name: Option<String> = optional_text().also("ARM_API_CLIENT_CERT_COMMON_NAME"),
    }
}

section! {
    /// Who may call the admin API; without authorities it is off.
    "rp" pub struct AdminCallers {
        /// PEM: authorities whose certificates may call the admin API; empty: nobody may.
        admin_ca_file: Option<PathBuf> = optional_file(),
        /// The common name that those certificates must have.
        admin_common_name: Option<String> = optional_text().also("ADMIN_API_CLIENT_CERT_COMMON_NAME"),
        /// Persons for whom the admin tool may read, as it names them in `X-Ms-Client-Principal-Name`; `*`: all.
        admin_readers: Vec<String> = texts(""),
        /// Persons for whom it may also change clusters, read consoles and take kubeconfigs that read.
        admin_operators: Vec<String> = texts(""),
        /// Persons for whom it may also take all rights and shells; no list set: everybody may do everything.
        admin_elevated: Vec<String> = texts(""),
        /// Further common names of those authorities, `NAME=ROLE`: `reader`, `operator` or `elevated` is the most that
        /// they may.
        admin_certificates: Vec<(String, String)> = read_by(Kind::Texts, "", admin_certificates),
    }
}

section! {
    /// Bearer tokens of callers.
    "rp" pub struct Tokens {
        /// Bearer tokens of ARM: not looked at, taken in the place of a certificate, or needed.
        tokens: TokenPolicy = word("off"),
        /// The process that checks tokens; empty: this one does.
        mise: Option<Url> = origin("").also("MISE_ADDRESS"),
        /// Who issues them: an OpenID provider with a configuration.
        token_issuer: Option<Url> = url(),
        /// For whom they are.
        token_audience: Option<String> = optional_text(),
        /// The applications that may call (`appid` or `azp`).
        token_applications: Vec<String> = texts(""),
        /// One of these roles must be in a token; empty: none is asked for.
        token_roles: Vec<String> = texts(""),
        /// PEM: a CA to trust for the issuer beside the host's.
        token_ca_file: Option<PathBuf> = optional_file(),
    }
}

words! {
    /// What becomes of a token.
    pub enum TokenPolicy {
        /// It is not looked at.
        Off = "off",
        /// Taken in the place of a certificate.
        Accept = "accept",
        /// A certificate alone is not enough.
        Require = "require",
    }
}

/// Certificates of these authorities with this name.
#[derive(Debug, Clone)]
pub struct CallerCertificate<'a> {
    pub ca_file: &'a PathBuf,
    pub common_name: &'a str,
}

/// Who checks tokens.
#[derive(Debug, Clone)]
pub enum TokenCheck<'a> {
    /// A separate process on this machine.
    Mise { address: &'a Url },
    /// This process.
    Own { issuer: &'a Url, audience: &'a str },
}

fn certificate<'a>(ca: Option<&'a PathBuf>, name: Option<&'a String>) -> Option<CallerCertificate<'a>> {
    ca.zip(name).map(|(ca_file, common_name)| CallerCertificate { ca_file, common_name })
}

impl ArmCallers {
    /// In the place of the published ones.
    pub fn certificate(&self) -> Option<CallerCertificate<'_>> {
        certificate(self.arm_ca_file.as_ref(), self.arm_common_name.as_ref())
    }
}

impl AdminCallers {
    /// `None`: the admin API is off.
    pub fn certificate(&self) -> Option<CallerCertificate<'_>> {
        certificate(self.admin_ca_file.as_ref(), self.admin_common_name.as_ref())
    }
}

impl Tokens {
    /// `None`: tokens are not looked at.
    pub fn check(&self) -> Option<TokenCheck<'_>> {
        if self.tokens == TokenPolicy::Off {
            return None;
        }
        if let Some(address) = &self.mise {
            return Some(TokenCheck::Mise { address });
        }
        let (issuer, audience) = (self.token_issuer.as_ref()?, self.token_audience.as_deref()?);
        Some(TokenCheck::Own { issuer, audience })
    }
}

pub(super) fn arm(r: &mut Reader) -> ArmCallers {
    let arm = ArmCallers::read(r);
    let name = ("rp.arm_common_name", arm.arm_common_name.is_some());
    pair(r, ("rp.arm_ca_file", arm.arm_ca_file.is_some()), name);
    arm
}

pub(super) fn admin(r: &mut Reader) -> AdminCallers {
    let admin = AdminCallers::read(r);
    let name = ("rp.admin_common_name", admin.admin_common_name.is_some());
    pair(r, ("rp.admin_ca_file", admin.admin_ca_file.is_some()), name);
    admin
}

/// `NAME=ROLE` each.
fn admin_certificates(r: &mut Reader, key: &'static Key) -> Vec<(String, String)> {
    let (given, mut named) = (r.texts(key), Vec::new());
    for text in &given {
        match text.rsplit_once('=').map(|(name, role)| (name.trim(), role.trim())) {
            Some((name, role @ ("reader" | "operator" | "elevated"))) if !name.is_empty() => {
                named.push((name.to_owned(), role.to_owned()));
            }
            _ => r.mistake(key.path, format!("{text:?} is not NAME=reader, NAME=operator or NAME=elevated")),
        }
    }
    if !given.is_empty() && !r.is_set("rp.admin_ca_file") {
        missing_once(r, "rp.admin_ca_file", "is needed with rp.admin_certificates");
    }
    named
}

pub(super) fn tokens(r: &mut Reader) -> Tokens {
    let tokens = Tokens::read(r);
    if tokens.tokens == TokenPolicy::Off {
        return tokens;
    }
    if tokens.mise.is_some() && tokens.token_issuer.is_some() {
        r.mistake("rp.token_issuer", "stands beside rp.mise: leave one of them out");
    }
    if tokens.mise.is_none() {
        let word = tokens.tokens.word();
        let needed = [
            ("rp.token_issuer", tokens.token_issuer.is_some()),
            ("rp.token_audience", tokens.token_audience.is_some()),
        ];
        for (key, there) in needed {
            if !there && !r.is_set(key) {
                let message = format!("is needed with rp.tokens = \"{word}\", or rp.mise in its place");
                missing_once(r, key, &message);
            }
        }
        if tokens.token_applications.is_empty() {
            missing_once(r, "rp.token_applications", "is needed: tokens of which applications?");
        }
    }
    tokens
}
