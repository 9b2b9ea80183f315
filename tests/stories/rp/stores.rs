//! Several `aro rp` on one PostgreSQL, one on SQLite: writers at once, a store that is away, a process that is killed.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use futures_util::future::{join, join_all};
use reqwest::Method;
use serde_json::{Value, json};
use tests_kit::{Answer, GENEROUS, Postgres, until};

use super::site::{Rp, SQLITE, SUB, Site, VERSION, path, wanted};

async fn postgres(site: &Site) -> Result<(Postgres, String)> {
    let server = Postgres::start().await?;
    site.folder.write("db.url", server.database().await?)?;
    Ok((server, "kind = \"postgres\"\nurl_file = \"db.url\"".to_owned()))
}

/// `code` of an error.
fn code(told: &Answer) -> String {
    let body = told.json().unwrap_or_default();
    body["error"]["code"].as_str().unwrap_or_default().to_owned()
}

/// All clusters, page by page, each page by the next of the processes.
async fn listed(processes: &[&Rp]) -> Result<Vec<Value>> {
    let mut found = Vec::new();
    let mut turn = processes.iter().cycle();
    let mut next = format!(
        "/subscriptions/{SUB}/providers/Microsoft.RedHatOpenShift/openShiftClusters?api-version={VERSION}"
    );
    loop {
        let rp = turn.next().context("a process")?;
        let page = rp.call(Method::GET, &next, None).await?.ok()?.json()?;
        found.extend(page["value"].as_array().context("a list")?.iter().cloned());
        ensure!(page["value"].as_array().is_some_and(|list| list.len() <= 10), "a page is ten at most");
        match page["nextLink"].as_str() {
            Some(link) => {
                let host = "https://management.azure.com";
                next = link.strip_prefix(host).with_context(|| link.to_owned())?.to_owned();
            }
            None => return Ok(found),
        }
    }
}

/// The operation that an answer names, as the other process sees it.
async fn follows(rp: &Rp, told: &Answer, state: &str) -> Result<()> {
    let url = told.header("azure-asyncoperation");
    let path = url.strip_prefix("https://management.azure.com").with_context(|| format!("{told:?}"))?;
    let seen = rp.call(Method::GET, path, None).await?.ok()?.json()?;
    ensure!(seen["status"] == state && seen["endTime"].is_null(), "{seen}");
    Ok(())
}

#[tokio::test]
async fn two_processes_at_once_accept_each_intent_once() -> Result<()> {
    let site = Site::new()?;
    let (server, store) = postgres(&site).await?;
    let one = site.run("one", &store, &Site::named()).await?;
    let two = site.run("two", &store, &Site::named()).await?;
    one.prepare().await?;
    two.offers().await?;

    // The same name by both: one creates it, the other finds it being created.
    for n in 0..6 {
        let (name, body) = (path(&format!("both-{n}")), wanted(n));
        let puts = join(one.call(Method::PUT, &name, Some(&body)), two.call(Method::PUT, &name, Some(&body)));
        let (a, b) = puts.await;
        let (mut told, mut other) = (a?, b?);
        if told.status != 201 {
            (told, other) = (other, told);
        }
        ensure!(told.status == 201, "{told:?} {other:?}");
        ensure!(other.status == 400 && code(&other) == "RequestNotAllowed", "{other:?}");
        follows(&one, &told, "Creating").await?;
        follows(&two, &told, "Creating").await?;
    }
    // Another name with the same identity or group by both: one is told whose it is.
    let (mut left, mut right) = (wanted(50), wanted(50));
    right["properties"]["clusterProfile"]["resourceGroupId"] =
        json!(format!("/subscriptions/{SUB}/resourceGroups/managed-51"));
    let (left_path, right_path) = (path("left"), path("right"));
    let (a, b) = join(
        one.call(Method::PUT, &left_path, Some(&left)),
        two.call(Method::PUT, &right_path, Some(&right)),
    )
    .await;
    let mut told = [(a?.status, "left"), (b?.status, "right")];
    told.sort_unstable();
    ensure!(told.map(|(status, _)| status) == [201, 400], "{told:?}");
    let loser =
        if told[1].1 == "left" { (&one, &left_path, &mut left) } else { (&two, &right_path, &mut right) };
    let again = loser.0.call(Method::PUT, loser.1, Some(loser.2)).await?;
    ensure!(again.status == 400 && code(&again) == "DuplicateClientID", "{again:?}");
    loser.2["properties"]["servicePrincipalProfile"]["clientId"] =
        json!("22222222-2222-2222-2222-222222222222");
    loser.2["properties"]["clusterProfile"]["resourceGroupId"] =
        json!(format!("/subscriptions/{SUB}/resourceGroups/managed-1"));
    let again = loser.0.call(Method::PUT, loser.1, Some(loser.2)).await?;
    ensure!(again.status == 400 && code(&again) == "DuplicateResourceGroup", "{again:?}");

    // Many at once through both; a page's token of one is good at the other.
    let puts = (100..124).map(|n| {
        let (rp, body) = (if n % 2 == 0 { &one } else { &two }, wanted(n));
        async move { rp.call(Method::PUT, &path(&format!("many-{n}")), Some(&body)).await }
    });
    for told in join_all(puts).await {
        let told = told?;
        ensure!(told.status == 201, "{told:?}");
    }
    let (by_one, by_both) = (listed(&[&one]).await?, listed(&[&two, &one]).await?);
    ensure!(by_one == by_both && by_one.len() == 31, "{} and {}", by_one.len(), by_both.len());
    drop(server);
    Ok(())
}

#[tokio::test]
async fn a_store_that_is_away_is_told_and_comes_back() -> Result<()> {
    let site = Site::new()?;
    let (server, store) = postgres(&site).await?;
    let rp = site.run("rp", &store, &Site::named()).await?;
    rp.prepare().await?;
    rp.call(Method::PUT, &path("before"), Some(&wanted(1))).await?.ok()?;
    server.stop().await?;
    for (method, body) in [(Method::GET, None), (Method::PUT, Some(wanted(2))), (Method::DELETE, None)] {
        let told = rp.call(method.clone(), &path("before"), body.as_ref()).await?;
        ensure!(told.status == 503, "{method}: {told:?}");
        ensure!(!told.header("retry-after").is_empty() && code(&told) == "ServiceUnavailable", "{told:?}");
        ensure!(!told.text.contains("postgres") && !told.text.contains("127.0.0.1"), "{told:?}");
    }
    let told = rp.send(&rp.stranger()?, Method::GET, "/healthz/ready", &[], None).await?;
    ensure!(told.status == 500, "ready without a store: {told:?}");
    server.go().await?;
    until("the API works again", GENEROUS, || async {
        rp.call(Method::GET, &path("before"), None).await?.ok()
    })
    .await?;
    let told = until("changes are taken again", GENEROUS, || async {
        let told = rp.call(Method::PUT, &path("after"), Some(&wanted(3))).await?;
        ensure!(told.status != 503, "{told:?}");
        Ok(told)
    })
    .await?;
    ensure!(matches!(told.status, 201 | 400), "{told:?}");
    site.ready(&rp).await
}

/// What was accepted is there after a kill; what was not told may be there, whole; nothing is there twice.
async fn killed(site: &Site, store: &str) -> Result<()> {
    let mut rp = site.run("rp", store, &Site::named()).await?;
    rp.prepare().await?;
    let mut accepted = BTreeSet::new();
    for round in 0..3 {
        let names: Vec<usize> = (round * 100..round * 100 + 24).collect();
        let puts = names.iter().map(|&n| {
            let (rp, body) = (&rp, wanted(n));
            async move { (n, rp.call(Method::PUT, &path(&format!("kill-{n}")), Some(&body)).await) }
        });
        // Killed once some have been answered, while others are on their way.
        let (first, body) = (path(&format!("first-{round}")), wanted(5000 + round));
        let kill = async {
            let told = rp.call(Method::PUT, &first, Some(&body)).await;
            rp.process.kill()?;
            told
        };
        let (told, answers) = join(kill, join_all(puts)).await;
        ensure!(told?.status == 201, "the first of round {round}");
        accepted.insert(format!("first-{round}"));
        for (n, answer) in answers {
            match answer {
                Ok(told) if told.status == 201 => {
                    accepted.insert(format!("kill-{n}"));
                }
                Ok(told) => ensure!(told.status == 503, "{told:?}"),
                Err(_) => {}
            }
        }
        rp = site.again("rp", rp).await?;
        rp.offers().await?;
        for n in names {
            // The retry of a caller that was told nothing: made now, or there already.
            let told = rp.call(Method::PUT, &path(&format!("kill-{n}")), Some(&wanted(n))).await?;
            let there = accepted.contains(&format!("kill-{n}"));
            let fits = match told.status {
                201 => !there,
                400 => code(&told) == "RequestNotAllowed",
                _ => false,
            };
            ensure!(fits, "kill-{n}, accepted before: {there}: {told:?}");
            accepted.insert(format!("kill-{n}"));
        }
    }
    let found = listed(&[&rp]).await?;
    let names: BTreeSet<String> =
        found.iter().map(|cluster| cluster["name"].as_str().unwrap_or_default().to_owned()).collect();
    ensure!(found.len() == names.len() && names == accepted, "{} of {}", found.len(), accepted.len());
    for cluster in &found {
        ensure!(cluster["properties"]["provisioningState"] == "Creating", "{cluster}");
    }
    Ok(())
}

#[tokio::test]
async fn what_was_accepted_is_there_after_a_kill_on_sqlite() -> Result<()> {
    killed(&Site::new()?, SQLITE).await
}

#[tokio::test]
async fn what_was_accepted_is_there_after_a_kill_on_postgres() -> Result<()> {
    let site = Site::new()?;
    let (_server, store) = postgres(&site).await?;
    killed(&site, &store).await
}

#[tokio::test]
async fn a_process_that_is_asked_to_end_finishes_what_it_took() -> Result<()> {
    let site = Site::new()?;
    let rp = site.run("rp", SQLITE, &Site::named()).await?;
    rp.prepare().await?;
    let puts = (0..16).map(|n| {
        let (rp, body) = (&rp, wanted(n));
        async move { rp.call(Method::PUT, &path(&format!("end-{n}")), Some(&body)).await }
    });
    let first = async {
        let told = rp.call(Method::PUT, &path("first"), Some(&wanted(99))).await;
        rp.process.signal("TERM")?;
        told
    };
    let (told, answers) = join(first, join_all(puts)).await;
    ensure!(told?.status == 201, "the first");
    let mut accepted = 1;
    for told in answers.into_iter().flatten() {
        ensure!(told.status == 201, "{told:?}");
        accepted += 1;
    }
    ensure!(rp.process.wait(GENEROUS).await?.success(), "{}", rp.process.tail());
    let rp = site.again("rp", rp).await?;
    let found = listed(&[&rp]).await?.len();
    ensure!(found >= accepted, "{found} of {accepted}");
    Ok(())
}
