//! A folder with what the settings of a role name.

use std::path::Path;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rp_config::{Settings, needs};

/// For what takes a moment.
pub(crate) const GENEROUS: Duration = Duration::from_secs(120);

/// Certificates, settings and store of a process.
pub(crate) struct Site {
    folder: tempfile::TempDir,
    /// What the listener's certificate is trusted by.
    pub(crate) ca_pem: String,
}

impl Site {
    pub(crate) fn new() -> Self {
        rp_net::tls::install_provider();
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let ca_pem = params.self_signed(&key).unwrap().pem();
        let leaf_key = KeyPair::generate().unwrap();
        let leaf = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let leaf = leaf.signed_by(&leaf_key, &Issuer::new(params, key)).unwrap();
        let site = Self { folder: tempfile::tempdir().unwrap(), ca_pem };
        site.write("rp.crt", &leaf.pem());
        site.write("rp.key", &leaf_key.serialize_pem());
        site.write("callers.pem", &site.ca_pem);
        site
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let file = self.folder.path().join(name);
        std::fs::write(&file, text).unwrap();
        private(&file);
    }

    /// A provider at this port, with these lines of `[azure]`.
    pub(crate) fn settings(&self, port: u16, azure: &str) -> Settings {
        let text = format!(
            "[listen]\nadmin = \"127.0.0.1:0\"\n[store]\npath = \"aro.db\"\n[audit]\npath = \"audit.db\"\n\
             checkpoint_key_file = \"checkpoint.key\"\n[keys]\nkeyring_file = \"keyring.json\"\n\
             [azure]\nregion = \"eastus\"\n{azure}[rp]\nlisten = \"127.0.0.1:{port}\"\n\
             url = \"https://localhost:{port}\"\ncert_file = \"rp.crt\"\nkey_file = \"rp.key\"\n\
             domain = \"eastus.aroapp.io\"\nready_delay = \"1ms\"\n\
             arm_ca_file = \"callers.pem\"\narm_common_name = \"arm.test\"\n"
        );
        self.write("aro.toml", &text);
        rp_config::load(Some(&self.folder.path().join("aro.toml")), &[], needs::RP).unwrap()
    }
}

/// As secrets have to be.
fn private(file: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o600)).unwrap();
}
