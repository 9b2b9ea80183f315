//! Reads, refusals, pages, selectors, tables, reviews.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use rp_documents::Side;
use serde_json::{Value, json};

use super::client::{Bench, DEADLINE, ask, json as read};
use rp_simulator::fleet::ClusterShape;

fn index_of(bench: &Bench, shape: ClusterShape) -> usize {
    bench.region.fleet().clusters().find(|cluster| cluster.shape == shape && cluster.index > 0).unwrap().index
}

#[tokio::test]
async fn reads_what_a_cluster_page_needs() {
    let bench = Bench::new().await;
    let (status, version) = bench.get(0, "/version").await;
    assert_eq!(status, 200);
    assert!(version["gitVersion"].as_str().unwrap().contains("simulated"));
    let (_, nodes) = bench.get(0, "/api/v1/nodes").await;
    assert!(nodes["items"].as_array().unwrap().len() >= 6);
    let (_, operators) = bench.get(0, "/apis/config.openshift.io/v1/clusteroperators").await;
    assert_eq!(operators["items"].as_array().unwrap().len(), 34);
    let degraded = |list: &Value| {
        let items = list["items"].as_array().unwrap().clone();
        items.iter().filter(|item| super::degraded(item)).count()
    };
    assert_eq!(degraded(&operators), 0);
    let (_, sick) = bench
        .get(index_of(&bench, ClusterShape::Degraded), "/apis/config.openshift.io/v1/clusteroperators")
        .await;
    assert!(degraded(&sick) > 0);
    let (_, me) = bench.get(0, "/apis/user.openshift.io/v1/users/~").await;
    assert_eq!(me["metadata"]["name"], "system:aro-sre");
    for path in [
        "/api",
        "/apis",
        "/api/v1",
        "/apis/apps",
        "/apis/apps/v1",
        "/readyz",
        "/openapi/v2",
        "/openapi/v3",
        "/",
    ] {
        assert_eq!(bench.get(0, path).await.0, 200, "{path}");
    }
    for path in ["/openapi/v3/apis/none/v1", "/api/v1/nothing", "/apis/none/v1/x", "/api/v1/nodes/none", "/x"]
    {
        let (status, body) = bench.get(0, path).await;
        assert_eq!(
            (status, &body["kind"], &body["reason"]),
            (404, &json!("Status"), &json!("NotFound")),
            "{path}"
        );
    }
}

#[tokio::test]
async fn pages_selectors_and_tables() {
    let bench = Bench::new().await;
    let (_, all) = bench.get(0, "/api/v1/pods").await;
    let all = all["items"].as_array().unwrap().len();
    let (mut path, mut seen) = ("/api/v1/pods?limit=20".to_owned(), 0);
    loop {
        let (status, page) = bench.get(0, &path).await;
        assert_eq!(status, 200);
        seen += page["items"].as_array().unwrap().len();
        match page["metadata"]["continue"].as_str() {
            Some(next) => path = format!("/api/v1/pods?limit=20&continue={next}"),
            None => break,
        }
    }
    assert_eq!(seen, all);
    assert_eq!(bench.get(0, "/api/v1/pods?continue=nonsense").await.0, 400);
    assert_eq!(bench.get(0, "/api/v1/pods?limit=x").await.0, 400);
    let count = async |path: &str| bench.get(0, path).await.1["items"].as_array().unwrap().len();
    assert_eq!(count("/api/v1/namespaces/openshift-etcd/pods").await, 3);
    assert_eq!(count("/api/v1/pods?labelSelector=app%20in%20(etcd,console),app!%3Dconsole").await, 3);
    assert_eq!(count("/api/v1/nodes?labelSelector=node-role.kubernetes.io/master").await, 3);
    assert_eq!(
        count("/api/v1/pods?fieldSelector=metadata.namespace%3Dopenshift-etcd,status.phase%3DRunning").await,
        3
    );
    assert_eq!(count("/api/v1/pods?fieldSelector=status.phase%3DFailed").await, 0);
    let accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
    for path in ["/api/v1/pods", "/api/v1/nodes", "/apis/config.openshift.io/v1/clusteroperators"] {
        let request = ask("GET", path).header("accept", accept).body(Full::default()).unwrap();
        let (_, table) = read(bench.send(0, &bench.identity.sre, request).await).await;
        assert_eq!(table["kind"], "Table", "{path}");
        let width = table["columnDefinitions"].as_array().unwrap().len();
        assert!(
            table["rows"]
                .as_array()
                .unwrap()
                .iter()
                .all(|row| row["cells"].as_array().unwrap().len() == width)
        );
    }
}

#[tokio::test]
async fn the_read_only_identity_reads_only() {
    let bench = Bench::new().await;
    let pods = "/api/v1/namespaces/openshift-etcd/pods";
    let (_, list) = bench.get(0, pods).await;
    let pod = list["items"][0]["metadata"]["name"].as_str().unwrap().to_owned();
    for path in [
        "/api/v1/secrets".to_owned(),
        format!("{pods}/{pod}/exec?command=ls"),
        format!("{pods}/{pod}/attach"),
    ] {
        let (status, body) = bench.get(0, &path).await;
        assert_eq!((status, &body["reason"]), (403, &json!("Forbidden")), "{path}");
    }
    let send = async |method: &str, path: &str, admin: bool, user: Option<&str>, body: Value| {
        let mut request = ask(method, path);
        if let Some(user) = user {
            request = request.header("impersonate-user", user).header("impersonate-extra-grant", "g-1");
        }
        let pair = if admin { &bench.identity.service } else { &bench.identity.sre };
        let body = Full::new(Bytes::from(body.to_string()));
        read(bench.send(0, pair, request.body(body).unwrap()).await).await
    };
    assert_eq!(send("DELETE", &format!("{pods}/{pod}"), false, None, json!({})).await.0, 403);
    assert_eq!(send("GET", "/api/v1/secrets", true, None, json!({})).await.0, 200);
    // It may impersonate itself with extras, as the proxy does, and no other user.
    assert_eq!(send("GET", pods, false, Some("system:aro-sre"), json!({})).await.0, 200);
    assert_eq!(send("GET", pods, false, Some("juno"), json!({})).await.0, 403);
    assert_eq!(send("GET", pods, true, Some("juno"), json!({})).await.0, 403);
    let who = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let (status, body) =
        send("POST", who, false, Some("system:aro-sre"), json!({"kind": "SelfSubjectReview"})).await;
    assert_eq!((status, &body["status"]["userInfo"]["extra"]["grant"][0]), (201, &json!("g-1")));
    let may = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    for (verb, resource, allowed) in
        [("list", "pods", true), ("list", "secrets", false), ("delete", "pods", false)]
    {
        let spec = json!({"spec": {"resourceAttributes": {"verb": verb, "resource": resource}}});
        assert_eq!(
            send("POST", may, false, None, spec).await.1["status"]["allowed"],
            allowed,
            "{verb} {resource}"
        );
    }
}

#[tokio::test]
async fn nobody_comes_in_without_a_certificate() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let bench = Bench::new().await;
    // TLS 1.3: the server refuses after the client has finished, so the refusal shows at the first read.
    let mut stream = bench.tls(0, None, b"http/1.1").await;
    let _ = stream.write_all(b"GET /version HTTP/1.1\r\nhost: kubernetes\r\n\r\n").await;
    let mut answer = Vec::new();
    assert!(stream.read_to_end(&mut answer).await.is_err());
    assert!(answer.is_empty());
}

#[tokio::test]
async fn unreachable_clusters_answer_504_or_never() {
    let bench = Bench::new().await;
    let ip = |shape| bench.region.private_ip(index_of(&bench, shape)).unwrap().into();
    let refused = bench.dial(ip(ClusterShape::Refusing), DEADLINE).await.unwrap_err();
    assert_eq!((refused.side, refused.timed_out), (Side::Cluster, false));
    let silent = bench.dial(ip(ClusterShape::Silent), Duration::from_millis(200)).await.unwrap_err();
    assert_eq!((silent.side, silent.timed_out), (Side::Cluster, true));
    let nobody = bench.dial("10.1.2.3".parse().unwrap(), DEADLINE).await.unwrap_err();
    assert_eq!(nobody.side, Side::Us);
    let bootstrapping = index_of(&bench, ClusterShape::Bootstrapping);
    assert!(
        bench.region.private_ip(bootstrapping).is_none() && bench.region.kubeconfigs(bootstrapping).is_none()
    );
    assert!(bench.region.kubeconfigs(0).unwrap().sre.expose().contains("system:aro-sre"));
    bench.stop.stop.cancel();
    bench.stop.cut.cancel();
    tokio::time::timeout(DEADLINE, bench.region.stopped()).await.unwrap();
}
