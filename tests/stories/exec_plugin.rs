//! A kubeconfig without a secret: the real kubectl runs `aro credential` for its tokens.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use futures_util::future::try_join_all;
use serde_json::Value;
use tests_kit::{GENEROUS, Kubectl, Times, kubeconfig_server, promised, until};

use crate::terminal::{Terminal, agree};

/// The promise (`contract/rules.md` §3.7).
const WITHIN: Duration = Duration::from_secs(1);

/// What every kubeconfig of this file is taken for.
const REASON: &str = "kubectl runs the plug-in";

/// Takes a kubeconfig; gives its file, its grant and where the grant's token is kept.
async fn create_kubeconfig(terminal: &Terminal, name: &str) -> Result<(PathBuf, String, PathBuf)> {
    let file = terminal.home.path().join(name);
    let path = file.to_string_lossy();
    terminal.run(&["kubeconfig", "named", "--reason", REASON, "-f", &path, "-o", "json"]).await?.ok()?;
    let config: Value = serde_json::from_slice(&std::fs::read(&file)?)?;
    let grant = config.pointer("/users/0/user/exec/args/2").and_then(Value::as_str);
    let grant = grant.context("the grant's id among the arguments")?.to_owned();
    let cache = terminal.profile_file(&format!("grants/{grant}.json"));
    Ok((file, grant, cache))
}

async fn renewals(terminal: &Terminal, grant: &str) -> Result<usize> {
    let auditor = terminal.world.aro.session("auditor").await?;
    let entries = auditor.audit(grant).await?;
    Ok(entries.iter().filter(|entry| entry["verb"] == "grant.renew").count())
}

/// Makes the kept token one that has ended.
fn age(cache: &PathBuf) -> Result<()> {
    let mut kept: Value = serde_json::from_slice(&std::fs::read(cache)?)?;
    kept["taken"] = "2026-01-01T00:00:00Z".into();
    kept["not_after"] = "2026-01-01T00:15:00Z".into();
    Ok(std::fs::write(cache, kept.to_string())?)
}

fn token_of(cache: &PathBuf) -> Result<String> {
    let kept: Value = serde_json::from_slice(&std::fs::read(cache)?)?;
    kept["token"].as_str().map(str::to_owned).context("a token is kept")
}

async fn sees_pods(kubectl: &Kubectl) -> Result<()> {
    let pods = kubectl.ok(&["get", "pods", "-o", "name"]).await?;
    ensure!(pods.contains("pod/web"), "{pods}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_stands_in_the_file_and_ended_tokens_are_renewed_silently() -> Result<()> {
    let terminal = Terminal::signed_in("sre").await?;
    let (file, _, cache) = create_kubeconfig(&terminal, "plug-in.kubeconfig").await?;
    let text = std::fs::read_to_string(&file)?;
    ensure!(!text.contains("aro1_") && !text.contains("\"token\""), "{text}");
    ensure!(std::fs::metadata(&file)?.permissions().mode() & 0o777 == 0o600);
    ensure!(!cache.exists(), "nothing is fetched before kubectl asks");

    let kubectl = terminal.kubectl(&file)?;
    sees_pods(&kubectl).await?;
    let first = token_of(&cache)?;
    ensure!(std::fs::metadata(&cache)?.permissions().mode() & 0o777 == 0o600);
    sees_pods(&kubectl).await?;
    ensure!(token_of(&cache)? == first, "a good token is used again");
    age(&cache)?;
    sees_pods(&kubectl).await?;
    ensure!(token_of(&cache)? != first, "an ended token is renewed");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_kubectl_at_once_renew_once() -> Result<()> {
    let terminal = Terminal::signed_in("sre").await?;
    let (file, grant, cache) = create_kubeconfig(&terminal, "parallel.kubeconfig").await?;
    let kubectl = terminal.kubectl(&file)?;
    try_join_all((0..20).map(|_| sees_pods(&kubectl))).await?;
    ensure!(cache.exists());
    until("the renewal is in the audit", GENEROUS, || async {
        ensure!(renewals(&terminal, &grant).await? > 0);
        Ok(())
    })
    .await?;
    let renewed = renewals(&terminal, &grant).await?;
    ensure!(renewed == 1, "{renewed} renewals");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_grant_ends_its_tokens_within_a_second() -> Result<()> {
    let terminal = Terminal::signed_in("sre").await?;
    promised("the end of a plug-in's tokens", WITHIN, async |round| revoked_in_use(&terminal, round).await)
        .await
}

/// How long the token and the watch of a grant live on that was revoked.
async fn revoked_in_use(terminal: &Terminal, round: usize) -> Result<Times> {
    let (file, grant, cache) = create_kubeconfig(terminal, &format!("revoked-{round}.kubeconfig")).await?;
    let server = kubeconfig_server(&std::fs::read_to_string(&file)?)?;
    let kubectl = terminal.kubectl(&file)?;
    let watch = kubectl.start(&["get", "pods", "-w"])?;
    watch.says("web").await?;
    let aro = &terminal.world.aro;
    let path = server.strip_prefix(aro.dev.proxy_url.trim_end_matches('/')).context("our proxy")?;
    let pods = format!("{path}/api/v1/namespaces/default/pods");
    let with_token = aro.proxy()?.with_bearer(&token_of(&cache)?);
    with_token.get(&pods).await?.ok()?;
    let watch = tokio::spawn(async move { watch.end(GENEROUS).await.map(|_| Instant::now()) });

    // It is revoked elsewhere: no process at this terminal knows.
    aro.session("admin").await?.revoke(&grant).await?;
    let began = Instant::now();
    let token = until("the token is refused", GENEROUS, || async {
        let answer = with_token.get(&pods).await?;
        ensure!(answer.status == 401, "{}", answer.status);
        Ok(began.elapsed())
    });
    let (token, watch) = (token.await?, watch.await??.saturating_duration_since(began));
    let said = kubectl.refused(&["get", "pods"]).await?;
    ensure!(said.contains("revoked") || said.contains("ended"), "{said}");
    Ok(vec![("token".to_owned(), token), ("watch".to_owned(), watch)])
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_any_moment_it_leaves_a_good_token_or_none() -> Result<()> {
    let terminal = Terminal::signed_in("sre").await?;
    let (_, grant, cache) = create_kubeconfig(&terminal, "killed.kubeconfig").await?;
    let call = ["credential", "--grant", &grant];
    terminal.run(&call).await?.ok()?;
    let whole = async |after: Duration| {
        age(&cache)?;
        let mut child = terminal.command(&call)?.spawn()?;
        // A deadline, not a pause: it may end before.
        if tokio::time::timeout(after, child.wait()).await.is_err() {
            child.kill().await?;
        }
        token_of(&cache).with_context(|| format!("killed after {after:?}"))
    };
    for step in 0..40_u64 {
        whole(Duration::from_millis(step * 8)).await?;
    }
    age(&cache)?;
    let answer: Value = serde_json::from_str(&terminal.run(&call).await?.ok()?)?;
    ensure!(answer["kind"] == "ExecCredential", "{answer}");
    let names = std::fs::read_dir(terminal.profile_file("grants"))?.map(|entry| Ok(entry?.file_name()));
    let names: Vec<_> = names.collect::<Result<_>>()?;
    ensure!(names.len() == 2, "a token, its lock and nothing half-written: {names:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_others_can_read_are_refused() -> Result<()> {
    let terminal = Terminal::signed_in("sre").await?;
    let (file, _, cache) = create_kubeconfig(&terminal, "open.kubeconfig").await?;
    let kubectl = terminal.kubectl(&file)?;
    sees_pods(&kubectl).await?;
    let set = |path: &PathBuf, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode));
    set(&cache, 0o644)?;
    let said = kubectl.refused(&["get", "pods"]).await?;
    ensure!(said.contains("0644") && said.contains("chmod 600"), "{said}");
    set(&cache, 0o600)?;
    let kept = terminal.profile_file("token.json");
    set(&kept, 0o640)?;
    let refused = terminal.run(&["whoami"]).await?;
    ensure!(refused.status == 2 && refused.stderr.contains("0640"), "{refused:?}");
    set(&kept, 0o600)?;
    terminal.run(&["whoami"]).await?.ok()?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_sign_in_it_names_the_command() -> Result<()> {
    let terminal = Terminal::signed_in("sre").await?;
    let (file, _, _) = create_kubeconfig(&terminal, "signed-out.kubeconfig").await?;
    terminal.run(&["logout"]).await?.ok()?;
    let said = terminal.kubectl(&file)?.refused(&["get", "pods"]).await?;
    ensure!(said.contains("aro login --portal"), "{said}");
    let refused = terminal.run(&["grants", "list", "-o", "json"]).await?;
    ensure!(refused.status == 3 && refused.stdout.is_empty(), "{refused:?}");
    let error: Value = serde_json::from_str(&refused.stderr)?;
    ensure!(error["code"] == "not_signed_in", "{error}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_context_is_added_to_the_kubeconfig_that_is_there() -> Result<()> {
    let terminal = Terminal::signed_in("sre").await?;
    let theirs = "apiVersion: v1\nkind: Config\nclusters: []\nusers: [{name: me, user: {token: x}}]\ncontexts: [{name: mine, context: {cluster: c, user: me}}]\ncurrent-context: mine\n";
    let file = terminal.home.write(".kube/config", theirs)?;
    let added = terminal.run(&["kubeconfig", "named", "--reason", REASON, "--merge"]).await?;
    ensure!(added.status == 0 && added.stdout.is_empty(), "{added:?}");
    let kubectl = terminal.kubectl(&file)?;
    let contexts = kubectl.ok(&["config", "get-contexts", "-o", "name"]).await?;
    ensure!(contexts.contains("mine") && contexts.contains("named"), "{contexts}");
    sees_pods(&kubectl).await
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_in_one_step_takes_one_grant_and_ends_as_kubectl_does() -> Result<()> {
    let terminal = Terminal::signed_in("sre").await?;
    let refused = terminal.run(&["kubectl", "named", "--", "get", "pods"]).await?;
    ensure!(refused.status == 2 && refused.stderr.contains("--reason"), "{refused:?}");
    let first = ["kubectl", "named", "--reason", "in one step", "--", "get", "pods", "-o", "name"];
    let pods = terminal.run(&first).await?.ok()?;
    ensure!(pods.contains("pod/web"), "{pods}");
    let again = terminal.run(&["kubectl", "named", "--", "get", "pod", "nowhere"]).await?;
    ensure!(again.status == 1 && again.stderr.contains("NotFound"), "{again:?}");
    let grants = terminal.json(&["grants", "list", "--state", "active", "--cluster", "named"]).await?;
    let taken = grants["items"].as_array().context("grants")?;
    let taken = taken.iter().filter(|grant| grant["reason"] == "in one step").count();
    ensure!(taken == 1, "{taken} grants: {grants}");

    // It is kubectl itself that gets the signal.
    let mut watch = terminal.command(&["kubectl", "named", "--", "get", "pods", "-w"])?.spawn()?;
    let pid = watch.id().context("it runs")?.to_string();
    let name = format!("/proc/{pid}/comm");
    until("it has become kubectl", GENEROUS, || async {
        let name = std::fs::read_to_string(&name)?;
        ensure!(name.trim() == "kubectl", "{name}");
        Ok(())
    })
    .await?;
    let sent = tokio::process::Command::new("kill").args(["-TERM", &pid]).status().await?;
    ensure!(sent.success());
    let status = tokio::time::timeout(GENEROUS, watch.wait()).await.context("it goes on")??;
    ensure!(!status.success(), "{status}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ended_sign_in_opens_the_browser_when_somebody_is_there() -> Result<()> {
    let terminal = Terminal::signed_in("sre").await?;
    let (_, grant, cache) = create_kubeconfig(&terminal, "again.kubeconfig").await?;
    let kept: Value = serde_json::from_slice(&std::fs::read(terminal.profile_file("token.json"))?)?;
    let token = kept["token"].as_str().context("a token")?;
    let signed_in = token.split('_').nth(2).context("the token names its grant")?;
    terminal.world.aro.session("sre").await?.revoke(signed_in).await?;

    let call = ["credential", "--grant", &grant];
    let info = |interactive: bool| {
        format!(
            r#"{{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","spec":{{"interactive":{interactive}}}}}"#
        )
    };
    let alone = terminal.command(&call)?.env("KUBERNETES_EXEC_INFO", info(false)).output().await?;
    let said = String::from_utf8_lossy(&alone.stderr);
    ensure!(alone.status.code() == Some(3) && said.contains("aro login --portal"), "{said}");

    let script =
        terminal.home.write("browser", "#!/bin/sh\necho \"$1\" > address.new && mv address.new address\n")?;
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o700))?;
    let mut command = terminal.command(&call)?;
    command.env("KUBERNETES_EXEC_INFO", info(true)).env("BROWSER", &script);
    let asking = command.spawn()?;
    let address = until("the browser is opened", GENEROUS, || async {
        Ok(std::fs::read_to_string(terminal.home.path().join("address"))?)
    });
    let page = reqwest::Url::parse(address.await?.trim())?;
    let back = agree(&terminal.world.aro.session("sre").await?, &page).await?;
    reqwest::Client::builder().no_proxy().build()?.get(back).send().await?;
    let output = tokio::time::timeout(GENEROUS, asking.wait_with_output()).await.context("it waits on")??;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answer: Value = serde_json::from_slice(&output.stdout)?;
    ensure!(answer["status"]["token"].as_str() == Some(token_of(&cache)?.as_str()), "{answer}");
    Ok(())
}
