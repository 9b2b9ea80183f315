//! Certificates that clients show: who vouches for them, and what they are called.

use std::sync::Arc;

use rp_base::Timestamp;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls_pki_types::{CertificateDer, UnixTime};

use crate::tls::{ClientChain, TlsError, provider, roots};

/// Authorities whose clients are taken. The host's own are never among them.
#[derive(Debug, Clone)]
pub struct ClientAuthorities(Arc<dyn ClientCertVerifier>);

impl ClientAuthorities {
    /// Those of a PEM text; `what` names it in errors.
    ///
    /// # Errors
    /// The text has no usable certificate.
    pub fn from_pem(pem: &str, what: &str) -> Result<Self, TlsError> {
        let roots = Arc::new(roots(pem, what)?);
        let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider()).build();
        let missing = |_| TlsError::NoCertificate { what: what.to_owned() };
        Ok(Self(verifier.map_err(missing)?))
    }

    /// Whether one of them vouches for the client's certificate as that of a client, by the others that it showed if
    /// need be, at that time.
    pub fn vouch(&self, chain: &ClientChain, now: Timestamp) -> bool {
        let Some((leaf, others)) = chain.0.split_first() else { return false };
        let seconds = u64::try_from(now.seconds()).unwrap_or_default();
        let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds));
        self.0.verify_client_cert(leaf, others, now).is_ok()
    }
}

/// The common name in a certificate.
pub fn common_name(certificate: &CertificateDer<'_>) -> Option<String> {
    let (_, parsed) = x509_parser::parse_x509_certificate(certificate).ok()?;
    let name = parsed.subject().iter_common_name().next()?.as_str().ok()?;
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use rcgen::{
        BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    };

    use super::*;

    const NOW: i64 = 1_795_230_720;

    fn authority(name: &str) -> (String, Issuer<'static, KeyPair>) {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        (params.self_signed(&key).unwrap().pem(), Issuer::new(params, key))
    }

    fn client(
        issuer: &Issuer<'static, KeyPair>,
        usage: ExtendedKeyUsagePurpose,
        (from, to): (i64, i64),
    ) -> ClientChain {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "caller");
        params.extended_key_usages = vec![usage];
        params.not_before = Timestamp::from_seconds(from).to_datetime();
        params.not_after = Timestamp::from_seconds(to).to_datetime();
        let leaf = params.signed_by(&KeyPair::generate().unwrap(), issuer).unwrap();
        ClientChain(vec![leaf.der().clone()].into())
    }

    #[test]
    fn only_living_clients_of_these_authorities_are_taken() {
        let ((pem, ours), (_, theirs)) = (authority("ours"), authority("ours"));
        let authorities = ClientAuthorities::from_pem(&pem, "the test's CA").unwrap();
        let (now, life) = (Timestamp::from_seconds(NOW), (NOW - 60, NOW + 60));
        let of = |issuer, usage, life| authorities.vouch(&client(issuer, usage, life), now);
        assert!(of(&ours, ExtendedKeyUsagePurpose::ClientAuth, life));
        assert!(!of(&theirs, ExtendedKeyUsagePurpose::ClientAuth, life), "another CA of the same name");
        assert!(!of(&ours, ExtendedKeyUsagePurpose::ServerAuth, life), "a server's");
        assert!(!of(&ours, ExtendedKeyUsagePurpose::ClientAuth, (NOW - 60, NOW - 1)), "expired");
        assert!(!of(&ours, ExtendedKeyUsagePurpose::ClientAuth, (NOW + 1, NOW + 60)), "not yet");
        assert!(!authorities.vouch(&ClientChain(Vec::new().into()), now), "none");
        let shown = client(&ours, ExtendedKeyUsagePurpose::ClientAuth, life);
        assert_eq!(common_name(shown.leaf().unwrap()).as_deref(), Some("caller"));
    }
}
