//! Slack: an incoming webhook with blocks. Text from clusters and people stands in `plain_text` objects, where no markup
//! and no mention works; the one link is ours.

use serde_json::{Value, json};

use super::{Message, cut};

/// Bounds of Slack: characters of a header, of a field, and fields of a section.
const HEADER: usize = 150;
const FIELD: usize = 2000;
const FIELDS: usize = 10;

pub(super) fn body(message: Message<'_>) -> Value {
    let event = &message.notification.event;
    let mut blocks = vec![json!({ "type": "header", "text": plain(&event.title, HEADER) })];
    for facts in event.facts.chunks(FIELDS) {
        let fields: Vec<Value> =
            facts.iter().map(|fact| plain(&format!("{}: {}", fact.name, fact.value), FIELD)).collect();
        blocks.push(json!({ "type": "section", "fields": fields }));
    }
    blocks.push(json!({ "type": "section", "text": plain(&event.advice, FIELD) }));
    // A bar ends the address in a link of theirs.
    let link = escape(&message.link().replace('|', "%7C"));
    let words = format!("<{link}|{}>", escape(&event.page_name));
    blocks.push(json!({ "type": "section", "text": { "type": "mrkdwn", "text": words, "verbatim": true } }));
    let id = format!("{} · {}", event.kind.name(), message.notification.id);
    blocks.push(json!({ "type": "context", "elements": [plain(&id, FIELD)] }));
    json!({
        "text": escape(&cut(&event.title, FIELD)),
        "mrkdwn": false,
        "unfurl_links": false,
        "unfurl_media": false,
        "blocks": blocks,
    })
}

fn plain(text: &str, most: usize) -> Value {
    json!({ "type": "plain_text", "text": escape(&cut(text, most)), "emoji": false })
}

/// The three characters that begin mentions, links and entities of theirs. They count as one for the bounds.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
