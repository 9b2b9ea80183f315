//! The list over many clusters: filters, orders, places that stay, views, files, places to jump to.

use axum::body::Body;
use rp_base::Timestamp;
use rp_database::{Draft, Expect};
use rp_documents::{Collection, Role};
use serde_json::{Value, json};

use super::kit::{Kit, RES, get, until};

const SUB: &str = "0000aaaa-0000-0000-0000-00000000000f";

fn id(group: &str, name: &str) -> String {
    format!(
        "/subscriptions/{SUB}/resourceGroups/{group}/providers/Microsoft.RedHatOpenShift/openShiftClusters/{name}"
    )
}

async fn put(kit: &Kit, collection: Collection, id: &str, body: &Value) {
    let draft = Draft {
        id: id.to_owned(),
        partition: String::new(),
        unique_key: None,
        body: body.to_string(),
        expires_at: None,
    };
    kit.store.create(collection, draft).await.unwrap();
}

async fn cluster(kit: &Kit, number: u32, change: impl FnOnce(&mut Value)) {
    let mut document = json!({
        "id": format!("doc-{number:04}"),
        "key": id("rg-fleet", &format!("fleet-{number:04}")).to_lowercase(),
        "partitionKey": SUB,
        "bucket": 1,
        "openShiftCluster": {
            "id": id("rg-fleet", &format!("fleet-{number:04}")),
            "name": format!("fleet-{number:04}"),
            "type": "Microsoft.RedHatOpenShift/openShiftClusters",
            "location": if number.is_multiple_of(2) { "westeurope" } else { "eastus" },
            "properties": {
                "provisioningState": "Succeeded",
                "clusterProfile": { "version": format!("4.{}.{}", 14 + number % 5, number % 40) },
                "apiserverProfile": { "visibility": "Private" },
                "networkProfile": { "privateEndpointIp": "10.0.0.4" },
            },
        },
    });
    change(&mut document);
    let key = document["id"].as_str().unwrap().to_owned();
    put(kit, Collection::OpenShiftClusters, &key, &document).await;
}

/// Sixty clusters; every tenth was looked at and something is wrong, of the others every third is well.
async fn fleet() -> Kit {
    let kit = Kit::new().await;
    for number in 0..60 {
        cluster(&kit, number, |document| {
            if number == 7 {
                document["openShiftCluster"]["properties"]["provisioningState"] = json!("Creating");
                document["openShiftCluster"]["properties"]["install"] = json!({ "phase": "1" });
            }
        })
        .await;
        let bad = number.is_multiple_of(10);
        if !bad && number % 3 != 0 {
            continue;
        }
        let health = json!({
            "id": format!("doc-{number:04}"),
            "looked_at": "2026-11-21T11:59:00Z",
            "took_ms": 900,
            "collectors": if bad { json!([{ "name": "alerts", "error": "no answer within 10 s" }, { "name": "nodes" }]) } else { json!([]) },
            "operators_degraded": if bad { json!(["etcd"]) } else { json!([]) },
            "alerts": if bad { json!(["KubeAPIDown", "etcdNoLeader"]) } else { json!([]) },
            "nodes": 9,
            "nodes_not_ready": 0,
            "certificate_expiry": if bad { "2026-12-01T00:00:00Z" } else { "2027-12-01T00:00:00Z" },
        });
        put(&kit, Collection::ClusterHealth, &format!("doc-{number:04}"), &health).await;
    }
    until("the list has them", async || list(&kit, "limit=1").await["of"] == 61).await;
    until("and what was seen", async || list(&kit, "operator=etcd").await["total"] == 6).await;
    kit
}

async fn list(kit: &Kit, query: &str) -> Value {
    let answer = kit.page(Role::Sre, &format!("/api/v1/clusters?{query}")).await;
    assert_eq!(answer.status, 200, "{query}: {answer:?}");
    answer.json()
}

fn names(list: &Value) -> Vec<String> {
    list["items"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn filters_say_what_the_last_look_saw() {
    let kit = fleet().await;
    for (query, total) in [
        ("operator=etcd", 6),
        ("operator=any", 6),
        ("operator=dns", 0),
        ("alert=kubeapidown", 6),
        ("collector=alerts", 6),
        ("collector=any", 6),
        ("expires=30", 6),
        ("state=certificate", 6),
        ("expires=5", 0),
        ("version=4.14..4.15", 24),
        ("version=4.17..", 25),
        ("version=..4.14", 12),
        ("version=%3C4.15", 12),
        ("region=eastus", 30),
        ("phase=InstallPhaseRemoveBootstrap", 1),
        ("state=degraded,creating", 7),
        ("names=fleet-0001,FLEET-0002,nobody", 2),
        ("view=not-healthy&region=westeurope", 7),
        ("q=etcdnoleader", 6),
        ("unseen=5", 61 - 24),
        ("age=1h&state=degraded", 0),
    ] {
        let found = list(&kit, query).await;
        assert_eq!(found["total"], total, "{query}: {:?}", names(&found));
        assert_eq!(found["of"], 61);
    }
    // Time goes by: nobody has looked for an hour.
    kit.clock.advance(std::time::Duration::from_secs(3600));
    assert_eq!(list(&kit, "unseen=30").await["total"], 61);
    // The monitor wrote when it looked, and nothing else changed.
    let at = Timestamp::parse("2026-11-21T12:59:30Z").unwrap();
    let looks =
        json!({ "id": "bucket-001", "looks": { "doc-0003": { "at": at, "took_ms": 400, "by": "w" } } });
    put(&kit, Collection::Looks, "bucket-001", &looks).await;
    until("a look is seen", async || list(&kit, "unseen=30").await["total"] == 60).await;
    let row = list(&kit, "names=fleet-0003").await["items"][0].clone();
    assert_eq!(
        (row["lastLook"]["tookMs"].as_u64(), row["health"].as_str()),
        (Some(400), Some("ok")),
        "{row}"
    );
}

#[tokio::test]
async fn what_cannot_be_read_is_said() {
    let kit = fleet().await;
    for bad in [
        "state=bogus",
        "state=failed,bogus",
        "version=4.16..4.14",
        "version=..",
        "expires=soon",
        "expires=-1",
        "age=yesterday",
        "unseen=1.5",
        "continue=50",
        "continue=%00",
        "after=AAAA",
        "after=AAAA&before=AAAA",
    ] {
        let answer = kit.page(Role::Sre, &format!("/api/v1/clusters?{bad}")).await;
        assert_eq!(answer.status, 400, "{bad}: {answer:?}");
        let error = answer.json();
        assert!(
            error["message"].as_str().is_some_and(|m| !m.is_empty()) && error["side"] == "you",
            "{error}"
        );
        if bad.starts_with("continue") {
            continue;
        }
        let page = kit.page(Role::Sre, &format!("/?{bad}")).await;
        assert_eq!(page.status, 400, "{bad}");
        assert!(
            page.body.contains("cannot be read") || page.body.contains("cannot be found"),
            "{bad}: {}",
            page.body
        );
    }
    // A huge query is cut, not refused, and finds nothing.
    let huge = "a".repeat(6000);
    assert_eq!(list(&kit, &format!("q={huge}")).await["total"], 0);
}

#[tokio::test]
async fn every_order_pages_through_all_of_them_once() {
    let kit = fleet().await;
    let orders: Vec<&str> =
        std::iter::once(web::Column::Name).chain(web::Column::EVERY).map(web::Column::name).collect();
    for order in orders {
        for reverse in ["false", "true"] {
            let mut seen = Vec::new();
            let mut next = String::new();
            loop {
                let page =
                    list(&kit, &format!("sort={order}&reverse={reverse}&limit=25&continue={next}")).await;
                seen.extend(names(&page));
                match page["continue"].as_str() {
                    Some(place) => next = place.to_owned(),
                    None => break,
                }
            }
            let whole = names(&list(&kit, &format!("sort={order}&reverse={reverse}&limit=500")).await);
            assert_eq!(seen, whole, "{order} {reverse}");
            assert_eq!(seen.len(), 61, "{order} {reverse}");
        }
    }
    let first = names(&list(&kit, "sort=operators&limit=3").await);
    assert!(first.iter().all(|name| name.ends_with('0')), "{first:?}");
}

#[tokio::test]
async fn a_page_stays_where_it_is_while_the_fleet_changes() {
    let kit = fleet().await;
    let first = list(&kit, "sort=name&limit=10").await;
    let place = first["continue"].as_str().unwrap();
    let second = names(&list(&kit, &format!("sort=name&limit=10&continue={place}")).await);
    // One before it comes, and the very row that the place names goes.
    let last = kit.store.get(Collection::OpenShiftClusters, "doc-0009").await.unwrap().unwrap();
    kit.store.delete(Collection::OpenShiftClusters, "doc-0009", Expect::Version(last.version)).await.unwrap();
    cluster(&kit, 99, |document| {
        document["openShiftCluster"]["id"] = json!(id("rg-fleet", "aaa-new"));
        document["openShiftCluster"]["name"] = json!("aaa-new");
        document["key"] = json!(id("rg-fleet", "aaa-new").to_lowercase());
    })
    .await;
    until("both are known", async || {
        list(&kit, "q=aaa-new").await["total"] == 1 && list(&kit, "q=fleet-0009").await["total"] == 0
    })
    .await;
    assert_eq!(names(&list(&kit, &format!("sort=name&limit=10&continue={place}")).await), second);
    // In another order the place means nothing.
    let answer = kit.page(Role::Sre, &format!("/api/v1/clusters?sort=version&continue={place}")).await;
    assert_eq!(answer.status, 400, "{answer:?}");
}

#[tokio::test]
async fn the_page_goes_forth_and_back() {
    let kit = fleet().await;
    let link = |body: &str, id: &str| -> String {
        let (_, rest) = body.split_once(&format!("id=\"{id}\"")).unwrap_or_else(|| panic!("no {id}: {body}"));
        let href = rest.split("href=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
        href.replace("&amp;", "&")
    };
    let first = kit.page(Role::Sre, "/?sort=name").await;
    assert!(first.body.contains("1–50 of 61") && !first.body.contains("page-previous"));
    let second = kit.page(Role::Sre, &link(&first.body, "page-next")).await;
    assert!(second.body.contains("51–61 of 61") && !second.body.contains("page-next"), "{}", second.body);
    let back = kit.page(Role::Sre, &link(&second.body, "page-previous")).await;
    assert!(back.body.contains("1–50 of 61"), "{}", back.body);
}

#[tokio::test]
async fn columns_are_remembered_by_the_browser() {
    let kit = fleet().await;
    let fields = [
        ("column", "region"),
        ("column", "<script>"),
        ("column", "looked"),
        ("back", "/?q=fleet&columns=state"),
    ];
    let answer = kit.form(Role::Sre, "/columns", &fields).await;
    assert_eq!((answer.status.as_u16(), answer.header("location")), (303, "/?q=fleet"));
    let cookie = answer.cookie("__Host-aro-columns").unwrap();
    assert_eq!(cookie, "__Host-aro-columns=region.looked");
    let session = kit.cookie(Some(Role::Sre)).await;
    let request = get("/").header("cookie", format!("{session}; {cookie}")).body(Body::empty()).unwrap();
    let page = kit.send(request).await.body;
    assert!(page.contains("id=\"sort-region\"") && !page.contains("id=\"sort-version\""));
    // A view's own columns come first.
    let request = get("/?columns=version").header("cookie", format!("{session}; {cookie}"));
    let page = kit.send(request.body(Body::empty()).unwrap()).await.body;
    assert!(page.contains("id=\"sort-version\"") && !page.contains("id=\"sort-region\""));
    let usual = kit.form(Role::Sre, "/columns", &[("usual", "true"), ("back", "//evil.example/")]).await;
    assert_eq!(usual.header("location"), "/");
}

#[tokio::test]
async fn views_are_kept_shared_and_removed_by_their_owner() {
    let kit = fleet().await;
    let fields = [
        ("name", "etcd <b>today</b>"),
        ("query", "operator=etcd&sort=version&after=AAAA&unknown=1"),
        ("shared", "true"),
    ];
    let saved = kit.form(Role::Sre, "/views", &fields).await;
    assert_eq!(
        (saved.status.as_u16(), saved.header("location")),
        (303, "/?operator=etcd&sort=version"),
        "{saved:?}"
    );
    let own = kit
        .unsafe_call(
            Role::Sre,
            "POST",
            "/api/v1/views",
            &json!({"name": "mine", "query": "?q=x"}).to_string(),
        )
        .await;
    assert_eq!(own.status, 201, "{own:?}");
    for bad in [
        json!({"name": "", "query": "q=x"}),
        json!({"name": "n".repeat(101), "query": "q=x"}),
        json!({"name": "n", "query": "q".repeat(9000)}),
    ] {
        let answer = kit.unsafe_call(Role::Sre, "POST", "/api/v1/views", &bad.to_string()).await;
        assert_eq!(answer.status, 422, "{answer:?}");
    }
    let bad = json!({"name": "n", "query": "version=.."}).to_string();
    assert_eq!(kit.unsafe_call(Role::Sre, "POST", "/api/v1/views", &bad).await.status, 400);
    let page = kit.page(Role::Sre, "/?operator=etcd&sort=version").await.body;
    let current = page.contains("aria-current=\"page\" data-testid=\"saved-view\"");
    assert!(current, "the kept view is current: {page}");
    assert!(page.contains("etcd &lt;b&gt;today") && page.contains("data-testid=\"remove-view\""));

    let others = kit.page(Role::Auditor, "/api/v1/views").await.json();
    let seen: Vec<&str> =
        others["items"].as_array().unwrap().iter().map(|v| v["name"].as_str().unwrap()).collect();
    assert_eq!(seen, ["etcd <b>today</b>"], "only what is shared");
    let shared = others["items"][0]["id"].as_str().unwrap().to_owned();
    let mine = own.json()["id"].as_str().unwrap().to_owned();
    let remove = async |role, id: &str| {
        kit.unsafe_call(role, "DELETE", &format!("/api/v1/views/{id}"), "").await.status.as_u16()
    };
    assert_eq!(remove(Role::Auditor, &shared).await, 403);
    assert_eq!(remove(Role::Auditor, &mine).await, 404, "what is not shared is not seen");
    assert_eq!(kit.form(Role::Sre, &format!("/views/{mine}/remove"), &[]).await.status, 303);
    assert_eq!(remove(Role::Sre, &mine).await, 404);
    assert_eq!(remove(Role::Admin, &shared).await, 204);
    assert_eq!(kit.page(Role::Sre, "/api/v1/views").await.json()["items"], json!([]));
    kit.audited("view.save").await;
    kit.audited("view.remove").await;
}

#[tokio::test]
async fn what_matches_is_exported_and_what_is_chosen_is_asked() {
    let kit = fleet().await;
    let file = kit.page(Role::Viewer, "/clusters/export?format=csv&operator=etcd&sort=name").await;
    assert_eq!(file.header("content-type"), "text/csv; charset=utf-8");
    assert!(file.header("content-disposition").contains("clusters.csv"));
    let lines: Vec<&str> = file.body.lines().collect();
    assert_eq!(lines.len(), 7, "{}", file.body);
    assert!(lines[0].starts_with("name,resource_id,") && lines[1].starts_with("fleet-0000,/subscriptions/"));
    let json = kit.page(Role::Viewer, "/clusters/export?format=json&operator=etcd").await.json();
    assert_eq!(json.as_array().unwrap().len(), 6);
    let text = kit.page(Role::Viewer, "/clusters/export?format=names&operator=etcd&sort=name").await.body;
    assert_eq!(text.lines().next(), Some("fleet-0000"));
    assert_eq!(kit.page(Role::Viewer, "/clusters/export?format=exe").await.status, 400);

    let to = async |query: &str| {
        kit.page(Role::Sre, &format!("/clusters/chosen?{query}")).await.header("location").to_owned()
    };
    assert_eq!(
        to("do=promql&pick=fleet-0001&pick=fleet-0002").await,
        "/fleet?clusters=names%3Afleet-0001%2Cfleet-0002"
    );
    assert_eq!(
        to("do=promql&all=operator%3Detcd%26q%3Dfleet").await,
        "/fleet?clusters=fleet%20operator%3Aetcd"
    );
    assert_eq!(to("do=promql&all=").await, "/fleet?clusters=all");
    assert_eq!(to("do=csv&all=operator%3Detcd").await, "/clusters/export?operator=etcd&format=csv");
    assert_eq!(kit.page(Role::Sre, "/clusters/chosen?do=what").await.status, 400);
    let many = (0..300).map(|n| format!("pick=c{n}")).collect::<Vec<_>>().join("&");
    assert_eq!(kit.page(Role::Sre, &format!("/clusters/chosen?do=csv&{many}")).await.status, 400);
}

#[tokio::test]
async fn a_page_that_has_it_all_is_told_so() {
    let kit = fleet().await;
    let cookie = kit.cookie(Some(Role::Sre)).await;
    let ask = async |path: &str| {
        let request =
            get(path).header("cookie", &cookie).header("hx-request", "true").header("hx-target", "main");
        kit.send(request.body(Body::empty()).unwrap()).await
    };
    let page = kit.page(Role::Sre, "/?q=fleet").await.body;
    let live = page.split("hx-get=\"/?q=fleet&amp;seen=").nth(1).or(page.split("seen=").nth(1)).unwrap();
    let seen = live.split('"').next().unwrap();
    assert_eq!(ask(&format!("/?q=fleet&seen={seen}")).await.status, 204);
    cluster(&kit, 70, |_| ()).await;
    until("the next question is answered", async || {
        ask(&format!("/?q=fleet&seen={seen}")).await.status == 200
    })
    .await;
}

#[tokio::test]
async fn a_few_letters_lead_to_a_place() {
    let kit = fleet().await;
    let found = async |role, q: &str, from: &str| {
        let path = format!("/api/v1/jump?q={q}&from={from}");
        let answer = kit.page(role, &path).await.json();
        let mut all = Vec::new();
        for group in answer["groups"].as_array().unwrap() {
            for item in group["items"].as_array().unwrap() {
                all.push((
                    group["words"].as_str().unwrap().to_owned(),
                    item["href"].as_str().unwrap().to_owned(),
                ));
            }
        }
        all
    };
    let is = |all: &[(String, String)], words: &str, end: &str| {
        all.iter().any(|(group, href)| group == words && href.ends_with(end))
    };
    let all = found(Role::Sre, "0042+fleet", "").await;
    assert!(is(&all, "Clusters", "/fleet-0042") && is(&all, "Actions", "/fleet-0042/kubeconfig"), "{all:?}");
    let all = found(Role::Sre, "harbor+nod", "").await;
    assert!(is(&all, "Pages of a cluster", "/harbor-01/nodes"), "{all:?}");
    let all = found(Role::Sre, "operat", RES).await;
    assert!(is(&all, "Pages of a cluster", "/harbor-01/operators"), "{all:?}");
    let all = found(Role::Viewer, "", "").await;
    assert!(
        is(&all, "Pages", "/fleet")
            && !is(&all, "Pages", "/audit")
            && !all.iter().any(|(g, _)| g == "Clusters")
    );
    let page = kit.page(Role::Sre, "/jump?q=zzz%3Cscript%3Ealert(2)").await;
    assert!(
        page.status == 200 && page.body.contains("nothing-found") && !page.body.contains("<script>alert")
    );
}

#[tokio::test]
async fn the_page_of_alerts_names_the_clusters_on_which_each_fires() {
    let kit = fleet().await;
    let page = async |query: &str| kit.page(Role::Viewer, &format!("/alerts{query}")).await.body;
    let all = page("").await;
    assert!(all.contains("<b>2 alerts</b> firing on 6 clusters"), "{all}");
    assert!(all.contains("etcdNoLeader") && all.contains("fleet-0010/alerts\""), "{all}");
    let some = page("?q=ETCD").await;
    assert!(some.contains("<b>1 alert</b> firing on 6") && !some.contains("KubeAPIDown"), "{some}");
    let one = page("?q=kube+fleet-0010").await;
    assert!(one.contains("<b>1 alert</b> firing on 1 cluster<"), "{one}");
    assert!(page("?q=nothing").await.contains("data-testid=\"nothing-found\""));
}
