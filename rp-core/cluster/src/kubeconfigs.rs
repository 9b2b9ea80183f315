//! The cluster's authorities and the four kubeconfigs that they sign (`contract/cluster.md` §12).
//!
//! They are made before the installation, once and in one write, so that a second run goes on with the same.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, SerialNumber,
};
use rp_base::{Random, Timestamp};
use rp_documents::OpenShiftCluster;
use rp_documents::cluster::{ClusterSecret, Worker};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::context::Context;
use crate::errors::StepError;
use crate::values::chosen;

const SIGNER: &str = "admin-kubeconfig-signer";
pub(crate) const ROOT: &str = "root-ca";

const DAY: Duration = Duration::from_hours(24);
const TEN_YEARS: Duration = Duration::from_hours(24 * 3650);
const YEAR: Duration = Duration::from_hours(24 * 365);
/// A customer's kubeconfig with less than this left is made anew.
const ENOUGH: Duration = Duration::from_hours(24 * 275);

/// A certificate and its key, PEM.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Authority {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

/// Who signs for the cluster. Sealed in the document; the installer gets it open.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Authorities {
    /// Signs clients of the API server.
    pub(crate) admin_kubeconfig_signer: Authority,
    /// Signs servers.
    #[serde(rename = "rootCA")]
    pub(crate) root: Authority,
}

/// One of the four.
struct KubeconfigKind {
    secret: ClusterSecret,
    user: &'static str,
    organisation: Option<&'static str>,
    life: Duration,
    /// Its API server is the one that the customer reaches, whose certificate the world knows.
    public: bool,
}

const KINDS: [KubeconfigKind; 4] = [
    KubeconfigKind {
        secret: ClusterSecret::AdminKubeconfig,
        user: "admin",
        organisation: Some("system:masters"),
        life: TEN_YEARS,
        public: false,
    },
    KubeconfigKind {
        secret: ClusterSecret::ServiceKubeconfig,
        user: "system:aro-service",
        organisation: Some("system:masters"),
        life: TEN_YEARS,
        public: false,
    },
    KubeconfigKind {
        secret: ClusterSecret::SreKubeconfig,
        user: "system:aro-sre",
        organisation: None,
        life: TEN_YEARS,
        public: false,
    },
    KubeconfigKind {
        secret: ClusterSecret::UserAdminKubeconfig,
        user: "system:admin",
        organisation: None,
        life: YEAR,
        public: true,
    },
];

/// Authorities, the first password and all kubeconfigs.
pub(crate) async fn generate_kubeconfigs(context: &Context) -> Result<(), StepError> {
    let document = context.document();
    let has = |secret: ClusterSecret| secret.sealed_in(&document).is_some();
    let kubeconfigs = KINDS.iter().map(|kind| kind.secret);
    if [ClusterSecret::ClusterAuthorities, ClusterSecret::KubeadminPassword]
        .into_iter()
        .chain(kubeconfigs)
        .all(has)
    {
        return Ok(());
    }
    let (random, now) = (&*context.env.random, context.env.clock.now());
    let authorities = match authorities(context)? {
        Some(authorities) => authorities,
        None => new_authorities(random, now)?,
    };
    let mut sealed = Vec::new();
    let mut seal = |secret: ClusterSecret, plain: String| -> Result<(), StepError> {
        sealed.push((secret, context.sealed(secret, plain.as_bytes())?));
        Ok(())
    };
    seal(
        ClusterSecret::ClusterAuthorities,
        serde_json::to_string(&authorities).map_err(|error| StepError::other(error.to_string()))?,
    )?;
    if !has(ClusterSecret::KubeadminPassword) {
        seal(ClusterSecret::KubeadminPassword, password(random))?;
    }
    for kind in &KINDS {
        seal(kind.secret, kubeconfig(kind, &authorities, context)?)?;
    }
    let change = move |cluster: &mut OpenShiftCluster, by: Worker| {
        for (secret, sealed) in &sealed {
            if let Some(member) = secret.outcome_mut(cluster) {
                member.set(by, sealed.clone());
            }
        }
    };
    context.patch(change).await.map(drop)
}

/// The service's people get theirs, where a cluster has none.
pub(crate) async fn fix_sre_kubeconfig(context: &Context) -> Result<(), StepError> {
    if ClusterSecret::SreKubeconfig.sealed_in(&context.document()).is_some() {
        return Ok(());
    }
    renew(context, ClusterSecret::SreKubeconfig).await
}

/// The customer's is made anew when it cannot be used for long any more.
pub(crate) async fn fix_user_admin_kubeconfig(context: &Context) -> Result<(), StepError> {
    let now = context.env.clock.now();
    let stored = context.secret(ClusterSecret::UserAdminKubeconfig).unwrap_or_default();
    if stored.is_some_and(|stored| is_good(stored.expose(), now)) {
        return Ok(());
    }
    renew(context, ClusterSecret::UserAdminKubeconfig).await
}

async fn renew(context: &Context, secret: ClusterSecret) -> Result<(), StepError> {
    let Some(authorities) = authorities(context)? else {
        context.record_line(
            "warning",
            "the cluster's authorities are not in its document: the kubeconfig is left",
        );
        return Ok(());
    };
    let Some(kind) = KINDS.iter().find(|kind| kind.secret == secret) else { return Ok(()) };
    let text = kubeconfig(kind, &authorities, context)?;
    context.set_secret(secret, text.as_bytes()).await.map(drop)
}

/// Those of the document.
pub(crate) fn authorities(context: &Context) -> Result<Option<Authorities>, StepError> {
    let Some(stored) = context.secret(ClusterSecret::ClusterAuthorities)? else { return Ok(None) };
    // The parser's own words may quote keys.
    let read = serde_json::from_str(stored.expose());
    read.map(Some).map_err(|_| StepError::other("the cluster's authorities have an unknown form"))
}

/// For ten years, with a beginning before any clock that may be behind ours.
fn new_authorities(random: &dyn Random, now: Timestamp) -> Result<Authorities, StepError> {
    Ok(Authorities {
        admin_kubeconfig_signer: authority(SIGNER, random, now).map_err(|error| of_rcgen(&error))?,
        root: authority(ROOT, random, now).map_err(|error| of_rcgen(&error))?,
    })
}

fn authority(name: &str, random: &dyn Random, now: Timestamp) -> Result<Authority, rcgen::Error> {
    let key = KeyPair::generate()?;
    let mut params = of_authority(name, random)?;
    params.not_before = (now - DAY).to_datetime();
    params.not_after = (now + TEN_YEARS + DAY).to_datetime();
    Ok(Authority { certificate: params.self_signed(&key)?.pem(), key: key.serialize_pem() })
}

/// What of an authority's certificate stands in those that it signs: its name, its rights and how its key is named.
fn of_authority(name: &str, random: &dyn Random) -> Result<CertificateParams, rcgen::Error> {
    let mut params = named(name, Some("openshift"), random)?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages =
        vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    Ok(params)
}

impl Authority {
    /// Signs for the authority of that name.
    pub(crate) fn issuer(
        &self,
        name: &str,
        random: &dyn Random,
    ) -> Result<Issuer<'static, KeyPair>, rcgen::Error> {
        Ok(Issuer::new(of_authority(name, random)?, KeyPair::from_pem(&self.key)?))
    }
}

fn named(
    name: &str,
    organisation: Option<&str>,
    random: &dyn Random,
) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name = DistinguishedName::new();
    if let Some(organisation) = organisation {
        params.distinguished_name.push(DnType::OrganizationName, organisation);
    }
    params.distinguished_name.push(DnType::CommonName, name);
    // 63 bits, never negative and never nought.
    let mut serial = [0u8; 8];
    random.fill(&mut serial);
    serial[0] = serial[0] & 0x7f | 0x40;
    params.serial_number = Some(SerialNumber::from_slice(&serial));
    params.use_authority_key_identifier_extension = true;
    Ok(params)
}

/// Certificate and key of a client.
fn client(
    kind: &KubeconfigKind,
    signer: &Authority,
    random: &dyn Random,
    now: Timestamp,
) -> Result<Authority, rcgen::Error> {
    let issuer = signer.issuer(SIGNER, random)?;
    // The installer's administrator is called so in certificates.
    let name = if kind.user == "admin" { "system:admin" } else { kind.user };
    let mut params = named(name, kind.organisation, random)?;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params.not_before = (now - DAY).to_datetime();
    params.not_after = (now + kind.life).to_datetime();
    let key = KeyPair::generate()?;
    Ok(Authority { certificate: params.signed_by(&key, &issuer)?.pem(), key: key.serialize_pem() })
}

/// JSON, which every reader of kubeconfigs takes.
fn kubeconfig(
    kind: &KubeconfigKind,
    authorities: &Authorities,
    context: &Context,
) -> Result<String, StepError> {
    let (random, now) = (&*context.env.random, context.env.clock.now());
    let pair =
        client(kind, &authorities.admin_kubeconfig_signer, random, now).map_err(|error| of_rcgen(&error))?;
    let domain = context.document().domain(&context.env.domain);
    let host = if kind.public { "api" } else { "api-int" };
    let mut cluster = json!({"server": format!("https://{host}.{domain}:6443")});
    if !kind.public {
        cluster["certificate-authority-data"] = STANDARD.encode(&authorities.root.certificate).into();
    }
    let document = context.document();
    let name = &*document.properties.cluster_profile.domain;
    let name = name.split('.').next().unwrap_or_default();
    let text = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "preferences": {},
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": kind.user, "user": {
            "client-certificate-data": STANDARD.encode(&pair.certificate),
            "client-key-data": STANDARD.encode(&pair.key),
        }}],
        "contexts": [{"name": kind.user, "context": {"cluster": name, "user": kind.user}}],
        "current-context": kind.user,
    });
    Ok(text.to_string())
}

/// Whether a customer can go on with it.
fn is_good(text: &str, now: Timestamp) -> bool {
    let Ok(file) = serde_json::from_str::<Value>(text) else { return false };
    let user = &file["users"][0]["user"];
    let server = file["clusters"][0]["cluster"]["server"].as_str().unwrap_or_default();
    let has_key = user["client-key-data"].as_str().is_some_and(|key| !key.is_empty());
    let end = user["client-certificate-data"].as_str().and_then(end_of);
    let lasts = end.is_some_and(|end| end > now + ENOUGH);
    !server.is_empty() && !server.starts_with("https://api-int.") && has_key && lasts
}

/// The end of the first certificate.
fn end_of(data: &str) -> Option<Timestamp> {
    let pem = STANDARD.decode(data).ok()?;
    let (_, pem) = x509_parser::pem::parse_x509_pem(&pem).ok()?;
    let (_, certificate) = X509Certificate::from_der(&pem.contents).ok()?;
    Some(Timestamp::from_seconds(certificate.validity().not_after.timestamp()))
}

/// Four groups of five characters, as the installer's.
fn password(random: &dyn Random) -> String {
    const ALPHABET: &[u8] = b"23456789ABCDEFGHIJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz";
    let groups: Vec<String> = (0..4).map(|_| chosen(random, ALPHABET, 5)).collect();
    groups.join("-")
}

fn of_rcgen(error: &rcgen::Error) -> StepError {
    StepError::other(format!("no certificate could be made: {error}"))
}
