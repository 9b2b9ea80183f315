//! The API server with keys that an installer made.

use anyhow::Result;

use super::{ControlPlane, api_server};
use crate::Pair;

impl ControlPlane {
    /// Starts the API server anew with the keys of an installation: it accepts clients of `authority` (PEM) beside its own,
    /// and shows each of `servers` to clients that ask for that name. Others see its own certificate.
    ///
    /// # Errors
    /// It does not come up.
    pub async fn start_installed_api(&self, authority: &str, servers: &[(String, Pair)]) -> Result<()> {
        self.stop_api()?;
        self.folder.replace("ca.crt", format!("{}\n{authority}", self.authority.pem()))?;
        let mut command = api_server(&self.folder, self.port, self.etcd_port)?;
        for (number, (name, pair)) in servers.iter().enumerate() {
            let file = format!("installed-{number}");
            pair.write(self.folder.path(), &file)?;
            command.arg(format!("--tls-sni-cert-key={file}.crt,{file}.key:{name}"));
        }
        self.run_api(command).await
    }
}
