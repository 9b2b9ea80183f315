//! Clusters that misbehave.

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tests_kit::{
    Answer, Aro, AroOptions, Authority, Behaviour, GENEROUS, Upstream, free_port, kubeconfig_server, until,
};

use crate::proxied_cluster::ProxiedCluster;

/// A `Status` that says whose fault it is.
fn blames_the_cluster(answer: &Answer, statuses: &[u16]) -> Result<()> {
    ensure!(statuses.contains(&answer.status), "{} {}", answer.status, answer.text);
    let body = answer.json()?;
    ensure!(body["kind"] == "Status" && body["code"] == answer.status, "{body}");
    ensure!(body["details"]["causes"][0]["field"] == "cluster", "{body}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_cannot_be_reached_is_named_as_the_cause() -> Result<()> {
    let aro = Aro::start(AroOptions::default()).await?;
    let text = std::fs::read_to_string(
        Upstream::start(Behaviour::Echo(vec![])).await?.kubeconfig(aro.folder(), "x")?,
    )?;
    let server = kubeconfig_server(&text)?;
    let file = aro
        .folder()
        .write("gone.kubeconfig", text.replace(&server, &format!("https://127.0.0.1:{}", free_port()?)))?;
    let door = ProxiedCluster::open(&aro, &aro.import_and_wait(&file, "gone", &[]).await?).await?;
    blames_the_cluster(&door.get("/api/v1/pods").await?, &[502, 503, 504])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_with_another_certificate_gets_no_credential() -> Result<()> {
    let aro = Aro::start(AroOptions::default()).await?;
    let upstream = Upstream::start(Behaviour::Echo(vec![])).await?;
    let other = Authority::new("somebody else")?;
    let file = upstream.kubeconfig_trusting(aro.folder(), "impostor", &other)?;
    let door = ProxiedCluster::open(&aro, &aro.import_and_wait(&file, "impostor", &[]).await?).await?;
    blames_the_cluster(&door.get("/api/v1/pods").await?, &[502])?;
    ensure!(upstream.received().is_empty(), "{:?}", upstream.received());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_sets_no_cookies_and_no_policies() -> Result<()> {
    let aro = Aro::start(AroOptions::default()).await?;
    let upstream = Upstream::start(Behaviour::Echo(vec![
        ("set-cookie", "__Host-session=stolen; Secure; Path=/"),
        ("strict-transport-security", "max-age=31536000"),
        ("alt-svc", "h3=\":443\""),
        ("clear-site-data", "\"*\""),
        ("access-control-allow-origin", "*"),
        ("content-security-policy", "default-src *"),
        ("location", "https://elsewhere.example/"),
        ("www-authenticate", "Basic realm=x"),
        ("warning", "299 - \"old\""),
    ]))
    .await?;
    let door = ProxiedCluster::import(&aro, &upstream, "cookies").await?;
    let answer = door.get("/api/v1/pods").await?.ok()?;
    for name in [
        "set-cookie",
        "strict-transport-security",
        "alt-svc",
        "clear-site-data",
        "access-control-allow-origin",
    ] {
        ensure!(!answer.headers.contains_key(name), "{name}: {:?}", answer.headers);
    }
    ensure!(answer.header("content-security-policy").contains("sandbox"), "{:?}", answer.headers);
    ensure!(answer.header("x-content-type-options") == "nosniff" && answer.header("warning").contains("old"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_breaks_off_is_cut_and_nothing_is_added() -> Result<()> {
    let aro = Aro::start(AroOptions::default()).await?;
    for query in ["", "?watch=true"] {
        let upstream = Upstream::start(Behaviour::Cut).await?;
        let name = format!("cut-{}", query.len());
        let door = ProxiedCluster::import(&aro, &upstream, &name).await?;
        let mut wire = door.send(&aro, &format!("/api/v1/pods{query}")).await?;
        wire.says("\"items\":[").await?;
        upstream.release();
        let all = wire.closed(GENEROUS).await?;
        ensure!(all.starts_with("HTTP/1.1 200"), "{all}");
        ensure!(all.trim_end().ends_with("\"items\":["), "foreign bytes after the cut: {all}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn more_watches_than_the_cluster_allows_on_a_connection_all_get_their_event() -> Result<()> {
    let aro = Aro::start(AroOptions::default()).await?;
    let upstream = Upstream::start(Behaviour::Watch(3)).await?;
    let door = ProxiedCluster::import(&aro, &upstream, "narrow").await?;
    let mut watches = Vec::new();
    for n in 0..20 {
        watches.push(door.send(&aro, &format!("/api/v1/namespaces/n{n}/pods?watch=true")).await?);
    }
    for (n, watch) in watches.iter_mut().enumerate() {
        watch.says("\"ADDED\"").await.with_context(|| format!("watch {n}"))?;
    }
    // While all of them stay open, a short request goes through.
    door.get("/api/v1/pods").await?.ok()?;
    ensure!(upstream.connections() >= 7, "{} connections", upstream.connections());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_say_goaway_lose_no_request() -> Result<()> {
    let aro = Aro::start(AroOptions::default()).await?;
    let upstream = Upstream::start(Behaviour::GoAway).await?;
    let door = ProxiedCluster::import(&aro, &upstream, "leaving").await?;
    for round in 0..20 {
        let door = &door;
        let asked =
            (0..5).map(async |n| door.get(&format!("/api/v1/namespaces/r{round}n{n}/pods")).await?.ok());
        for answer in futures_util::future::join_all(asked).await {
            answer.with_context(|| format!("round {round}"))?;
        }
    }
    ensure!(upstream.connections() >= 10, "{} connections", upstream.connections());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_cluster_holds_up_nobody_else() -> Result<()> {
    let aro = Aro::start(AroOptions::default()).await?;
    let (silent, well) =
        (Upstream::start(Behaviour::Silent).await?, Upstream::start(Behaviour::Echo(vec![])).await?);
    let (stuck, free) = (
        ProxiedCluster::import(&aro, &silent, "silent").await?,
        ProxiedCluster::import(&aro, &well, "well").await?,
    );
    let hanging: Vec<_> = (0..50)
        .map(|n| {
            let (proxy, path) = (stuck.proxy.clone(), format!("{}/api/v1/namespaces/n{n}/pods", stuck.path));
            tokio::spawn(async move { proxy.get(&path).await })
        })
        .collect();
    until("the silent cluster has all requests", GENEROUS, || async {
        let got = silent.passed_on().len();
        ensure!(got >= 50, "{got} requests");
        Ok(())
    })
    .await?;
    for _ in 0..20 {
        let asked = tokio::time::timeout(GENEROUS, free.get("/api/v1/pods")).await;
        asked.context("the other cluster is held up")??.ok()?;
    }
    for task in hanging {
        task.abort();
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_imported_cluster_is_there_at_once() -> Result<()> {
    let aro = Aro::start(AroOptions::default()).await?;
    let upstream = Upstream::start(Behaviour::Echo(vec![])).await?;
    for n in 0..5 {
        let name = format!("fresh-{n}");
        let resource = aro.import(&upstream.kubeconfig(aro.folder(), &name)?, &name, &[]).await?;
        let door = ProxiedCluster::open(&aro, &resource).await?;
        door.get("/api/v1/pods").await?.ok()?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn imports_that_cannot_be_are_refused_with_the_reason() -> Result<()> {
    let aro = Aro::start(AroOptions::default()).await?;
    let upstream = Upstream::start(Behaviour::Echo(vec![])).await?;
    let good = std::fs::read_to_string(upstream.kubeconfig(aro.folder(), "good")?)?;
    let mut value: Value = serde_json::from_str(&good)?;
    let server = kubeconfig_server(&good)?;
    let mut with = |pointer: &str, new: Value| -> Result<String> {
        let old = value.pointer(pointer).cloned().with_context(|| pointer.to_owned())?;
        *value.pointer_mut(pointer).context("it is there")? = new;
        let text = value.to_string();
        *value.pointer_mut(pointer).context("it is there")? = old;
        Ok(text)
    };
    let exec = serde_json::json!({ "exec": { "apiVersion": "client.authentication.k8s.io/v1", "command": "/bin/true" } });
    let path = serde_json::json!({ "client-certificate": "/etc/hostname", "client-key": "/etc/hostname" });
    let token_file = serde_json::json!({ "tokenFile": "/etc/hostname" });
    let no_ca = serde_json::json!({ "server": server });
    let insecure = serde_json::json!({ "server": server, "insecure-skip-tls-verify": true });
    let cases = [
        ("empty", String::new()),
        ("not YAML", "{\0: [".to_owned()),
        ("huge", format!("{good}{}", " ".repeat(1_200_000))),
        ("exec", with("/users/0/user", exec)?),
        ("paths", with("/users/0/user", path)?),
        ("a token file", with("/users/0/user", token_file)?),
        ("no CA", with("/clusters/0/cluster", no_ca)?),
        ("no check of certificates", with("/clusters/0/cluster", insecure)?),
        ("plain HTTP", good.replace("https://", "http://")),
        ("ourselves", good.replace(&server, &aro.dev.proxy_url)),
        ("ourselves by name", good.replace(&server, &aro.dev.url)),
        ("metadata", good.replace(&server, "https://169.254.169.254")),
        ("metadata of the fabric", good.replace(&server, "https://168.63.129.16:443")),
        ("link-local", good.replace(&server, "https://[fe80::1]:6443")),
        ("mapped metadata", good.replace(&server, "https://[::ffff:169.254.169.254]")),
    ];
    let admin = aro.session("admin").await?;
    for (what, kubeconfig) in cases {
        let body = serde_json::json!({ "name": "bad", "kubeconfig": kubeconfig, "as_groups": [] });
        let answer = admin.post("/api/v1/imports", &body).await?;
        ensure!((400..500).contains(&answer.status), "{what}: {} {}", answer.status, answer.text);
        let said = answer.json()?;
        ensure!(said.to_string().contains("message"), "{what}: {said}");
        ensure!(!answer.text.contains("token-of-the-upstream"), "{what}: the answer repeats the credential");
    }
    for name in ["", "..", "a/b", "Ünicode", &"x".repeat(300), "<script>", "a b"] {
        let body = serde_json::json!({ "name": name, "kubeconfig": good, "as_groups": [] });
        let answer = admin.post("/api/v1/imports", &body).await?;
        ensure!((400..500).contains(&answer.status), "{name:?}: {} {}", answer.status, answer.text);
    }
    let listed = admin.get("/api/v1/imports").await?.ok()?.text;
    ensure!(!listed.contains("\"bad\""), "{listed}");
    Ok(())
}
