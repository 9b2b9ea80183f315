use std::collections::{BTreeMap, HashSet};

use proptest::prelude::*;
use rp_base::Random;
use rp_documents::ResourceId;
use rp_net::Source;

use super::*;
use crate::feed::{DocumentKey, Event};

const MINUTE: Duration = Duration::from_secs(60);

/// SplitMix64.
#[derive(Debug)]
struct Seeded(std::sync::atomic::AtomicU64);

impl Seeded {
    fn shared(seed: u64) -> SharedRandom {
        Arc::new(Self(seed.into()))
    }
}

impl Random for Seeded {
    fn fill(&self, out: &mut [u8]) {
        for chunk in out.chunks_mut(8) {
            let step = 0x9E37_79B9_7F4A_7C15;
            let mut z = self.0.fetch_add(step, std::sync::atomic::Ordering::Relaxed).wrapping_add(step);
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            chunk.copy_from_slice(&(z ^ (z >> 31)).to_le_bytes()[..chunk.len()]);
        }
    }
}

fn view(number: usize) -> ClusterView {
    let subscription = "00000000-0000-0000-0000-000000000001";
    let id = ResourceId::from_parts(subscription, "group", &format!("cluster-{number}")).unwrap();
    let mut view = ClusterView::bare(format!("document-{number}"), id, Source::Aro);
    view.bucket = u8::try_from(number % 256).unwrap();
    view.provisioning_state = "Succeeded".to_owned();
    view
}

fn document(number: usize) -> DocumentKey {
    DocumentKey::new(false, &format!("document-{number}"))
}

struct PlanBench {
    plan: Plan,
    start: Instant,
    now: Instant,
    hour: i64,
    actions: Vec<Action>,
    tenancy: Tenancy,
}

impl PlanBench {
    fn new(settings: rp_config::Monitor, shared: bool) -> Self {
        let now = Instant::now();
        let plan = Plan::new(settings, shared, Seeded::shared(7), ClusterIndex::default(), now);
        Self { plan, start: now, now, hour: 100, actions: Vec::new(), tenancy: Tenancy::Of("tenant".into()) }
    }

    fn with(count: usize) -> Self {
        let mut bench = Self::new(rp_config::Monitor::default(), false);
        bench.set_owned(Buckets::all());
        (0..count).for_each(|number| bench.apply(Event::Seen(Arc::new(view(number)))));
        bench
    }

    fn apply(&mut self, event: Event) {
        self.plan.apply(event, self.now, &mut self.actions);
    }

    fn set_owned(&mut self, buckets: Buckets) {
        self.plan.set_owned(buckets, self.now, &mut self.actions);
    }

    /// Begins every look that is due.
    fn begin(&mut self) -> Vec<LookStart> {
        let tenancy = self.tenancy.clone();
        while self.plan.start(self.now, self.hour, |_| tenancy.clone(), &mut self.actions) {}
        let (looks, rest) = std::mem::take(&mut self.actions)
            .into_iter()
            .partition(|action| matches!(action, Action::Look(_)));
        self.actions = rest;
        let start = |action| match action {
            Action::Look(start) => Some(*start),
            _ => None,
        };
        Vec::into_iter(looks).filter_map(start).collect()
    }

    fn done(&mut self, key: &Arc<str>) {
        self.plan.done(key, self.now, &mut self.actions);
    }

    /// Advances time, with looks that take no time; returns when each cluster was looked at.
    fn run(&mut self, length: Duration) -> BTreeMap<String, Vec<Duration>> {
        let mut looked: BTreeMap<String, Vec<Duration>> = BTreeMap::new();
        let end = self.now + length;
        loop {
            for start in self.begin() {
                looked.entry(start.key.to_string()).or_default().push(self.now - self.start);
                self.done(&start.key);
            }
            match self.plan.wake().filter(|at| *at <= end) {
                Some(at) => self.now = self.now.max(at),
                None => break,
            }
        }
        self.now = end;
        looked
    }

    fn forgotten(&mut self) -> usize {
        let actions = std::mem::take(&mut self.actions);
        actions.iter().filter(|action| matches!(action, Action::Forget(_))).count()
    }

    fn removed(&mut self) -> Vec<String> {
        let actions = std::mem::take(&mut self.actions);
        let removed = |action| match action {
            Action::Remove { document, .. } => Some(document.to_string()),
            _ => None,
        };
        actions.into_iter().filter_map(removed).collect()
    }
}

#[test]
fn each_cluster_once_a_minute_and_never_a_burst() {
    let mut bench = PlanBench::with(3000);
    let looked = bench.run(MINUTE * 4);
    assert_eq!(looked.len(), 3000);
    let mut all: Vec<Duration> = Vec::new();
    for (key, at) in &looked {
        assert!(at[0] <= MINUTE + Duration::from_secs(2), "{key} first at {:?}", at[0]);
        for pair in at.windows(2) {
            let apart = pair[1] - pair[0];
            assert!(apart.abs_diff(MINUTE) < Duration::from_secs(3), "{key}: {apart:?} apart");
        }
        all.extend(at);
    }
    all.sort_unstable();
    let steady = 3000.0 / 60.0;
    for from in 0..all.len() {
        let second = all[from..].iter().take_while(|at| **at < all[from] + Duration::from_secs(1)).count();
        assert!((second as f64) <= 2.0 * steady, "{second} looks in the second from {:?}", all[from]);
    }
}

#[test]
fn after_a_pause_each_missed_tick_is_dropped_and_the_rest_is_spread() {
    let mut bench = PlanBench::with(600);
    bench.run(MINUTE * 2);
    bench.now += MINUTE * 5;
    bench.plan.take_missed();
    let from = bench.now - bench.start;
    let looked = bench.run(MINUTE);
    let first_second = looked.values().filter(|at| at[0] < from + Duration::from_secs(1)).count();
    assert!(first_second <= 20, "{first_second} at once");
    assert_eq!(looked.len(), 600);
    assert!(looked.values().all(|at| at.len() <= 2));
    let missed = bench.plan.take_missed();
    assert!((600 * 4..=600 * 6).contains(&missed), "{missed}");
}

#[test]
fn a_bucket_that_comes_back_while_its_cluster_is_looked_at_starts_no_second_look() {
    let mut bench = PlanBench::with(1);
    bench.now += MINUTE;
    let started = bench.begin();
    bench.set_owned(Buckets::none());
    bench.set_owned(Buckets::all());
    bench.now += MINUTE * 2;
    assert!(bench.begin().is_empty(), "it is still looked at");
    bench.done(&started[0].key);
    assert_eq!(bench.forgotten(), 0);
    assert!(bench.begin().is_empty());
    bench.now += MINUTE;
    assert_eq!(bench.begin()[0].round.number, 2);

    bench.set_owned(Buckets::none());
    assert_eq!(bench.forgotten(), 0, "not while it is looked at");
    bench.done(&started[0].key);
    assert_eq!((bench.forgotten(), bench.plan.workers()), (1, 0));
    assert_eq!(bench.plan.watched(), 1, "it stays in the cache");
}

#[test]
fn a_document_that_goes_while_its_cluster_is_looked_at() {
    let mut bench = PlanBench::with(2);
    bench.now += MINUTE;
    let started = bench.begin();
    assert_eq!(started.len(), 1, "one at a time");
    let number = if started[0].key.ends_with('0') { 0 } else { 1 };
    bench.apply(Event::Gone(document(number)));
    assert!(started[0].cancel.is_cancelled());
    assert!(bench.removed().is_empty(), "the look could write it again");
    bench.done(&started[0].key);
    assert_eq!(bench.removed(), [format!("document-{number}")]);
    bench.apply(Event::Gone(document(1 - number)));
    assert_eq!(bench.removed(), [format!("document-{}", 1 - number)]);
    assert_eq!((bench.plan.watched(), bench.plan.workers(), bench.plan.running()), (0, 0, 0));
    assert!(bench.plan.clusters.is_empty());
}

#[test]
fn made_anew_under_the_same_name_it_is_another_document() {
    let mut bench = PlanBench::with(1);
    let mut again = view(0);
    again.document = "document-again".to_owned();
    bench.apply(Event::Seen(Arc::new(again)));
    bench.apply(Event::Gone(document(0)));
    assert_eq!(bench.removed(), ["document-0"]);
    assert_eq!((bench.plan.watched(), bench.plan.workers()), (1, 1));
}

#[test]
fn a_cluster_that_is_taken_away_stops_and_what_was_mirrored_stays_until_it_is_gone() {
    let mut bench = PlanBench::with(1);
    let mut leaving = view(0);
    leaving.provisioning_state = "Deleting".to_owned();
    bench.apply(Event::Seen(Arc::new(leaving)));
    assert_eq!((bench.plan.watched(), bench.plan.workers()), (0, 0));
    assert!(bench.removed().is_empty());
    bench.apply(Event::Gone(document(0)));
    assert_eq!(bench.removed(), ["document-0"]);
}

#[test]
fn comparing_with_the_store_drops_what_is_not_there() {
    let mut bench = PlanBench::with(3);
    let ids = HashSet::from(["document-1".into()]);
    bench.apply(Event::Living { imported: true, ids: HashSet::new() });
    assert_eq!(bench.plan.watched(), 3, "imported ones are apart");
    bench.apply(Event::Living { imported: false, ids });
    assert_eq!(bench.plan.watched(), 1);
}

#[test]
fn hours_and_network_security_groups() {
    let mut bench = PlanBench::with(1);
    let mut rounds = Vec::new();
    for minute in 0..22 {
        bench.now += MINUTE;
        bench.hour = 100 + minute / 8;
        let started = bench.begin();
        rounds.push(started[0].round);
        bench.done(&started[0].key);
    }
    let hourly: Vec<u64> = rounds.iter().filter(|round| round.hourly).map(|round| round.number).collect();
    assert_eq!(hourly, [9, 17], "never the first");
    let nsg: Vec<u64> = rounds.iter().filter(|round| round.nsg_due).map(|round| round.number).collect();
    assert_eq!(nsg, [11, 21]);
}

#[test]
fn an_invalid_subscription_is_told_every_half_hour() {
    let mut bench = PlanBench::with(1);
    bench.tenancy = Tenancy::Invalid;
    for _ in 0..61 {
        bench.now += MINUTE;
        assert!(bench.begin().is_empty());
    }
    let warned =
        bench.actions.iter().filter(|action| matches!(action, Action::Skipped { warn: true, .. })).count();
    let skipped = bench.actions.iter().filter(|action| matches!(action, Action::Skipped { .. })).count();
    assert_eq!((skipped, warned), (61, 3));
    bench.tenancy = Tenancy::Of("other".into());
    bench.now += MINUTE;
    let started = bench.begin();
    assert_eq!(started[0].view.tenant.as_deref(), Some("other"));
}

#[test]
fn before_the_subscriptions_are_read_nothing_is_skipped() {
    let mut bench = PlanBench::with(1);
    bench.tenancy = Tenancy::NotReady;
    bench.now += MINUTE;
    assert!(bench.begin().is_empty() && bench.actions.is_empty());
    bench.tenancy = Tenancy::Of("tenant".into());
    bench.now += PUT_OFF;
    assert_eq!(bench.begin().len(), 1);
}

#[test]
fn imported_clusters_can_be_left_out() {
    let imported = || {
        let id = ResourceId::imported("edge").unwrap();
        Event::Seen(Arc::new(ClusterView::bare("edge".to_owned(), id, Source::Imported)))
    };
    let mut bench = PlanBench::with(0);
    bench.apply(imported());
    assert_eq!(bench.plan.watched(), 1);
    let settings = rp_config::Monitor { imported: false, ..rp_config::Monitor::default() };
    let mut bench = PlanBench::new(settings, false);
    bench.apply(imported());
    assert_eq!(bench.plan.watched(), 0);
}

#[test]
fn a_bucket_never_changes() {
    let mut bench = PlanBench::with(1);
    let mut moved = view(0);
    moved.bucket = 9;
    bench.apply(Event::Seen(Arc::new(moved)));
    let mut only_first = Buckets::none();
    only_first.insert(0);
    bench.set_owned(only_first);
    assert_eq!(bench.plan.workers(), 1);
}

#[test]
fn no_more_looks_at_once_than_allowed() {
    let settings = rp_config::Monitor { looks: 3, ..rp_config::Monitor::default() };
    let mut bench = PlanBench::new(settings, false);
    bench.set_owned(Buckets::all());
    (0..600).for_each(|number| bench.apply(Event::Seen(Arc::new(view(number)))));
    let mut started = Vec::new();
    for _ in 0..50 {
        bench.now += Duration::from_secs(2);
        started.extend(bench.begin());
    }
    assert_eq!((started.len(), bench.plan.running()), (3, 3));
    assert_eq!(bench.plan.wake(), None, "the end of a look wakes");
    bench.done(&started[0].key);
    assert!(bench.plan.wake().is_some());
}

#[test]
fn beside_people_fewer_looks_run_at_once() {
    let mut bench = PlanBench::new(rp_config::Monitor::default(), true);
    bench.set_owned(Buckets::all());
    (0..400).for_each(|number| bench.apply(Event::Seen(Arc::new(view(number)))));
    for _ in 0..100 {
        bench.now += Duration::from_secs(2);
        bench.begin();
    }
    assert_eq!(bench.plan.running(), 16 + 400 / 40);
}

#[derive(Debug, Clone)]
enum TestEvent {
    Seen(usize),
    Leaving(usize),
    Gone(usize),
    Owns(u8),
    Passes(u64),
    Ends(usize),
}

fn happens() -> impl Strategy<Value = TestEvent> {
    prop_oneof![
        (0usize..12).prop_map(TestEvent::Seen),
        (0usize..12).prop_map(TestEvent::Leaving),
        (0usize..12).prop_map(TestEvent::Gone),
        (0u8..=13).prop_map(TestEvent::Owns),
        (1u64..90).prop_map(TestEvent::Passes),
        (0usize..12).prop_map(TestEvent::Ends),
    ]
}

proptest! {
    /// In any sequence of events: no two looks of one cluster at once, only existing and owned clusters, counts agree.
    #[test]
    fn invariants(story in proptest::collection::vec(happens(), 1..120)) {
        let mut bench = PlanBench::new(rp_config::Monitor::default(), false);
        let mut looking: Vec<Arc<str>> = Vec::new();
        let (mut there, mut owned) = (HashSet::new(), 0u8);
        for event in story {
            match event {
                TestEvent::Seen(number) => {
                    there.insert(number);
                    bench.apply(Event::Seen(Arc::new(view(number))));
                }
                TestEvent::Leaving(number) => {
                    there.remove(&number);
                    let mut leaving = view(number);
                    leaving.provisioning_state = "Deleting".to_owned();
                    bench.apply(Event::Seen(Arc::new(leaving)));
                }
                TestEvent::Gone(number) => {
                    there.remove(&number);
                    bench.apply(Event::Gone(document(number)));
                }
                TestEvent::Owns(below) => {
                    owned = below;
                    let mut buckets = Buckets::none();
                    (0..below).for_each(|bucket| buckets.insert(bucket));
                    bench.set_owned(buckets);
                }
                TestEvent::Passes(seconds) => {
                    bench.now += Duration::from_secs(seconds);
                    for start in bench.begin() {
                        prop_assert!(!looking.contains(&start.key), "{} twice at once", start.key);
                        let number: usize = start.key.rsplit('-').next().unwrap().parse().unwrap();
                        prop_assert!(there.contains(&number) && number < usize::from(owned));
                        looking.push(start.key);
                    }
                }
                TestEvent::Ends(which) => {
                    if !looking.is_empty() {
                        let key = looking.swap_remove(which % looking.len());
                        bench.done(&key);
                    }
                }
            }
            prop_assert_eq!(bench.plan.running(), looking.len());
            prop_assert_eq!(bench.plan.watched(), there.len());
            let wanted = there.iter().filter(|number| **number < usize::from(owned)).count();
            prop_assert!(bench.plan.workers() >= wanted && bench.plan.workers() <= wanted + looking.len());
            prop_assert_eq!(bench.plan.looking().len(), looking.len());
        }
        // No cluster is forgotten: when every look has ended, each owned cluster is looked at within two intervals.
        for key in looking.drain(..) {
            bench.done(&key);
        }
        let looked = bench.run(MINUTE * 2 + Duration::from_secs(5));
        let wanted = there.iter().filter(|number| **number < usize::from(owned)).count();
        prop_assert_eq!(looked.len(), wanted);
    }
}
