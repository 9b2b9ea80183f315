//! What most stories share: one `aro-dev` with a real Kubernetes under it.

use anyhow::Result;
use tests_kit::{Aro, AroOptions, ControlPlane, Kubectl};
use tokio::sync::OnceCell;

/// A system with a real cluster, imported twice.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) aro: Aro,
    pub(crate) plane: &'static ControlPlane,
    /// Its people are seen by name, in `system:masters`.
    pub(crate) named: String,
    /// Its people share the stored credential.
    pub(crate) shared: String,
}

impl World {
    /// The one of this test process.
    pub(crate) async fn get() -> Result<&'static Self> {
        static WORLD: OnceCell<World> = OnceCell::const_new();
        WORLD.get_or_try_init(Self::start).await
    }

    /// One of its own, for a story that ends what others have.
    pub(crate) async fn start() -> Result<Self> {
        Self::with(&[]).await
    }

    /// One of its own with other settings.
    pub(crate) async fn with(settings: &[(&str, &str)]) -> Result<Self> {
        let plane = ControlPlane::shared().await?;
        // All the people of all stories come from one address at once; rates have stories of their own.
        let env = ["SIGN_IN", "ISSUE"].map(|rate| (format!("ARO_LIMITS__{rate}_PER_MINUTE"), "0".to_owned()));
        let settings = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let env = env.into_iter().chain(settings).collect();
        let aro = Aro::start(AroOptions { clusters: 40, env, ..AroOptions::default() }).await?;
        let service = plane.service_kubeconfig()?;
        let named = aro.import_and_wait(&service, "named", &["system:masters"]).await?;
        let shared = aro.import_and_wait(&plane.sre_kubeconfig()?, "shared", &[]).await?;
        Ok(Self { aro, plane, named, shared })
    }

    /// kubectl through the proxy on the cluster that knows people by name.
    pub(crate) async fn kubectl(&self, person: &str, rights: &str) -> Result<Kubectl> {
        self.aro.kubectl(person, &self.named, rights).await
    }
}
