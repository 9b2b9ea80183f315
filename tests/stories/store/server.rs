//! Real PostgreSQL servers that stop, freeze, and are taken over from.

use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use rp_base::Secret;
use rp_database::{Changes, Draft, Expect, PostgresOptions, PostgresStore, Store as _, StoreError, Stored};
use rp_documents::Collection;
use tests_kit::{Authority, GENEROUS, Postgres, until};

const ANY: Collection = Collection::ImportedClusters;

fn draft(id: &str) -> Draft {
    Draft {
        id: id.to_owned(),
        partition: "p".to_owned(),
        unique_key: None,
        body: format!(r#"{{"id":"{id}"}}"#),
        expires_at: None,
    }
}

async fn open(url: &str) -> Result<PostgresStore> {
    let mut options = PostgresOptions::from_url(url)?;
    options.max_connections = 6;
    Ok(PostgresStore::connect(options).await?)
}

/// Writes until the store takes it; gives what was written.
async fn written(store: &PostgresStore, id: &str) -> Result<Stored> {
    until(&format!("{id} is written"), GENEROUS, || async {
        match store.create(ANY, draft(id)).await {
            // The answer to an earlier try was lost.
            Err(StoreError::Exists { .. }) => Ok(store.get(ANY, id).await?.context("it exists")?),
            outcome => Ok(outcome?),
        }
    })
    .await
}

/// A primary with a standby that streams from it, and a database on both.
struct Pair {
    primary: Postgres,
    standby: Postgres,
    url: String,
}

impl Pair {
    async fn start() -> Result<Self> {
        let primary = Postgres::start().await?;
        let url = primary.database().await?;
        let name = url.rsplit_once('/').context("a URL")?.1.to_owned();
        let standby = primary.standby().await?;
        let pair = Self { url: primary.url_with(&standby, &name), primary, standby };
        pair.streams().await?;
        Ok(pair)
    }

    /// Waits until the standby is connected.
    async fn streams(&self) -> Result<()> {
        until("the standby streams", GENEROUS, || async {
            let seen = self.primary.sql("postgres", "SELECT state FROM pg_stat_replication").await?;
            ensure!(seen == "streaming", "{seen}");
            Ok(())
        })
        .await
    }

    /// From now on nothing is answered before the standby has it.
    async fn synchronous(&self) -> Result<()> {
        self.primary.sql("postgres", "ALTER SYSTEM SET synchronous_standby_names = '*'").await?;
        self.primary.sql("postgres", "SELECT pg_reload_conf()").await?;
        until("commits wait for the standby", GENEROUS, || async {
            let seen = self.primary.sql("postgres", "SELECT sync_state FROM pg_stat_replication").await?;
            ensure!(seen == "sync", "{seen}");
            Ok(())
        })
        .await
    }
}

/// Everything after a cursor.
async fn feed(store: &PostgresStore, cursor: i64) -> Result<Changes> {
    let changes = store.changes(ANY, cursor, 1000).await?;
    ensure!(!changes.more, "more than was written");
    Ok(changes)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promoted_standby_is_found_and_nothing_that_was_answered_is_lost() -> Result<()> {
    let pair = Pair::start().await?;
    pair.synchronous().await?;
    let store = open(&pair.url).await?;
    let follower = open(&pair.url).await?;
    let mut answered = Vec::new();
    for n in 0..20 {
        answered.push(written(&store, &format!("before-{n}")).await?);
    }
    let seen = feed(&follower, follower.head(ANY).await? - 1).await?;
    pair.primary.stop().await?;
    until("age", GENEROUS, || async {
        ensure!(store.freshness() > Duration::from_secs(1), "{:?}", store.freshness());
        Ok(())
    })
    .await?;
    pair.standby.promote()?;
    for n in 0..20 {
        answered.push(written(&store, &format!("after-{n}")).await?);
    }
    for stored in &answered {
        ensure!(store.get(ANY, &stored.id).await?.as_ref() == Some(stored), "{} is gone", stored.id);
    }
    until("freshness", GENEROUS, || async {
        ensure!(store.freshness() < Duration::from_secs(1), "{:?}", store.freshness());
        Ok(())
    })
    .await?;
    let missed = until("the follower reads on", GENEROUS, || feed(&follower, seen.cursor)).await?;
    ensure!(missed.items.len() == 20, "{} of 20 changes", missed.items.len());
    // Told by NOTIFY again.
    until("a notification", GENEROUS, || async {
        let mut wake = follower.subscribe(ANY);
        let n = store.now().await?.millis();
        store.create(ANY, draft(&format!("wake-{n}"))).await?;
        Ok(tokio::time::timeout(Duration::from_millis(500), wake.changed()).await??)
    })
    .await?;
    store.close().await;
    follower.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_primary_is_left_for_the_promoted_standby_and_not_gone_back_to() -> Result<()> {
    let pair = Pair::start().await?;
    pair.synchronous().await?;
    let store = open(&pair.url).await?;
    written(&store, "before").await?;
    pair.primary.pause()?;
    pair.standby.promote()?;
    written(&store, "after").await?;
    // The old one wakes up, and still believes that it takes writes.
    pair.primary.resume();
    until("the old primary answers", GENEROUS, || async {
        let seen = pair.primary.sql("postgres", "SELECT pg_is_in_recovery()").await?;
        ensure!(seen == "f", "{seen}");
        Ok(())
    })
    .await?;
    for n in 0..5 {
        written(&store, &format!("later-{n}")).await?;
    }
    // Who starts now finds two that take writes, the old one first.
    let second = open(&pair.url).await?;
    ensure!(second.get(ANY, "after").await?.is_some(), "the old primary was taken");
    written(&second, "by-the-second").await?;
    ensure!(store.get(ANY, "by-the-second").await?.is_some(), "they use two servers");
    store.close().await;
    second.close().await;
    Ok(())
}

/// Without synchronous replication a failover loses writes. Positions and versions are not given twice all the same:
/// no follower misses what is written after it, and no document is replaced by a version of another history.
#[tokio::test(flavor = "multi_thread")]
async fn after_a_loss_no_position_is_given_twice() -> Result<()> {
    let pair = Pair::start().await?;
    let store = open(&pair.url).await?;
    let kept = written(&store, "kept").await?;
    until("the standby has it", GENEROUS, || async {
        let name = pair.url.rsplit_once('/').context("a URL")?.1;
        let seen = pair.standby.sql(name, "SELECT count(*) FROM documents WHERE id = 'kept'").await?;
        ensure!(seen == "1", "{seen}");
        Ok(())
    })
    .await?;
    pair.standby.sql("postgres", "ALTER SYSTEM SET primary_conninfo = ''").await?;
    pair.standby.sql("postgres", "SELECT pg_reload_conf()").await?;
    until("the standby hears nothing", GENEROUS, || async {
        let seen = pair.primary.sql("postgres", "SELECT count(*) FROM pg_stat_replication").await?;
        ensure!(seen == "0", "{seen}");
        Ok(())
    })
    .await?;
    let lost = store.replace(ANY, draft("kept"), Expect::Version(kept.version)).await?;
    for n in 0..50 {
        written(&store, &format!("lost-{n}")).await?;
    }
    let cursor = store.head(ANY).await?;
    pair.primary.stop().await?;
    pair.standby.promote()?;
    let after = written(&store, "after").await?;
    ensure!(after.seq > cursor, "position {} was given before", after.seq);
    let seen = feed(&store, cursor).await?;
    ensure!(seen.items.iter().any(|change| change.id == "after"), "the follower misses it");
    match store.replace(ANY, draft("kept"), Expect::Version(lost.version)).await {
        Err(StoreError::Stale { .. }) => {}
        other => bail!("a version that was lost was taken: {other:?}"),
    }
    let now = store.get(ANY, "kept").await?.context("it is kept")?;
    ensure!(now.version == kept.version, "it is the one that the standby had");
    store.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_server_is_refused_in_time_and_used_again_when_it_wakes() -> Result<()> {
    let server = Postgres::start().await?;
    let store = open(&server.database().await?).await?;
    written(&store, "before").await?;
    server.pause()?;
    let call = tokio::time::timeout(GENEROUS, store.get(ANY, "before")).await.context("it hangs")?;
    ensure!(matches!(call, Err(StoreError::Unavailable(_))), "{call:?}");
    let call = tokio::time::timeout(GENEROUS, store.create(ANY, draft("x"))).await.context("it hangs")?;
    ensure!(matches!(call, Err(StoreError::Unavailable(_))), "{call:?}");
    ensure!(store.freshness() > Duration::from_secs(5), "{:?}", store.freshness());
    server.resume();
    written(&store, "after").await?;
    until("freshness", GENEROUS, || async {
        ensure!(store.freshness() < Duration::from_secs(1), "{:?}", store.freshness());
        Ok(())
    })
    .await?;
    store.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn over_tls_the_server_shows_who_it_is() -> Result<()> {
    let (authority, stranger) = (Authority::new("database")?, Authority::new("stranger")?);
    let server = Postgres::start_with(&[], Some(&authority.server(&["127.0.0.1"])?)).await?;
    let url = server.database().await?;
    let options = |roots: &Authority, url: &str| {
        Ok::<_, StoreError>(PostgresOptions::from_url(url)?.with_roots(roots.pem()))
    };
    let store = PostgresStore::connect(options(&authority, &url)?).await?;
    written(&store, "secret").await?;
    let plain = "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
        WHERE application_name = 'aro' AND NOT ssl";
    ensure!(server.sql("postgres", plain).await? == "0", "a connection is not protected");
    let protected = plain.replace("NOT ssl", "ssl");
    ensure!(server.sql("postgres", &protected).await? != "0", "no connection was counted");
    store.close().await;

    let refused = PostgresStore::connect(options(&stranger, &url)?).await;
    ensure!(matches!(refused, Err(StoreError::Unavailable(_))), "another authority's server: {refused:?}");
    let other_name = url.replace("127.0.0.1", "localhost");
    let refused = PostgresStore::connect(options(&authority, &other_name)?).await;
    ensure!(
        matches!(refused, Err(StoreError::Unavailable(_))),
        "a certificate for another name: {refused:?}"
    );
    // A server without TLS is not spoken to in the clear.
    let bare = Postgres::start().await?;
    let refused = PostgresStore::connect(options(&authority, &bare.database().await?)?).await;
    ensure!(matches!(refused, Err(StoreError::Unavailable(_))), "no TLS: {refused:?}");
    Ok(())
}

/// What `docs/operations/postgresql.md` says is enough: a role that owns its database, and a certificate in place of a
/// password.
#[tokio::test(flavor = "multi_thread")]
async fn an_ordinary_role_with_a_certificate_is_enough() -> Result<()> {
    let authority = Authority::new("database")?;
    let server = Postgres::start_with(&[], Some(&authority.server(&["127.0.0.1"])?)).await?;
    server.trust_certificates(authority.pem(), "aro").await?;
    server.sql("postgres", "CREATE ROLE aro LOGIN").await?;
    server.sql("postgres", "CREATE DATABASE aro OWNER aro TEMPLATE template0 ENCODING 'UTF8'").await?;
    let url = format!("postgres://aro@127.0.0.1:{}/aro", server.port());
    let bare = PostgresStore::connect(PostgresOptions::from_url(&url)?.with_roots(authority.pem())).await;
    ensure!(matches!(bare, Err(StoreError::Unavailable(_))), "without a certificate: {bare:?}");
    let pair = authority.client("aro", &[])?;
    let options = PostgresOptions::from_url(&url)?.with_roots(authority.pem());
    let store =
        PostgresStore::connect(options.with_client(&pair.certificate, &Secret::new(pair.key))).await?;
    written(&store, "by-an-ordinary-role").await?;
    store.sweep().await?;
    store.ready().await?;
    store.close().await;
    Ok(())
}
