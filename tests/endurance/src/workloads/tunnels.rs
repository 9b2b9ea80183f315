//! Connections through tunnels, with bytes both ways.

use std::time::Duration;

use anyhow::{Context as _, Result};
use async_trait::async_trait;
use serde_json::json;

use crate::environment::{Environment, SOCKET, frame, text};
use crate::load::{Turn, Workload};
use crate::site::DESTINATION;
use crate::tunnel_target::GREETING;
use crate::windows::Dependency;

pub(crate) struct Tunnels {
    token: String,
}

impl Tunnels {
    pub(crate) async fn new(environment: &Environment) -> Result<Self> {
        let given = environment.grant("tunnel", &json!({ "destinations": [DESTINATION] })).await?;
        Ok(Self { token: text(&given, "/token")? })
    }
}

#[async_trait]
impl Workload for Tunnels {
    fn name(&self) -> &'static str {
        "tunnels"
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
        let token = &self.token;
        let headers =
            format!("Authorization: Bearer {token}\r\n{SOCKET}Sec-WebSocket-Protocol: aro.tunnel.v1\r\n");
        let target = format!("{}/tunnel", environment.cluster);
        let mut wire = environment.wire(&environment.site.proxy_url, &target, &headers).await?;
        wire.upgraded().await?;
        let (host, port) = DESTINATION.split_once(':').context("a destination")?;
        // Frames of `docs/guides/tunnel.md`: kind 1 opens stream 1, kind 4 is data on it.
        let mut open = vec![1, 0, 0, 0, 1];
        open.extend(port.parse::<u16>()?.to_be_bytes());
        open.extend(host.as_bytes());
        wire.send(frame(2, &open)?).await?;
        wire.says(GREETING).await?;
        let word = format!("bytes-of-{}-{}", turn.worker, turn.number);
        wire.send(frame(2, &[&[4, 0, 0, 0, 1][..], word.as_bytes()].concat())?).await?;
        wire.says(&word).await
    }
}
