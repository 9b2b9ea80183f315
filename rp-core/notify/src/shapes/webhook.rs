//! Our own JSON. Members are added, never taken away or changed.

use serde_json::{Value, json};

use super::Message;

pub(super) fn body(message: Message<'_>) -> Value {
    let (notification, event) = (message.notification, &message.notification.event);
    json!({
        "version": 1,
        "id": notification.id,
        "event": event.kind.name(),
        "subject": event.subject,
        "resolves": event.kind.resolves(),
        "severity": event.kind.severity().name(),
        "at": event.at,
        "title": event.title,
        "text": message.text(),
        "facts": event.facts,
        "advice": event.advice,
        "link": { "url": message.link(), "name": event.page_name },
        "cluster": (!event.cluster.is_empty()).then_some(&event.cluster),
        "region": (!event.region.is_empty()).then_some(&event.region),
        "portal": message.portal,
    })
}
