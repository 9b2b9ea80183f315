//! Tests of collectors that share reads, fail, panic and time out.

use std::sync::atomic::{AtomicUsize, Ordering};

use rp_documents::ResourceId;

use super::*;
use crate::names::cluster;
use crate::view::ClusterView;

static GOOD: Collector = Collector {
    name: "good",
    needs: |_| vec![Resource::Nodes, Resource::Pools],
    run: |seen, told| {
        seen.nodes()?;
        told.int(&cluster::OPERATOR_COUNT, 7, []);
        Ok(())
    },
};
static STAGED: Collector = Collector {
    name: "staged",
    needs: |seen| {
        if seen.has(&Resource::Nodes) {
            vec![Resource::Nodes, Resource::Machines]
        } else {
            vec![Resource::Nodes]
        }
    },
    run: |seen, _| seen.machines().map(drop),
};
static ENDLESS: Collector = Collector {
    name: "endless",
    // Never satisfied: the source below does not serve this.
    needs: |_| vec![Resource::Proxy],
    run: |seen, _| seen.proxy().map(drop),
};
static BAD: Collector =
    Collector { name: "bad", needs: |_| Vec::new(), run: |_, _| Err(CollectError::Object("a\nb".into())) };
static PANICS: Collector = Collector {
    name: "panics",
    needs: |_| Vec::new(),
    run: |_, told| {
        told.int(&cluster::OPERATOR_COUNT, 1, []);
        panic!("out of {}", "luck")
    },
};
static PANICS_EARLY: Collector =
    Collector { name: "panics early", needs: |_| panic!("at once"), run: |_, _| Ok(()) };

#[derive(Default)]
struct CountingSource(AtomicUsize);

impl Source for CountingSource {
    async fn fetch(&self, need: &Resource, seen: &ClusterObjects) {
        tokio::task::yield_now().await;
        self.0.fetch_add(1, Ordering::SeqCst);
        if *need != Resource::Proxy {
            seen.page(need, br#"{"items": []}"#).unwrap();
        }
    }
}

fn seen() -> ClusterObjects {
    let id = ResourceId::parse(crate::fake_cluster::ID).unwrap();
    let view = ClusterView::bare("a".to_owned(), id, rp_net::Source::Aro);
    ClusterObjects::new(Arc::new(view), rp_base::Timestamp::default(), false, "commit")
}

async fn run(collectors: &[&'static Collector], cancelled: bool) -> (LookFindings, usize) {
    let (seen, lists, cancel, findings) =
        (seen(), CountingSource::default(), CancellationToken::new(), SharedFindings::default());
    if cancelled {
        cancel.cancel();
    }
    Runner::new(&seen, &lists, &cancel, &findings).all(collectors.iter().copied(), 5).await;
    (findings.take(), lists.0.load(Ordering::SeqCst))
}

fn metrics(found: &LookFindings) -> Vec<(&'static str, String)> {
    let dims =
        |sample: &Sample| sample.dims.iter().map(|text| text.to_string()).collect::<Vec<_>>().join(",");
    found.samples.iter().map(|sample| (sample.metric.name, dims(sample))).collect()
}

#[tokio::test]
async fn what_is_needed_is_fetched_once_for_all() {
    let (found, fetches) = run(&[&GOOD, &STAGED, &GOOD, &STAGED], false).await;
    assert_eq!(fetches, 3, "nodes, pools, machines");
    assert!(found.outcomes.iter().all(|outcome| outcome.error.is_none() && outcome.took.is_some()));
    let durations = metrics(&found).iter().filter(|(name, _)| *name == own::COLLECTOR_DURATION.name).count();
    assert_eq!(durations, 4);
}

#[tokio::test]
async fn errors_and_panics_are_told_and_others_go_on() {
    let (mut found, _) = run(&[&BAD, &PANICS, &PANICS_EARLY, &GOOD], false).await;
    found.outcomes.sort_by_key(|outcome| outcome.name);
    let told: Vec<_> = found.outcomes.iter().map(|it| (it.name, it.error.as_deref())).collect();
    assert_eq!(
        told,
        [
            ("bad", Some("ab")),
            ("good", None),
            ("panics", Some("panic: 'out of luck'")),
            ("panics early", Some("panic: 'at once'")),
        ]
    );
    let mut failed: Vec<_> =
        metrics(&found).into_iter().filter(|(name, _)| name.ends_with("error")).collect();
    failed.sort();
    assert_eq!(
        failed.iter().map(|(_, dims)| dims.as_str()).collect::<Vec<_>>(),
        ["bad", "panics", "panics early"]
    );
}

#[tokio::test]
async fn after_the_deadline_nothing_is_begun() {
    let (found, fetches) = run(&[&GOOD, &BAD], true).await;
    assert_eq!(fetches, 0);
    assert_eq!(
        metrics(&found),
        [
            ("monitor.cluster.collector.skipped", "good".into()),
            ("monitor.cluster.collector.skipped", "bad".into())
        ]
    );
    assert!(found.outcomes.iter().all(|outcome| outcome.took.is_none() && outcome.error.is_some()));
}

#[tokio::test]
async fn a_need_that_is_never_met_is_an_error() {
    let (found, fetches) = run(&[&ENDLESS], false).await;
    assert_eq!(fetches, 1, "asked once");
    assert!(
        found.outcomes[0].error.as_deref().is_some_and(|error| error.contains("not fetched")),
        "{found:?}"
    );
}
