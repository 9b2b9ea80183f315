//! `aro tunnel` to two real nginx that redirect to each other, as a console and its OAuth server do.

mod site;

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use tests_kit::{GENEROUS, Times, promised, until};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

pub(crate) use site::{CONSOLE, Local, OAUTH, Site};

/// The promise (`contract/rules.md` §3.7).
const WITHIN: Duration = Duration::from_secs(1);

#[tokio::test(flavor = "multi_thread")]
async fn a_console_is_reached_under_its_own_names_by_both_kinds_of_proxy() -> Result<()> {
    let site = Site::get().await?;
    let local = Local::start(site, "both kinds of proxy", &[]).await?;
    for proxy in [format!("socks5h://{}", local.address), format!("http://{}", local.address)] {
        let jar = site.folder.path().join(format!("jar-{}", proxy.len()));
        let jar = jar.to_string_lossy().into_owned();
        // To the console, from there to the OAuth server, back with a cookie.
        let url = format!("https://{CONSOLE}/");
        let page = site.curl(&["-L", "-c", &jar, "-b", &jar, "--proxy", &proxy, &url]).await?.ok()?;
        ensure!(page.contains("Overview of harbor"), "{proxy}: {page}");
    }
    // The names mean nothing but in the tunnel.
    let direct = site.curl(&[&format!("https://{OAUTH}/")]).await?;
    ensure!(direct.status == 6, "it is found without the tunnel: {direct:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_other_place_is_refused_and_on_the_record() -> Result<()> {
    let site = Site::get().await?;
    let local = Local::start(site, "other places", &[]).await?;
    let foreign = "metadata.other-places.test";
    for (proxy, said) in [("http", "not among the destinations"), ("socks5h", "(2)")] {
        let proxy = format!("{proxy}://{}", local.address);
        let refused = site.curl(&["-v", "--proxy", &proxy, &format!("https://{foreign}/")]).await?;
        ensure!(refused.status != 0, "{refused:?}");
        ensure!(
            refused.stderr.contains(said) || refused.stderr.contains("403"),
            "{proxy}: {}",
            refused.stderr
        );
    }
    // The right name at another port, and what the site is at: no place of the grant.
    for other in [format!("https://{CONSOLE}:444/"), format!("https://127.0.0.1:{}/", site.console_port)] {
        let proxy = format!("http://{}", local.address);
        ensure!(site.curl(&["--proxy", &proxy, &other]).await?.status != 0, "{other}");
    }
    let auditor = site.aro.session("auditor").await?;
    until("the refusals are on the record", GENEROUS, || async {
        let entries = auditor.audit(foreign).await?;
        let refused = entries
            .iter()
            .filter(|entry| entry["verb"] == "tunnel.connect" && entry["result"]["word"] == "refused");
        ensure!(refused.count() >= 2, "{entries:?}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_passes_is_on_the_record_with_its_bytes() -> Result<()> {
    let site = Site::get().await?;
    let local = Local::start(site, "bytes on the record", &[]).await?;
    let big = local.fetch(site, "big").await?;
    ensure!(big == site.big, "other bytes came");
    let auditor = site.aro.session("auditor").await?;
    until("the connection is on the record", GENEROUS, || async {
        let path = format!("/api/v1/audit?grant={}&limit=500", local.grant);
        let answer = auditor.get(&path).await?.ok()?.json()?;
        let entries = answer["items"].as_array().context("items")?;
        let of = |phase: &str| {
            entries.iter().find(|entry| {
                entry["verb"] == "tunnel.connect"
                    && entry["phase"] == phase
                    && entry["name"] == format!("{CONSOLE}:443")
            })
        };
        ensure!(of("start").is_some(), "{answer}");
        let end = of("end").with_context(|| answer.to_string())?;
        ensure!(end["bytes_out"].as_u64() > Some(site.big.len() as u64), "{end}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_stands_still_holds_nobody_up() -> Result<()> {
    let site = Site::get().await?;
    let local = Local::start(site, "a slow reader", &[]).await?;
    let mut slow = local.connect("noise.harbor.test:9").await?;
    // It has begun, and is not read on.
    let mut first = [0; 1024];
    slow.read_exact(&mut first).await?;
    for _ in 0..2 {
        ensure!(local.fetch(site, "big").await? == site.big);
    }
    slow.read_exact(&mut first).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn each_direction_ends_by_itself() -> Result<()> {
    let site = Site::get().await?;
    let local = Local::start(site, "half-closed", &[]).await?;
    let mut stream = local.connect("count.harbor.test:7").await?;
    let sent = vec![b'x'; 3_000_000];
    stream.write_all(&sent).await?;
    stream.shutdown().await?;
    // The far side answers only after our end.
    let mut said = String::new();
    tokio::time::timeout(GENEROUS, stream.read_to_string(&mut said)).await??;
    ensure!(said == "3000000 bytes", "{said}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_living_access_is_used_again_and_a_person_is_asked_once() -> Result<()> {
    let site = Site::get().await?;
    let first = Local::start(site, "used again", &[]).await?;
    let again = Local::again(&first, site).await?;
    ensure!(again.grant == first.grant, "{} and {}", again.grant, first.grant);
    // Without one that names the place, a reason is needed.
    let other = site.aro_ends(&["tunnel", "tunnelled", "--to", "noise.harbor.test:9"], "nobody").await?;
    ensure!(other.status != 0, "{other:?}");
    let elsewhere =
        ["tunnel", "tunnelled", "--reason", "a place that is not offered", "--to", "evil.test:443"];
    let refused = site.aro_ends(&elsewhere, "elsewhere").await?;
    ensure!(refused.status == 4 && refused.stderr.contains("does not offer"), "{refused:?}");
    Ok(())
}

/// By a port-forward to a ready router pod, as clusters behind a private link are reached.
#[tokio::test(flavor = "multi_thread")]
async fn the_ingress_of_a_cluster_of_ours_is_reached_by_its_routers() -> Result<()> {
    let site = Site::get().await?;
    let row = crate::command_ssh::row(site).await?;
    let text = |name: &str| row[name].as_str().with_context(|| row.to_string());
    let (name, resource) = (text("name")?, text("resourceId")?.to_ascii_lowercase());
    let session = site.session().await?;
    let offer = session.get(&format!("/api/v1/clusters{resource}/tunnel")).await?.ok()?.json()?;
    let console =
        offer["console"].as_str().filter(|url| !url.is_empty()).with_context(|| offer.to_string())?;
    let host = console.trim_start_matches("https://").trim_end_matches('/').to_owned();
    let pins = offer["pins"].as_array().with_context(|| offer.to_string())?;
    let pin = pins.first().and_then(|pin| pin.as_str()).with_context(|| offer.to_string())?;
    let domain = host.split_once('.').context("a domain")?.1;
    let downloads = format!("downloads-openshift-console.{domain}");

    let evil = ["tunnel", name, "--reason", "somebody else's place", "--to", "console.apps.evil.test:443"];
    let refused = site.aro_ends(&evil, "ours-evil").await?;
    ensure!(refused.status == 4 && refused.stderr.contains("does not offer"), "{refused:?}");

    let to = [format!("{host}:443"), format!("{downloads}:443"), format!("nothing.{domain}:443")];
    let to: Vec<&str> = to.iter().flat_map(|place| ["--to", place]).collect();
    let local = Local::to_places(site, name, "the ingress of one of ours", &to).await?;
    let proxy = format!("socks5h://{}", local.address);
    // The certificate is self-signed: the browser pins the key that the portal was given.
    let pinned = ["-k", "--pinnedpubkey", &format!("sha256//{pin}"), "--proxy", &proxy];
    for (host, said) in [(&host, "console of"), (&downloads, "downloads of")] {
        let page = site.curl(&[&pinned[..], &["-f", &format!("https://{host}/")]].concat()).await?.ok()?;
        ensure!(page.contains(said) && page.contains(name), "{host}: {page}");
    }
    let nothing = site.curl(&[&pinned[..], &[&format!("https://nothing.{domain}/")]].concat()).await?.ok()?;
    ensure!(nothing.contains("Application is not available"), "{nothing}");
    let other =
        ["-k", "--pinnedpubkey", "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "--proxy", &proxy];
    let other = site.curl(&[&other[..], &[console]].concat()).await?;
    ensure!(other.status == 90, "curl took another key: {other:?}");

    let auditor = site.aro.session("auditor").await?;
    until("the connections are on the record", GENEROUS, || async {
        let path = format!("/api/v1/audit?grant={}&limit=500", local.grant);
        let answer = auditor.get(&path).await?.ok()?.json()?;
        let entries = answer["items"].as_array().context("items")?;
        let end = entries.iter().find(|entry| {
            entry["verb"] == "tunnel.connect"
                && entry["phase"] == "end"
                && entry["name"] == format!("{downloads}:443")
        });
        let end = end.with_context(|| answer.to_string())?;
        ensure!(end["identity_used"] == "service" && end["bytes_out"].as_u64() > Some(100), "{end}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_elevation_no_tunnel_is_given() -> Result<()> {
    let site = Site::get().await?;
    let session = site.aro.session("sre").await?;
    let body = json!({"kind": "tunnel", "target": site.cluster, "reason": "without an elevation"});
    let refused = session.post("/api/v1/grants", &body).await?;
    ensure!(refused.status == 403, "{}", refused.text);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn revocation_cuts_a_download_within_a_second() -> Result<()> {
    let site = Site::get().await?;
    promised("the end of a download", WITHIN, async |round| revoked_in_use(site, round).await).await
}

/// How long a download lives on after its grant was revoked.
async fn revoked_in_use(site: &Site, round: usize) -> Result<Times> {
    let mut local = Local::start(site, &format!("revoked in use, round {round}"), &[]).await?;
    let mut stream = local.connect("noise.harbor.test:9").await?;
    let mut piece = vec![0; 64 * 1024];
    stream.read_exact(&mut piece).await?;
    site.session().await?.revoke(&local.grant).await?;
    let began = Instant::now();
    let rest = async { while matches!(stream.read(&mut piece).await, Ok(1..)) {} };
    tokio::time::timeout(GENEROUS, rest).await.context("the download goes on")?;
    let took = began.elapsed();
    let said = local.ends().await?;
    ensure!(said.contains("revoked"), "{said}");
    Ok(vec![("download".to_owned(), took)])
}
