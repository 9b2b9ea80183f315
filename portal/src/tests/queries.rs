//! Pages and answers around PromQL that need no cluster: saved queries, the token for tools, the page of
//! statistics, who may ask.

use rp_documents::Role;
use serde_json::json;

use super::kit::{Kit, RES, until};

#[tokio::test]
async fn queries_are_kept_shared_and_removed_by_their_owner() {
    let kit = Kit::new().await;
    let save = async |role, body: serde_json::Value| {
        kit.unsafe_call(role, "POST", "/api/v1/queries", &body.to_string()).await
    };
    let mine = json!({"name": "up", "query": "up == 0", "range_secs": 3600, "shared": false, "cluster": RES});
    let answer = save(Role::Sre, mine).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    let own = answer.json()["id"].as_str().unwrap().to_owned();
    let shared =
        save(Role::Sre, json!({"name": "<b>latency</b>", "query": "rate(x[5m])", "shared": true})).await;
    let shared = shared.json()["id"].as_str().unwrap().to_owned();
    for bad in [
        json!({"name": "", "query": "up"}),
        json!({"name": "n", "query": " "}),
        json!({"name": "n".repeat(101), "query": "up"}),
        json!({"name": "n", "query": "up", "cluster": "x"}),
    ] {
        assert_eq!(save(Role::Sre, bad.clone()).await.status, 422, "{bad}");
    }
    let seen = async |role| {
        let list = kit.page(role, "/api/v1/queries").await.json();
        let items = list["items"].as_array().cloned().unwrap();
        items
            .iter()
            .map(|one| (one["name"].as_str().unwrap().to_owned(), one["mine"] == true))
            .collect::<Vec<_>>()
    };
    let all = seen(Role::Sre).await;
    assert_eq!((all.len(), all.iter().all(|(_, mine)| *mine)), (2, true), "{all:?}");
    assert_eq!(seen(Role::Auditor).await, [("<b>latency</b>".to_owned(), false)], "only what is shared");
    let remove = async |role, id: &str| {
        kit.unsafe_call(role, "DELETE", &format!("/api/v1/queries/{id}"), "").await.status.as_u16()
    };
    assert_eq!(remove(Role::Auditor, &shared).await, 403);
    assert_eq!(remove(Role::Sre, &own).await, 204);
    assert_eq!(remove(Role::Sre, &own).await, 404);
    assert_eq!(remove(Role::Admin, &shared).await, 204);
    until("what was saved is in the trail", async || {
        let trail = kit.page(Role::Auditor, "/api/v1/audit?verb=query.save").await.body;
        trail.contains("up == 0") && trail.contains("rate(x[5m])")
    })
    .await;
    kit.audited("query.remove").await;
}

#[tokio::test]
async fn a_token_for_tools_is_shown_once_and_reads_metrics_only() {
    let kit = Kit::new().await;
    let dialog = kit.page(Role::Sre, &format!("{RES}/metrics")).await;
    assert!(
        dialog.body.contains("dialog-metrics") && dialog.body.contains("name=\"reason\""),
        "{}",
        dialog.body
    );
    let post =
        async |role, fields: &[(&str, &str)]| kit.form(role, &format!("{RES}/metrics/new"), fields).await;
    let refused = post(Role::Sre, &[("reason", "x")]).await;
    assert_eq!(refused.status, 422, "{refused:?}");
    assert!(refused.body.contains("aria-invalid=\"true\""), "{}", refused.body);
    let given = post(Role::Sre, &[("reason", "dashboards of the team"), ("life", "3600")]).await;
    assert_eq!((given.status.as_u16(), given.header("cache-control")), (200, "no-store"), "{given:?}");
    let token =
        given.body.split("data-testid=\"metrics-token\">").nth(1).and_then(|rest| rest.split('<').next());
    assert!(token.is_some_and(|token| token.len() > 40), "{}", given.body);
    assert!(given.body.contains(&format!("https://proxy.example:8444{RES}/prometheus")), "{}", given.body);
    let list = kit.page(Role::Sre, "/api/v1/grants").await;
    assert_eq!(list.json()["items"][0]["kind"], "metrics");
    assert!(token.is_some_and(|token| !list.body.contains(token)), "it is stored nowhere");
    assert_eq!(post(Role::Viewer, &[("reason", "dashboards of the team")]).await.status, 403);
}

#[tokio::test]
async fn statistics_stand_on_one_page_and_older_links_lead_there() {
    let kit = Kit::new().await;
    let page = kit.page(Role::Viewer, &format!("{RES}/statistics?range=8w")).await;
    assert_eq!(page.body.matches("data-chart=").count(), 12, "{}", page.body);
    assert!(page.body.contains("value=\"8w\" checked"), "{}", page.body);
    for tab in ["apistatistics", "kcmstatistics", "dnsstatistics", "ingressstatistics"] {
        let answer = kit.page(Role::Viewer, &format!("{RES}/{tab}")).await;
        assert_eq!(answer.header("location"), format!("{RES}/statistics#{tab}"));
        assert!(page.body.contains(&format!("id=\"{tab}\"")), "{tab}");
    }
}

#[tokio::test]
async fn who_may_only_look_is_told_what_asking_takes() {
    let kit = Kit::new().await;
    for path in [format!("{RES}/explore?query=up&run=1"), "/fleet?query=up&run=1".to_owned()] {
        let page = kit.page(Role::Viewer, &path).await;
        assert_eq!(page.status, 200);
        assert!(
            page.body.contains("data-testid=\"no-rights\"") && !page.body.contains("explore.js"),
            "{}",
            page.body
        );
    }
    // Text of the address stays text.
    let hostile = kit.page(Role::Sre, &format!("{RES}/explore?query=%3C/textarea%3E%3Cscript%3Ealert(1)%3C/script%3E&range=%22%3E&source=%3Cb%3E")).await;
    assert!(
        !hostile.body.contains("<script>alert") && hostile.body.contains("value=\"1h\" checked"),
        "{}",
        hostile.body
    );
}
