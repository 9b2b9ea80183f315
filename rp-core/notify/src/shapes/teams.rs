//! Microsoft Teams: an Adaptive Card for a workflow. Text from clusters and people stands in text runs, where no Markdown
//! works.

use rp_documents::Severity;
use serde_json::{Value, json};

use super::{Message, cut};

/// Characters of one text; a card has at most 28 KB.
const TEXT: usize = 600;

pub(super) fn body(message: Message<'_>) -> Value {
    let event = &message.notification.event;
    let color = match event.kind.severity() {
        _ if event.kind.resolves() => "good",
        Severity::Info => "accent",
        Severity::Warning => "warning",
        Severity::Critical => "attention",
    };
    let title = json!({ "type": "TextRun", "text": text(&event.title), "size": "large", "weight": "bolder", "color": color });
    let mut rows = vec![runs(&[title])];
    rows.extend(event.facts.iter().map(|fact| {
        let name =
            json!({ "type": "TextRun", "text": format!("{}: ", text(&fact.name)), "weight": "bolder" });
        runs(&[name, json!({ "type": "TextRun", "text": text(&fact.value) })])
    }));
    rows.push(runs(&[json!({ "type": "TextRun", "text": text(&event.advice) })]));
    json!({
        "type": "message",
        "summary": text(&event.title),
        "attachments": [{
            "contentType": "application/vnd.microsoft.card.adaptive",
            "contentUrl": null,
            "content": {
                "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
                "type": "AdaptiveCard",
                "version": "1.4",
                "body": rows,
                "actions": [{ "type": "Action.OpenUrl", "title": event.page_name, "url": message.link() }],
            },
        }],
    })
}

fn runs(inlines: &[Value]) -> Value {
    json!({ "type": "RichTextBlock", "inlines": inlines })
}

/// Braces begin functions of theirs (`{{DATE(…)}}`), and `<at>` a mention: a character without width comes between.
pub(super) fn text(text: &str) -> String {
    cut(text, TEXT).replace("{{", "{\u{200b}{").replace("<at>", "<\u{200b}at>")
}
