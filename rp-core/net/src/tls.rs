//! TLS: server certificates that reload, client configurations for one target, keys from PEM.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::server::ParsedCertificate;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{ClientConfig, DigitallySignedStruct, DistinguishedName, RootCertStore, ServerConfig};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client};

use rp_base::Secret;
use rp_documents::Side;
use rp_metrics::{Family, Gauge, Registry, labels, metrics};

use crate::dial::{DialError, Stage};
use crate::{Credential, Stream};

labels! {
    /// Which listener.
    struct ListenerLabels { listener: &'static str }
}

metrics! {
    /// Certificates of our listeners.
    struct TlsMetrics("aro_tls") {
        /// When the first of a listener's certificate and its chain ends, in Unix seconds, by listener.
        not_after: Family<ListenerLabels, Gauge> = "certificate_not_after_timestamp_seconds";
    }
}

/// Registers what is shown here.
pub fn register_metrics(registry: &Registry) {
    TlsMetrics::register(registry);
}

/// What is wrong with certificates or keys.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("cannot read {path}")]
    Read {
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    #[error("no certificate found in {what}")]
    NoCertificate { what: String },
    #[error("no usable private key found in {what}")]
    NoKey { what: String },
    #[error("certificate and key cannot be used")]
    Unusable(#[source] rustls::Error),
    #[error("not a server name")]
    ServerName,
}

/// The one crypto provider.
pub fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

/// Installs the provider for libraries that ask the process; call it first thing in `main`.
pub fn install_provider() {
    // A second call finds the first one's provider: that is what is wanted.
    let _ = aws_lc_rs::default_provider().install_default();
}

/// Reads every certificate of a PEM text.
///
/// # Errors
/// There is none, or one is damaged.
pub fn certificates(pem: &str, what: &str) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let missing = || TlsError::NoCertificate { what: what.to_owned() };
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    let found = found.map_err(|_| missing())?;
    if found.is_empty() { Err(missing()) } else { Ok(found) }
}

/// Reads the private key of a PEM text.
///
/// # Errors
/// There is none, or it is damaged.
pub fn private_key(pem: &Secret<String>, what: &str) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_slice(pem.expose().as_bytes())
        .map_err(|_| TlsError::NoKey { what: what.to_owned() })
}

/// When the first of some certificates ends, in Unix seconds; `None`: one of them cannot be read, or there is none.
pub fn first_end(certificates: &[CertificateDer<'_>]) -> Option<i64> {
    let end = |der: &CertificateDer<'_>| {
        let (_, parsed) = x509_parser::parse_x509_certificate(der).ok()?;
        Some(parsed.validity().not_after.timestamp())
    };
    certificates.iter().map(end).collect::<Option<Vec<i64>>>()?.into_iter().min()
}

/// Whether clients that ask for `host` take a server with this certificate (RFC 9525); who signed it is not looked at.
pub fn carries_name(certificate: &CertificateDer<'_>, host: &str) -> bool {
    let (Ok(name), Ok(parsed)) = (server_name(host), ParsedCertificate::try_from(certificate)) else {
        return false;
    };
    rustls::client::verify_server_name(&parsed, &name).is_ok()
}

/// The common name in the first certificate of a PEM text.
pub fn common_name(pem: &str) -> Option<String> {
    let leaf = CertificateDer::from_pem_slice(pem.as_bytes()).ok()?;
    let (_, parsed) = x509_parser::parse_x509_certificate(&leaf).ok()?;
    let name = parsed.subject().iter_common_name().next()?.as_str().ok()?;
    Some(name.to_owned())
}

/// A trust store of exactly these certificates.
///
/// # Errors
/// The PEM text has no usable certificate.
pub fn roots(ca_pem: &str, what: &str) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(ca_pem, what)? {
        roots.add(certificate).map_err(TlsError::Unusable)?;
    }
    Ok(roots)
}

/// A client configuration that trusts `ca_pem` only and signs in with the credential's certificate, if it is one.
///
/// # Errors
/// Something in the PEM texts cannot be used.
pub fn client_config(
    ca_pem: &str,
    credential: Option<&Credential>,
    alpn: &[&[u8]],
) -> Result<ClientConfig, TlsError> {
    let builder = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Unusable)?
        .with_root_certificates(roots(ca_pem, "the CA")?);
    let mut config = match credential {
        Some(Credential::Certificate { chain_pem, key_pem }) => builder
            .with_client_auth_cert(
                certificates(chain_pem, "the client certificate")?,
                private_key(key_pem, "the client key")?,
            )
            .map_err(TlsError::Unusable)?,
        Some(Credential::Token(_)) | None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
    Ok(config)
}

/// For addresses that a person entered: trusts the host's own authorities, HTTP/1.1.
///
/// # Errors
/// The provider cannot be used.
pub fn public_config() -> Result<Arc<ClientConfig>, TlsError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let mut config = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Unusable)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// The name that a server's certificate must carry.
///
/// # Errors
/// It is neither a host name nor an address.
pub fn server_name(host: &str) -> Result<ServerName<'static>, TlsError> {
    let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    ServerName::try_from(host).map_err(|_| TlsError::ServerName)
}

/// TLS towards a cluster over a dialled stream.
///
/// # Errors
/// [`DialError`] with stage `Tls`; nothing of a request was sent.
pub async fn connect(
    config: Arc<ClientConfig>,
    server_name: ServerName<'static>,
    stream: Stream,
) -> Result<client::TlsStream<Stream>, DialError> {
    TlsConnector::from(config)
        .connect(server_name, stream)
        .await
        .map_err(|error| DialError::new(Side::Cluster, Stage::Tls, error))
}

/// Where the server's certificate and key are.
#[derive(Debug, Clone)]
pub struct ServerFiles {
    /// PEM chain, leaf first.
    pub certificate: PathBuf,
    /// PEM private key.
    pub key: PathBuf,
}

/// A server's TLS configuration that can be read anew while it serves.
#[derive(Debug)]
pub struct ServerTls {
    files: ServerFiles,
    current: ArcSwap<ServerConfig>,
    alpn: Vec<Vec<u8>>,
    client: ClientAuth,
    /// Shows when the certificate in use ends.
    end: OnceLock<Gauge>,
}

/// Whether clients must show a certificate.
#[derive(Debug, Clone)]
pub enum ClientAuth {
    /// Client certificates are not requested.
    None,
    /// Exactly this leaf (DER), no matter who signed it (`contract/portal.md` §12.4).
    Exactly(CertificateDer<'static>),
    /// They are asked, need not have one, and the handler that gets [`ClientChain`] with a request decides
    /// (`contract/frontend.md` §1). The handshake proves that they hold its key.
    Asked,
}

/// What a client showed in its handshake, its own certificate first; with each request of its connection, as an
/// extension.
#[derive(Debug, Clone)]
pub struct ClientChain(pub Arc<[CertificateDer<'static>]>);

impl ClientChain {
    /// The client's own certificate.
    pub fn leaf(&self) -> Option<&CertificateDer<'static>> {
        self.0.first()
    }
}

impl ServerTls {
    /// Loads certificate and key; `alpn` in order of preference.
    ///
    /// # Errors
    /// A file cannot be read or used.
    pub fn load(files: ServerFiles, alpn: &[&[u8]], client: ClientAuth) -> Result<Arc<Self>, TlsError> {
        let alpn: Vec<Vec<u8>> = alpn.iter().map(|name| name.to_vec()).collect();
        let config = server_config(&files, &alpn, &client)?;
        let current = ArcSwap::from_pointee(config);
        Ok(Arc::new(Self { files, current, alpn, client, end: OnceLock::new() }))
    }

    /// Reads the files again. On an error the old configuration stays in use.
    ///
    /// # Errors
    /// A file cannot be read or used.
    pub fn reload(&self) -> Result<(), TlsError> {
        let config = server_config(&self.files, &self.alpn, &self.client)?;
        self.current.store(Arc::new(config));
        self.update_end();
        Ok(())
    }

    /// Shows as a metric when the certificate of `listener` ends, from now on with each reading of the files.
    pub fn show_end(&self, registry: &Registry, listener: &'static str) {
        let gauge = TlsMetrics::register(registry).not_after.with(&ListenerLabels { listener });
        let _ = self.end.set(gauge);
        self.update_end();
    }

    #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 fit a double exactly")]
    fn update_end(&self) {
        let Some(gauge) = self.end.get() else { return };
        // Both files were usable a moment ago; a file that changed since is read again soon.
        let chain = read(&self.files.certificate).and_then(|pem| certificates(&pem, "the certificate"));
        if let Some(end) = chain.ok().as_deref().and_then(first_end) {
            gauge.set(end as f64);
        }
    }

    /// The configuration for the next connection.
    pub fn current(&self) -> Arc<ServerConfig> {
        self.current.load_full()
    }

    /// Does the handshake.
    ///
    /// # Errors
    /// The client's fault, nearly always.
    pub async fn accept(
        &self,
        tcp: TcpStream,
    ) -> std::io::Result<tokio_rustls::server::TlsStream<TcpStream>> {
        tokio_rustls::TlsAcceptor::from(self.current()).accept(tcp).await
    }
}

fn server_config(
    files: &ServerFiles,
    alpn: &[Vec<u8>],
    client: &ClientAuth,
) -> Result<ServerConfig, TlsError> {
    let chain = certificates(&read(&files.certificate)?, &files.certificate.display().to_string())?;
    let key = private_key(&Secret::new(read(&files.key)?), &files.key.display().to_string())?;
    let builder = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Unusable)?;
    let builder = match client {
        ClientAuth::None => builder.with_no_client_auth(),
        ClientAuth::Exactly(leaf) => {
            builder.with_client_cert_verifier(Arc::new(KnownClient::new(Some(leaf.clone()))))
        }
        ClientAuth::Asked => builder.with_client_cert_verifier(Arc::new(KnownClient::new(None))),
    };
    let mut config = builder.with_single_cert(chain, key).map_err(TlsError::Unusable)?;
    config.alpn_protocols = alpn.to_vec();
    // No session tickets (`contract/portal.md` §1.3): resumption state would outlive a revoked trust.
    config.send_tls13_tickets = 0;
    config.session_storage = Arc::new(rustls::server::NoServerSessionStorage {});
    Ok(config)
}

fn read(path: &Path) -> Result<String, TlsError> {
    std::fs::read_to_string(path).map_err(|cause| TlsError::Read { path: path.to_owned(), cause })
}

/// Accepts one certificate and no other, or any and none; the handshake still proves that the client holds its key.
#[derive(Debug)]
struct KnownClient {
    leaf: Option<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
}

impl KnownClient {
    fn new(leaf: Option<CertificateDer<'static>>) -> Self {
        Self { leaf, provider: provider() }
    }
}

impl ClientCertVerifier for KnownClient {
    fn client_auth_mandatory(&self) -> bool {
        self.leaf.is_some()
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        if self.leaf.as_ref().is_none_or(|leaf| end_entity.as_ref() == leaf.as_ref()) {
            Ok(ClientCertVerified::assertion())
        } else {
            Err(rustls::Error::InvalidCertificate(rustls::CertificateError::ApplicationVerificationFailure))
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(
            message,
            cert,
            dss,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(
            message,
            cert,
            dss,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests;
