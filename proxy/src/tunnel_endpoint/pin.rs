//! Which key a place shows, for browsers to pin.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::TlsConnector;

use super::destinations::{DestinationError, RemoteStream};

/// Accepts any certificate whose key the peer proves: only over a transport that is already authenticated.
#[derive(Debug)]
struct CertificateCapture(Arc<CryptoProvider>);

impl ServerCertVerifier for CertificateCapture {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Base64 of SHA-256 of the key's SPKI, as `--ignore-certificate-errors-spki-list` takes it.
pub(super) async fn served_key(
    far: Box<dyn RemoteStream>,
    host: &str,
    ca: Option<&str>,
) -> Result<String, DestinationError> {
    let bad = DestinationError::Certificate;
    let config = match ca {
        Some(ca) => {
            rp_net::tls::client_config(ca, None, &[]).map_err(|_| bad("its authority cannot be read"))?
        }
        None => {
            let provider = Arc::new(aws_lc_rs::default_provider());
            ClientConfig::builder_with_provider(Arc::clone(&provider))
                .with_safe_default_protocol_versions()
                .map_err(|_| bad("TLS cannot be prepared"))?
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(CertificateCapture(provider)))
                .with_no_client_auth()
        }
    };
    let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let name = ServerName::try_from(host).map_err(|_| bad("its name"))?;
    let tls = TlsConnector::from(Arc::new(config)).connect(name, far).await;
    let tls = tls.map_err(|_| bad("the handshake failed"))?;
    let chain = tls.get_ref().1.peer_certificates().unwrap_or_default();
    let first = chain.first().ok_or(bad("it shows none"))?;
    spki(first).ok_or(bad("it cannot be read"))
}

fn spki(certificate: &CertificateDer<'_>) -> Option<String> {
    let parsed = rustls::server::ParsedCertificate::try_from(certificate).ok()?;
    let key = parsed.subject_public_key_info();
    Some(STANDARD.encode(rp_base::sha256(&key).0))
}
