//! PagerDuty: Events API v2. Everything that is told of one subject is one alert; what resolves the subject resolves it.

use rp_base::Secret;
use serde_json::{Map, Value, json};

use super::{Message, cut};

/// Bounds of PagerDuty: characters of a summary and of the key that alerts are recognised by.
const SUMMARY: usize = 1024;
const KEY: usize = 255;

pub(super) fn body(key: &Secret<String>, message: Message<'_>) -> Value {
    let event = &message.notification.event;
    let mut details: Map<String, Value> =
        event.facts.iter().map(|fact| (fact.name.clone(), fact.value.clone().into())).collect();
    details.insert("What to do".to_owned(), event.advice.clone().into());
    details.insert("Notification".to_owned(), message.notification.id.clone().into());
    let source = if event.cluster.is_empty() { message.portal.as_str() } else { &event.cluster };
    json!({
        "routing_key": key.expose(),
        "event_action": if event.kind.resolves() { "resolve" } else { "trigger" },
        "dedup_key": cut(&event.subject, KEY),
        "client": "Azure Red Hat OpenShift access plane",
        "client_url": message.portal,
        "links": [{ "href": message.link(), "text": event.page_name }],
        "payload": {
            "summary": cut(&event.title, SUMMARY),
            "source": source,
            "severity": event.kind.severity().name(),
            "timestamp": event.at,
            "component": event.region,
            "group": "aro",
            "class": event.kind.name(),
            "custom_details": details,
        },
    })
}
