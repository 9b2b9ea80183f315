//! What is read again while we serve: when its files change, and on SIGHUP. What cannot be read leaves the old
//! in use.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use rp_base::chain;
use rp_net::tls::ServerTls;
use rp_runtime::{Lifecycle, Watch};
use rp_seal::Keyring;

/// Calls `reload` when the files of `watch` change, looking every `period`, and on SIGHUP.
///
/// # Errors
/// The signal cannot be followed.
pub fn follow(
    life: &Lifecycle,
    watch: Watch,
    period: Duration,
    reload: impl Fn() + Send + Sync + 'static,
) -> anyhow::Result<()> {
    let reload = Arc::new(reload);
    let on_change = Arc::clone(&reload);
    watch.call(life, period, move || on_change());
    rp_runtime::on_hangup(life, move || reload()).context("cannot follow SIGHUP")
}

/// Reads certificate and key again.
pub fn certificate(tls: &ServerTls) {
    match tls.reload() {
        Ok(()) => tracing::info!("certificate read again"),
        Err(error) => tracing::error!(error = %chain(&error), "the old certificate stays in use"),
    }
}

/// Reads the keyring again; `use_them` then takes the keys up.
pub fn keyring(keyring: &Keyring, use_them: impl Fn()) {
    match keyring.reload() {
        Ok(changed) => {
            use_them();
            tracing::info!(changed, "keyring read again");
        }
        Err(error) => tracing::error!(error = %chain(&error), "the old keyring stays in use"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
    use rp_net::tls::{ClientAuth, ServerFiles, client_config};
    use rustls::pki_types::ServerName;
    use tokio::net::{TcpListener, TcpStream};
    use tokio::time::timeout;

    use super::*;

    const SOON: Duration = Duration::from_millis(10);
    const LONG: Duration = Duration::from_secs(120);

    /// Puts a file in place by a rename.
    fn put(file: &Path, text: &str) {
        let new = file.with_extension("new");
        fs::write(&new, text).unwrap();
        fs::set_permissions(&new, Permissions::from_mode(0o600)).unwrap();
        fs::rename(new, file).unwrap();
    }

    /// A CA with a leaf for `localhost`; gives the CA and the leaf's certificate and key, PEM.
    fn pair() -> (String, String, String) {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let ca = params.self_signed(&key).unwrap();
        let leaf_key = KeyPair::generate().unwrap();
        let leaf = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let leaf = leaf.signed_by(&leaf_key, &Issuer::new(params, key)).unwrap();
        (ca.pem(), leaf.pem(), leaf_key.serialize_pem())
    }

    fn key_file(current: &str) -> String {
        let keys =
            [("k1", "A"), ("k2", "B")].map(|(id, letter)| format!("\"{id}\":\"{}A=\"", letter.repeat(42)));
        format!("{{\"current\":\"{current}\",\"keys\":{{{}}}}}", keys.join(","))
    }

    /// Whether a client that trusts only `ca` gets through.
    async fn trusted(tls: &ServerTls, ca: &str) -> bool {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let tcp = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (accepted, _) = listener.accept().await.unwrap();
        let client = tokio_rustls::TlsConnector::from(Arc::new(client_config(ca, None, &[]).unwrap()));
        let (_, outcome) = tokio::join!(
            tls.accept(accepted),
            client.connect(ServerName::try_from("localhost").unwrap(), tcp)
        );
        outcome.is_ok()
    }

    #[tokio::test]
    async fn a_new_certificate_and_keyring_are_used_without_a_signal() {
        let folder = tempfile::tempdir().unwrap();
        let [cert, key, keys] = ["tls.pem", "tls.key", "keyring.json"].map(|name| folder.path().join(name));
        let (old_ca, leaf, leaf_key) = pair();
        put(&cert, &leaf);
        put(&key, &leaf_key);
        put(&keys, &key_file("k1"));
        let watch = Watch::new(vec![cert.clone(), key.clone(), keys.clone()]);
        let files = ServerFiles { certificate: cert.clone(), key: key.clone() };
        let tls = ServerTls::load(files, &[], ClientAuth::None).unwrap();
        let ring = Keyring::open_file(&keys).unwrap();
        let (life, told) = (Lifecycle::new(), Arc::new(tokio::sync::Notify::new()));
        let (served, read, tell) = (Arc::clone(&tls), ring.clone(), Arc::clone(&told));
        follow(&life, watch, SOON, move || {
            certificate(&served);
            keyring(&read, || {});
            tell.notify_one();
        })
        .unwrap();
        assert!(trusted(&tls, &old_ca).await);

        // The new certificate alone does not go with the old key: the old pair stays.
        let (new_ca, leaf, leaf_key) = pair();
        put(&cert, &leaf);
        timeout(LONG, told.notified()).await.expect("the certificate was looked at");
        assert!(trusted(&tls, &old_ca).await && !trusted(&tls, &new_ca).await);
        put(&key, &leaf_key);
        let renewed = async { while !trusted(&tls, &new_ca).await {} };
        timeout(LONG, renewed).await.expect("the new pair is in use");
        assert!(!trusted(&tls, &old_ca).await);

        let sealing = || ring.derive("test").first().map(|key| key.key_id.clone());
        assert_eq!(sealing().as_deref(), Some("k1"));
        put(&keys, &key_file("k2"));
        let turned = async {
            while sealing().as_deref() != Some("k2") {
                tokio::task::yield_now().await;
            }
        };
        timeout(LONG, turned).await.expect("the new key is current");
    }
}
