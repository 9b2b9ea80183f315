use proptest::prelude::*;
use serde_json::{Map as Members, Value, json};

use super::provisioning::{Event, Initiator, OperationEnd, Request, TRANSITIONS, TransitionTarget};
use super::*;
use crate::{Lease, Leased as _, ResourceId};

const ID: &str = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/g/providers/Microsoft.RedHatOpenShift/openShiftClusters/c";

/// Every member of the contract, as a worker leaves it.
fn whole() -> Value {
    serde_json::from_str(include_str!("tests/whole.json")).unwrap()
}

fn read(stored: &Value) -> ClusterDocument {
    serde_json::from_value(stored.clone()).unwrap()
}

#[test]
fn every_member_of_the_contract_has_a_type() {
    let document = read(&whole());
    let cluster = &document.cluster;
    let properties = &cluster.properties;
    assert!(document.unknown.is_empty() && cluster.unknown.is_empty() && properties.unknown.is_empty());
    let profiles = [
        &properties.cluster_profile.unknown,
        &properties.network_profile.unknown,
        &properties.network_profile.load_balancer_profile.unknown,
        &properties.master_profile.unknown,
        &properties.worker_profiles[0].unknown,
        &properties.apiserver_profile.unknown,
        &properties.ingress_profiles[0].unknown,
        &properties.service_principal_profile.unknown,
        &properties.registry_profiles[0].unknown,
        &properties.hive_profile.unknown,
        &cluster.managed_service_identity.unknown,
        &cluster.system_data.unknown,
        &document.correlation_data.unknown,
        &document.operation.unknown,
    ];
    assert!(profiles.iter().all(|unknown| unknown.is_empty()), "{profiles:?}");
    let odd = serde_json::to_string(&whole()).unwrap();
    assert_eq!(serde_json::to_string(&document).unwrap(), odd);
}

#[test]
fn members_are_declared_in_the_order_in_which_they_are_written() {
    let objects = [
        ClusterDocument::NAMES,
        OpenShiftCluster::NAMES,
        SystemData::NAMES,
        CorrelationData::NAMES,
        Position::NAMES,
        Properties::NAMES,
        ClusterProfile::NAMES,
        NetworkProfile::NAMES,
        LoadBalancerProfile::NAMES,
        MasterProfile::NAMES,
        WorkerProfile::NAMES,
        ApiServerProfile::NAMES,
        IngressProfile::NAMES,
        RegistryProfile::NAMES,
        HiveProfile::NAMES,
        ManagedServiceIdentity::NAMES,
        UserAssignedIdentity::NAMES,
        ServicePrincipalProfile::NAMES,
        PlatformWorkloadIdentityProfile::NAMES,
        PlatformWorkloadIdentity::NAMES,
        Install::NAMES,
    ];
    for names in objects {
        assert!(names.is_sorted(), "{names:?}");
    }
}

#[test]
fn what_is_absent_reads_as_zero_and_is_not_written() {
    let stored = json!({"id": "a", "key": "k", "partitionKey": "p", "bucket": null, "future": null,
        "openShiftCluster": {"id": ID, "location": null, "properties": {"clusterProfile": null, "zones": 5,
            "workerProfiles": [null, 3], "provisioningState": "Odd"}}});
    let document = read(&stored);
    let properties = &document.cluster.properties;
    assert_eq!((*document.bucket, &*document.cluster.location, &*properties.infra_id), (0, "", ""));
    assert_eq!((&*properties.cluster_profile.domain, properties.zones.len()), ("", 0));
    assert_eq!(properties.worker_profiles.len(), 2, "elements keep their places");
    assert_eq!((properties.provisioning_state.get(), properties.provisioning_state.word()), (None, "Odd"));
    assert_eq!(serde_json::to_value(&document).unwrap(), stored);
    let without = json!({"id": "a", "key": "k", "partitionKey": "p"});
    assert!(serde_json::from_value::<ClusterDocument>(without).is_err(), "a cluster there must be");
}

#[test]
fn writing_makes_the_objects_above() {
    let worker = Worker::holding(&Lease::default());
    let mut document = read(&json!({"id": "a", "key": "k", "partitionKey": "p",
        "openShiftCluster": {"id": ID, "properties": {"networkProfile": null, "install": {"phase": 1}}}}));
    let properties = &mut document.cluster.properties;
    assert_eq!(properties.install.phase(), Some(InstallPhase::RemoveBootstrap));
    properties.network_profile.mtu_size.set(worker, 1500);
    properties.install.set_null(worker);
    properties.infra_id.set_or_clear(worker, "");
    properties.operator_flags.insert(worker, "a.b", Shared::new(worker, "false"));
    let want =
        json!({"networkProfile": {"mtuSize": 1500}, "install": null, "operatorFlags": {"a.b": "false"}});
    assert_eq!(serde_json::to_value(&document.cluster.properties).unwrap(), want);
}

#[test]
fn what_is_sealed_is_found_by_its_name_and_does_not_print() {
    let document = read(&whole());
    let printed = format!("{document:?}");
    for secret in [
        ClusterSecret::AdminKubeconfig,
        ClusterSecret::BoundServiceAccountSigningKey,
        ClusterSecret::ClientSecret,
        ClusterSecret::ClusterAuthorities,
        ClusterSecret::KubeadminPassword,
        ClusterSecret::PullSecret,
        ClusterSecret::RegistryPassword(0),
        ClusterSecret::ServiceKubeconfig,
        ClusterSecret::SreKubeconfig,
        ClusterSecret::SshKey,
        ClusterSecret::UserAdminKubeconfig,
    ] {
        assert_eq!(
            secret.sealed_in(&document.cluster).map(|sealed| sealed.0.as_str()),
            Some("s"),
            "{secret:?}"
        );
        assert_eq!(secret.place("a"), format!("OpenShiftClusters/a/{}", secret.member()));
    }
    assert_eq!(ClusterSecret::RegistryPassword(1).sealed_in(&document.cluster), None);
    assert_eq!(printed.matches("[SEALED]").count(), 11);
}

#[test]
fn leases_are_written_without_zeros() {
    let mut document = read(&whole());
    let lease = Lease { owner: "w".into(), expires: 9, token: 4, dequeues: 3 };
    assert_eq!(document.lease(), lease);
    document.set_lease(&Lease { token: 4, ..Lease::default() });
    let after = serde_json::to_value(&document).unwrap();
    assert_eq!(after["leaseToken"], 4);
    for name in ["leaseOwner", "leaseExpires", "dequeues"] {
        assert!(after.get(name).is_none(), "{name}");
    }
    let odd = json!({"id": "a", "key": "k", "partitionKey": "p", "leaseOwner": 5, "leaseExpires": "soon",
        "leaseToken": -1, "dequeues": -3, "openShiftCluster": {"id": ID, "properties": {}}});
    assert_eq!(read(&odd).lease(), Lease::default());
}

/// Each move is written by one side: the edge writes states that wait, the worker writes ends.
#[test]
fn every_move_has_one_writer() {
    for (at, row) in TRANSITIONS.iter().enumerate() {
        let same = |other: &provisioning::Transition| other.from == row.from && other.event == row.event;
        assert_eq!(TRANSITIONS.iter().filter(|other| same(other)).count(), 1, "row {at} stands once");
        let waits = matches!(row.to, TransitionTarget::State(state) if state.is_queued());
        match row.by {
            Initiator::Edge => {
                assert!(waits, "row {at}: the edge writes no end");
                assert!(row.from.is_none_or(ProvisioningState::is_terminal), "row {at}: nothing runs before");
            }
            Initiator::Worker => {
                let passes_on =
                    matches!(row.event, Event::SubscriptionDeleted | Event::Ended(OperationEnd::NextPhase));
                assert_eq!(waits, passes_on, "row {at}: the worker writes ends");
            }
        }
    }
}

/// Walks the table: each row's transition happens, and a pair without a row changes nothing.
#[test]
fn the_table_is_what_happens() {
    let worker = Worker::holding(&Lease::default());
    let requests = [Request::Update, Request::AdminUpdate, Request::Delete];
    for &from in ProvisioningState::ALL {
        let properties = |last: &str| -> Properties {
            let stored = json!({"provisioningState": from.name(), "lastProvisioningState": last});
            serde_json::from_value(stored).unwrap()
        };
        let row = |event| TRANSITIONS.iter().find(|row| row.from == Some(from) && row.event == event);
        for request in requests {
            let row = row(Event::Requested(request));
            assert_eq!(properties("").allows(request).is_ok(), row.is_some(), "{from} {request:?}");
            let mut after = properties("");
            if after.accept(Edge::accepting(), request) {
                let to = after.provisioning_state.get().copied().map(TransitionTarget::State);
                assert_eq!(to, row.map(|row| row.to), "{from} {request:?}");
                assert_eq!(after.last_provisioning_state.get(), Some(&from));
            } else {
                assert!(row.is_none() && after.provisioning_state.get() == Some(&from));
            }
        }
        let mut after = properties("");
        assert_eq!(
            after.delete_with_subscription(worker),
            row(Event::SubscriptionDeleted).is_some(),
            "{from}"
        );
        for end in [OperationEnd::Succeeded, OperationEnd::Failed, OperationEnd::NextPhase] {
            for (last, before) in
                [("Failed", Some(ProvisioningState::Failed)), ("Updating", None), ("", None)]
            {
                let mut after = properties(last);
                let stored = after.finish(worker, end, (end == OperationEnd::Failed).then_some("why"));
                let want = row(Event::Ended(end)).map(|row| match row.to {
                    TransitionTarget::State(state) => state,
                    TransitionTarget::Previous => before.unwrap_or_else(|| end.state()),
                });
                assert_eq!(stored, want, "{from} {end:?} after {last:?}");
                let written = after.provisioning_state.get().copied();
                assert_eq!(written, Some(want.unwrap_or(from)), "{from} {end:?}");
            }
        }
    }
}

#[test]
fn a_cluster_that_failed_takes_what_its_failure_allows() {
    use provisioning::Refusal;
    let failed = |what: &str| -> Properties {
        serde_json::from_value(json!({"provisioningState": "Failed", "failedProvisioningState": what}))
            .unwrap()
    };
    for what in ["", "Updating", "AdminUpdating"] {
        assert_eq!(failed(what).allows(Request::Update), Ok(()));
        assert!(!failed(what).is_passing());
    }
    for what in ["Creating", "Deleting", "", "Odd"] {
        assert_eq!(failed(what).allows(Request::Delete), Ok(()));
    }
    assert_eq!(failed("Creating").allows(Request::Update), Err(Refusal::CreationFailed));
    assert_eq!(failed("Deleting").allows(Request::AdminUpdate), Err(Refusal::DeletionFailed));
    assert_eq!(failed("Odd").allows(Request::Update), Err(Refusal::UnknownFailure));
    assert!(failed("Creating").is_passing() && failed("Deleting").is_passing());
    let odd: Properties = serde_json::from_value(json!({"provisioningState": "Odd"})).unwrap();
    assert_eq!(odd.allows(Request::Delete), Err(Refusal::State("Odd".to_owned())));
}

#[test]
fn maintenance_is_told_as_it_was_announced() {
    let edge = Edge::accepting();
    let read = |stored: Value| -> Properties { serde_json::from_value(stored).unwrap() };
    let mut planned = read(json!({"provisioningState": "Succeeded", "maintenanceState": "Pending",
        "lastAdminUpdateError": "x", "maintenanceTask": "Everything"}));
    assert!(planned.accept(edge, Request::AdminUpdate));
    assert_eq!(planned.maintenance_state.get(), Some(&MaintenanceState::Planned));
    assert!(planned.last_admin_update_error.is_absent());
    let mut told = read(json!({"provisioningState": "Succeeded", "maintenanceTask": "Pending"}));
    assert!(!told.accept(edge, Request::AdminUpdate));
    let want = json!({"provisioningState": "Succeeded", "maintenanceState": "Pending"});
    assert_eq!(serde_json::to_value(&told).unwrap(), want);
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i32>().prop_map(|number| Value::from(f64::from(number) / 4.0)),
        "[ -~é]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[a-zA-Z]{1,6}", inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Changes random values: removed, replaced by any JSON, or extended by unknown members.
fn changed(value: &mut Value, changes: &mut impl Iterator<Item = (u8, String, Value)>) {
    match value {
        Value::Object(members) => {
            let names: Vec<String> = members.keys().cloned().collect();
            for name in names {
                match changes.next() {
                    Some((0, _, _)) => drop(members.remove(&name)),
                    Some((1, _, odd)) => drop(members.insert(name, odd)),
                    Some((2, unknown, odd)) => drop(members.insert(unknown, odd)),
                    _ => members.get_mut(&name).into_iter().for_each(|below| changed(below, changes)),
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|below| changed(below, changes)),
        _ => {}
    }
}

/// The document itself, its cluster, their ids and `properties` are required.
fn required(stored: &mut Value) {
    let whole = whole();
    for name in ["id", "key", "partitionKey"] {
        stored[name] = whole[name].clone();
    }
    for (at, name) in [("", "openShiftCluster"), ("/openShiftCluster", "properties")] {
        let above = stored.pointer_mut(at).and_then(Value::as_object_mut).unwrap();
        let there = above.entry(name).or_insert_with(|| Value::Object(Members::new()));
        if !there.is_object() {
            *there = Value::Object(Members::new());
        }
    }
    stored["openShiftCluster"]["id"] = json!(ID);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn what_is_read_is_written_byte_for_byte(
        changes in prop::collection::vec((0..24u8, "[a-zA-Z]{1,8}", any_json()), 0..160)
    ) {
        let mut stored = whole();
        changed(&mut stored, &mut changes.into_iter());
        required(&mut stored);
        let text = stored.to_string();
        let document: ClusterDocument = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(&serde_json::to_string(&document).unwrap(), &text);
        // From a value, and into a value.
        let again: ClusterDocument = serde_json::from_value(stored.clone()).unwrap();
        prop_assert_eq!(&serde_json::to_value(&again).unwrap(), &stored);
        prop_assert_eq!(&again, &document);
        prop_assert_eq!(document.cluster.id.clone(), ResourceId::parse(ID).unwrap());
    }
}
