//! Many grants: those in use cost no query, those of the past cost nobody anything. `make test` runs a hundredth of
//! what `make soak` does.

use std::io::Write as _;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rp_access::{GrantFilter, IssuedGrant};
use rp_base::SystemRandom;
use rp_database::{Draft, Store as _};
use rp_documents::{Collection, Document as _, Grant, GrantKind, Rights};
use rp_seal::Keyring;

use crate::world::{HERE, World, ask, caller, policy_with, root, soon, target};

const IN_USE: usize = 200;
const PAST: usize = 10_000;

/// Bytes of a grant in use, with the person's name, the reason and the cluster's id.
const MOST_MEMORY: usize = 3 * 1024;
/// Enough of them that the steps of the allocator are small beside them.
const MEASURED: usize = 2_000;
/// What else grows meanwhile, such as the allocator's own.
const BESIDE: usize = 1024 * 1024;
/// Set in the process that measures: no other test is in its memory.
const MEASURES: &str = "ACCESS_SCALE_TEST";

/// Bytes that this process has in memory.
fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

fn size(of_the_test: usize) -> usize {
    if std::env::var_os("ARO_SOAK").is_some() { of_the_test * 100 } else { of_the_test }
}

/// Grants of many people, none in use yet.
async fn issue(world: &World, count: usize) -> Vec<IssuedGrant> {
    let mut issued: Vec<IssuedGrant> = Vec::new();
    for n in 0..count {
        let who = caller(&format!("person-{}", n / 10), &["sres"]);
        issued.push(world.access.issue(&who, ask(Rights::Read)).await.unwrap());
    }
    issued
}

async fn many() -> World {
    let many = policy_with(|policy| policy.access.max_grants = usize::MAX);
    World::with(many, Keyring::generate(&SystemRandom)).await
}

/// Not a test by itself: without the variable it has nothing to do.
#[tokio::test]
async fn measures_grants_in_use() {
    if std::env::var_os(MEASURES).is_none() {
        return;
    }
    let world = many().await;
    let count = if std::env::var_os("ARO_SOAK").is_some() { MEASURED * 10 } else { MEASURED };
    let issued = issue(&world, count).await;
    let empty = resident();
    for each in &issued {
        world.access.authenticate(each.token.expose(), HERE).await.unwrap();
    }
    let grew = resident().saturating_sub(empty);
    let told = format!("{count} grants in use take {grew} bytes\n");
    std::io::stdout().lock().write_all(told.as_bytes()).unwrap();
    assert!(grew > 0, "nothing was measured");
    assert!(grew <= count * MOST_MEMORY + BESIDE, "{grew} bytes for {count} grants in use");
}

#[test]
fn grants_in_use_take_little_memory() {
    let measuring = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "scale::measures_grants_in_use", "--nocapture"])
        .env(MEASURES, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&measuring.stdout);
    let error = String::from_utf8_lossy(&measuring.stderr);
    assert!(measuring.status.success(), "{said}{error}");
    assert!(said.contains("grants in use take"), "{said}{error}");
}

#[tokio::test]
async fn grants_in_use_cost_no_query() {
    let world = many().await;
    let issued = issue(&world, size(IN_USE)).await;
    for each in &issued {
        world.access.authenticate(each.token.expose(), HERE).await.unwrap();
    }
    let before = world.store.queries.load(Ordering::Relaxed);
    for _ in 0..3 {
        for each in &issued {
            world.access.authenticate(each.token.expose(), HERE).await.unwrap();
        }
    }
    assert_eq!(world.store.queries.load(Ordering::Relaxed), before);
    // A revocation elsewhere ends one of them, and costs the others nothing either.
    let live = world.access.authenticate(issued[7].token.expose(), HERE).await.unwrap();
    world.replica().await.revoke(&root(), &issued[7].grant.id, None).await.unwrap();
    soon("its end", live.wait_ended()).await;
    let before = world.store.queries.load(Ordering::Relaxed);
    assert!(world.access.authenticate(issued[7].token.expose(), HERE).await.is_err());
    for each in issued.iter().skip(8) {
        world.access.authenticate(each.token.expose(), HERE).await.unwrap();
    }
    assert_eq!(world.store.queries.load(Ordering::Relaxed), before);
}

/// Grants that ended long ago, of one person and one cluster, as a store holds them after years.
async fn fill(world: &World, like: &Grant, count: usize) {
    let mut drafts = Vec::new();
    for n in 0..count {
        let age = Duration::from_secs(100 * 86_400 + n as u64);
        let created = like.created - age;
        let grant = Grant {
            id: rp_base::Id::newest_first(created, &SystemRandom),
            created,
            not_after: created + Duration::from_secs(3600),
            ..like.clone()
        };
        drafts.push(Draft {
            id: grant.id.to_string(),
            partition: grant.partition().to_owned(),
            unique_key: grant.unique_key().map(std::borrow::Cow::into_owned),
            body: serde_json::to_string(&grant).unwrap(),
            expires_at: None,
        });
        if drafts.len() == 1000 || n + 1 == count {
            world.store.create_all(Collection::Grants, std::mem::take(&mut drafts)).await.unwrap();
        }
    }
}

#[tokio::test]
async fn the_past_costs_nothing() {
    let world = World::new().await;
    let like = world.issue(&["sres"], Rights::Read).await.grant;
    fill(&world, &like, size(PAST)).await;
    let ada = caller("ada", &["sres"]);
    let queries = async |what: &str, most: usize, work: &mut dyn AsyncWork| {
        let before = world.store.queries.load(Ordering::Relaxed);
        work.run(&world).await;
        let used = world.store.queries.load(Ordering::Relaxed) - before;
        assert!(used <= most, "{what}: {used} queries");
    };
    // A few for the page, and a few for each row that is shown.
    queries("start", 8, &mut Start).await;
    queries("issue", 3, &mut Issue(&ada)).await;
    let page = |filter: GrantFilter| GrantFilter { limit: 10, ..filter };
    let active = GrantFilter { active_only: true, ..GrantFilter::default() };
    let mine = GrantFilter { owner_sub: Some("sub-ada".to_owned()), ..active.clone() };
    let clusters = GrantFilter { target: Some(target()), ..active.clone() };
    for (what, filter) in [("active", active), ("mine", mine), ("the cluster's", clusters)] {
        queries(what, 8, &mut List(page(filter), 2)).await;
    }
    queries("the newest", 30, &mut List(page(GrantFilter::default()), 10)).await;
    // A search that finds nothing is broken off and goes on from there.
    let nothing = GrantFilter { text: Some("no such text".to_owned()), ..page(GrantFilter::default()) };
    queries("a search", 60, &mut List(nothing, 0)).await;
    let metrics = GrantFilter { kind: Some(GrantKind::Metrics), ..page(GrantFilter::default()) };
    queries("a kind", 60, &mut List(metrics, 0)).await;
    queries("revoking all", 20, &mut RevokeAll).await;
}

trait AsyncWork {
    fn run<'a>(&'a mut self, world: &'a World) -> std::pin::Pin<Box<dyn Future<Output = ()> + 'a>>;
}

struct Start;
struct Issue<'c>(&'c rp_access::Caller);
struct List(GrantFilter, usize);
struct RevokeAll;

impl AsyncWork for Start {
    fn run<'a>(&'a mut self, world: &'a World) -> std::pin::Pin<Box<dyn Future<Output = ()> + 'a>> {
        Box::pin(async { drop(world.replica().await) })
    }
}

impl AsyncWork for Issue<'_> {
    fn run<'a>(&'a mut self, world: &'a World) -> std::pin::Pin<Box<dyn Future<Output = ()> + 'a>> {
        Box::pin(async { drop(world.access.issue(self.0, ask(Rights::Read)).await.unwrap()) })
    }
}

impl AsyncWork for List {
    fn run<'a>(&'a mut self, world: &'a World) -> std::pin::Pin<Box<dyn Future<Output = ()> + 'a>> {
        Box::pin(async { assert_eq!(world.access.list(&self.0).await.unwrap().items.len(), self.1) })
    }
}

impl AsyncWork for RevokeAll {
    fn run<'a>(&'a mut self, world: &'a World) -> std::pin::Pin<Box<dyn Future<Output = ()> + 'a>> {
        Box::pin(async {
            let scope = rp_access::RevokeScope::Person("sub-ada".to_owned());
            assert_eq!(world.access.revoke_all(&root(), scope, None).await.unwrap(), 2);
        })
    }
}
