//! Tests of paged lists and of faulty clusters, against an in-process server.

use std::sync::atomic::Ordering;

use rp_kube::connect::Identity;
use rp_kube::lean::LeanOptions;
use serde_json::json;

use super::*;
use crate::collect::CollectError;
use crate::fake_cluster::{FakeCluster, HandshakeMode, Reply, dialer, healthy_cluster, page};
use crate::view::ClusterView;

const NODES: &str = "/api/v1/nodes";
const LONG: Duration = Duration::from_secs(60);

fn fetcher(far: &FakeCluster, limits: FetchLimits, connection: LeanOptions) -> Fetcher {
    let lean = LeanClient::new(dialer(), far.target(), Identity::Admin, connection).unwrap();
    Fetcher::new(Arc::new(lean), Budget::unlimited(), limits, Arc::default(), CancellationToken::new())
}

fn plain(far: &FakeCluster) -> Fetcher {
    fetcher(far, FetchLimits::default(), LeanOptions::default())
}

fn seen() -> ClusterObjects {
    let id = ResourceId::parse(crate::fake_cluster::ID).unwrap();
    let view = ClusterView::bare("a".to_owned(), id, rp_net::Source::Aro);
    ClusterObjects::new(Arc::new(view), rp_base::Timestamp::default(), false, "commit")
}

fn nodes(seen: &ClusterObjects) -> Result<Vec<String>, FetchError> {
    match seen.nodes() {
        Ok(nodes) => Ok(nodes.iter().map(|node| node.metadata.name.as_str().to_owned()).collect()),
        Err(CollectError::Fetch { error, .. }) => Err(error),
        Err(error) => panic!("{error}"),
    }
}

async fn fetched(fetcher: &Fetcher) -> Result<Vec<String>, FetchError> {
    let seen = seen();
    tokio::time::timeout(LONG, fetcher.fetch(&Resource::Nodes, &seen)).await.expect("an end");
    assert!(seen.has(&Resource::Nodes));
    nodes(&seen)
}

#[tokio::test]
async fn a_list_is_read_page_by_page() {
    let far = FakeCluster::start(healthy_cluster).await;
    for (size, requests) in [(1, 4), (3, 2), (500, 1)] {
        let before = far.request_count(NODES);
        let limits = FetchLimits { page: size, ..FetchLimits::default() };
        let fetcher = fetcher(&far, limits, LeanOptions::default());
        assert_eq!(fetched(&fetcher).await.unwrap(), ["m0", "m1", "m2", "w0"]);
        assert_eq!(far.request_count(NODES) - before, requests, "pages of {size}");
    }
}

#[tokio::test]
async fn a_list_that_expires_in_the_middle_is_read_again_once() {
    let expires = |times: usize| {
        move |asked: &crate::fake_cluster::ReceivedRequest| {
            let items = ["a", "b"].map(|name| json!({"metadata": {"name": name}}));
            if asked.get("continue").is_some() && asked.nth < times {
                return Reply::Text(
                    410,
                    r#"{"message":"The provided continue parameter is too old"}"#.to_owned(),
                );
            }
            page(asked, &items)
        }
    };
    let limits = FetchLimits { page: 1, ..FetchLimits::default() };
    let far = FakeCluster::start(expires(2)).await;
    assert_eq!(fetched(&fetcher(&far, limits, LeanOptions::default())).await.unwrap(), ["a", "b"]);
    assert_eq!(far.request_count(NODES), 4);
    let far = FakeCluster::start(expires(100)).await;
    let error = fetched(&fetcher(&far, limits, LeanOptions::default())).await.unwrap_err();
    assert_eq!((error, far.request_count(NODES)), (FetchError::Expired, 4));
}

#[tokio::test]
async fn refusals_keep_their_status_and_words() {
    for (code, said) in [
        (401, "the credential is not accepted"),
        (403, "nodes is forbidden"),
        (404, "not found"),
        (500, "no message"),
        (503, "no message"),
    ] {
        let far = FakeCluster::start(move |_| {
            let body = if code == 403 { r#"{"message":"nodes\u0000 is forbidden"}"# } else { "" };
            Reply::Text(code, body.to_owned())
        })
        .await;
        let error = fetched(&plain(&far)).await.unwrap_err();
        assert_eq!(error, FetchError::Status { code, message: said.to_owned(), retry_after: None });
    }
}

#[tokio::test]
async fn a_busy_cluster_is_asked_again_when_it_says_when() {
    let far = FakeCluster::start(
        |asked| if asked.nth == 0 { Reply::Later(429, 0) } else { healthy_cluster(asked) },
    )
    .await;
    assert_eq!(fetched(&plain(&far)).await.unwrap().len(), 4);
    let far = FakeCluster::start(|_| Reply::Later(429, 0)).await;
    assert_eq!(fetched(&plain(&far)).await.unwrap_err().code(), 429);
    assert_eq!(far.request_count(NODES), 2, "once more and not for ever");
    let far = FakeCluster::start(|_| Reply::Later(429, 3600)).await;
    let error = fetched(&plain(&far)).await.unwrap_err();
    assert!(matches!(error, FetchError::Status { retry_after: Some(wait), .. } if wait.as_secs() == 3600));
    assert_eq!(far.request_count(NODES), 1, "not waited for");
}

#[tokio::test]
async fn what_hangs_ends_and_says_where() {
    let short = Duration::from_millis(100);
    let connection =
        LeanOptions { dial: Duration::from_secs(1), head: LONG, silence: LONG, ..LeanOptions::default() };
    let told = async |far: &FakeCluster, connection: &LeanOptions| {
        fetched(&fetcher(far, FetchLimits::default(), connection.clone())).await.unwrap_err()
    };
    let patient = LeanOptions { dial: LONG, ..connection.clone() };
    let far = FakeCluster::start(|_| Reply::Silent).await;
    let for_head = LeanOptions { head: short, ..patient.clone() };
    assert_eq!(told(&far, &for_head).await, FetchError::NoAnswer(0));
    let far = FakeCluster::start(|_| Reply::Half).await;
    let for_body = LeanOptions { silence: short, ..patient.clone() };
    assert_eq!(told(&far, &for_body).await, FetchError::Stalled(0));
    let far = FakeCluster::start_with(HandshakeMode::NoTls, healthy_cluster).await;
    let error = told(&far, &connection).await;
    assert!(matches!(error, FetchError::Unreachable { stage: "tls", .. }), "{error}");
    let far = FakeCluster::start_with(HandshakeMode::Stranger, healthy_cluster).await;
    let error = told(&far, &patient).await;
    assert!(
        matches!(&error, FetchError::Unreachable { stage: "tls", why } if why.contains("certificate")),
        "{error}"
    );
}

#[tokio::test]
async fn a_connect_that_hangs_ends() {
    // The listener never accepts: once its queue is full, the kernel lets further connections wait.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut waiting = Vec::new();
    while let Ok(Ok(stream)) =
        tokio::time::timeout(Duration::from_millis(300), tokio::net::TcpStream::connect(address)).await
    {
        waiting.push(stream);
        assert!(waiting.len() < 1000, "the queue never fills");
    }
    let far = FakeCluster::start(healthy_cluster).await;
    let target = crate::fake_cluster::target(&format!("https://{address}"), far.target().ca_pem.clone());
    let short = Duration::from_millis(100);
    let options = LeanOptions { dial: short, ..LeanOptions::default() };
    let lean = LeanClient::new(dialer(), Arc::new(target), Identity::Admin, options).unwrap();
    let fetcher = Fetcher::new(
        Arc::new(lean),
        Budget::unlimited(),
        FetchLimits::default(),
        Arc::default(),
        CancellationToken::new(),
    );
    let error = fetched(&fetcher).await.unwrap_err();
    assert!(matches!(error, FetchError::Unreachable { stage: "connect" | "tls", .. }), "{error}");
}

#[tokio::test]
async fn size_and_number_of_pages_are_bounded() {
    let far = FakeCluster::start(healthy_cluster).await;
    let small = FetchLimits { answer_bytes: 100, ..FetchLimits::default() };
    let error = fetched(&fetcher(&far, small, LeanOptions::default())).await.unwrap_err();
    assert_eq!(error, FetchError::TooLarge(100));
    let endless =
        FakeCluster::start(|_| Reply::Json(json!({"metadata": {"continue": "more"}, "items": []}))).await;
    let few = FetchLimits { pages: 7, ..FetchLimits::default() };
    let error = fetched(&fetcher(&endless, few, LeanOptions::default())).await.unwrap_err();
    assert_eq!((error, endless.request_count(NODES)), (FetchError::TooLong(7), 7));
    let nonsense = FakeCluster::start(|_| Reply::Text(200, "<html>".to_owned())).await;
    assert!(matches!(fetched(&plain(&nonsense)).await, Err(FetchError::Malformed(_))));
}

#[tokio::test]
async fn the_deadline_ends_reads_and_waits() {
    let far = FakeCluster::start(|_| Reply::Silent).await;
    let lean = LeanClient::new(dialer(), far.target(), Identity::Admin, LeanOptions::default()).unwrap();
    let cancel = CancellationToken::new();
    let fetcher = Fetcher::new(
        Arc::new(lean),
        Budget::unlimited(),
        FetchLimits::default(),
        Arc::default(),
        cancel.clone(),
    );
    let seen = seen();
    let (_, ()) = tokio::join!(fetcher.fetch(&Resource::Nodes, &seen), async {
        while far.request_count(NODES) == 0 {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    });
    assert_eq!(nodes(&seen), Err(FetchError::Deadline));
    assert_eq!(fetcher.status("/healthz").await, Err(FetchError::Deadline));
}

#[tokio::test]
async fn five_thousand_nodes_come_over_one_connection() {
    let far = FakeCluster::start(|asked| {
        let node = |n: usize| {
            json!({"metadata": {"name": format!("node-{n}"), "labels": {"node-role.kubernetes.io/worker": ""},
                "annotations": {"a": "b".repeat(500)}}, "status": {"images": [{"names": ["x".repeat(500)]}]}})
        };
        page(asked, &(0..5000).map(node).collect::<Vec<_>>())
    })
    .await;
    let fetcher = plain(&far);
    assert_eq!(fetched(&fetcher).await.unwrap().len(), 5000);
    assert_eq!((far.request_count(NODES), far.connections.load(Ordering::SeqCst)), (10, 1));
}

#[test]
fn paths_are_escaped() {
    let request = Resource::EtcdCertificates.request();
    assert_eq!(
        path(&request, 7, Some("a/b=")),
        "/api/v1/namespaces/openshift-etcd/secrets?fieldSelector=type%3Dkubernetes.io%2Ftls&limit=7&continue=a%2Fb%3D"
    );
    assert_eq!(path(&Resource::Network.request(), 7, None), "/apis/config.openshift.io/v1/networks/cluster");
}
