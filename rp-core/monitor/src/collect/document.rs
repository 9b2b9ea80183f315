//! Metrics from the cluster's document, and the summary (`contract/monitor.md` §8, §9.5, §9.9).

use rp_base::Timestamp;

use super::nodes::Roles;
use super::output::owned_text;
use super::{CollectError, CollectorOutput};
use crate::cluster_objects::ClusterObjects;
use crate::names::cluster;

/// `cluster.provisioning`; in hourly rounds, before anything is asked.
pub fn provisioning(seen: &ClusterObjects, told: &mut CollectorOutput) {
    let cluster = seen.cluster();
    let dims = [owned_text(&cluster.provisioning_state), owned_text(&cluster.failed_provisioning_state)];
    told.one(&cluster::PROVISIONING, dims);
}

pub(super) fn maintenance(seen: &ClusterObjects, told: &mut CollectorOutput) -> Result<(), CollectError> {
    let state = match seen.cluster().maintenance_state.as_str() {
        "Pending" => "pending",
        "Planned" => "planned",
        "Unplanned" => "unplanned",
        "CustomerActionNeeded" => "customerActionNeeded",
        _ => "none",
    };
    told.one(&cluster::MAINTENANCE, [state.into()]);
    Ok(())
}

pub(super) fn authentication(seen: &ClusterObjects, told: &mut CollectorOutput) -> Result<(), CollectError> {
    let cluster = seen.cluster();
    let managed = cluster.workload_identity && !cluster.service_principal;
    told.one(&cluster::AUTHENTICATION, [if managed { "managedIdentity" } else { "servicePrincipal" }.into()]);
    Ok(())
}

pub(super) fn summary(seen: &ClusterObjects, told: &mut CollectorOutput) -> Result<(), CollectError> {
    if !seen.hourly() {
        return Ok(());
    }
    let (roles, versions, cluster) = (Roles::from_nodes(&seen.nodes()?), seen.versions(), seen.cluster());
    told.one(
        &cluster::SUMMARY,
        [
            versions.actual_text(),
            versions.minor_text(),
            versions.desired_text(),
            roles.master.to_string().into(),
            roles.worker.to_string().into(),
            owned_text(&cluster.provisioning_state),
            go_text(cluster.created_at).into(),
        ],
    );
    Ok(())
}

/// The instant in Go's default format, which dashboards parse: `2023-01-02 03:04:05.6 +0000 UTC`.
fn go_text(at: Option<Timestamp>) -> String {
    let Some(at) = at else { return "0001-01-01 00:00:00 +0000 UTC".to_owned() };
    let date = at.to_datetime();
    let (year, month, day) = date.to_calendar_date();
    let (hour, minute, second) = date.to_hms();
    let fraction = match format!("{:03}", date.millisecond()).trim_end_matches('0') {
        "" => String::new(),
        digits => format!(".{digits}"),
    };
    let month = u8::from(month);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}{fraction} +0000 UTC")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::{CollectorBench, aro, lines, named};
    use super::*;
    use crate::cluster_objects::Resource;

    #[test]
    fn the_document_tells_its_states() {
        let mut cluster = aro();
        cluster.provisioning_state = "Failed".to_owned();
        cluster.failed_provisioning_state = "Updating".to_owned();
        let fed = CollectorBench::new(cluster);
        let mut told = CollectorOutput::new(true);
        provisioning(&fed.seen, &mut told);
        assert_eq!(
            lines(&told),
            ["cluster.provisioning 1 provisioningState=Failed failedProvisioningState=Updating"]
        );
    }

    #[test]
    fn maintenance_has_five_states() {
        for (stored, state) in [
            ("Pending", "pending"),
            ("Planned", "planned"),
            ("Unplanned", "unplanned"),
            ("CustomerActionNeeded", "customerActionNeeded"),
            ("None", "none"),
            ("", "none"),
            ("New", "none"),
        ] {
            let mut cluster = aro();
            cluster.maintenance_state = stored.to_owned();
            assert_eq!(
                CollectorBench::new(cluster).run(named("emitMaintenanceState")),
                [format!("cluster.maintenance.pucm 1 state={state}")]
            );
        }
    }

    #[test]
    fn authentication_is_managed_without_a_principal() {
        for (identity, principal, kind) in [
            (true, false, "managedIdentity"),
            (true, true, "servicePrincipal"),
            (false, true, "servicePrincipal"),
            (false, false, "servicePrincipal"),
        ] {
            let mut cluster = aro();
            (cluster.workload_identity, cluster.service_principal) = (identity, principal);
            assert_eq!(
                CollectorBench::new(cluster).run(named("emitClusterAuthenticationType")),
                [format!("cluster.AuthenticationType 1 type={kind}")]
            );
        }
    }

    #[test]
    fn the_summary_is_hourly() {
        let nodes = json!([
            {"metadata": {"labels": {"node-role.kubernetes.io/master": ""}}},
            {"metadata": {"labels": {"node-role.kubernetes.io/worker": ""}}},
            {"metadata": {"labels": {"node-role.kubernetes.io/worker": ""}}},
        ]);
        let mut cluster = aro();
        cluster.created_at = Some(Timestamp::parse("2023-01-02T03:04:05.6Z").unwrap());
        let version = json!({"status": {"desired": {"version": "4.16.9"}, "history": [{"state": "Completed", "version": "4.16.3"}]}});
        let fed = CollectorBench::new(cluster)
            .with_items(&Resource::Nodes, nodes)
            .with(&Resource::ClusterVersion, version);
        assert!(fed.run(named("emitSummary")).is_empty());
        let fed = fed.hourly();
        assert_eq!(
            fed.run(named("emitSummary")),
            [
                "cluster.summary 1 actualVersion=4.16.3 actualMinorVersion=4.16 desiredVersion=4.16.9 masterCount=1 workerCount=2 \
              provisioningState=Succeeded createdAt=2023-01-02 03:04:05.6 +0000 UTC"
            ]
        );
    }

    #[test]
    fn instants_are_written_as_go_does() {
        let text = |text: &str| go_text(Some(Timestamp::parse(text).unwrap()));
        assert_eq!(text("2023-01-02T03:04:05Z"), "2023-01-02 03:04:05 +0000 UTC");
        assert_eq!(text("2023-01-02T03:04:05.120Z"), "2023-01-02 03:04:05.12 +0000 UTC");
        assert_eq!(go_text(None), "0001-01-01 00:00:00 +0000 UTC");
    }
}
