//! Watches of a real Kubernetes with OpenShift's kinds: what changes is seen, one watch for all who look, and what a
//! cluster that refuses, hangs, or goes away shows.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use tests_kit::{Aro, AroOptions, Events, GENEROUS, InUse, OpenShift, Session, Shared, until};

const OPERATORS: &str = "/apis/config.openshift.io/v1/clusteroperators";

/// A development server with the real cluster imported, once with full read rights and once with few.
pub(crate) struct World {
    pub(crate) aro: Aro,
    pub(crate) cluster: &'static OpenShift,
    pub(crate) open: String,
    limited: String,
}

impl World {
    pub(crate) async fn get() -> Result<InUse<Self>> {
        static WORLD: Shared<World> = Shared::new();
        WORLD.get(Self::start).await
    }

    async fn start() -> Result<Self> {
        let cluster = OpenShift::shared().await?;
        let env = ["SIGN_IN", "ISSUE"].map(|rate| (format!("ARO_LIMITS__{rate}_PER_MINUTE"), "0".to_owned()));
        let mut env = env.to_vec();
        env.push(("ARO_LIMITS__LIVE_PAGES_PER_PERSON".to_owned(), "100".to_owned()));
        let aro = Aro::start(AroOptions { clusters: 5, env, ..AroOptions::default() }).await?;
        let open = aro.import_and_wait(&cluster.reader()?, "open", &[]).await?;
        let limited = aro.import_and_wait(&cluster.limited()?, "limited", &[]).await?;
        Ok(Self { aro, cluster, open, limited })
    }
}

/// Waits until a list of the JSON API is as wanted.
async fn listed(who: &Session, path: &str, what: &str, is_it: impl Fn(&Value) -> bool) -> Result<Value> {
    until(what, GENEROUS, || async {
        let answer = who.get(path).await?.ok()?.json()?;
        ensure!(is_it(&answer), "{answer}");
        Ok(answer)
    })
    .await
}

fn named<'a>(list: &'a Value, name: &str) -> Option<&'a Value> {
    list["items"].as_array()?.iter().find(|item| item["name"] == name)
}

#[tokio::test]
async fn objects_come_as_json_and_follow_the_cluster() -> Result<()> {
    let world = World::get().await?;
    let who = world.aro.session("viewer").await?;
    let base = format!("/api/v1/clusters{}", world.open);
    world.cluster.operator("json", "").await?;
    let operators = format!("{base}/operators");
    let first = listed(&who, &operators, "operators are live", |list| {
        list["state"] == "live" && named(list, "json").is_some()
    })
    .await?;
    ensure!(first["as_of"].is_string() && first["left_out"] == 0, "{first}");
    // A message that would hurt a careless page is a message.
    world.cluster.operator("json", "<script>alert(1)</script>\u{202e} is broken").await?;
    let broken = listed(&who, &operators, "it is degraded", |list| {
        named(list, "json").is_some_and(|it| it["degraded"]["status"] == "True")
    })
    .await?;
    let message = &named(&broken, "json").unwrap_or(&Value::Null)["degraded"]["message"];
    ensure!(message == "<script>alert(1)</script> is broken", "{message}");
    world.cluster.admin().ok(&["delete", "clusteroperator", "json"]).await?;
    listed(&who, &operators, "it is gone", |list| named(list, "json").is_none()).await?;

    for (what, name) in [("nodes", "worker-0"), ("machines", "worker-0"), ("machinesets", "workers")] {
        // Between the list and its watch it is not live yet.
        let live = |list: &Value| named(list, name).is_some() && list["state"] == "live";
        listed(&who, &format!("{base}/{what}"), what, live).await?;
    }
    let pods = listed(&who, &format!("{base}/pods?namespace=openshift-dns"), "pods run", |list| {
        named(list, "dns-default-1").is_some_and(|pod| pod["phase"] == "Running")
    })
    .await?;
    // Of a customer's namespace nothing is shown.
    ensure!(
        pods["items"].as_array().is_some_and(|all| all.iter().all(|pod| pod["namespace"] == "openshift-dns"))
    );
    Ok(())
}

#[tokio::test]
async fn the_contracts_lists_have_the_contracts_form() -> Result<()> {
    let world = World::get().await?;
    let who = world.aro.session("viewer").await?;
    let legacy = "/api/00000000-0000-0000-0000-000000000000/imported/open";
    let operators = who.get(&format!("{legacy}/clusteroperators")).await?.ok()?;
    ensure!(operators.text.starts_with("{\n    \"operators\": ["), "{}", operators.text);
    let operators = operators.json()?;
    let dns = operators["operators"].as_array().and_then(|all| all.iter().find(|it| it["name"] == "dns"));
    let expected = json!({"name": "dns", "available": "True", "progressing": "False", "degraded": "False",
    "conditions": [
        {"type": "Available", "lastUpdated": "2026-01-02 03:04:05 +0000 UTC", "status": "True",
            "reason": "AsExpected", "message": "Everything runs."},
        {"type": "Progressing", "lastUpdated": "2026-01-02 03:04:05 +0000 UTC", "status": "False",
            "reason": "AsExpected", "message": ""},
        {"type": "Degraded", "lastUpdated": "2026-01-02 03:04:05 +0000 UTC", "status": "False",
            "reason": "AsExpected", "message": ""},
        {"type": "Upgradeable", "lastUpdated": "2026-01-02 03:04:05 +0000 UTC", "status": "True",
            "reason": "AsExpected", "message": ""},
    ]});
    ensure!(dns == Some(&expected), "{dns:?}");
    let nodes = who.get(&format!("{legacy}/nodes")).await?.ok()?.json()?;
    let node = nodes["nodes"].as_array().and_then(|all| all.iter().find(|it| it["name"] == "worker-0"));
    let node = node.cloned().unwrap_or_default();
    ensure!(node["labels"]["node-role.kubernetes.io/worker"] == "" && node["volumes"] == json!([]), "{node}");
    ensure!(node["capacity"]["cpu"].is_string() && node["capacity"]["storageVolume"].is_string(), "{node}");
    ensure!(node["createdTime"].as_str().is_some_and(|at| at.ends_with(" +0000 UTC")), "{node}");
    let machines = who.get(&format!("{legacy}/machines")).await?.ok()?.json()?;
    let machine =
        machines["machines"].as_array().and_then(|all| all.iter().find(|it| it["name"] == "worker-0"));
    let machine = machine.cloned().unwrap_or_default();
    ensure!(
        machine["status"] == "Running"
            && machine["lastUpdated"] == "2026-01-02 03:04:05 +0000 UTC"
            && machine["lastOperation"] == "Update"
            && machine["lastOperationDate"] == "2026-01-02 03:04:05 +0000 UTC"
            && machine["errorReason"] == "None",
        "{machine}"
    );
    let sets = who.get(&format!("{legacy}/machine-sets")).await?.ok()?.json()?;
    let mut set = sets["machines"][0].clone();
    ensure!(set["createdat"].as_str().is_some_and(|at| at.ends_with(" +0000 UTC")), "{set}");
    set["createdat"] = Value::Null;
    let expected = json!({"name": "workers", "type": "worker", "createdat": null, "desiredreplicas": 1, "replicas": 1,
        "errorreason": "None", "errormessage": "None", "publicloadbalancername": "lb", "vmsize": "Standard_D8s_v5",
        "accountstoragetype": "Premium_LRS", "subnet": "worker", "vnet": "vnet"});
    ensure!(set == expected, "{set}");
    let none = who.get("/api/00000000-0000-0000-0000-000000000000/imported/none/nodes").await?;
    ensure!(none.status == 404, "{none:?}");
    Ok(())
}

#[tokio::test]
async fn kinds_that_the_cluster_refuses_say_so_and_the_others_live() -> Result<()> {
    let world = World::get().await?;
    let who = world.aro.session("viewer").await?;
    let base = format!("/api/v1/clusters{}", world.limited);
    listed(&who, &format!("{base}/nodes"), "nodes live", |list| {
        list["state"] == "live" && named(list, "worker-0").is_some()
    })
    .await?;
    for what in ["pods", "operators", "events", "workloads", "machinesets"] {
        let list = listed(&who, &format!("{base}/{what}"), what, |list| list["state"] == "forbidden").await?;
        let why = list["why"].as_str().unwrap_or_default();
        ensure!(why.contains("does not let us read") && list["items"] == json!([]), "{list}");
    }
    let mut page = who.follow(&format!("{}/live/nodes", world.limited)).await?;
    page.until("the page is live, though half of it is refused", |text| text.contains("\"state\":\"live\""))
        .await
}

#[tokio::test]
async fn fifty_viewers_share_one_watch_of_each_kind_that_ends_after_the_last() -> Result<()> {
    let cluster = OpenShift::start().await?;
    let env = vec![("ARO_LIMITS__LIVE_PAGES_PER_PERSON".to_owned(), "100".to_owned())];
    let aro = Aro::start(AroOptions { clusters: 2, env, ..AroOptions::default() }).await?;
    let id = aro.import_and_wait(&cluster.reader()?, "shared", &[]).await?;
    let who = aro.session("viewer").await?;
    let mut pages: Vec<Events> = Vec::new();
    for _ in 0..50 {
        pages.push(who.follow(&format!("{id}/live/operators")).await?);
    }
    for page in &mut pages {
        page.until("it is live", |text| text.contains("\"state\":\"live\"")).await?;
        page.text.clear();
    }
    cluster.operator("ingress", "fifty people must see this").await?;
    for page in &mut pages {
        page.until("the change comes", |text| text.contains("fifty people must see this")).await?;
    }
    let (opened, ended) = cluster.watches(OPERATORS)?;
    ensure!(opened - ended <= 1 && opened < 5, "{opened} watches were opened, {ended} ended");
    // Each viewer is on the record: fifty starts, and fifty ends once they leave.
    drop(pages);
    let auditor = aro.session("auditor").await?;
    until("every look is recorded", GENEROUS, || async {
        let looks = auditor.get("/api/v1/audit?verb=look&limit=500").await?.ok()?.json()?;
        let of = |phase: &str| {
            let all = looks["items"].as_array().into_iter().flatten();
            all.filter(|entry| entry["phase"] == phase && entry["resource"] == "operators").count()
        };
        ensure!((of("start"), of("end")) == (50, 50), "{} started, {} ended", of("start"), of("end"));
        Ok(())
    })
    .await?;
    cluster.unwatched(OPERATORS).await
}

#[tokio::test]
async fn an_api_server_that_restarts_or_hangs_leaves_the_last_known_state() -> Result<()> {
    let cluster = OpenShift::start().await?;
    let aro = Aro::start(AroOptions { clusters: 2, ..AroOptions::default() }).await?;
    let id = aro.import_and_wait(&cluster.reader()?, "shaky", &[]).await?;
    let who = aro.session("viewer").await?;
    let mut page = who.follow(&format!("{id}/live/operators")).await?;
    page.until("it is live", |text| text.contains("\"state\":\"live\"")).await?;
    cluster.plane.stop_api()?;
    page.until("it says that it is old", |text| text.contains("\"state\":\"stale\"")).await?;
    let operators = format!("/api/v1/clusters{id}/operators");
    let old =
        listed(&who, &operators, "what was known is still there", |list| list["state"] == "stale").await?;
    ensure!(named(&old, "dns").is_some() && old["as_of"].is_string() && old["why"].is_string(), "{old}");
    // A page that is opened now shows it too, and never nothing.
    let shown = who.get(&format!("{id}/operators")).await?.ok()?;
    ensure!(
        shown.text.contains("ingress") && shown.text.contains("data-state=\"stale\""),
        "no operators in the page"
    );
    page.text.clear();
    cluster.plane.start_api().await?;
    page.until("it is live again", |text| text.contains("\"state\":\"live\"")).await?;
    page.text.clear();
    cluster.operator("etcd", "after the restart").await?;
    page.until("changes come again", |text| text.contains("after the restart")).await?;

    cluster.plane.hang_api(true)?;
    listed(&who, &operators, "a hang is seen", |list| list["state"] == "stale").await?;
    cluster.plane.hang_api(false)?;
    listed(&who, &operators, "it is live again", |list| list["state"] == "live").await?;

    // The cluster leaves the list while a viewer watches it.
    let admin = aro.session("admin").await?;
    let gone = admin.change(reqwest::Method::DELETE, "/api/v1/imports/shaky", None).await?;
    ensure!((200..300).contains(&gone.status), "{gone:?}");
    page.ends("gone").await
}
