//! All settings: the list of the sections, and the typed tree. No secret is in it, only the names of files.

use std::path::PathBuf;

use rp_settings::{Catalogue, Input, Mistakes, Reader};

use crate::sections::access::{self, Access, Elevation, Imports, Robots};
use crate::sections::audit::{self, Audit};
use crate::sections::azure::{self, Azure};
use crate::sections::backend::{self, Backend};
use crate::sections::limits::Limits;
use crate::sections::listen::{self, Listen};
use crate::sections::maintenance::{self, Maintenance};
use crate::sections::metrics::{Log, Metrics};
use crate::sections::monitor::{self, Monitor};
use crate::sections::notify::{self, Notify};
use crate::sections::oidc::{self, Oidc, Roles};
use crate::sections::portal::{self, Portal, Proxy};
use crate::sections::private_link::{self, LinkKeys, PrivateLink};
use crate::sections::prometheus::Prometheus;
use crate::sections::recording::{self, Recording};
use crate::sections::rp::{self, Rp};
use crate::sections::session::{self, Session};
use crate::sections::store::{self, Keys, Store};
use crate::sections::terminal::{self, Ssh, Terminal};
use crate::sections::tls::{self, Tls, TlsKeys};

/// Every section, in the order of the reference.
pub(crate) const CATALOGUE: Catalogue = Catalogue(&[
    &[Listen::GROUP],
    &[Portal::GROUP],
    &[Proxy::GROUP],
    &[TlsKeys::GROUP],
    store::SECTION,
    &[Keys::GROUP],
    oidc::SECTION,
    &[Roles::GROUP],
    &[Session::GROUP],
    &[Access::GROUP],
    &[Elevation::GROUP],
    &[Robots::GROUP],
    &[Imports::GROUP],
    &[Prometheus::GROUP],
    &[Monitor::GROUP],
    &[Backend::GROUP],
    &[Maintenance::GROUP],
    &[Notify::GROUP],
    rp::SECTION,
    recording::SECTION,
    &[Ssh::GROUP],
    &[Terminal::GROUP],
    &[Audit::GROUP],
    &[Limits::GROUP],
    &[Azure::GROUP],
    &[LinkKeys::GROUP],
    &[Metrics::GROUP],
    &[Log::GROUP],
]);

/// Every setting. Keys that a role needs ([`crate::needs`]) are there when it named them.
#[derive(Debug, Clone)]
pub struct Settings {
    pub listen: Listen,
    pub portal: Portal,
    pub proxy: Proxy,
    pub tls: Option<Tls>,
    pub store: Store,
    pub keys: Keys,
    pub oidc: Option<Oidc>,
    pub roles: Roles,
    pub session: Session,
    pub access: Access,
    pub elevation: Elevation,
    pub robots: Robots,
    pub imports: Imports,
    pub prometheus: Prometheus,
    pub monitor: Monitor,
    pub backend: Backend,
    pub maintenance: Maintenance,
    pub notify: Notify,
    pub rp: Rp,
    pub recording: Recording,
    pub terminal: Terminal,
    pub ssh: Ssh,
    pub audit: Audit,
    pub limits: Limits,
    pub azure: Azure,
    pub private_link: PrivateLink,
    pub metrics: Metrics,
    pub log: Log,
    followed: Vec<(&'static str, PathBuf)>,
}

/// Reads settings. Pure: no file is opened, no environment read, no name resolved.
///
/// # Errors
/// Every mistake at once: unknown keys, wrong shapes, missing keys, keys that contradict each other.
pub fn parse(input: &Input<'_>) -> Result<Settings, Mistakes> {
    CATALOGUE.read(input, assemble)
}

/// The reference page, Markdown.
pub fn reference_markdown() -> String {
    CATALOGUE.reference()
}

/// Reads every key, section by section.
fn assemble(r: &mut Reader) -> Settings {
    let store = store::read(r);
    let listen = listen::read(r, &store);
    let portal = Portal::read(r);
    let proxy = portal::read_proxy(r, &portal);
    let audit = audit::read(r, &store.kind);
    let tls = tls::read(r);
    Settings {
        listen,
        portal,
        proxy,
        rp: rp::read(r, tls.as_ref()),
        tls,
        store,
        keys: Keys::read(r),
        oidc: oidc::read(r),
        roles: Roles::read(r),
        session: session::read(r),
        access: access::read(r),
        elevation: Elevation::read(r),
        robots: Robots::read(r),
        imports: Imports::read(r),
        prometheus: Prometheus::read(r),
        monitor: monitor::read(r),
        backend: backend::read(r),
        maintenance: maintenance::read(r),
        notify: notify::read(r),
        recording: recording::read(r),
        terminal: Terminal::read(r),
        ssh: terminal::read_ssh(r),
        audit,
        limits: Limits::read(r),
        azure: azure::read(r),
        private_link: private_link::read(r),
        metrics: Metrics::read(r),
        log: Log::read(r),
        followed: r.followed().to_vec(),
    }
}

impl Settings {
    /// The files that these sections say to read again when they change.
    pub fn followed(&self, sections: &[&str]) -> Vec<PathBuf> {
        let named = |key: &str| key.split_once('.').is_some_and(|(section, _)| sections.contains(&section));
        self.followed.iter().filter(|(key, _)| named(key)).map(|(_, file)| file.clone()).collect()
    }
}

#[cfg(test)]
mod tests;
