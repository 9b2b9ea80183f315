//! The client against a fake server that follows the contract.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use http::Response;
use parking_lot::Mutex;

use super::*;

const SUB: &str = "00000000-0000-0000-0000-000000000001";

#[derive(Debug, Default)]
struct Fake {
    looks: AtomicU32,
    /// Requests that came.
    seen: Mutex<Vec<String>>,
    fails: bool,
}

async fn answer(State(fake): State<Arc<Fake>>, request: Request) -> Response<Body> {
    let referer = request.headers().get("referer").unwrap().to_str().unwrap().to_owned();
    let path = request.uri().path().to_owned();
    let query = request.uri().query().unwrap_or_default().to_owned();
    fake.seen.lock().push(format!("{} {path}?{query}", request.method()));
    let base = referer.split("/subscriptions").next().unwrap().to_owned();
    let status = format!("{base}/status?api-version=v");
    let cluster =
        json!({"id": path, "location": "eastus", "properties": {"provisioningState": "Creating", "odd": 1}});
    let build =
        |code: u16, body: Value| Response::builder().status(code).body(Body::from(body.to_string())).unwrap();
    let mut answer = match (request.method().as_str(), path.as_str()) {
        ("GET", "/status") => {
            let look = fake.looks.fetch_add(1, Ordering::SeqCst);
            let now = match (look, fake.fails) {
                (0, _) => "Creating",
                (_, false) => "Succeeded",
                (_, true) => "Failed",
            };
            let error = json!({"code": "Broken", "message": "no"});
            build(200, json!({"id": "i", "name": "n", "status": now, "startTime": "t", "error": error}))
        }
        ("GET", "/result") if fake.looks.fetch_add(1, Ordering::SeqCst) == 0 => build(202, Value::Null),
        ("GET", "/result") => build(204, Value::Null),
        ("GET", path) if path.ends_with("/missing") => {
            build(404, json!({"error": {"code": "ResourceNotFound", "message": "gone"}}))
        }
        ("GET", path) if path.ends_with("/openShiftClusters") && !query.contains("skip") => build(
            200,
            json!({"value": [cluster], "nextLink": format!("{base}{path}?api-version=v&$skipToken=1")}),
        ),
        ("GET", path) if path.ends_with("/openShiftClusters") => build(200, json!({"value": [cluster]})),
        ("PUT", _) => build(201, cluster),
        ("DELETE", _) => build(202, Value::Null),
        _ => build(200, cluster),
    };
    let headers = answer.headers_mut();
    headers.insert("retry-after", "0".parse().unwrap());
    if request.method() == "PUT" {
        headers.insert("azure-asyncoperation", status.parse().unwrap());
    }
    if request.method() == "DELETE" {
        let elsewhere = path.ends_with("/elsewhere");
        let link =
            if elsewhere { "https://elsewhere.test/result".to_owned() } else { format!("{base}/result") };
        headers.insert("location", link.parse().unwrap());
    }
    answer
}

async fn client(fake: Arc<Fake>, observer: Option<Arc<dyn Observer>>) -> Client {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().fallback(answer).with_state(fake);
    tokio::spawn(async move { axum::serve(listener, router).await });
    Client::new(ClientOptions { observer, ..ClientOptions::new(url.parse().unwrap()) }).unwrap()
}

fn id(name: &str) -> ClusterId {
    ClusterId::new(SUB, "g", name)
}

const LIMIT: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_create_is_followed_to_its_end_and_read_again() {
    let fake = Arc::new(Fake::default());
    let client = client(fake.clone(), None).await;
    let followed = client.put(&id("a"), &json!({"location": "eastus"})).await.unwrap();
    assert!(followed.created && followed.cluster.properties.more["odd"] == 1);
    let cluster = followed.wait(LIMIT).await.unwrap();
    assert_eq!(cluster.id, id("a").path());
    let seen = fake.seen.lock().clone();
    let path = format!("{}?api-version=2025-07-25", id("a").path());
    assert_eq!(
        seen,
        [
            &format!("PUT {path}"),
            "GET /status?api-version=v",
            "GET /status?api-version=v",
            &format!("GET {path}")
        ]
    );
}

#[tokio::test]
async fn an_operation_that_fails_says_why() {
    let client = client(Arc::new(Fake { fails: true, ..Fake::default() }), None).await;
    let followed = client.put(&id("a"), &json!({})).await.unwrap();
    let error = followed.wait(LIMIT).await.unwrap_err();
    assert_eq!(
        (error.code(), error.to_string().as_str()),
        ("Broken", "the operation ended as Failed: Broken: no")
    );
}

#[tokio::test]
async fn a_delete_is_followed_by_location_but_not_to_another_host() {
    let client = client(Arc::default(), None).await;
    let operation = client.delete(&id("a")).await.unwrap().unwrap();
    assert!(matches!(operation.wait(LIMIT).await.unwrap(), OperationResult::Result(None)));
    let error = client.delete(&id("elsewhere")).await.unwrap_err();
    assert!(matches!(error, ClientError::Answer(_)), "{error}");
    for path in ["//elsewhere.test/x", "https://elsewhere.test/x", "\\\\elsewhere.test/x"] {
        let error = client.call(Method::GET, path, None).await.unwrap_err();
        assert!(matches!(error, ClientError::Request(_)), "{path}: {error}");
    }
}

#[tokio::test]
async fn pages_are_read_to_the_last_and_refusals_keep_their_words() {
    let client = client(Arc::default(), None).await;
    assert_eq!(client.list(SUB, Some("g")).await.unwrap().len(), 2);
    let error = client.get(&id("missing")).await.unwrap_err();
    assert_eq!((error.status(), error.code()), (Some(404), "ResourceNotFound"));
    assert_eq!(error.to_string(), "404 ResourceNotFound: gone");
}

#[derive(Debug)]
struct Objects;

impl Observer for Objects {
    fn observe(&self, exchange: &Exchange<'_>) -> Result<(), String> {
        Err(format!("{} {}", exchange.method, exchange.status))
    }
}

#[tokio::test]
async fn an_observer_sees_refusals_too_and_its_word_counts() {
    let client = client(Arc::default(), Some(Arc::new(Objects))).await;
    let error = client.get(&id("missing")).await.unwrap_err();
    assert_eq!(error.to_string(), "GET 404");
}

#[test]
fn secrets_are_sent_and_not_shown() {
    let sent = json!({"location": "eastus", "properties": {"clusterProfile": {"pullSecret": "hush"},
        "servicePrincipalProfile": {"clientId": "c", "clientSecret": "hush"}}});
    let cluster: Cluster = serde_json::from_value(sent.clone()).unwrap();
    assert!(!format!("{cluster:?}").contains("hush"));
    let told = serde_json::to_value(&cluster).unwrap();
    assert_eq!(told["properties"]["servicePrincipalProfile"], sent["properties"]["servicePrincipalProfile"]);
    assert_eq!(told["properties"]["clusterProfile"]["pullSecret"], "hush");
    let (method, url) = (Method::PUT, Url::parse("https://rp.test/x").unwrap());
    let exchange = Exchange {
        method: &method,
        url: &url,
        request: Some(&sent),
        status: 200,
        headers: &http::HeaderMap::new(),
        body: b"hush",
    };
    assert!(!format!("{exchange:?}").contains("hush"));
}

#[test]
fn ids_are_read_in_any_case() {
    let read: ClusterId = id("a").path().to_uppercase().parse().unwrap();
    assert_eq!((read.group.as_str(), read.name.as_str()), ("G", "A"));
    assert!("/subscriptions/x".parse::<ClusterId>().is_err());
    assert!(format!("{}/listCredentials", id("a")).parse::<ClusterId>().is_err());
}
