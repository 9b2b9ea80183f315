//! `[rp]`: the resource provider's API, and who may call it (`contract/frontend.md` §1, §3).

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use url::Url;

use crate::check;
use crate::reader::Reader;
use crate::settings::Tls;

/// Settings of the resource provider.
#[derive(Debug, Clone)]
pub struct Rp {
    /// Whether `aro serve` runs it; `aro rp` always does.
    pub enabled: bool,
    pub listen: SocketAddr,
    /// Our address in answers to callers that do not say by what address they called.
    pub url: Option<Url>,
    /// Its own certificate, else that of `[tls]`.
    pub tls: Option<Tls>,
    /// Of clusters without a domain of their own, such as `eastus.aroapp.io`.
    pub domain: Option<String>,
    /// New clusters reach the outside through the gateway.
    pub gateway: bool,
    /// Workers of new clusters must have two cores.
    pub d2s_workers: bool,
    /// Where in Azure the resource provider itself is; `None`: no workers run here.
    pub place: Option<RpResources>,
    pub arm: ArmCallers,
    /// `None`: the admin API is off.
    pub admin: Option<CallerCertificate>,
    /// `None`: tokens are not looked at.
    pub tokens: Option<Tokens>,
    /// Roles of users of the admin API; all empty: every accepted certificate has all rights.
    pub admin_roles: AdminRoles,
    /// Further names of certificates of `admin`'s authorities, each with the role that its holders have at most:
    /// `reader`, `operator` or `elevated`.
    pub admin_certificates: Vec<(String, String)>,
    /// Hosts that a caller's `Referer` may name, lower case: `.x` for those below x, `*` for any; empty: ARM's and ours.
    pub referers: Vec<String>,
    /// From the start until the process says that it is ready.
    pub ready_delay: Duration,
    /// For the head of a request once it has begun, and then for its body.
    pub read_time: Duration,
    /// When callers are to ask for a running operation again.
    pub poll_after: Duration,
}

/// The resource provider's own resources in Azure.
#[derive(Debug, Clone)]
pub struct RpResources {
    pub subscription: String,
    pub tenant: String,
    pub group: String,
    pub gateway_group: String,
    /// Virtual network and subnet of private endpoints, in `group`.
    pub endpoint_vnet: String,
    pub endpoint_subnet: String,
    /// Of the container registry; empty: no tokens are made.
    pub registry_id: String,
    pub registry_host: String,
    /// Object id of the first-party application's service principal.
    pub service_principal: String,
    /// Client id of the managed identity; `None`: the first-party application is used instead.
    pub managed_identity: Option<String>,
    /// The vault of clusters' certificates; `None`: none are ordered.
    pub certificate_vault: Option<Url>,
    /// Its name in the vault.
    pub certificate_issuer: String,
    /// `None`: clusters with workload identities are refused.
    pub oidc: Option<RpOidc>,
}

/// Where the OpenID documents of clusters' issuers lie.
#[derive(Debug, Clone)]
pub struct RpOidc {
    /// Storage account.
    pub account: String,
    /// Where it is written; `None`: the cloud's address of the account.
    pub storage: Option<Url>,
    /// Where everybody reads: host and perhaps path, without scheme and slash at the end.
    pub endpoint: String,
}

/// How ARM's client certificates are recognised.
#[derive(Debug, Clone)]
pub struct ArmCallers {
    /// Where ARM publishes them; `None`: the cloud's address.
    pub metadata: Option<Url>,
    /// A CA to trust for that address beside the host's.
    pub metadata_ca_file: Option<PathBuf>,
    pub refresh: Duration,
    /// In the place of the published ones.
    pub certificate: Option<CallerCertificate>,
}

/// Certificates of these authorities with this name.
#[derive(Debug, Clone)]
pub struct CallerCertificate {
    pub ca_file: PathBuf,
    pub common_name: String,
}

/// Persons by what they may do over the admin API, as the calling tool names them; `*`: whomever it names.
#[derive(Debug, Clone, Default)]
pub struct AdminRoles {
    pub readers: Vec<String>,
    pub operators: Vec<String>,
    pub elevated: Vec<String>,
}

/// Bearer tokens of callers.
#[derive(Debug, Clone)]
pub struct Tokens {
    /// A certificate alone is not enough.
    pub required: bool,
    pub check: TokenCheck,
}

/// Who checks them.
#[derive(Debug, Clone)]
pub enum TokenCheck {
    /// A separate process on this machine.
    Mise { address: Url },
    /// This process.
    Own {
        issuer: Url,
        audience: String,
        applications: Vec<String>,
        roles: Vec<String>,
        ca_file: Option<PathBuf>,
    },
}

pub(crate) fn rp(r: &mut Reader<'_>, tls: Option<&Tls>) -> Rp {
    let (cert, key) = (r.file("rp.cert_file"), r.secret("rp.key_file"));
    check::pair(r, ("rp.cert_file", cert.is_some()), ("rp.key_file", key.is_some()));
    let own = cert.zip(key).map(|(cert_file, key_file)| Tls { cert_file, key_file, ca_file: None });
    let rp = Rp {
        enabled: r.switch("rp.enabled"),
        listen: r.listen("rp.listen"),
        url: r.origin("rp.url"),
        tls: own.or_else(|| tls.cloned()),
        domain: r.text("rp.domain"),
        gateway: r.switch("rp.gateway"),
        d2s_workers: r.switch("rp.d2s_workers"),
        place: place(r),
        arm: ArmCallers {
            metadata: r.origin("rp.arm_metadata"),
            metadata_ca_file: r.file("rp.arm_metadata_ca_file"),
            refresh: r.duration("rp.arm_refresh"),
            certificate: certificate(r, "rp.arm_ca_file", "rp.arm_common_name"),
        },
        admin: certificate(r, "rp.admin_ca_file", "rp.admin_common_name"),
        tokens: tokens(r),
        admin_roles: AdminRoles {
            readers: r.texts("rp.admin_readers"),
            operators: r.texts("rp.admin_operators"),
            elevated: r.texts("rp.admin_elevated"),
        },
        admin_certificates: admin_certificates(r),
        referers: r.texts("rp.referers").into_iter().map(|host| host.to_ascii_lowercase()).collect(),
        ready_delay: r.duration("rp.ready_delay"),
        read_time: r.duration("rp.read_time"),
        poll_after: r.duration("rp.poll_after"),
    };
    if rp.enabled && rp.tls.is_none() && !r.is_set("tls.cert_file") {
        check::missing_once(r, "rp.cert_file", "is needed with rp.enabled, or tls.cert_file in its place");
    }
    rp
}

/// All of it hangs on the subscription.
fn place(r: &mut Reader<'_>) -> Option<RpResources> {
    let (oidc, certificate_vault) = (oidc(r), r.url("rp.certificate_vault"));
    let managed_identity = r.text("rp.managed_identity");
    let mut text = |key| r.text(key).unwrap_or_default();
    let place = RpResources {
        subscription: text("rp.subscription"),
        tenant: text("rp.tenant"),
        group: text("rp.group"),
        gateway_group: text("rp.gateway_group"),
        endpoint_vnet: text("rp.endpoint_vnet"),
        endpoint_subnet: text("rp.endpoint_subnet"),
        registry_id: text("rp.registry_id"),
        registry_host: text("rp.registry_host"),
        service_principal: text("rp.service_principal"),
        managed_identity,
        certificate_vault,
        certificate_issuer: text("rp.certificate_issuer"),
        oidc,
    };
    if place.subscription.is_empty() {
        return None;
    }
    for key in ["rp.tenant", "rp.group"] {
        if !r.is_set(key) {
            check::missing_once(r, key, "is needed with rp.subscription");
        }
    }
    Some(place)
}

fn oidc(r: &mut Reader<'_>) -> Option<RpOidc> {
    let (account, storage) = (r.text("rp.oidc_account"), r.url("rp.oidc_storage"));
    let endpoint = r.text("rp.oidc_endpoint");
    check::pair(r, ("rp.oidc_account", account.is_some()), ("rp.oidc_endpoint", endpoint.is_some()));
    let (account, endpoint) = (account?, endpoint?);
    let bare = endpoint.strip_prefix("https://").unwrap_or(&endpoint).trim_end_matches('/').to_owned();
    Some(RpOidc { account, storage, endpoint: bare })
}

/// Both or none.
fn certificate(r: &mut Reader<'_>, ca: &'static str, name: &'static str) -> Option<CallerCertificate> {
    let (ca_file, common_name) = (r.file(ca), r.text(name));
    check::pair(r, (ca, ca_file.is_some()), (name, common_name.is_some()));
    Some(CallerCertificate { ca_file: ca_file?, common_name: common_name? })
}

/// `NAME=ROLE` each.
fn admin_certificates(r: &mut Reader<'_>) -> Vec<(String, String)> {
    const KEY: &str = "rp.admin_certificates";
    let (told, mut named) = (r.texts(KEY), Vec::new());
    for text in &told {
        match text.rsplit_once('=').map(|(name, role)| (name.trim(), role.trim())) {
            Some((name, role @ ("reader" | "operator" | "elevated"))) if !name.is_empty() => {
                named.push((name.to_owned(), role.to_owned()));
            }
            _ => r.mistake(KEY, format!("{text:?} is not NAME=reader, NAME=operator or NAME=elevated")),
        }
    }
    if !told.is_empty() && !r.is_set("rp.admin_ca_file") {
        check::missing_once(r, "rp.admin_ca_file", "is needed with rp.admin_certificates");
    }
    named
}

fn tokens(r: &mut Reader<'_>) -> Option<Tokens> {
    let word = r.word("rp.tokens");
    let (mise, issuer) = (r.origin("rp.mise"), r.url("rp.token_issuer"));
    let (audience, ca_file) = (r.text("rp.token_audience"), r.file("rp.token_ca_file"));
    let (applications, roles) = (r.texts("rp.token_applications"), r.texts("rp.token_roles"));
    if word == "off" {
        return None;
    }
    if mise.is_some() && issuer.is_some() {
        r.mistake("rp.token_issuer", "stands beside rp.mise: leave one of them out");
    }
    let check = match mise {
        Some(address) => TokenCheck::Mise { address },
        None => {
            let needed = [("rp.token_issuer", issuer.is_some()), ("rp.token_audience", audience.is_some())];
            for (key, there) in needed {
                if !there && !r.is_set(key) {
                    let message = format!("is needed with rp.tokens = \"{word}\", or rp.mise in its place");
                    check::missing_once(r, key, &message);
                }
            }
            if applications.is_empty() {
                check::missing_once(r, "rp.token_applications", "is needed: tokens of which applications?");
            }
            TokenCheck::Own { issuer: issuer?, audience: audience?, applications, roles, ca_file }
        }
    };
    Some(Tokens { required: word == "require", check })
}
