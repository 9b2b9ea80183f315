//! Grants that are used and revoked: both replicas end what they opened.

use std::time::Duration;

use anyhow::{Context as _, Result};
use async_trait::async_trait;
use tests_kit::{GENEROUS, until};

use crate::environment::Environment;
use crate::load::{Turn, Workload};
use crate::part::Role;
use crate::promises::Promise;
use crate::windows::Dependency;

pub(crate) struct Revocations;

#[async_trait]
impl Workload for Revocations {
    fn name(&self) -> &'static str {
        "revocations"
    }

    fn pause(&self) -> Duration {
        Duration::from_secs(2)
    }

    fn dependencies(&self) -> &'static [Dependency] {
        &[Dependency::Portals, Dependency::Cluster]
    }

    async fn attempt(&self, environment: &Environment, _: Turn) -> Result<()> {
        let access = environment.kubeconfig(&environment.cluster, "read").await?;
        let target = format!("{}/api/v1/namespaces/default/pods/web", access.mount);
        let proxy = environment.proxy(&access.token)?;
        let mut watches = Vec::new();
        for portal in environment.site.with_role(Role::Portal) {
            let base = format!("https://127.0.0.1:{}", portal.ports.web);
            let path = format!("{}/api/v1/pods?watch=true", access.mount);
            let headers = format!("Authorization: Bearer {}\r\n", access.token);
            let mut wire = environment.wire(&base, &path, &headers).await?;
            wire.streams("\"ADDED\"").await?;
            proxy.at(&base).get(&target).await?.ok()?;
            watches.push((portal.name.clone(), base, wire));
        }
        environment.alice.revoke(&access.grant).await?;
        let (id, token) = (access.grant, access.token);
        environment.promises.note(Promise::Revoked { id, target: target.clone(), token });
        // How soon is held by `stories replicas::revoked`.
        for (name, base, mut wire) in watches {
            wire.closed(GENEROUS).await.with_context(|| format!("its watch on {name} goes on"))?;
            let here = proxy.at(&base);
            until(&format!("it is refused on {name}"), GENEROUS, || async {
                let answer = here.get(&target).await?;
                if answer.status == 401 { Ok(()) } else { Err(answer.unwanted().into()) }
            })
            .await?;
        }
        Ok(())
    }
}
