//! Targets out of the store.

use std::sync::Arc;

use rp_access::imports::seal_credential;
use rp_access::{KubeconfigParts, StoreDirectory};
use rp_base::Secret;
use rp_database::{Expect, SharedStore, Typed, update};
use rp_documents::cluster::Worker;
use rp_documents::{ClusterDocument, ImportedCluster, Lease, ResourceId, Sealed};
use rp_net::{Credential, Directory as _, DirectoryError, Endpoint, Source};
use serde_json::json;

use crate::world::{World, target, until};

const DOCUMENT: &str = "11111111-1111-1111-1111-111111111111";
const IMPORTED: &str = "/subscriptions/00000000-0000-0000-0000-000000000000/resourcegroups/imported/providers/microsoft.redhatopenshift/openshiftclusters/Lab";

/// Stands for a kubeconfig: the token alone.
fn read(text: &str) -> Result<KubeconfigParts, &'static str> {
    let token = text.strip_prefix("token ").ok_or("it is no kubeconfig")?;
    let credential = Credential::Token(Secret::new(token.to_owned()));
    Ok(KubeconfigParts { ca_pem: "the CA".to_owned(), credential })
}

async fn directory(world: &World) -> Arc<StoreDirectory> {
    let store: SharedStore = world.store.clone();
    StoreDirectory::start(store, world.keyring.clone(), read).await.unwrap()
}

fn clusters(world: &World) -> Typed<ClusterDocument> {
    let store: SharedStore = world.store.clone();
    Typed::new(store)
}

fn imports(world: &World) -> Typed<ImportedCluster> {
    let store: SharedStore = world.store.clone();
    Typed::new(store)
}

fn worker() -> Worker {
    Worker::holding(&Lease::default())
}

fn kubeconfig(world: &World, field: &str, text: &str) -> Sealed {
    let associated = format!("OpenShiftClusters/{DOCUMENT}/{field}");
    world.keyring.seal(text.as_bytes(), &associated).unwrap()
}

fn cluster(world: &World, address: &str) -> ClusterDocument {
    let id = target();
    let document = json!({
        "id": DOCUMENT, "key": id.key(), "partitionKey": "00000000-0000-0000-0000-000000000001",
        "openShiftCluster": { "id": id, "properties": {
            "provisioningState": "Succeeded", "networkProfile": { "privateEndpointIp": address },
        } },
    });
    let mut document: ClusterDocument = serde_json::from_value(document).unwrap();
    document
        .cluster
        .properties
        .sre_kubeconfig
        .set(worker(), kubeconfig(world, "aroSREKubeconfig", "token sre"));
    document
        .cluster
        .properties
        .service_kubeconfig
        .set(worker(), kubeconfig(world, "aroServiceKubeconfig", "token service"));
    document
}

fn import(world: &World, token: &str) -> ImportedCluster {
    let credential = Credential::Token(Secret::new(token.to_owned()));
    let document = json!({
        "id": "lab", "resource_id": IMPORTED, "server": "https://lab.example:6443/base", "ca_pem": "lab CA",
        "credential": "token", "sealed": seal_credential(&world.keyring, "lab", &credential).unwrap(),
        "as_groups": ["ops"], "imported_by": "root", "imported_at": world.clock_text(),
    });
    serde_json::from_value(document).unwrap()
}

impl World {
    fn clock_text(&self) -> serde_json::Value {
        serde_json::to_value(rp_base::Clock::now(&self.clock)).unwrap()
    }
}

fn token(credential: &Credential) -> &str {
    match credential {
        Credential::Token(token) => token.expose(),
        Credential::Certificate { .. } => panic!("a token was stored"),
    }
}

#[tokio::test]
async fn a_cluster_of_ours_is_behind_its_private_endpoint() {
    let world = World::new().await;
    let directory = directory(&world).await;
    assert!(matches!(directory.find(&target()).await, Err(DirectoryError::Unknown)));
    clusters(&world).create(cluster(&world, "10.1.2.3")).await.unwrap();
    let found = directory.find(&target()).await.unwrap();
    assert_eq!(found.endpoint, Endpoint::Private { ip: "10.1.2.3".parse().unwrap() });
    assert_eq!((found.source, found.server_name.as_str()), (Source::Aro, "kubernetes"));
    assert_eq!((token(&found.read), token(&found.admin)), ("sre", "service"));
    let upper = ResourceId::parse(
        &target().to_string().to_ascii_uppercase().replace("/SUBSCRIPTIONS", "/subscriptions"),
    )
    .unwrap();
    let again = directory.find(&upper).await.unwrap();
    assert!(Arc::ptr_eq(&found, &again), "one cluster in any casing");
}

#[tokio::test]
async fn what_cannot_be_reached_says_what_is_missing() {
    let world = World::new().await;
    let directory = directory(&world).await;
    clusters(&world).create(cluster(&world, "")).await.unwrap();
    assert!(matches!(directory.find(&target()).await, Err(DirectoryError::NotReachable(_))));
    let change = |change: fn(&World, &mut ClusterDocument)| {
        let (world, clusters) = (&world, clusters(&world));
        async move { update(&clusters, DOCUMENT, |document| change(world, document)).await.map(drop).unwrap() }
    };
    change(|world, document| {
        *document = cluster(world, "10.1.2.3");
        document.cluster.properties.sre_kubeconfig.clear(worker());
    })
    .await;
    assert!(matches!(directory.find(&target()).await, Err(DirectoryError::NotReachable(_))));
    change(|world, document| {
        // Another field's kubeconfig put in its place does not open.
        document
            .cluster
            .properties
            .sre_kubeconfig
            .set(worker(), kubeconfig(world, "aroServiceKubeconfig", "token service"));
    })
    .await;
    assert!(matches!(directory.find(&target()).await, Err(DirectoryError::Unusable(_))));
    change(|world, document| {
        document
            .cluster
            .properties
            .sre_kubeconfig
            .set(worker(), kubeconfig(world, "aroSREKubeconfig", "rubbish"));
    })
    .await;
    assert!(matches!(directory.find(&target()).await, Err(DirectoryError::Unusable("it is no kubeconfig"))));
}

#[tokio::test]
async fn changed_credentials_and_addresses_are_followed() {
    let world = World::new().await;
    let directory = directory(&world).await;
    clusters(&world).create(cluster(&world, "10.1.2.3")).await.unwrap();
    let mut last = directory.find(&target()).await.unwrap();
    let changes: [fn(&World, &mut ClusterDocument); 2] = [
        |world, document| {
            document
                .cluster
                .properties
                .sre_kubeconfig
                .set(worker(), kubeconfig(world, "aroSREKubeconfig", "token newer"));
        },
        |_, document| {
            document.cluster.properties.network_profile.private_endpoint_ip.set(worker(), "10.9.9.9");
        },
    ];
    for change in changes {
        update(&clusters(&world), DOCUMENT, |document| change(&world, document)).await.unwrap();
        last = until("another fingerprint", async || {
            let found = directory.find(&target()).await.unwrap();
            (found.fingerprint != last.fingerprint).then_some(found)
        })
        .await;
    }
    assert_eq!(token(&last.read), "newer");
    assert_eq!(last.endpoint, Endpoint::Private { ip: "10.9.9.9".parse().unwrap() });
}

#[tokio::test]
async fn an_import_is_found_changed_and_removed() {
    let world = World::new().await;
    let directory = directory(&world).await;
    let id = ResourceId::parse(IMPORTED).unwrap();
    assert!(matches!(directory.find(&id).await, Err(DirectoryError::Unknown)));
    imports(&world).create(import(&world, "one")).await.unwrap();
    let found = directory.find(&id).await.unwrap();
    assert_eq!((found.source, found.server_name.as_str()), (Source::Imported, "lab.example"));
    assert_eq!((token(&found.read), token(&found.admin), found.base_path()), ("one", "one", "/base"));
    assert_eq!(found.as_groups, ["ops"]);
    imports(&world).put(import(&world, "two"), Expect::Any).await.unwrap();
    until("the new credential", async || {
        let found = directory.find(&id).await.unwrap();
        (token(&found.read) == "two").then_some(())
    })
    .await;
    imports(&world).delete("lab", Expect::Any).await.unwrap();
    until("its removal", async || match directory.find(&id).await {
        Err(DirectoryError::Unknown) => Some(()),
        Ok(_) | Err(_) => None,
    })
    .await;
}

#[tokio::test]
async fn an_import_sealed_for_another_name_does_not_open() {
    let world = World::new().await;
    let directory = directory(&world).await;
    let mut stolen = import(&world, "one");
    let credential = Credential::Token(Secret::new("x".to_owned()));
    stolen.sealed = seal_credential(&world.keyring, "other", &credential).unwrap();
    imports(&world).create(stolen).await.unwrap();
    let found = directory.find(&ResourceId::parse(IMPORTED).unwrap()).await;
    assert!(matches!(found, Err(DirectoryError::Unusable(_))));
}
