//! Sign-ins with the provider, each to its sign-out.

use std::time::Duration;

use anyhow::{Context as _, Result};
use async_trait::async_trait;
use reqwest::Method;

use crate::environment::Environment;
use crate::load::{Turn, Workload};
use crate::promises::Promise;
use crate::windows::Dependency;

pub(crate) struct SignIns;

#[async_trait]
impl Workload for SignIns {
    fn name(&self) -> &'static str {
        "sign-ins"
    }

    fn pause(&self) -> Duration {
        Duration::from_secs(2)
    }

    fn dependencies(&self) -> &'static [Dependency] {
        &[Dependency::Portals]
    }

    async fn attempt(&self, environment: &Environment, _: Turn) -> Result<()> {
        let session = environment.site.sign_in().await?;
        session.get("/api/info").await?.ok()?;
        let cookie = session.cookie().context("a cookie")?.to_owned();
        let out = session.change(Method::POST, "/api/logout", None).await?;
        if out.status >= 400 {
            return Err(out.unwanted()).context("sign-out");
        }
        environment.promises.note(Promise::SignedOut { cookie });
        Ok(())
    }
}
