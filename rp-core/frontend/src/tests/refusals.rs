//! Refused requests, and that they leave nothing behind.

use http::StatusCode;
use serde_json::json;

use super::*;

#[tokio::test]
async fn subscriptions_allow_what_their_state_allows() {
    let api = Api::new();
    let none = api.call("PUT", &path("c"), Some(wanted(1))).await;
    assert_eq!(none.refusal().1, "InvalidSubscriptionState");
    let told = api.subscription("Registered").await;
    assert_eq!(told.json()["properties"], json!({"tenantId": "t", "accountOwner": {}, "x": 1}));
    assert_eq!(api.call("PUT", &path("c"), Some(wanted(1))).await.status, StatusCode::CREATED);
    api.finish("Succeeded").await;
    for (state, write, delete) in [("Warned", 400, 202), ("Unregistered", 400, 400), ("Suspended", 400, 202)]
    {
        assert_eq!(api.subscription(state).await.status, StatusCode::OK);
        let patch = api.call("PATCH", &path("c"), Some(json!({}))).await;
        assert_eq!(patch.status.as_u16(), write, "{state}");
        assert_eq!(api.call("GET", &path("c"), None).await.status, StatusCode::OK);
        assert_eq!(api.call("DELETE", &path("c"), None).await.status.as_u16(), delete, "{state}");
        api.finish("Succeeded").await;
    }
    assert_eq!(api.subscription("Odd").await.refusal(), (400, "InvalidParameter".into(), "state".into()));
    assert_eq!(api.subscription("Deleted").await.status, StatusCode::OK);
    assert_eq!(api.subscription("Registered").await.refusal().1, "InvalidSubscriptionState");
}

#[tokio::test]
async fn names_that_are_used_are_not_used_twice() {
    let api = Api::registered().await;
    assert_eq!(api.call("PUT", &path("c"), Some(wanted(1))).await.status, StatusCode::CREATED);
    let mut same = wanted(2);
    same["properties"]["servicePrincipalProfile"]["clientId"] = json!("11111111-1111-1111-1111-000000000001");
    assert_eq!(api.call("PUT", &path("d"), Some(same)).await.refusal().1, "DuplicateClientID");
    let mut same = wanted(3);
    same["properties"]["clusterProfile"]["resourceGroupId"] =
        json!(format!("/subscriptions/{SUB}/resourceGroups/MANAGED1"));
    assert_eq!(api.call("PUT", &path("d"), Some(same)).await.refusal().1, "DuplicateResourceGroup");
    assert_eq!(api.call("GET", &path("d"), None).await.refusal().1, "ResourceNotFound");
}

#[tokio::test]
async fn two_creates_at_once_make_one_cluster() {
    let api = Api::registered().await;
    let at = path("c");
    let asked = (0..8).map(|_| api.call("PUT", &at, Some(wanted(1))));
    let told = futures_util::future::join_all(asked).await;
    let made = told.iter().filter(|told| told.status == StatusCode::CREATED).count();
    assert_eq!(made, 1);
    for told in told.iter().filter(|told| told.status != StatusCode::CREATED) {
        assert_eq!(told.refusal().1, "RequestNotAllowed", "{}", told.text);
    }
}

#[tokio::test]
async fn bad_requests_get_their_words() {
    let api = Api::registered().await;
    let code = |told: TestResponse| told.refusal();
    let odd = api.call("GET", &format!("{}?api-version=2000-01-01", id("c")), None).await;
    assert_eq!(code(odd), (400, "InvalidResourceType".into(), String::new()));
    assert_eq!(code(api.call("GET", &path("c"), None).await).1, "ResourceNotFound");
    assert_eq!(code(api.call("GET", "/nothing", None).await), (404, "NotFound".into(), String::new()));
    assert_eq!(api.call("POST", &path("c"), None).await.status, StatusCode::METHOD_NOT_ALLOWED);
    let big = "x".repeat((1 << 20) + 1);
    assert_eq!(code(api.send("PUT", &path("c"), &[], big).await).1, "InvalidResource");
    let media = api.send("PUT", &path("c"), &[("content-type", "text/plain")], "{}".into()).await;
    assert_eq!(code(media), (415, "UnsupportedMediaType".into(), String::new()));
    for body in ["", "null", "[]", "{", "{\"location\": 7}"] {
        assert_eq!(
            code(api.send("PUT", &path("c"), &[], body.into()).await).1,
            "InvalidRequestContent",
            "{body}"
        );
    }
    let mars = json!({"location": "mars"});
    assert_eq!(
        code(api.call("PUT", &path("c"), Some(mars)).await),
        (400, "InvalidParameter".into(), "location".into())
    );
    let mut version = wanted(1);
    version["properties"]["clusterProfile"]["version"] = json!("4.1.1");
    assert_eq!(code(api.call("PUT", &path("c"), Some(version)).await).2, "properties.clusterProfile.version");
    let key = id("c").to_lowercase();
    assert!(
        api.store.get_by_key(Collection::OpenShiftClusters, &key).await.unwrap().is_none(),
        "nothing was made"
    );
}

#[tokio::test]
async fn a_method_that_a_path_has_not_is_refused_with_those_that_it_has() {
    let api = Api::registered().await;
    api.call("PUT", &path("c"), Some(wanted(1))).await;
    let below = |name: &str| format!("{}/{name}?api-version={VERSION}", id("c"));
    for (at, has) in [
        ("/healthz/ready".to_owned(), "GET"),
        (format!("/subscriptions/{SUB}?api-version=2.0"), "PUT"),
        (path("").replace("/?", "?"), "GET"),
        (path("c"), "GET, PUT, PATCH, DELETE"),
        (below("listCredentials"), "POST"),
        (below("detectors"), "GET"),
        ("/admin/versions".to_owned(), "GET, PUT"),
        ("/admin/supportedvmsizes".to_owned(), "GET"),
        (format!("/admin{}/kubernetesobjects", id("c")), "GET, POST, DELETE"),
        (format!("/admin{}/startvm", id("c")), "POST"),
    ] {
        let mut answered = Vec::new();
        for method in ["GET", "PUT", "PATCH", "POST", "DELETE"] {
            let told = api.call(method, &at, None).await;
            if told.status == StatusCode::METHOD_NOT_ALLOWED {
                assert_eq!((told.header("allow"), told.text.as_str()), (has, ""), "{method} {at}");
            } else {
                answered.push(method);
            }
        }
        assert_eq!(answered.join(", "), has, "{at}");
    }
}

#[tokio::test]
async fn an_operation_of_another_subscription_is_not_shown() {
    let api = Api::registered().await;
    let made = api.call("PUT", &path("c"), Some(wanted(1))).await;
    let at =
        made.header("azure-asyncoperation").trim_start_matches("https://management.azure.com").to_owned();
    let theirs = at.replace(SUB, "00000000-0000-0000-0000-000000000002");
    assert_eq!(api.call("GET", &theirs, None).await.refusal(), (404, "NotFound".into(), String::new()));
    let answer = api
        .send(
            "GET",
            &at,
            &[("x-ms-return-client-request-id", "True"), ("x-ms-client-request-id", "abc")],
            String::new(),
        )
        .await;
    assert_eq!(answer.header("x-ms-client-request-id"), "abc");
    assert_eq!(answer.header("x-ms-request-id").len(), 36);
}

#[tokio::test]
async fn preflight_says_what_a_put_would_say() {
    let api = Api::registered().await;
    let at = format!(
        "/subscriptions/{SUB}/resourceGroups/Group/providers/Microsoft.RedHatOpenShift/deployments/d/preflight?api-version={VERSION}"
    );
    let ask = |change: &dyn Fn(&mut Value)| {
        let mut cluster = wanted(1);
        cluster["id"] = json!(id("c"));
        cluster["name"] = json!("c");
        cluster["type"] = json!("Microsoft.RedHatOpenShift/openShiftClusters");
        cluster["apiVersion"] = json!(VERSION);
        change(&mut cluster);
        json!({"resources": [{"type": "Other/thing"}, cluster]})
    };
    let good = api.call("POST", &at, Some(ask(&|_| {}))).await;
    assert_eq!(good.text, "{\"status\":\"Succeeded\"}\n");
    let bad = api.call("POST", &at, Some(ask(&|c| c["location"] = json!("mars")))).await;
    assert_eq!(bad.status, StatusCode::OK);
    assert_eq!(
        bad.json()["error"],
        json!({"message": "400: InvalidParameter: location: The provided location 'mars' is invalid."})
    );
    let other = |c: &mut Value| c["properties"]["clusterProfile"]["version"] = json!("4.1.1");
    let bad = api.call("POST", &at, Some(ask(&other))).await.json();
    assert_eq!(bad["error"]["code"], "InvalidParameter", "{bad}");
    for odd in ["x", "admin"] {
        let version = api.call("POST", &at, Some(ask(&|c| c["apiVersion"] = json!(odd)))).await;
        let message =
            format!("400: InvalidParameter: apiVersion: The api version '{odd}' of the resource is invalid.");
        assert_eq!(version.json(), json!({"status": "Failed", "error": {"message": message}}));
    }
    let body = api.send("POST", &at, &[], "{".into()).await;
    assert_eq!((body.status, body.json()["status"].clone()), (StatusCode::OK, json!("Failed")));
}
