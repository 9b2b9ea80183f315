//! Hive's view of a cluster (`contract/monitor.md` §11): collectors over objects of Hive's own cluster.

use crate::cluster_objects::{ClusterObjects, Resource};
use crate::collect::{CollectError, Collector, CollectorOutput};
use crate::names::cluster;
use crate::objects::SyncSet;
use crate::sample::{Sample, Text};

/// Run one after the other, the second also when the first failed.
pub static COLLECTORS: &[Collector] = &[
    Collector {
        name: "emitHiveRegistrationStatus",
        needs: |seen| {
            seen.cluster().hive_namespace.clone().map(Resource::HiveDeployment).into_iter().collect()
        },
        run: registration,
    },
    Collector {
        name: "emitClusterSync",
        needs: |seen| seen.cluster().hive_namespace.clone().map(Resource::HiveSync).into_iter().collect(),
        run: sync,
    },
];

/// The namespace of the cluster in Hive's cluster.
fn namespace(seen: &ClusterObjects) -> Result<&str, CollectError> {
    let namespace = seen.cluster().hive_namespace.as_deref().filter(|namespace| !namespace.is_empty());
    namespace.ok_or_else(|| {
        let name = seen.cluster().id.name();
        CollectError::Object(
            format!("cluster {name} not adopted. No namespace in the clusterdocument").into(),
        )
    })
}

fn registration(seen: &ClusterObjects, told: &mut CollectorOutput) -> Result<(), CollectError> {
    let Some(deployment) = seen.hive_deployment(namespace(seen)?)? else { return Ok(()) };
    for condition in &deployment.status.conditions {
        let healthy = match condition.kind.as_str() {
            "Ready" => "True",
            "Unreachable" => "False",
            _ => continue,
        };
        if condition.status.as_str() != healthy {
            let dims = [&condition.kind, &condition.reason].map(|text| Text::Owned(text.as_str().to_owned()));
            told.push(Sample::one(&cluster::HIVE_CONDITIONS, dims));
        }
    }
    Ok(())
}

fn sync(seen: &ClusterObjects, told: &mut CollectorOutput) -> Result<(), CollectError> {
    let Some(sync) = seen.hive_sync(namespace(seen)?)? else { return Ok(()) };
    let sets = [("SyncSets", &sync.status.sync_sets), ("SelectorSyncSets", &sync.status.selector_sync_sets)];
    for (kind, set) in sets.into_iter().flat_map(|(kind, sets)| sets.iter().map(move |set| (kind, set))) {
        one(kind, set, told);
    }
    Ok(())
}

fn one(kind: &'static str, set: &SyncSet, told: &mut CollectorOutput) {
    let own = |text: &str| Text::Owned(text.to_owned());
    let (name, result) = (own(set.name.as_str()), own(set.result.as_str()));
    let reason: String = set.failure_message.as_str().chars().filter(|c| is_plain(*c)).collect();
    let fields = vec![
        ("metric".into(), cluster::HIVE_SYNC.name.into()),
        ("name".into(), name.clone()),
        ("status".into(), result.clone()),
        ("type".into(), kind.into()),
        ("reason".into(), reason.clone().into()),
        ("firstSuccessTime".into(), own(set.first_success_time.as_str())),
        ("lastTransitionTime".into(), own(set.last_transition_time.as_str())),
    ];
    told.hourly_line("", fields);
    told.push(Sample::one(&cluster::HIVE_SYNC, [name, result, kind.into(), reason.into()]));
}

/// Word characters, blanks and dashes; no end of line.
const fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ' ' | '\t' | '\u{c}')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::collect::tests::{CollectorBench, aro};

    fn adopted() -> CollectorBench {
        let mut cluster = aro();
        cluster.hive_namespace = Some("aro-1".to_owned());
        CollectorBench::new(cluster)
    }

    #[test]
    fn unready_and_unreachable_are_told_with_their_reason() {
        let condition = |kind: &str, status: &str| json!({"type": kind, "status": status, "reason": format!("{kind}Why")});
        let deployment = |all: &[serde_json::Value]| json!({"status": {"conditions": all}});
        let need = Resource::HiveDeployment("aro-1".to_owned());
        let fine = deployment(&[
            condition("Ready", "True"),
            condition("Unreachable", "False"),
            condition("Hibernating", "True"),
        ]);
        assert!(adopted().with(&need, fine).run(&COLLECTORS[0]).is_empty());
        let bad = deployment(&[condition("Ready", "False"), condition("Unreachable", "Unknown")]);
        assert_eq!(
            adopted().with(&need, bad).run(&COLLECTORS[0]),
            [
                "hive.clusterdeployment.conditions 1 type=Ready reason=ReadyWhy",
                "hive.clusterdeployment.conditions 1 type=Unreachable reason=UnreachableWhy"
            ]
        );
    }

    #[test]
    fn a_cluster_that_was_not_adopted_is_an_error() {
        let fed = CollectorBench::new(aro());
        assert_eq!(fed.run(&COLLECTORS[0]), ["cluster x not adopted. No namespace in the clusterdocument"]);
        assert!((COLLECTORS[0].needs)(&fed.seen).is_empty());
    }

    #[test]
    fn each_sync_set_is_told_and_its_message_made_plain() {
        let sync = json!({"status": {
            "syncSets": [{"name": "a", "result": "Success", "firstSuccessTime": "2026-01-01T00:00:00Z"}],
            "selectorSyncSets": [{"name": "b", "result": "Failure", "failureMessage": "cannot: apply \"x\"\n(y)_z-1", "lastTransitionTime": "t"}],
        }});
        let fed = adopted().hourly().with(&Resource::HiveSync("aro-1".to_owned()), sync);
        assert_eq!(
            fed.run(&COLLECTORS[1]),
            [
                "hive.clustersync 1 name=a status=Success type=SyncSets reason=",
                "hive.clustersync 1 name=b status=Failure type=SelectorSyncSets reason=cannot apply xy_z-1"
            ]
        );
        let lines = fed.told(&COLLECTORS[1]).unwrap().lines;
        assert!(lines[0].fields.contains(&("firstSuccessTime".into(), "2026-01-01T00:00:00Z".into())));
        assert!(lines[1].fields.contains(&("lastTransitionTime".into(), "t".into())));
    }
}
