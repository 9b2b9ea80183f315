//! Commands on a machine by SSH, with a fresh certificate for each connection.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use async_trait::async_trait;
use russh::ChannelMsg;
use russh::client::{Config, Handler};
use russh::keys::{Algorithm, Certificate, PrivateKey, PublicKeyOrCertificate};
use serde_json::json;

use crate::environment::{Environment, text};
use crate::excuses::Refused;
use crate::load::{Turn, Workload};
use crate::part::Role;
use crate::site::MACHINE;
use crate::windows::Dependency;

pub(crate) struct Ssh {
    grant: String,
    key: Arc<PrivateKey>,
    public: String,
}

impl Ssh {
    pub(crate) async fn new(environment: &Environment) -> Result<Self> {
        let given = environment.grant("ssh", &json!({ "machine": MACHINE, "plugin": true })).await?;
        let key = PrivateKey::random(&mut russh::keys::key::safe_rng(), Algorithm::Ed25519)?;
        let public = key.public_key().to_openssh()?;
        Ok(Self { grant: text(&given, "/grant/id")?, key: Arc::new(key), public })
    }
}

#[async_trait]
impl Workload for Ssh {
    fn name(&self) -> &'static str {
        "SSH"
    }

    fn workers(&self) -> usize {
        2
    }

    fn pause(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn dependencies(&self) -> &'static [Dependency] {
        &[Dependency::Portals]
    }

    async fn attempt(&self, environment: &Environment, turn: Turn) -> Result<()> {
        let path = format!("/api/v1/grants/{}/ssh-certificate", self.grant);
        let shown = json!({ "public_key": self.public });
        let certified = environment.alice.post(&path, &shown).await?.ok()?.json()?;
        let certificate = Certificate::from_openssh(&text(&certified, "/certificate")?)?;
        // No balancer stands before the SSH listeners: each in turn.
        let portals = environment.site.with_role(Role::Portal);
        let port = portals.get(turn.worker % portals.len().max(1)).context("a portal")?.ports.ssh;
        let config = Arc::new(Config::default());
        let connecting = russh::client::connect(config, ("127.0.0.1", port), AcceptAnyHostKey);
        let mut handle = Box::pin(connecting).await?;
        let user = text(&certified, "/user")?;
        let signed = handle.authenticate_openssh_cert(user, Arc::clone(&self.key), certificate).await?;
        if !signed.success() {
            return Err(Refused("the certificate was refused").into());
        }
        let mut channel = handle.channel_open_session().await?;
        let command = format!("echo bytes-of-{}-{}", turn.worker, turn.number);
        channel.exec(true, command.as_str()).await?;
        let (mut said, mut status) = (Vec::new(), None);
        while let Some(message) = channel.wait().await {
            match message {
                ChannelMsg::Data { data } => said.extend_from_slice(&data),
                ChannelMsg::ExitStatus { exit_status } => status = Some(exit_status),
                ChannelMsg::Close => break,
                _ => {}
            }
        }
        // A command that came to its end has a status; without one the session was broken off.
        let status = status.ok_or(russh::Error::Disconnect).context("the command has no exit status")?;
        let said = String::from_utf8_lossy(&said);
        ensure!(status == 0, "the machine's command ended with {status}: {said:?}");
        ensure!(said == command, "the machine answered {said:?} in place of {command:?}");
        Ok(())
    }
}

/// Whom it meets is the business of stories.
struct AcceptAnyHostKey;

impl Handler for AcceptAnyHostKey {
    type Error = russh::Error;

    async fn check_server_key(&mut self, _: &PublicKeyOrCertificate) -> Result<bool, russh::Error> {
        Ok(true)
    }
}
