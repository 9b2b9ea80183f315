//! Each shape as its receiver gets it, whole.

use rp_base::{Secret, Timestamp};
use rp_documents::{
    Notification, NotificationEvent, NotificationFact, NotificationKind, NotificationState, Unknown,
};
use serde_json::json;

use super::*;

/// Everything that a receiver could take for markup.
const HOSTILE: &str = "<!channel> *b* [x](https://evil.example) {{DATE(2026-01-01)}} <at>all</at> & `c`";

fn notification(kind: NotificationKind, value: &str) -> Notification {
    let event = NotificationEvent {
        id: "cluster/1/silent/5/cluster.silent".into(),
        kind,
        subject: "cluster/1/silent/5".into(),
        at: Timestamp::from_seconds(1_800_000_000),
        title: format!("Cluster {value} does not answer"),
        facts: vec![NotificationFact { name: "Cluster".into(), value: value.into() }],
        advice: "Check the API server.".into(),
        page: "/subscriptions/x".into(),
        page_name: "Open the cluster".into(),
        cluster: "/subscriptions/x".into(),
        region: "eastus".into(),
    };
    Notification {
        id: "n1".into(),
        destination: "hub".into(),
        event,
        state: NotificationState::Waiting,
        created: Timestamp::from_seconds(1_800_000_001),
        attempts: 0,
        last_attempt: None,
        retry_after: None,
        ended: None,
        error: String::new(),
        unknown: Unknown::new(),
    }
}

fn made(shape: &Shape, kind: NotificationKind, value: &str) -> Value {
    let portal = Url::parse("https://portal.example/").unwrap();
    body(shape, Message { notification: &notification(kind, value), portal: &portal })
}

#[test]
fn webhook() {
    let expected = json!({
        "version": 1, "id": "n1", "event": "cluster.silent", "subject": "cluster/1/silent/5", "resolves": false,
        "severity": "critical", "at": "2027-01-15T08:00:00Z", "title": "Cluster harbor does not answer",
        "text": "Cluster harbor does not answer\nCluster: harbor\nCheck the API server.",
        "facts": [{"name": "Cluster", "value": "harbor"}], "advice": "Check the API server.",
        "link": {"url": "https://portal.example/subscriptions/x", "name": "Open the cluster"},
        "cluster": "/subscriptions/x", "region": "eastus", "portal": "https://portal.example/",
    });
    assert_eq!(made(&Shape::Webhook(None), NotificationKind::ClusterSilent, "harbor"), expected);
}

#[test]
fn slack() {
    let plain = |text: &str| json!({"type": "plain_text", "text": text, "emoji": false});
    let expected = json!({
        "text": "Cluster harbor does not answer", "mrkdwn": false, "unfurl_links": false, "unfurl_media": false,
        "blocks": [
            {"type": "header", "text": plain("Cluster harbor does not answer")},
            {"type": "section", "fields": [plain("Cluster: harbor")]},
            {"type": "section", "text": plain("Check the API server.")},
            {"type": "section", "text": {"type": "mrkdwn", "verbatim": true,
                "text": "<https://portal.example/subscriptions/x|Open the cluster>"}},
            {"type": "context", "elements": [plain("cluster.silent · n1")]},
        ],
    });
    assert_eq!(made(&Shape::Slack, NotificationKind::ClusterSilent, "harbor"), expected);
}

#[test]
fn teams() {
    let run = |text: &str| json!({"type": "TextRun", "text": text});
    let row = |inlines: Value| json!({"type": "RichTextBlock", "inlines": inlines});
    let expected = json!({
        "type": "message", "summary": "Cluster harbor does not answer",
        "attachments": [{
            "contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": null,
            "content": {
                "$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard",
                "version": "1.4",
                "body": [
                    row(json!([{"type": "TextRun", "text": "Cluster harbor does not answer", "size": "large",
                        "weight": "bolder", "color": "attention"}])),
                    row(json!([{"type": "TextRun", "text": "Cluster: ", "weight": "bolder"}, run("harbor")])),
                    row(json!([run("Check the API server.")])),
                ],
                "actions": [{"type": "Action.OpenUrl", "title": "Open the cluster",
                    "url": "https://portal.example/subscriptions/x"}],
            },
        }],
    });
    assert_eq!(made(&Shape::Teams, NotificationKind::ClusterSilent, "harbor"), expected);
}

#[test]
fn pagerduty() {
    let shape = Shape::PagerDuty(Secret::new("R0UT1NG".to_owned()));
    let expected = json!({
        "routing_key": "R0UT1NG", "event_action": "trigger", "dedup_key": "cluster/1/silent/5",
        "client": "Azure Red Hat OpenShift access plane", "client_url": "https://portal.example/",
        "links": [{"href": "https://portal.example/subscriptions/x", "text": "Open the cluster"}],
        "payload": {
            "summary": "Cluster harbor does not answer", "source": "/subscriptions/x", "severity": "critical",
            "timestamp": "2027-01-15T08:00:00Z", "component": "eastus", "group": "aro", "class": "cluster.silent",
            "custom_details": {"Cluster": "harbor", "What to do": "Check the API server.", "Notification": "n1"},
        },
    });
    assert_eq!(made(&shape, NotificationKind::ClusterSilent, "harbor"), expected);
    let resolved = made(&shape, NotificationKind::ClusterAnswers, "harbor");
    assert_eq!(
        (&resolved["event_action"], &resolved["dedup_key"]),
        (&"resolve".into(), &"cluster/1/silent/5".into())
    );
    assert!(!format!("{shape:?}").contains("R0UT1NG"));
}

#[test]
fn text_from_clusters_is_no_markup_of_slack() {
    let body = made(&Shape::Slack, NotificationKind::ClusterSilent, HOSTILE);
    let text = body.to_string();
    assert!(!text.contains("<!channel>") && !text.contains("<at>"), "{text}");
    assert!(text.contains("&lt;!channel&gt;") && text.contains("&amp; `c`"), "{text}");
    // The only text with markup is our link.
    assert_eq!(body["mrkdwn"], json!(false));
    let blocks = body["blocks"].as_array().unwrap();
    let links: Vec<&Value> = blocks.iter().filter(|block| block["text"]["type"] == "mrkdwn").collect();
    assert_eq!(links.len(), 1);
    assert_eq!(links[0]["text"]["text"], "<https://portal.example/subscriptions/x|Open the cluster>");
}

#[test]
fn text_from_clusters_is_no_markup_of_teams() {
    let body = made(&Shape::Teams, NotificationKind::ClusterSilent, HOSTILE);
    let text = body.to_string();
    // Markdown works in text blocks and fact sets; functions and mentions everywhere.
    assert!(!text.contains("\"TextBlock\"") && !text.contains("FactSet"), "{text}");
    assert!(!text.contains("{{") && !text.contains("<at>"), "{text}");
    assert!(text.contains("<!channel> *b*"), "{text}");
}

#[test]
fn a_long_text_is_cut_to_the_bounds_of_the_receiver() {
    let long = "x".repeat(5000);
    let slack = made(&Shape::Slack, NotificationKind::ClusterSilent, &long);
    let header = slack["blocks"][0]["text"]["text"].as_str().unwrap();
    assert_eq!((header.chars().count(), header.ends_with('…')), (150, true));
    let duty = made(&Shape::PagerDuty(Secret::new("k".to_owned())), NotificationKind::ClusterSilent, &long);
    assert_eq!(duty["payload"]["summary"].as_str().unwrap().chars().count(), 1024);
}

#[test]
fn a_page_that_is_no_path_leads_to_the_portal() {
    let portal = Url::parse("https://portal.example/").unwrap();
    for page in ["https://evil.example/", "//evil.example/x", "javascript:alert(1)"] {
        let mut one = notification(NotificationKind::Test, "x");
        one.event.page = page.to_owned();
        assert_eq!(
            Message { notification: &one, portal: &portal }.link(),
            "https://portal.example/",
            "{page}"
        );
    }
}
