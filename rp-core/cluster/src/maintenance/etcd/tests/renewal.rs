//! Renewal of the certificates of a cluster before 4.9.

use base64::Engine as _;

use super::*;
use crate::manager::Operation;

const VERSION: &str = "/apis/config.openshift.io/v1/clusterversions/version";
const OPERATOR: &str = "/apis/config.openshift.io/v1/clusteroperators/etcd";

/// A certificate that is valid from the year 2000 until that year.
fn certificate(until: i32) -> String {
    let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
    params.not_before = rcgen::date_time_ymd(2000, 1, 1);
    params.not_after = rcgen::date_time_ymd(until, 1, 1);
    let pem = params.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap().pem();
    base64::engine::general_purpose::STANDARD.encode(pem)
}

fn names(rig: &Rig) -> Vec<String> {
    super::super::renewal::names(&rig.world.context(Operation::AdminUpdate))
}

fn put_secrets(api: &Api, names: &[String], until: i32) {
    let data = json!({"tls.crt": certificate(until), "tls.key": "a2V5"});
    for name in names {
        api.put(
            &secret_path(name),
            json!({"metadata": {"name": name}, "type": "kubernetes.io/tls", "data": data}),
        );
    }
}

fn put_revision(api: &Api, latest: i64) {
    let nodes: Vec<_> =
        (0..3).map(|n| json!({"nodeName": format!("master-{n}"), "currentRevision": latest})).collect();
    let signer = json!([{"type": "EtcdCertSignerControllerDegraded", "status": "False"}]);
    api.put(
        ETCD,
        json!({"metadata": {"name": "cluster"}, "spec": {},
        "status": {"latestAvailableRevision": latest, "nodeStatuses": nodes, "conditions": signer}}),
    );
}

/// A cluster of 4.8 whose certificates are valid until that year.
async fn old(until: i32, longest: Duration) -> Rig {
    let rig = Rig::with_steps_of(longest).await;
    let api = &rig.world.api;
    let mut version = api.get(VERSION).unwrap();
    version["status"]["desired"]["version"] = json!("4.8.57");
    api.put(VERSION, version);
    let mut operator = api.get(OPERATOR).unwrap();
    operator["status"]["conditions"][0]["reason"] = json!("AsExpected");
    api.put(OPERATOR, operator);
    put_secrets(api, &names(&rig), until);
    put_revision(api, 7);
    rig
}

async fn renew(rig: &Rig) -> Result<(), TaskFailure> {
    rig.run(Task::RenewEtcdCertificates, TaskOrder::default()).await
}

/// The operator writes certificates that are valid until that year, and deploys them, when they are waited for.
fn operator_renews(rig: &Rig, until: i32) {
    let (api, names) = (rig.world.api.clone(), names(rig));
    rig.world.progress.on_start(move |name, _| {
        if name == "condition.waitRevision" {
            put_secrets(&api, &names, until);
            put_revision(&api, 8);
        }
    });
}

fn copies(rig: &Rig) -> usize {
    let copy = |name: &&String| rig.world.api.get(&secret_path(&format!("{name}-before-renewal"))).is_some();
    names(rig).iter().filter(copy).count()
}

#[tokio::test]
async fn certificates_are_made_anew() {
    let rig = old(2099, Duration::from_secs(20)).await;
    let before = rig.world.api.get(&secret_path(&names(&rig)[0])).unwrap();
    operator_renews(&rig, 2098);
    renew(&rig).await.unwrap();
    assert_ne!(rig.world.api.get(&secret_path(&names(&rig)[0])).unwrap()["data"], before["data"]);
    assert_eq!((names(&rig).len(), copies(&rig)), (9, 0));
}

#[tokio::test]
async fn a_worker_that_dies_in_a_renewal_is_followed_by_one_that_ends_it() {
    for step in 0..plan(Task::RenewEtcdCertificates).len() - 1 {
        let rig = old(2099, Duration::from_secs(20)).await;
        let progress = Arc::downgrade(&rig.world.progress);
        let (api, all) = (rig.world.api.clone(), names(&rig));
        rig.world.progress.on_start(move |name, at| {
            if name == "condition.waitRevision" {
                put_secrets(&api, &all, 2098);
                put_revision(&api, 8);
            }
            if let Some(progress) = progress.upgrade()
                && at == step
            {
                progress.forget_on_start();
                progress.refuse_next_save();
            }
        });
        assert_eq!(renew(&rig).await, Err(TaskFailure::Lost), "{step}");
        operator_renews(&rig, 2098);
        renew(&rig).await.unwrap();
        assert_eq!(copies(&rig), 0, "{step}");
    }
}

#[tokio::test]
async fn what_is_new_unwell_or_expired_is_refused_before_anything_is_written() {
    let refused = async |rig: Rig, told: &str| {
        rig.world.api.take_writes();
        let text = terminal(renew(&rig).await);
        assert!(text.contains(told), "{text}");
        assert_eq!(copies(&rig), 0);
        let writes = rig.world.api.take_writes();
        assert!(writes.iter().all(|path| path.ends_with("-before-renewal")), "{writes:?}");
    };
    let rig = old(2099, Duration::from_secs(20)).await;
    let mut version = rig.world.api.get(VERSION).unwrap();
    version["status"]["desired"]["version"] = json!("4.9.0");
    rig.world.api.put(VERSION, version);
    refused(rig, "etcd certificate renewal is not needed for cluster running version 4.9+").await;
    refused(old(2001, Duration::from_secs(20)).await, "is already expired, quitting.").await;
    let rig = old(2099, Duration::from_secs(20)).await;
    rig.put_etcd("True");
    refused(rig, "etcd Available=True, Progressing=True").await;
    let rig = old(2099, Duration::from_secs(20)).await;
    rig.world.api.put(ETCD, json!({"metadata": {"name": "cluster"}}));
    refused(rig, "unknown or degraded").await;
}

#[tokio::test]
async fn an_operator_that_makes_none_gets_the_old_ones_back() {
    let rig = old(2099, Duration::from_secs(2)).await;
    let before = rig.world.api.get(&secret_path(&names(&rig)[8])).unwrap();
    let told = terminal(renew(&rig).await);
    assert!(
        told.starts_with("etcd renewal failed, recovery performed to revert the changes. Cause: "),
        "{told}"
    );
    assert!(told.contains("revision 7 is not newer than 7"), "{told}");
    assert_eq!(rig.world.api.get(&secret_path(&names(&rig)[8])).unwrap()["data"], before["data"]);
    assert_eq!(copies(&rig), 0);
}

#[tokio::test]
async fn new_certificates_that_end_soon_are_told() {
    let rig = old(2099, Duration::from_secs(20)).await;
    operator_renews(&rig, 2027);
    let told = terminal(renew(&rig).await);
    assert_eq!(
        told,
        "etcd certificates renewal not successful, as at least one or all certificates are not renewed"
    );
}
