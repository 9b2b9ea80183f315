//! Terminals in the browser, to a container.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use async_trait::async_trait;
use serde_json::json;

use crate::environment::{Environment, REASON, SOCKET, frame, post_form};
use crate::load::{Turn, Workload};
use crate::windows::Dependency;

/// For the end of a terminal that was left.
const END: Duration = Duration::from_secs(60);

pub(crate) struct Terminals {
    cookie: String,
}

impl Terminals {
    pub(crate) async fn new(environment: &Environment) -> Result<Self> {
        let form = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs([("namespace", "default"), ("pod", "web"), ("reason", REASON)])
            .finish();
        let path = format!("{}/terminal/new", environment.cluster);
        let given = post_form(&environment.alice, &path, form).await?;
        ensure!(given.status == 303, "{}: {}", given.status, tests_kit::shown(&given.text));
        Ok(Self { cookie: environment.alice.cookie().context("a cookie")?.to_owned() })
    }
}

#[async_trait]
impl Workload for Terminals {
    fn name(&self) -> &'static str {
        "terminals"
    }

    fn workers(&self) -> usize {
        2
    }

    fn pause(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn dependencies(&self) -> &'static [Dependency] {
        &[Dependency::Portals, Dependency::Cluster]
    }

    async fn attempt(&self, environment: &Environment, turn: Turn) -> Result<()> {
        let (cookie, origin) = (&self.cookie, &environment.site.url);
        let headers = format!(
            "Cookie: {cookie}\r\nOrigin: {origin}\r\n{SOCKET}Sec-WebSocket-Protocol: aro.terminal.v1\r\n"
        );
        let target = format!("{}/terminal/socket", environment.cluster);
        let mut wire = environment.wire(origin, &target, &headers).await?;
        wire.upgraded().await?;
        let place = json!({ "pod": { "namespace": "default", "name": "web" } });
        let open = json!({ "t": "open", "place": place, "size": { "cols": 80, "rows": 24 } });
        wire.send(frame(1, open.to_string().as_bytes())?).await?;
        wire.says("\"t\":\"hello\"").await?;
        // What comes back is the sum, so it is the shell's answer and no echo.
        let number = turn.number % 1000;
        wire.send(frame(2, format!("echo sum-$(({number}+1000))\n").as_bytes())?).await?;
        wire.says(&format!("sum-{}", number + 1000)).await?;
        wire.send(frame(1, br#"{"t":"bye"}"#)?).await?;
        wire.closed(END).await.map(drop)
    }
}
