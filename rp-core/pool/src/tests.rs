use std::collections::BTreeMap;

use rp_base::{Clock as _, ManualClock, SystemRandom, Timestamp};
use rp_database::{Expect, Typed, in_memory};
use rp_documents::PoolDocument;

use super::*;

const INTERVAL: Duration = Duration::from_secs(10);

struct TestStore {
    clock: ManualClock,
    store: SharedStore,
}

impl TestStore {
    fn new() -> Self {
        let clock = ManualClock::at(Timestamp::from_seconds(1_800_000_000));
        let store = in_memory(Arc::new(clock.clone()));
        Self { clock, store }
    }

    async fn member(&self) -> Member {
        let parts = PoolParts {
            store: Arc::clone(&self.store),
            worker_type: WorkerType::MONITOR,
            times: PoolTimes::default(),
            random: Arc::new(SystemRandom),
            registry: Registry::new(),
        };
        let member = Member::new(&parts, parts.times);
        member.create_master().await.unwrap();
        member
    }

    async fn documents(&self) -> Vec<PoolDocument> {
        let typed: Typed<PoolDocument> = Typed::new(Arc::clone(&self.store));
        typed.all().await.unwrap().into_iter().map(|read| read.value).collect()
    }

    async fn master(&self) -> PoolDocument {
        self.documents().await.into_iter().find(|document| document.id == "monitor").unwrap()
    }
}

/// Time for the members: their clock and the store's advance together.
struct TestTime<'a> {
    world: &'a TestStore,
    now: Instant,
}

impl<'a> TestTime<'a> {
    fn new(world: &'a TestStore) -> Self {
        Self { world, now: Instant::now() }
    }

    fn wait(&mut self, length: Duration) {
        self.world.clock.advance(length);
        self.now += length;
    }

    async fn pass(&self, member: &mut Member) -> usize {
        match member.pass(self.now).await {
            Ok((buckets, _)) => buckets.len(),
            Err(PoolError::NotInitialized) => 0,
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test]
async fn three_share_and_the_dead_is_replaced() {
    let world = TestStore::new();
    let mut time = TestTime::new(&world);
    let (mut a, mut b, mut c) = (world.member().await, world.member().await, world.member().await);
    assert_eq!(time.pass(&mut a).await, 256, "the first is master and has all");
    assert_eq!((time.pass(&mut b).await, time.pass(&mut c).await), (0, 0));
    time.wait(INTERVAL);
    let (first, second, third) = (time.pass(&mut a).await, time.pass(&mut b).await, time.pass(&mut c).await);
    assert_eq!(first + second + third, 256);
    assert!([first, second, third].into_iter().all(|n| n == 85 || n == 86));
    assert_eq!(world.master().await.lease_owner, a.id());
    // Member b dies: no bucket moves before its document has expired.
    for _ in 0..5 {
        time.wait(INTERVAL);
        assert_eq!((time.pass(&mut a).await, time.pass(&mut c).await), (first, third));
    }
    time.wait(INTERVAL);
    assert_eq!((time.pass(&mut a).await, time.pass(&mut c).await), (128, 128));
    // The master dies: the lease runs out, then its document is gone too.
    for _ in 0..6 {
        time.wait(INTERVAL);
        assert_eq!(time.pass(&mut c).await, 128);
    }
    time.wait(INTERVAL);
    assert_eq!(time.pass(&mut c).await, 256);
    assert_eq!(world.master().await.lease_owner, c.id());
}

#[tokio::test]
async fn who_leaves_is_replaced_in_one_pass() {
    let world = TestStore::new();
    let mut time = TestTime::new(&world);
    let (mut a, mut b) = (world.member().await, world.member().await);
    time.pass(&mut a).await;
    time.pass(&mut b).await;
    time.wait(INTERVAL);
    assert_eq!((time.pass(&mut a).await, time.pass(&mut b).await), (128, 128));
    a.leave(time.now).await;
    assert_eq!(world.master().await.lease_owner, "");
    assert_eq!(world.documents().await.len(), 2, "the master's and b's");
    assert_eq!(time.pass(&mut b).await, 256);
}

#[tokio::test]
async fn documents_are_those_of_the_contract_and_strange_members_stay() {
    let world = TestStore::new();
    let time = TestTime::new(&world);
    let mut a = world.member().await;
    let typed: Typed<PoolDocument> = Typed::new(Arc::clone(&world.store));
    let mut master = world.master().await;
    master.unknown.insert("_rid".to_owned(), "x".into());
    typed.put(master, Expect::Any).await.unwrap();
    time.pass(&mut a).await;
    let master = serde_json::to_value(world.master().await).unwrap();
    assert_eq!(master["_rid"], "x");
    assert_eq!(master["leaseExpires"], world.clock.now().seconds() + 60);
    assert_eq!(master["poolWorker"]["buckets"].as_array().unwrap().len(), 256);
    let worker = world.documents().await.into_iter().find(|document| document.id == a.id()).unwrap();
    let worker = serde_json::to_value(worker).unwrap();
    assert_eq!(worker, serde_json::json!({"id": a.id(), "workerType": "monitor", "ttl": 60}));
}

#[tokio::test]
async fn a_lost_lease_makes_a_plain_worker() {
    let world = TestStore::new();
    let mut time = TestTime::new(&world);
    let mut a = world.member().await;
    time.pass(&mut a).await;
    let typed: Typed<PoolDocument> = Typed::new(Arc::clone(&world.store));
    let mut master = world.master().await;
    "somebody".clone_into(&mut master.lease_owner);
    typed.put(master, Expect::Any).await.unwrap();
    time.wait(INTERVAL);
    assert_eq!(a.pass(time.now).await.unwrap(), (Buckets::all(), false));
    assert_eq!(world.master().await.lease_owner, "somebody");
}

#[tokio::test]
async fn a_jump_of_the_clock_moves_nothing() {
    let world = TestStore::new();
    let mut time = TestTime::new(&world);
    let (mut a, mut b) = (world.member().await, world.member().await);
    for _ in 0..3 {
        time.pass(&mut a).await;
        time.pass(&mut b).await;
        time.wait(INTERVAL);
    }
    let before = world.master().await.pool_worker.unwrap().buckets;
    // Forward: every document and the lease look expired, to the master first, then to the other.
    for order in [true, false] {
        world.clock.advance(Duration::from_secs(3600));
        let (first, second) = if order { (&mut a, &mut b) } else { (&mut b, &mut a) };
        assert_eq!((time.pass(first).await, time.pass(second).await), (128, 128));
        assert_eq!(world.master().await.lease_owner, a.id());
        time.wait(INTERVAL);
    }
    for _ in 0..7 {
        time.wait(INTERVAL);
        assert_eq!((time.pass(&mut a).await, time.pass(&mut b).await), (128, 128));
    }
    assert_eq!(world.master().await.pool_worker.unwrap().buckets, before);
}

#[tokio::test]
async fn a_lease_far_in_the_future_is_taken_when_nobody_renews_it() {
    let world = TestStore::new();
    let mut time = TestTime::new(&world);
    let (mut a, mut b) = (world.member().await, world.member().await);
    time.pass(&mut a).await;
    // As after a jump back: by the store's clock neither lease nor worker ever expires.
    let typed: Typed<PoolDocument> = Typed::new(Arc::clone(&world.store));
    let mut master = world.master().await;
    master.lease_expires += 7200;
    typed.put(master, Expect::Any).await.unwrap();
    let dead = world.documents().await.into_iter().find(|document| document.id == a.id()).unwrap();
    typed.put(dead, Expect::Any).await.unwrap();
    for _ in 0..7 {
        time.pass(&mut b).await;
        time.wait(INTERVAL);
    }
    time.pass(&mut b).await;
    assert_eq!(world.master().await.lease_owner, b.id());
    for _ in 0..6 {
        time.wait(INTERVAL);
        time.pass(&mut b).await;
    }
    assert_eq!(time.pass(&mut b).await, 256, "who did not write for a minute is dead");
}

#[tokio::test]
async fn many_at_once_agree_on_one_master() {
    let world = TestStore::new();
    let start = Instant::now();
    let mut members = Vec::new();
    for _ in 0..8 {
        members.push(world.member().await);
    }
    for _ in 0..3 {
        let passes = members.iter_mut().map(|member| member.pass(start));
        futures_util::future::join_all(passes).await;
    }
    let mut owners: BTreeMap<u8, usize> = BTreeMap::new();
    let mut masters = 0;
    for member in &mut members {
        let (buckets, master) = member.pass(start).await.unwrap();
        masters += usize::from(master);
        for bucket in buckets.iter() {
            *owners.entry(bucket).or_default() += 1;
        }
    }
    assert_eq!(masters, 1);
    assert_eq!(owners.len(), 256);
    assert!(owners.values().all(|count| *count == 1), "{owners:?}");
}

#[tokio::test]
async fn the_last_assignment_holds_until_the_own_document_expired() {
    let world = TestStore::new();
    let times = PoolTimes {
        interval: Duration::from_millis(20),
        ttl: Duration::from_millis(600),
        lease: Duration::from_millis(600),
    };
    let parts = PoolParts {
        store: Arc::clone(&world.store),
        worker_type: WorkerType::MIMO_ACTUATOR,
        times,
        random: Arc::new(SystemRandom),
        registry: Registry::new(),
    };
    let pool = Pool::join(parts).await.unwrap();
    let mut assignment = pool.assignment();
    let all = |held: &Assignment| held.buckets(Instant::now()).len() == 256;
    timeout(Duration::from_secs(60), assignment.wait_for(all)).await.expect("all buckets").unwrap();
    world.store.close().await;
    let held = *assignment.borrow();
    assert_eq!(held.buckets(held.until() - Duration::from_millis(1)).len(), 256);
    assert!(held.buckets(held.until()).is_empty());
    assert!(held.until() <= held.read().unwrap() + times.ttl);
    pool.leave().await;
    assert!(assignment.borrow_and_update().buckets(Instant::now()).is_empty());
}
