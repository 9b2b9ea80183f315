//! Certificates, keys and tokens of a kubeconfig: decoded, checked and normalised.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rp_base::{Secret, Timestamp};
use rp_net::Credential;
use rustls::RootCertStore;
use rustls::crypto::aws_lc_rs::sign::any_supported_type;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer;

use super::file::User;
use super::{ImportError, secret, text};

const CA: &str = "certificate-authority-data";
const CERTIFICATE: &str = "client-certificate-data";
const KEY: &str = "client-key-data";
/// Upper bound: a bundle of authorities has a few certificates, a client's chain fewer.
const MOST_CERTIFICATES: usize = 64;
/// Bearer tokens are sent in a header, so their length is bounded.
const MOST_TOKEN: usize = 16 * 1024;

/// The authorities of a cluster entry, as normalised PEM.
pub(super) fn authorities(data: &str) -> Result<String, ImportError> {
    let certificates = certificates(CA, data)?;
    let mut roots = RootCertStore::empty();
    for certificate in &certificates {
        roots.add(certificate.clone()).map_err(|_| ImportError::BadPem { field: CA })?;
    }
    Ok(pem(&certificates))
}

/// The one credential of a user entry.
pub(super) fn parse(user: &User, now: Timestamp) -> Result<Credential, ImportError> {
    let certificate = text(user.certificate_data.as_ref());
    let key = secret(user.key_data.as_ref());
    match (secret(user.token.as_ref()), certificate, key) {
        (None, None, None) => Err(ImportError::NoCredential),
        (Some(_), Some(_), _) | (Some(_), _, Some(_)) => Err(ImportError::TwoCredentials),
        (Some(token), None, None) => bearer(token),
        (None, Some(_), None) => Err(ImportError::NoKey),
        (None, None, Some(_)) => Err(ImportError::NoCertificate),
        (None, Some(certificate), Some(key)) => pair(certificate, key, now),
    }
}

fn bearer(token: &Secret<String>) -> Result<Credential, ImportError> {
    let text = token.expose();
    if text.len() > MOST_TOKEN || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(ImportError::BadToken);
    }
    Ok(Credential::Token(token.clone()))
}

fn pair(certificate: &str, key: &Secret<String>, now: Timestamp) -> Result<Credential, ImportError> {
    let chain = certificates(CERTIFICATE, certificate)?;
    let bad = ImportError::BadPem { field: CERTIFICATE };
    let leaf = chain.first().ok_or_else(|| bad.clone())?;
    let (_, leaf) = X509Certificate::from_der(leaf).map_err(|_| bad)?;
    check_client(&leaf, now)?;

    let key_pem = Secret::new(decode(KEY, key.expose())?);
    let der = PrivateKeyDer::from_pem_slice(key_pem.expose()).map_err(|_| no_key(key_pem.expose()))?;
    let signing = any_supported_type(&der).map_err(|_| ImportError::UnsupportedKey)?;
    let public = signing.public_key().ok_or(ImportError::UnsupportedKey)?;
    if public.as_ref() != leaf.public_key().raw {
        return Err(ImportError::KeyMismatch);
    }
    let key_pem = std::str::from_utf8(key_pem.expose()).map_err(|_| ImportError::BadPem { field: KEY })?;
    Ok(Credential::Certificate { chain_pem: pem(&chain), key_pem: Secret::new(key_pem.to_owned()) })
}

fn no_key(pem: &[u8]) -> ImportError {
    let encrypted = pem.windows(9).any(|window| window == b"ENCRYPTED");
    if encrypted { ImportError::EncryptedKey } else { ImportError::BadPem { field: KEY } }
}

/// Valid at `now`, and with an extended key usage (RFC 5280 §4.2.1.12) that allows clients, where it has one.
fn check_client(leaf: &X509Certificate<'_>, now: Timestamp) -> Result<(), ImportError> {
    let not_before = Timestamp::from_seconds(leaf.validity().not_before.timestamp());
    let not_after = Timestamp::from_seconds(leaf.validity().not_after.timestamp());
    if now > not_after {
        return Err(ImportError::Expired { not_after });
    }
    if now < not_before {
        return Err(ImportError::NotYetValid { not_before });
    }
    let usage = leaf.extended_key_usage().map_err(|_| ImportError::BadPem { field: CERTIFICATE })?;
    match usage {
        Some(usage) if !usage.value.client_auth && !usage.value.any => Err(ImportError::NotClientCertificate),
        _ => Ok(()),
    }
}

/// Go's decoder, which kubectl uses for these members, ignores line breaks.
fn decode(field: &'static str, data: &str) -> Result<Vec<u8>, ImportError> {
    let compact = Secret::new(data.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect::<Vec<u8>>());
    STANDARD.decode(compact.expose()).map_err(|_| ImportError::BadBase64 { field })
}

fn certificates(field: &'static str, data: &str) -> Result<Vec<CertificateDer<'static>>, ImportError> {
    let bytes = decode(field, data)?;
    let mut found = Vec::new();
    for certificate in CertificateDer::pem_slice_iter(&bytes) {
        if found.len() == MOST_CERTIFICATES {
            return Err(ImportError::TooManyCertificates { field, most: MOST_CERTIFICATES });
        }
        found.push(certificate.map_err(|_| ImportError::BadPem { field })?);
    }
    if found.is_empty() { Err(ImportError::BadPem { field }) } else { Ok(found) }
}

/// RFC 7468: 64 characters a line. Comments and other sections of the source are removed.
fn pem(certificates: &[CertificateDer<'_>]) -> String {
    let mut out = String::new();
    for certificate in certificates {
        let body = STANDARD.encode(certificate);
        out.push_str("-----BEGIN CERTIFICATE-----\n");
        let mut rest = body.as_str();
        while !rest.is_empty() {
            let (line, tail) = rest.split_at(rest.len().min(64));
            out.push_str(line);
            out.push('\n');
            rest = tail;
        }
        out.push_str("-----END CERTIFICATE-----\n");
    }
    out
}
