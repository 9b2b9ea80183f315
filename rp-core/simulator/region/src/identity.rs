//! The region's certificates: one CA, one API server leaf for all clusters, the two client identities of
//! `contract/portal.md` §11.2, and the CONNECT proxy's pair of §12.4. Kept in a folder, so that kubeconfigs
//! that were stored stay valid over restarts. The CA's key is forgotten once it has signed.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rp_base::{Secret, Timestamp};
use rp_simulator::installed::CertificatePair;

/// Ten years, as the real client certificates (`contract/portal.md` §11.2).
const LIFE: Duration = Duration::from_hours(24 * 3650);

/// Why there is no identity.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    #[error("cannot make a certificate")]
    Certificate(#[from] rcgen::Error),
    #[error("cannot read or write {path}")]
    File {
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
}

/// Everything that TLS in the region needs.
#[derive(Debug, Clone)]
pub struct RegionIdentity {
    /// The region's CA: signed all the others.
    pub ca: String,
    /// Server certificate of every API server; its name is `kubernetes`.
    pub api: CertificatePair,
    /// Client certificate of `system:aro-sre`.
    pub sre: CertificatePair,
    /// Client certificate of `system:aro-service` in `system:masters`.
    pub service: CertificatePair,
    /// Client certificate for the CONNECT proxy.
    pub proxy_client: CertificatePair,
    /// Of the user `core` on every machine: RSA as PKCS#1 DER.
    pub machine_key: Secret<Vec<u8>>,
    folder: PathBuf,
}

const PAIRS: [&str; 5] = ["api", "sre", "service", "proxy", "proxy-client"];

impl RegionIdentity {
    /// Reads the folder, or makes it (mode 0700, keys 0600) with fresh keys.
    ///
    /// # Errors
    /// [`IdentityError`].
    pub fn open_or_create(folder: &Path, now: Timestamp) -> Result<Self, IdentityError> {
        if !folder.join("ca.crt").exists() {
            create(folder, now)?;
        }
        let pair = |name: &str| -> Result<CertificatePair, IdentityError> {
            let certificate = read(&folder.join(format!("{name}.crt")))?;
            let key = Secret::new(read(&folder.join(format!("{name}.key")))?);
            Ok(CertificatePair { certificate, key })
        };
        Ok(Self {
            ca: read(&folder.join("ca.crt"))?,
            api: pair("api")?,
            sre: pair("sre")?,
            service: pair("service")?,
            proxy_client: pair("proxy-client")?,
            machine_key: machine_key(folder)?,
            folder: folder.to_owned(),
        })
    }

    /// Files of the CONNECT proxy's certificate and key.
    pub(super) fn proxy_files(&self) -> rp_net::tls::ServerFiles {
        rp_net::tls::ServerFiles {
            certificate: self.folder.join("proxy.crt"),
            key: self.folder.join("proxy.key"),
        }
    }
}

/// Folders of earlier versions have none yet.
fn machine_key(folder: &Path) -> Result<Secret<Vec<u8>>, IdentityError> {
    use base64::Engine as _;
    let base64 = base64::engine::general_purpose::STANDARD;
    let path = folder.join("machine.key");
    if !path.exists() {
        let made =
            super::ssh::client_key().map_err(|cause| IdentityError::File { path: path.clone(), cause })?;
        write(&path, &base64.encode(made.expose()))?;
    }
    let damaged = |cause| IdentityError::File { path: path.clone(), cause: std::io::Error::other(cause) };
    let text = Secret::new(read(&path)?);
    base64.decode(text.expose().trim()).map(Secret::new).map_err(damaged)
}

fn create(folder: &Path, now: Timestamp) -> Result<(), IdentityError> {
    let failed = |cause| IdentityError::File { path: folder.to_owned(), cause };
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    let ca_key = KeyPair::generate()?;
    let mut ca = params("simulated-region-ca", None, now)?;
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let ca_pem = ca.self_signed(&ca_key)?.pem();
    let issuer = Issuer::from_params(&ca, &ca_key);
    for name in PAIRS {
        let params = leaf(name, now)?;
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &issuer)?.pem();
        write(&folder.join(format!("{name}.crt")), &certificate)?;
        write(&folder.join(format!("{name}.key")), &key.serialize_pem())?;
    }
    // Written last: its presence marks the folder as complete.
    write(&folder.join("ca.crt"), &ca_pem)
}

fn leaf(name: &str, now: Timestamp) -> Result<CertificateParams, rcgen::Error> {
    let (common_name, organisation, names): (_, _, &[&str]) = match name {
        "api" => ("kubernetes", None, &["kubernetes", "kubernetes.default.svc", "openshift", "localhost"]),
        "sre" => ("system:aro-sre", None, &[]),
        "service" => ("system:aro-service", Some("system:masters"), &[]),
        "proxy" => ("proxy", None, &["proxy"]),
        _ => ("proxy-client", None, &[]),
    };
    let mut params = params(common_name, organisation, now)?;
    params.subject_alt_names =
        CertificateParams::new(names.iter().map(|&n| n.to_owned()).collect::<Vec<_>>())?.subject_alt_names;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![if names.is_empty() {
        ExtendedKeyUsagePurpose::ClientAuth
    } else {
        ExtendedKeyUsagePurpose::ServerAuth
    }];
    params.use_authority_key_identifier_extension = true;
    Ok(params)
}

/// A server's certificate for an API server, signed by the authority of one cluster (PEM): valid for ten years, for the
/// names `kubernetes`, `api.<domain>` and `api-int.<domain>`.
///
/// # Errors
/// The authority's certificate or key cannot be read.
pub fn server_leaf(
    certificate: &str,
    key: &Secret<String>,
    domain: &str,
    now: Timestamp,
) -> Result<CertificatePair, IdentityError> {
    let authority_key = KeyPair::from_pem(key.expose())?;
    let mut authority = CertificateParams::new(Vec::new())?;
    authority.distinguished_name = subject(certificate)?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = Issuer::from_params(&authority, &authority_key);
    let names = [
        "kubernetes".to_owned(),
        "kubernetes.default.svc".to_owned(),
        format!("api.{domain}"),
        format!("api-int.{domain}"),
    ];
    let mut leaf = params("kubernetes", None, now)?;
    leaf.subject_alt_names = CertificateParams::new(names.to_vec())?.subject_alt_names;
    leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate()?;
    let certificate = leaf.signed_by(&key, &issuer)?.pem();
    Ok(CertificatePair { certificate, key: Secret::new(key.serialize_pem()) })
}

/// The subject of a certificate, which is the issuer of what it signs.
fn subject(certificate: &str) -> Result<rcgen::DistinguishedName, IdentityError> {
    let unreadable = || IdentityError::Certificate(rcgen::Error::CouldNotParseCertificate);
    let (_, pem) = x509_parser::pem::parse_x509_pem(certificate.as_bytes()).map_err(|_| unreadable())?;
    let parsed = pem.parse_x509().map_err(|_| unreadable())?;
    let mut name = rcgen::DistinguishedName::new();
    // In its own order: names are compared byte by byte (RFC 5280 §7.1, as TLS libraries do it).
    for attribute in parsed.subject().iter_attributes() {
        let kind = attribute.attr_type().iter().ok_or_else(unreadable)?.collect::<Vec<u64>>();
        let text = attribute.as_str().map_err(|_| unreadable())?;
        name.push(DnType::from_oid(&kind), text);
    }
    Ok(name)
}

fn params(
    common_name: &str,
    organisation: Option<&str>,
    now: Timestamp,
) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, common_name);
    if let Some(organisation) = organisation {
        params.distinguished_name.push(DnType::OrganizationName, organisation);
    }
    (params.not_before, params.not_after) = validity(now);
    Ok(params)
}

/// When a certificate made now is good.
pub(super) fn validity(now: Timestamp) -> (time::OffsetDateTime, time::OffsetDateTime) {
    ((now - Duration::from_hours(24)).to_datetime(), (now + LIFE).to_datetime())
}

fn read(path: &Path) -> Result<String, IdentityError> {
    fs::read_to_string(path).map_err(|cause| IdentityError::File { path: path.to_owned(), cause })
}

fn write(path: &Path, text: &str) -> Result<(), IdentityError> {
    fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|cause| IdentityError::File { path: path.to_owned(), cause })
}
