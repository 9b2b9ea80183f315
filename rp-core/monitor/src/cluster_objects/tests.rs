use rp_net::Source;
use serde_json::{Value, json};

use super::decode::MOST_ITEMS;
use super::*;
use crate::collect::tests::{NOW, aro};

fn seen() -> ClusterObjects {
    ClusterObjects::new(Arc::new(aro()), NOW, false, "commit")
}

fn page(names: &[&str], token: &str) -> Vec<u8> {
    let items: Vec<Value> = names.iter().map(|name| json!({"metadata": {"name": name}})).collect();
    json!({"metadata": {"continue": token}, "items": items}).to_string().into_bytes()
}

fn names(seen: &ClusterObjects) -> Vec<String> {
    seen.nodes().unwrap().iter().map(|node| node.metadata.name.as_str().to_owned()).collect()
}

#[test]
fn pages_become_one_list() {
    let seen = seen();
    assert_eq!(seen.page(&Resource::Nodes, &page(&["a", "b"], "t1")).unwrap().as_deref(), Some("t1"));
    assert!(!seen.has(&Resource::Nodes) && seen.nodes().is_err(), "half a list is none");
    assert_eq!(seen.page(&Resource::Nodes, &page(&["c"], "t2")).unwrap().as_deref(), Some("t2"));
    assert_eq!(seen.page(&Resource::Nodes, &page(&["d"], "")).unwrap(), None);
    assert!(seen.has(&Resource::Nodes));
    assert_eq!(names(&seen), ["a", "b", "c", "d"]);
}

#[test]
fn a_list_that_begins_again_forgets_its_pages() {
    let seen = seen();
    seen.page(&Resource::Nodes, &page(&["a"], "t1")).unwrap();
    seen.restart(&Resource::Nodes);
    seen.page(&Resource::Nodes, &page(&["b"], "")).unwrap();
    assert_eq!(names(&seen), ["b"]);
}

#[test]
fn a_list_that_broke_off_is_an_error() {
    let seen = seen();
    seen.page(&Resource::Nodes, &page(&["a"], "t1")).unwrap();
    seen.fail(&Resource::Nodes, FetchError::Expired);
    assert!(seen.has(&Resource::Nodes));
    assert!(matches!(seen.nodes(), Err(CollectError::Fetch { error: FetchError::Expired, .. })));
}

#[test]
fn bounds_hold_over_all_pages() {
    let seen = seen();
    let many = vec!["x"; MOST_ITEMS - 1];
    seen.page(&Resource::Nodes, &page(&many, "t")).unwrap();
    assert!(matches!(seen.page(&Resource::Nodes, &page(&["a", "b"], "")), Err(DecodeError::TooMany)));
    let token = "t".repeat(20_000);
    assert!(matches!(seen.page(&Resource::Pools, &page(&[], &token)), Err(DecodeError::Token(20_000))));
}

#[test]
fn what_is_no_list_or_no_object_is_refused() {
    let seen = seen();
    for body in ["", "null", "[]", "{}", "\"x\"", "{\"items\":", "{\"kind\":\"Status\"}"] {
        assert!(seen.page(&Resource::Nodes, body.as_bytes()).is_err(), "{body}");
    }
    for body in ["", "null", "[]", "3", "{\"a\":"] {
        assert!(seen.page(&Resource::ClusterVersion, body.as_bytes()).is_err(), "{body}");
    }
    for body in ["", "null", "{}", "[1"] {
        assert!(seen.page(&Resource::Alerts, body.as_bytes()).is_err(), "{body}");
    }
    assert_eq!(seen.page(&Resource::Nodes, b"{\"items\":null}").unwrap(), None);
    assert!(names(&seen).is_empty());
}

#[test]
fn members_of_wrong_types_never_lose_a_list() {
    let seen = seen();
    let items = json!([
        {"metadata": {"name": "good"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}},
        {"metadata": {"name": 7, "labels": [], "generation": "12"}, "status": "none"},
        {"metadata": "x", "status": {"conditions": {"type": "Ready"}, "nodeInfo": 3}},
        {"status": {"conditions": [null, 3, {"type": true, "status": null}]}},
        null, 5, "x", [],
    ]);
    seen.page(&Resource::Nodes, json!({"metadata": 3, "items": items}).to_string().as_bytes()).unwrap();
    let nodes = seen.nodes().unwrap();
    assert_eq!(names(&seen), ["good", "7", "", ""]);
    assert_eq!(nodes[1].metadata.generation.0, Some(12));
    assert_eq!(nodes[3].status.conditions.len(), 1);
    assert_eq!(nodes[3].status.conditions[0].kind.as_str(), "true");
}

#[test]
fn long_texts_are_cut_at_a_character() {
    let seen = seen();
    let name = "ü".repeat(400);
    seen.page(&Resource::Nodes, &page(&[&name], "")).unwrap();
    assert_eq!(names(&seen)[0].len(), 252);
}

#[test]
fn a_missing_object_is_an_error_where_there_must_be_one() {
    let missing = || FetchError::Status { code: 404, message: "no".to_owned(), retry_after: None };
    let ours = seen();
    let certificate = Resource::Certificate("x".to_owned());
    for need in [&Resource::AroCluster, &Resource::VirtualMachines, &certificate] {
        ours.fail(need, missing());
    }
    assert!(ours.aro_cluster().is_err());
    assert!(ours.virtual_machines().unwrap().is_empty());
    assert!(ours.certificate("x").unwrap().is_none());
    let id = rp_documents::ResourceId::imported("mine").unwrap();
    let brought = ClusterObjects::new(
        Arc::new(ClusterView::bare("mine".to_owned(), id, Source::Imported)),
        NOW,
        false,
        "c",
    );
    brought.fail(&Resource::AroCluster, missing());
    assert!(brought.aro_cluster().unwrap().is_none());
    brought.fail(&Resource::AroCluster, FetchError::Deadline);
    assert!(brought.aro_cluster().is_err());
}

#[test]
fn subnets_are_given_or_failed() {
    let seen = seen();
    assert!(!seen.has(&Resource::Subnets) && seen.prefixes().is_err());
    seen.fail(&Resource::Subnets, FetchError::Deadline);
    assert!(seen.has(&Resource::Subnets) && seen.prefixes().is_err());
    seen.subnets(BTreeMap::from([("/s".to_owned(), Ok(vec!["10.0.0.0/24".to_owned()]))]));
    assert_eq!(seen.prefixes().unwrap().len(), 1);
}

#[test]
fn subnet_ids_stand_once_in_lower_case() {
    let mut cluster = aro();
    cluster.master_subnet = "/Sub/M".to_owned();
    let worker = |id: &str| crate::WorkerProfile { subnet_id: id.to_owned(), ..Default::default() };
    cluster.workers = vec![worker("/sub/w"), worker("/SUB/W"), worker("")];
    assert_eq!(subnet_ids(&cluster), ["/sub/m", "/sub/w"]);
}

#[test]
fn needs_have_paths_and_names() {
    let request = Resource::RouterServices.request();
    assert_eq!(
        (request.path.as_ref(), request.query.as_slice()),
        ("/api/v1/namespaces/openshift-ingress/services", &[("labelSelector", "app=router")][..])
    );
    assert!(request.paged && !request.missing_ok);
    assert!(Resource::VirtualMachines.request().missing_ok && !Resource::ClusterVersion.request().paged);
    for (need, name) in [
        (Resource::Nodes, "nodes"),
        (Resource::ClusterVersion, "clusterversions/version"),
        (Resource::Machines, "namespaces/openshift-machine-api/machines"),
        (Resource::Pods("openshift-etcd"), "pods of openshift-etcd"),
        (Resource::Certificate("x".to_owned()), "secret openshift-azure-operator/x"),
    ] {
        assert_eq!(need.name(), name);
    }
}
