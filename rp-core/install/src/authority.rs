//! Authorities that the installer made, and what they sign: clients of the service, and a server's certificate whose names
//! we change.

use std::net::Ipv4Addr;
use std::time::Duration;

use rcgen::{
    CertificateParams, DistinguishedName, DnType, DnValue, ExtendedKeyUsagePurpose, Issuer, KeyIdMethod,
    KeyPair, KeyUsagePurpose, SanType, SerialNumber,
};
use rp_base::{Random, Secret, Timestamp};
use x509_parser::extensions::ParsedExtension;
use x509_parser::prelude::{FromDer as _, X509Certificate, X509Name};

const DAY: Duration = Duration::from_hours(24);
const TEN_YEARS: Duration = Duration::from_hours(24 * 3650);
/// Tag of a `PrintableString` in ASN.1.
const PRINTABLE: u32 = 19;

/// Why nothing can be signed. No text holds a key.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    #[error("the certificate of {0} cannot be read")]
    Certificate(&'static str),
    #[error("the key of {0} cannot be read")]
    Key(&'static str),
    #[error("no certificate could be made: {0}")]
    Signing(rcgen::Error),
}

/// A certificate and its key, PEM.
#[derive(Debug, Clone)]
pub struct KeyedCertificate {
    pub certificate: String,
    pub key: Secret<String>,
}

/// An authority of the installer: RSA or ECDSA.
#[derive(Debug)]
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// Since when it may sign.
    not_before: Timestamp,
}

/// A client that an authority signs.
#[derive(Debug, Clone, Copy)]
pub struct Client<'a> {
    /// Common name: the user in the cluster.
    pub user: &'a str,
    /// The group in the cluster, if it is in one.
    pub organisation: Option<&'a str>,
    /// From now on.
    pub validity: Duration,
}

impl Authority {
    /// Reads an authority of that name, which stands in errors.
    ///
    /// # Errors
    /// Its certificate or its key cannot be read.
    pub fn read(name: &'static str, pair: &KeyedCertificate) -> Result<Self, AuthorityError> {
        let wrong = || AuthorityError::Certificate(name);
        let (_, pem) = x509_parser::pem::parse_x509_pem(pair.certificate.as_bytes()).map_err(|_| wrong())?;
        let (_, certificate) = X509Certificate::from_der(&pem.contents).map_err(|_| wrong())?;
        let key = KeyPair::from_pem(pair.key.expose()).map_err(|_| AuthorityError::Key(name))?;
        let mut params = CertificateParams::new(Vec::new()).map_err(AuthorityError::Signing)?;
        params.distinguished_name = distinguished_name(certificate.subject()).ok_or_else(wrong)?;
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        if let Some(id) = subject_key_id(&certificate) {
            params.key_identifier_method = KeyIdMethod::PreSpecified(id);
        }
        let not_before = Timestamp::from_seconds(certificate.validity().not_before.timestamp());
        Ok(Self { issuer: Issuer::new(params, key), not_before })
    }

    /// The certificate of the server from which machines fetch their configuration: by `host`, the internal name of the API
    /// server, and by its address, for ten years (`contract/installer.md` §7 step 9).
    ///
    /// # Errors
    /// It cannot be signed.
    pub fn machine_config_server(
        &self,
        host: &str,
        address: Ipv4Addr,
        random: &dyn Random,
        now: Timestamp,
    ) -> Result<KeyedCertificate, AuthorityError> {
        self.server(host, address, random, now).map_err(AuthorityError::Signing)
    }

    /// A client's certificate, valid since the authority is (`contract/cluster.md` §12).
    ///
    /// # Errors
    /// It cannot be signed.
    pub fn client(
        &self,
        client: Client<'_>,
        random: &dyn Random,
        now: Timestamp,
    ) -> Result<KeyedCertificate, AuthorityError> {
        self.sign_client(client, random, now).map_err(AuthorityError::Signing)
    }

    fn sign_client(
        &self,
        client: Client<'_>,
        random: &dyn Random,
        now: Timestamp,
    ) -> Result<KeyedCertificate, rcgen::Error> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.distinguished_name = DistinguishedName::new();
        if let Some(organisation) = client.organisation {
            params.distinguished_name.push(DnType::OrganizationName, organisation);
        }
        params.distinguished_name.push(DnType::CommonName, client.user);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        params.not_before = self.not_before.to_datetime();
        params.not_after = (now + client.validity).to_datetime();
        self.sign(params, random)
    }

    fn sign(
        &self,
        mut params: CertificateParams,
        random: &dyn Random,
    ) -> Result<KeyedCertificate, rcgen::Error> {
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
        params.serial_number = Some(serial_number(random));
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?.pem();
        Ok(KeyedCertificate { certificate, key: Secret::new(key.serialize_pem()) })
    }

    fn server(
        &self,
        host: &str,
        address: Ipv4Addr,
        random: &dyn Random,
        now: Timestamp,
    ) -> Result<KeyedCertificate, rcgen::Error> {
        // An address among the names becomes an address.
        let mut params = CertificateParams::new(vec![host.to_owned(), address.to_string()])?;
        // Some clients of old releases look for it among the names.
        params.subject_alt_names.push(SanType::DnsName(address.to_string().try_into()?));
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, "system:machine-config-server");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        // Before the clock of any machine that is behind ours.
        params.not_before = (now - DAY).to_datetime();
        params.not_after = (now + TEN_YEARS).to_datetime();
        self.sign(params, random)
    }
}

/// 63 bits, never negative and never zero.
fn serial_number(random: &dyn Random) -> SerialNumber {
    let mut serial = [0u8; 8];
    random.fill(&mut serial);
    serial[0] = serial[0] & 0x7f | 0x40;
    SerialNumber::from_slice(&serial)
}

/// The same name in the same encoding: Go's verifier compares bytes.
fn distinguished_name(subject: &X509Name<'_>) -> Option<DistinguishedName> {
    let mut name = DistinguishedName::new();
    for attribute in subject.iter_attributes() {
        let kind = DnType::from_oid(&attribute.attr_type().iter()?.collect::<Vec<u64>>());
        let text = attribute.as_str().ok()?;
        let value = match attribute.attr_value().header.tag().0 {
            PRINTABLE => DnValue::PrintableString(text.try_into().ok()?),
            _ => DnValue::Utf8String(text.to_owned()),
        };
        name.push(kind, value);
    }
    Some(name)
}

fn subject_key_id(certificate: &X509Certificate<'_>) -> Option<Vec<u8>> {
    certificate.extensions().iter().find_map(|extension| match extension.parsed_extension() {
        ParsedExtension::SubjectKeyIdentifier(id) => Some(id.0.to_vec()),
        _ => None,
    })
}
