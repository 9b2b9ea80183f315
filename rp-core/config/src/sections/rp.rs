//! `[rp]`: the resource provider's API, and who may call it (`contract/frontend.md` §1, §3).

mod callers;
mod install;
mod investigate;
mod operator;
mod resources;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use rp_settings::check::{missing_once, pair};
use rp_settings::{
    Key, Kind, Reader, SecretFile, Section, duration, listen, optional_file, optional_text, origin, read_by,
    secret, section, switch,
};
use url::Url;

pub use callers::{AdminCallers, ArmCallers, CallerCertificate, TokenCheck, TokenPolicy, Tokens};
pub use install::{RpFeatures, RpInstall};
pub use investigate::RpInvestigate;
pub use operator::RpOperator;
pub use resources::{RpOidc, RpResources};

use super::tls::Tls;

section! {
    /// The resource provider's API, and who may call it.
    "rp" pub struct RpApi {
        /// Whether `aro serve` runs the resource provider's API; `aro rp` always does.
        enabled: bool = switch(false),
        /// Where ARM and the admin tool call.
        listen: SocketAddr = listen("127.0.0.1:8443"),
        /// The API's address in answers to requests without a `Referer`; ARM always sends one.
        url: Option<Url> = origin("https://localhost:8443"),
        /// PEM: the API's certificate, then the chain; else that of `[tls]`.
        cert_file: Option<PathBuf> = optional_file(),
        /// PEM: its private key.
        key_file: Option<SecretFile> = secret(),
        /// The domain of clusters without one of their own, such as `eastus.aroapp.io`.
        domain: Option<String> = optional_text().also("DOMAIN_NAME"),
        /// Whether new clusters reach the outside through the gateway.
        gateway: bool = switch(true),
        /// Workers of new clusters must be of a size with two cores, as in development.
        d2s_workers: bool = switch(false),
    }
}

section! {
    /// How the API answers.
    "rp" pub struct RpAnswers {
        /// Hosts that a `Referer` may name (`.x`: below x, `*`: any), for addresses in answers; empty: the cloud's ARM
        /// and ours.
        referers: Vec<String> = read_by(Kind::Texts, "", referers),
        /// From the start until the API says that it is ready.
        ready_delay: Duration = duration("2m"),
        /// How long the head of a request may take once it has begun, and then its body.
        read_time: Duration = duration("10s"),
        /// What `Retry-After` says of an operation that runs; at least 1s.
        poll_after: Duration = duration("10s"),
    }
}

pub(crate) const SECTION: Section = &[
    RpApi::GROUP,
    RpResources::GROUP,
    RpOidc::GROUP,
    RpInstall::GROUP,
    RpFeatures::GROUP,
    RpOperator::GROUP,
    ArmCallers::GROUP,
    AdminCallers::GROUP,
    Tokens::GROUP,
    RpInvestigate::GROUP,
    RpAnswers::GROUP,
];

/// Settings of the resource provider.
#[derive(Debug, Clone)]
pub struct Rp {
    pub api: RpApi,
    /// Its own certificate, else that of `[tls]`.
    pub tls: Option<Tls>,
    /// Where in Azure the resource provider itself is; `None`: no workers run here.
    pub resources: Option<RpResources>,
    /// `None`: clusters with workload identities are refused.
    pub oidc: Option<RpOidc>,
    pub install: RpInstall,
    pub features: RpFeatures,
    pub operator: RpOperator,
    pub arm: ArmCallers,
    pub admin: AdminCallers,
    pub tokens: Tokens,
    pub investigate: RpInvestigate,
    pub answers: RpAnswers,
}

fn referers(r: &mut Reader, key: &'static Key) -> Vec<String> {
    r.texts(key).into_iter().map(|host| host.to_ascii_lowercase()).collect()
}

pub(crate) fn read(r: &mut Reader, tls: Option<&Tls>) -> Rp {
    let api = RpApi::read(r);
    pair(r, ("rp.cert_file", api.cert_file.is_some()), ("rp.key_file", api.key_file.is_some()));
    let own = api.cert_file.clone().zip(api.key_file.clone());
    let own = own.map(|(cert_file, key_file)| Tls { cert_file, key_file, ca_file: None });
    let (resources, oidc) = resources::read(r);
    let (install, features) = install::read(r);
    let rp = Rp {
        tls: own.or_else(|| tls.cloned()),
        resources,
        oidc,
        install,
        features,
        operator: RpOperator::read(r),
        arm: callers::arm(r),
        admin: callers::admin(r),
        tokens: callers::tokens(r),
        investigate: investigate::read(r),
        answers: RpAnswers::read(r),
        api,
    };
    if rp.api.enabled && rp.tls.is_none() && !r.is_set("tls.cert_file") {
        missing_once(r, "rp.cert_file", "is needed with rp.enabled, or tls.cert_file in its place");
    }
    rp
}
