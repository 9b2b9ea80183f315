//! Every state of a cluster and of a subscription against every request (`contract/api.md` §6,
//! `contract/frontend.md` §5).

use serde_json::json;

use crate::world::{NEWEST, TestResponse, World, id, path, wanted};

/// What is asked for.
const REQUESTS: [&str; 8] = ["get", "list", "put", "patch", "work", "signal", "delete", "credentials"];

/// All of the cluster: a PUT says also what was filled in when it was made.
fn whole() -> serde_json::Value {
    let mut body = wanted(1);
    let network = &mut body["properties"]["networkProfile"];
    network["outboundType"] = json!("Loadbalancer");
    network["preconfiguredNSG"] = json!("Disabled");
    network["loadBalancerProfile"] = json!({"managedOutboundIps": {"count": 1}});
    body
}

async fn ask(world: &World, request: &str) -> TestResponse {
    let patch = json!({"tags": {"a": "b"}});
    match request {
        "get" => world.call("GET", &path("c", NEWEST)).await,
        "list" => world.call("GET", &path("", NEWEST).replace("/?", "?")).await,
        "put" => world.put("c", NEWEST, &whole()).await,
        "patch" => world.patch("c", NEWEST, &patch).await,
        "work" => {
            world.patch("c", "admin", &json!({"properties": {"maintenanceTask": "OperatorUpdate"}})).await
        }
        "signal" => world.patch("c", "admin", &json!({"properties": {"maintenanceTask": "Pending"}})).await,
        "delete" => world.call("DELETE", &path("c", NEWEST)).await,
        _ => world.call("POST", &format!("{}/listCredentials?api-version={NEWEST}", id("c"))).await,
    }
}

/// The status, the refusal's message, and the state afterwards; `None`: as before.
fn expected(state: &str, failed: &str, request: &str) -> (u16, String, Option<&'static str>) {
    let no = |text: &str| (400, text.to_owned(), None);
    let busy = format!("Request is not allowed in provisioningState '{state}'.");
    let passing = matches!(state, "Creating" | "Deleting")
        || state == "Failed" && matches!(failed, "Creating" | "Deleting");
    let terminal = matches!(state, "Succeeded" | "Failed");
    match request {
        "get" | "list" => (200, String::new(), None),
        "credentials" if passing => no(&busy),
        "credentials" => (200, String::new(), None),
        "delete" if terminal => (202, String::new(), Some("Deleting")),
        _ if !terminal => no(&busy),
        _ if state == "Failed" && failed == "Creating" => {
            no("Request is not allowed on cluster whose creation failed. Delete the cluster.")
        }
        _ if state == "Failed" && failed == "Deleting" => {
            no("Request is not allowed on cluster whose deletion failed. Delete the cluster.")
        }
        "work" => (200, String::new(), Some("AdminUpdating")),
        "signal" => (200, String::new(), None),
        _ => (200, String::new(), Some("Updating")),
    }
}

#[tokio::test]
async fn every_state_answers_every_request_as_the_table_says() {
    let states = [
        ("Succeeded", ""),
        ("Failed", ""),
        ("Failed", "Updating"),
        ("Failed", "AdminUpdating"),
        ("Failed", "Creating"),
        ("Failed", "Deleting"),
        ("Creating", ""),
        ("Updating", ""),
        ("AdminUpdating", ""),
        ("Deleting", ""),
    ];
    let world = World::with_cluster().await;
    for (state, failed) in states {
        for request in REQUESTS {
            world.settle("c", state, failed).await;
            world
                .change("c", |body| drop(body["openShiftCluster"]["properties"]["maintenanceState"].take()))
                .await;
            let (before, was) = (world.written().await, world.stored("c").await);
            let (status, words, after) = expected(state, failed, request);
            let told = ask(&world, request).await;
            let case = format!("{state} {failed} {request}: {}", told.text);
            assert_eq!(told.status, status, "{case}");
            let is = world.stored("c").await;
            if status == 400 {
                assert_eq!(
                    (told.code().as_str(), told.json()["error"]["message"].as_str()),
                    ("RequestNotAllowed", Some(words.as_str())),
                    "{case}"
                );
                assert_eq!((world.written().await, &is), (before, &was), "{case}");
                continue;
            }
            let properties = &is["openShiftCluster"]["properties"];
            assert_eq!(properties["provisioningState"], after.unwrap_or(state), "{case}");
            if after.is_some() {
                assert_eq!(properties["lastProvisioningState"], state, "{case}");
                assert!(is["asyncOperationId"].is_string() && is["correlationData"].is_object(), "{case}");
                assert!(is.get("dequeues").is_none(), "{case}");
            }
            if request == "signal" {
                assert_eq!(properties["maintenanceState"], "Pending", "{case}");
            }
        }
    }
}

#[tokio::test]
async fn a_state_that_no_release_writes_is_refused_without_words() {
    let world = World::with_cluster().await;
    world.settle("c", "Failed", "Odd").await;
    assert_eq!(ask(&world, "patch").await.status, 500);
    assert_eq!(ask(&world, "delete").await.status, 202);
}

#[tokio::test]
async fn subscriptions_allow_what_their_state_allows() {
    // Create, update, credentials; delete; read.
    let table = [
        ("Registered", true, true),
        ("Warned", false, true),
        ("Suspended", false, true),
        ("Unregistered", false, false),
        ("Deleted", false, false),
    ];
    for (state, work, delete) in table {
        let world = World::with_cluster().await;
        assert_eq!(world.subscription(state).await.status, 200);
        let refused = |told: &TestResponse| {
            let words = format!("Request is not allowed in subscription in state '{state}'.");
            told.status == 400
                && told.code() == "InvalidSubscriptionState"
                && told.json()["error"]["message"] == words
        };
        let new = world.put("new", NEWEST, &wanted(2)).await;
        assert!(if work { new.status == 201 } else { refused(&new) }, "{state}: {new:?}");
        for request in ["credentials", "work", "patch", "put"] {
            world.settle("c", "Succeeded", "").await;
            let told = ask(&world, request).await;
            assert!(if work { told.status == 200 } else { refused(&told) }, "{state} {request}: {told:?}");
        }
        world.settle("c", "Succeeded", "").await;
        for request in ["get", "list"] {
            assert_eq!(ask(&world, request).await.status, 200, "{state} {request}");
        }
        let told = ask(&world, "delete").await;
        assert!(if delete { told.status == 202 } else { refused(&told) }, "{state}: {told:?}");
        // The cluster stays deleted, and the backend is notified.
        let subscription = world
            .store
            .get(rp_documents::Collection::Subscriptions, crate::world::SUB)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(subscription.body.contains("\"deleting\":true"), state == "Deleted", "{state}");
        let again = world.subscription("Registered").await;
        assert!(if state == "Deleted" { refused(&again) } else { again.status == 200 }, "{state}: {again:?}");
    }
}

#[tokio::test]
async fn a_subscription_that_nobody_registered_reads_and_nothing_else() {
    let world = World::with_cluster().await;
    let other = |text: &str| text.replace(crate::world::SUB, "00000000-0000-0000-0000-000000000002");
    let words = "Request is not allowed in unregistered subscription '00000000-0000-0000-0000-000000000002'.";
    let calls = [
        ("PUT", path("c", NEWEST)),
        ("DELETE", path("c", NEWEST)),
        ("POST", format!("{}/listcredentials?api-version={NEWEST}", id("c"))),
    ];
    for (method, path) in calls {
        let body = if method == "PUT" { wanted(1).to_string() } else { String::new() };
        let told = world.send(method, &other(&path), body.into_bytes()).await;
        assert_eq!((told.status, told.json()["error"]["message"].as_str()), (400, Some(words)), "{method}");
    }
    assert_eq!(world.call("GET", &other(&path("c", NEWEST))).await.status, 404);
}

#[tokio::test]
async fn a_subscription_that_ends_keeps_its_tenant() {
    let world = World::new().await;
    let put = |body: serde_json::Value| {
        let path = format!("/subscriptions/{}?api-version=2.0", crate::world::SUB);
        let world = &world;
        async move { world.send("PUT", &path, body.to_string().into_bytes()).await }
    };
    let told = put(json!({"state": "Warned"})).await;
    assert_eq!((told.status, told.json()["properties"]["tenantId"].as_str()), (200, Some("t")), "{told:?}");
    assert_eq!(put(json!({"state": "Deleted"})).await.json()["properties"]["tenantId"], "t");
    let fresh = "/subscriptions/00000000-0000-0000-0000-000000000003?api-version=2.0";
    let told = world.send("PUT", fresh, br#"{"state": "Registered"}"#.to_vec()).await;
    assert_eq!((told.status, told.code().as_str()), (400, "InvalidParameter"));
}
