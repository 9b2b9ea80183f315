//! Writes, their versions, and what watches and schemas say of them.

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::client::{Bench, DEADLINE, ask, json as read};

const MAPS: &str = "/api/v1/namespaces/shop/configmaps";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/shop/deployments";
const JSON: &str = "application/json";

async fn send(bench: &Bench, method: &str, path: &str, form: &str, body: &Value) -> (u16, Value) {
    let body = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
    let request = ask(method, path).header("content-type", form).body(Full::new(body)).unwrap();
    read(bench.send(0, &bench.identity.service, request).await).await
}

fn map(name: &str, value: &str) -> Value {
    json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name}, "data": {"a": value}})
}

fn deployment(name: &str) -> Value {
    json!({"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": {"app": name}}, "template": {"metadata": {"labels": {"app": name}},
            "spec": {"containers": [{"name": "one", "image": "x"}, {"name": "two", "image": "y"}]}}}})
}

#[tokio::test]
async fn what_is_written_is_kept_marked_and_versioned() {
    let bench = Bench::new().await;
    let (status, made) = send(&bench, "POST", MAPS, JSON, &map("a", "1")).await;
    assert_eq!((status, &made["metadata"]["labels"]["aro.openshift.io/simulated"]), (201, &json!("true")));
    assert_eq!(send(&bench, "POST", MAPS, JSON, &map("a", "1")).await.1["reason"], "AlreadyExists");
    assert_eq!(send(&bench, "POST", MAPS, JSON, &map("No", "1")).await.0, 422);
    let generated = json!({"metadata": {"generateName": "made-"}});
    let (_, made_name) = send(&bench, "POST", MAPS, JSON, &generated).await;
    assert!(made_name["metadata"]["name"].as_str().unwrap().starts_with("made-"), "{made_name}");

    let one = format!("{MAPS}/a");
    let mut newer = made.clone();
    newer["data"]["a"] = json!("2");
    let (status, replaced) = send(&bench, "PUT", &one, JSON, &newer).await;
    assert_eq!((status, &replaced["data"]["a"]), (200, &json!("2")));
    let version =
        |object: &Value| object["metadata"]["resourceVersion"].as_str().unwrap().parse::<u64>().unwrap();
    assert!(version(&replaced) > version(&made));
    // The version that was read first is no longer the newest.
    let (status, refused) = send(&bench, "PUT", &one, JSON, &newer).await;
    assert_eq!((status, &refused["reason"]), (409, &json!("Conflict")), "{refused}");

    assert_eq!(send(&bench, "DELETE", &format!("{one}?dryRun=All"), JSON, &Value::Null).await.0, 200);
    assert_eq!(send(&bench, "GET", &one, JSON, &Value::Null).await.0, 200, "nothing was deleted");
    let other = json!({"preconditions": {"uid": "another"}});
    assert_eq!(send(&bench, "DELETE", &one, JSON, &other).await.0, 409);
    assert_eq!(send(&bench, "DELETE", &one, JSON, &Value::Null).await.0, 200);
    assert_eq!(send(&bench, "GET", &one, JSON, &Value::Null).await.0, 404);
    assert_eq!(send(&bench, "POST", &format!("{MAPS}?dryRun=All"), JSON, &map("b", "1")).await.0, 201);
    assert_eq!(send(&bench, "GET", &format!("{MAPS}/b"), JSON, &Value::Null).await.0, 404);
    let (status, refused) =
        send(&bench, "POST", "/api/v1/namespaces/none/configmaps", JSON, &map("b", "1")).await;
    assert_eq!((status, &refused["message"]), (404, &json!("namespaces \"none\" not found")));
    let metadata = json!({"metadata": "text"});
    assert_eq!(send(&bench, "POST", MAPS, JSON, &metadata).await.0, 400);
}

#[tokio::test]
async fn finalizers_hold_an_object_and_namespaces_take_their_objects_along() {
    let bench = Bench::new().await;
    let mut held = map("held", "1");
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    send(&bench, "POST", MAPS, JSON, &held).await;
    let one = format!("{MAPS}/held");
    let (_, marked) = send(&bench, "DELETE", &one, JSON, &Value::Null).await;
    assert!(marked["metadata"]["deletionTimestamp"].is_string(), "{marked}");
    let release = json!({"metadata": {"finalizers": null}});
    assert_eq!(send(&bench, "PATCH", &one, "application/merge-patch+json", &release).await.0, 200);
    assert_eq!(send(&bench, "GET", &one, JSON, &Value::Null).await.0, 404);

    let (status, _) =
        send(&bench, "POST", "/api/v1/namespaces", JSON, &json!({"metadata": {"name": "mine"}})).await;
    assert_eq!(status, 201);
    let account = "/api/v1/namespaces/mine/serviceaccounts/default";
    assert_eq!(send(&bench, "GET", account, JSON, &Value::Null).await.0, 200);
    let project = "/apis/project.openshift.io/v1/projects/mine";
    assert_eq!(send(&bench, "GET", project, JSON, &Value::Null).await.1["kind"], "Project");
    assert_eq!(send(&bench, "DELETE", "/api/v1/namespaces/mine", JSON, &Value::Null).await.0, 200);
    assert_eq!(send(&bench, "GET", account, JSON, &Value::Null).await.0, 404);

    let usage = "/apis/metrics.k8s.io/v1beta1/nodes";
    let measured = json!({"metadata": {"name": "invented"}});
    assert_eq!(send(&bench, "POST", usage, JSON, &measured).await.0, 405, "discovery names no such verb");

    for name in ["x", "y"] {
        let mut labelled = map(name, "1");
        labelled["metadata"]["labels"] = json!({"set": "these"});
        send(&bench, "POST", MAPS, JSON, &labelled).await;
    }
    let (status, gone) =
        send(&bench, "DELETE", &format!("{MAPS}?labelSelector=set%3Dthese"), JSON, &Value::Null).await;
    assert_eq!((status, gone["items"].as_array().unwrap().len()), (200, 2));
}

#[tokio::test]
async fn every_form_of_a_patch_is_applied_and_unknown_fields_are_refused_when_asked() {
    let bench = Bench::new().await;
    send(&bench, "POST", DEPLOYMENTS, JSON, &deployment("web")).await;
    let one = format!("{DEPLOYMENTS}/web");
    let replicas = |object: &Value| object["spec"]["replicas"].clone();
    let containers =
        |object: &Value| object["spec"]["template"]["spec"]["containers"].as_array().unwrap().len();
    let image = json!({"spec": {"template": {"spec": {"containers": [{"name": "two", "image": "z"}]}}}});
    let strategic = "application/strategic-merge-patch+json";
    let (_, patched) = send(&bench, "PATCH", &one, strategic, &image).await;
    assert_eq!(containers(&patched), 2, "{patched}");
    let (_, patched) =
        send(&bench, "PATCH", &one, "application/merge-patch+json", &json!({"spec": {"replicas": 3}})).await;
    assert_eq!((replicas(&patched), &patched["metadata"]["generation"]), (json!(3), &json!(3)));
    let operations = json!([{"op": "replace", "path": "/spec/replicas", "value": 4}]);
    let (_, patched) = send(&bench, "PATCH", &one, "application/json-patch+json", &operations).await;
    assert_eq!(replicas(&patched), 4);
    let apply = "application/apply-patch+yaml";
    let applied = json!({"kind": "Deployment", "apiVersion": "apps/v1", "spec": {"replicas": 5}});
    let (_, patched) = send(&bench, "PATCH", &format!("{one}?fieldManager=me"), apply, &applied).await;
    assert_eq!((replicas(&patched), containers(&patched)), (json!(5), 2));
    assert_eq!(send(&bench, "PATCH", &one, apply, &applied).await.0, 422, "it names no field manager");
    assert_eq!(send(&bench, "PATCH", &one, "text/plain", &applied).await.0, 415);
    let (status, made) =
        send(&bench, "PATCH", &format!("{DEPLOYMENTS}/new?fieldManager=me"), apply, &deployment("new")).await;
    assert_eq!(status, 201, "{made}");

    let mut wrong = deployment("wrong");
    wrong["spec"]["replica"] = json!(1);
    let (status, refused) =
        send(&bench, "POST", &format!("{DEPLOYMENTS}?fieldValidation=Strict"), JSON, &wrong).await;
    let wanted = "Deployment in version \"v1\" cannot be handled as a Deployment: strict decoding error: unknown field \"spec.replica\"";
    assert_eq!((status, refused["message"].as_str().unwrap()), (400, wanted));
    let (status, made) = send(&bench, "POST", DEPLOYMENTS, JSON, &wrong).await;
    assert_eq!((status, &made["spec"]["replica"]), (201, &Value::Null));
}

#[tokio::test]
async fn a_watch_sends_what_is_written_and_says_when_its_version_is_too_old() {
    let bench = Bench::new().await;
    let (_, list) = bench.get(0, MAPS).await;
    let version = list["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    send(&bench, "POST", MAPS, JSON, &map("seen", "1")).await;
    let path = format!("{MAPS}?watch=1&fieldSelector=metadata.name%3Dseen&resourceVersion={version}");
    let request = ask("GET", &path).body(Full::default()).unwrap();
    let mut body = bench.send(0, &bench.identity.sre, request).await.into_body();
    send(&bench, "PUT", &format!("{MAPS}/seen"), JSON, &map("seen", "2")).await;
    send(&bench, "DELETE", &format!("{MAPS}/seen"), JSON, &Value::Null).await;
    let mut text = String::new();
    let all = async {
        while !text.contains("\"DELETED\"") {
            let frame = body.frame().await.unwrap().unwrap();
            text.push_str(std::str::from_utf8(&frame.into_data().unwrap()).unwrap());
        }
    };
    timeout(DEADLINE, all).await.expect("no deletion was sent");
    let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!((kinds.first(), kinds.last()), (Some(&"ADDED"), Some(&"DELETED")), "{kinds:?}");
    assert!(kinds.contains(&"MODIFIED"), "{kinds:?}");

    let request = ask("GET", &format!("{MAPS}?watch=1&resourceVersion=1")).body(Full::default()).unwrap();
    let response = bench.send(0, &bench.identity.sre, request).await;
    let all = timeout(DEADLINE, response.into_body().collect()).await.unwrap().unwrap().to_bytes();
    let event: Value = serde_json::from_slice(&all).unwrap();
    assert_eq!((&event["type"], &event["object"]["code"]), (&json!("ERROR"), &json!(410)), "{event}");
}

#[tokio::test]
async fn lists_follow_versions_and_selectors_of_unknown_fields_are_refused() {
    let bench = Bench::new().await;
    let (_, list) = bench.get(0, MAPS).await;
    let version = list["metadata"]["resourceVersion"].as_str().unwrap();
    let exact = format!("{MAPS}?resourceVersionMatch=Exact&resourceVersion={version}");
    assert_eq!(bench.get(0, &exact).await.1["metadata"]["resourceVersion"], version);
    send(&bench, "POST", MAPS, JSON, &map("later", "1")).await;
    assert_eq!(bench.get(0, &exact).await.0, 410);
    assert_eq!(bench.get(0, &format!("{MAPS}?resourceVersionMatch=Exact")).await.0, 422);
    assert_eq!(bench.get(0, &format!("{MAPS}?resourceVersion=9999999999999")).await.0, 504);
    let (status, refused) = bench.get(0, "/api/v1/pods?fieldSelector=spec.other%3D1").await;
    assert_eq!((status, &refused["message"]), (400, &json!("field label not supported: spec.other")));
}

#[tokio::test]
async fn openapi_is_there_as_json_only() {
    let bench = Bench::new().await;
    let (_, index) = bench.get(0, "/openapi/v3").await;
    for group in ["api/v1", "apis/apps/v1", "apis/config.openshift.io/v1"] {
        let path =
            index["paths"][group]["serverRelativeURL"].as_str().unwrap_or_else(|| panic!("{group}: {index}"));
        let (status, document) = bench.get(0, path).await;
        assert_eq!((status, &document["openapi"]), (200, &json!("3.0.0")), "{group}");
    }
    let protobuf = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    let request = ask("GET", "/openapi/v2").header("accept", protobuf).body(Full::default()).unwrap();
    assert_eq!(bench.send(0, &bench.identity.sre, request).await.status(), 406);
}

#[tokio::test]
async fn the_operator_that_the_service_deploys_runs_at_once() {
    let bench = Bench::new().await;
    let apply = "application/apply-patch+yaml";
    let manager = "fieldManager=aro-rp&force=true";
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "clusters.aro.openshift.io"}, "spec": {"group": "aro.openshift.io"}});
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/clusters.aro.openshift.io";
    let (status, made) = send(&bench, "PATCH", &format!("{path}?{manager}"), apply, &definition).await;
    assert_eq!((status, &made["status"]["conditions"][1]["type"]), (200, &json!("Established")), "{made}");
    let other = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "others.example.com"}, "spec": {"group": "example.com"}});
    let all = path.trim_end_matches("/clusters.aro.openshift.io");
    let (status, made) = send(&bench, "POST", all, JSON, &other).await;
    assert_eq!((status, &made["status"]["conditions"][1]["status"]), (201, &json!("True")), "{made}");
    let namespace = "/apis/apps/v1/namespaces/openshift-azure-operator/deployments";
    let mut wanted = deployment("aro-operator-master");
    wanted["metadata"]["labels"] = json!({"version": "new"});
    wanted["spec"]["template"]["spec"]["containers"] =
        json!([{"name": "aro-operator", "image": "registry.invalid/aro:new"}]);
    let path = format!("{namespace}/aro-operator-master?{manager}");
    let mut generations = Vec::new();
    for _ in 0..2 {
        let (status, made) = send(&bench, "PATCH", &path, apply, &wanted).await;
        assert_eq!(status, 200, "{made}");
        assert_eq!(made["status"]["observedGeneration"], made["metadata"]["generation"], "{made}");
        assert_eq!(made["status"]["availableReplicas"], made["spec"]["replicas"], "{made}");
        generations.push(made["metadata"]["resourceVersion"].clone());
    }
    assert_eq!(generations[0], generations[1], "the same again changes nothing");
    let pods = "/api/v1/namespaces/openshift-azure-operator/pods?labelSelector=app%3Daro-operator-master";
    let (_, pods) = send(&bench, "GET", pods, JSON, &Value::Null).await;
    let container = &pods["items"][0]["spec"]["containers"][0];
    assert_eq!(container["name"], "aro-operator", "{pods}");
    assert_eq!(container["image"], "registry.invalid/aro:new", "{pods}");
}

#[tokio::test]
async fn an_eviction_deletes_the_pod_that_is_meant() {
    let bench = Bench::new().await;
    let (_, all) = bench.get(0, "/api/v1/namespaces/openshift-etcd/pods").await;
    let text = |pod: &Value, member: &str| pod["metadata"][member].as_str().unwrap().to_owned();
    let (name, uid) = (text(&all["items"][0], "name"), text(&all["items"][0], "uid"));
    let one = format!("/api/v1/namespaces/openshift-etcd/pods/{name}");
    let eviction = |uid: &str| {
        json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": "openshift-etcd"},
            "deleteOptions": {"preconditions": {"uid": uid}}})
    };
    let path = format!("{one}/eviction");
    assert_eq!(send(&bench, "POST", &path, JSON, &eviction("another")).await.0, 409);
    assert_eq!(send(&bench, "POST", &format!("{path}?dryRun=All"), JSON, &eviction(&uid)).await.0, 200);
    assert_eq!(bench.get(0, &one).await.0, 200, "a dry run deleted it");
    assert_eq!(send(&bench, "POST", &path, JSON, &eviction(&uid)).await.0, 200);
    assert_eq!(bench.get(0, &one).await.0, 404);
}
