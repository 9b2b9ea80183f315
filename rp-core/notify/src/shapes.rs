//! An event in the shape that a receiver understands. Pure.

mod pagerduty;
mod slack;
mod teams;
#[cfg(test)]
mod tests;
mod webhook;

use rp_documents::Notification;
use serde_json::Value;
use url::Url;

use crate::Shape;

/// What a message is made of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Message<'a> {
    pub(crate) notification: &'a Notification,
    /// The address of the portal, which links begin with.
    pub(crate) portal: &'a Url,
}

impl Message<'_> {
    /// The page that the message leads to; it needs a sign-in.
    fn link(&self) -> String {
        let page = &self.notification.event.page;
        // Pages are paths of ours; whatever else stands there leads to the portal's first page, never elsewhere.
        let joined = self.portal.join(page).ok().filter(|url| url.origin() == self.portal.origin());
        joined.unwrap_or_else(|| self.portal.clone()).into()
    }

    /// Title, values and advice as plain text.
    fn text(&self) -> String {
        let event = &self.notification.event;
        let facts = event.facts.iter().map(|fact| format!("{}: {}", fact.name, fact.value));
        let lines: Vec<String> =
            std::iter::once(event.title.clone()).chain(facts).chain([event.advice.clone()]).collect();
        lines.join("\n")
    }
}

/// The body of a request. It may hold the key of PagerDuty: it is neither stored nor logged.
pub(crate) fn body(shape: &Shape, message: Message<'_>) -> Value {
    match shape {
        Shape::Webhook(_) => webhook::body(message),
        Shape::Slack => slack::body(message),
        Shape::Teams => teams::body(message),
        Shape::PagerDuty(key) => pagerduty::body(key, message),
    }
}

/// The first characters of a text.
fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}
