//! The fleet by itself.

use std::collections::HashSet;

use rp_base::Timestamp;
use serde_json::json;

use crate::fleet::{ClusterShape, Fleet};
use crate::objects::{KINDS, View};

const NOW: Timestamp = Timestamp::from_seconds(1_795_000_000);

#[test]
fn ten_thousand_clusters_differ_and_are_mostly_healthy() {
    let begin = std::time::Instant::now();
    let fleet = Fleet::new(42, 10_000, Vec::new(), NOW);
    let all: Vec<_> = fleet.clusters().map(|c| (c.document().unwrap(), c.health(), c)).collect();
    println!("10,000 documents in {:?}", begin.elapsed());
    assert_eq!(all.len(), 10_000);
    let keys: HashSet<&str> = all.iter().map(|(document, _, _)| document.key.as_str()).collect();
    let ids: HashSet<&str> = all.iter().map(|(document, _, _)| document.id.as_str()).collect();
    let names: HashSet<&str> = all.iter().map(|(_, _, cluster)| cluster.name.as_str()).collect();
    assert_eq!((keys.len(), ids.len()), (10_000, 10_000));
    assert!(names.len() > 9_000, "{}", names.len());
    let healthy = all.iter().filter(|(_, _, cluster)| cluster.shape == ClusterShape::Healthy).count();
    assert!((8_200..8_800).contains(&healthy), "{healthy}");
    let subscriptions: HashSet<&str> = all.iter().map(|(_, _, c)| c.subscription.as_str()).collect();
    assert!(subscriptions.len() > 100);
    for (document, health, cluster) in &all {
        if let Some(ip) = cluster.private_ip() {
            assert_eq!(fleet.at(ip).map(|found| found.index), Some(cluster.index));
            assert_eq!(*document.cluster.properties.network_profile.private_endpoint_ip, ip.to_string());
        }
        assert!(health.as_ref().is_none_or(|health| health.id == document.id));
    }
}

#[test]
fn the_same_seed_gives_the_same_clusters() {
    let (one, two) = (Fleet::new(1, 50, Vec::new(), NOW), Fleet::new(1, 500, Vec::new(), NOW));
    let other = Fleet::new(2, 50, Vec::new(), NOW);
    let id = |fleet: &Fleet, index| fleet.cluster(index).map(|cluster| cluster.id());
    assert_eq!(id(&one, 9), id(&two, 9));
    assert_ne!(id(&one, 9), id(&other, 9));
    assert!(one.cluster(50).is_none());
    for ip in ["10.0.0.1", "10.64.0.0", "10.64.0.255", "10.255.255.254", "127.0.0.1"] {
        assert!(one.at(ip.parse().unwrap()).is_none(), "{ip}");
    }
}

#[test]
fn every_object_of_every_shape_is_well_formed_and_says_that_it_is_simulated() {
    let fleet = Fleet::new(3, 51, Vec::new(), NOW);
    let mut shapes = HashSet::new();
    for cluster in fleet.clusters() {
        shapes.insert(format!("{:?}", cluster.shape));
        let view = View { cluster: &cluster, now: NOW };
        for kind in KINDS {
            let mut names = HashSet::new();
            for object in (kind.list)(&view) {
                let metadata = &object["metadata"];
                assert_eq!(object["kind"], kind.kind);
                assert_eq!(object["apiVersion"], kind.api_version());
                assert_eq!(metadata["labels"]["aro.openshift.io/simulated"], "true");
                assert_eq!(metadata["namespace"].is_string(), kind.namespaced, "{}", kind.plural);
                assert!(
                    names.insert(json!([metadata["namespace"], metadata["name"]]).to_string()),
                    "{metadata}"
                );
            }
            assert!(!names.is_empty(), "{}", kind.plural);
        }
    }
    assert_eq!(shapes.len(), 17);
}
