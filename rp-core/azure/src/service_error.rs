//! Azure's error as it was told: a tree of codes and messages.

use rp_base::text::clean;
use serde::Serialize;
use serde_json::Value;

/// Characters of one message; deployments tell whole errors in them.
const MOST_TEXT: usize = 4000;
/// Errors of one tree, and how deep it is read.
const MOST: usize = 50;
const DEPTH: usize = 6;

/// One error with what caused it. Serialises as ARM's error object.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct ServiceError {
    pub code: String,
    pub message: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub target: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<Self>,
    /// Such as the names of the policies that deny; only what is small is kept.
    #[serde(rename = "additionalInfo", skip_serializing_if = "Option::is_none")]
    pub additional: Option<Value>,
}

impl ServiceError {
    /// Of an answer's body: with or without the envelope `{"error": …}`.
    pub fn from_body(body: &Value) -> Option<Self> {
        let error = if body["error"].is_object() { &body["error"] } else { body };
        let mut left = MOST;
        (error["code"].is_string() || error["message"].is_string())
            .then(|| Self::read(error, DEPTH, &mut left))
    }

    fn read(error: &Value, depth: usize, left: &mut usize) -> Self {
        *left = left.saturating_sub(1);
        let text = |name: &str, most: usize| clean(error[name].as_str().unwrap_or_default(), most);
        let mut details = Vec::new();
        for detail in error["details"].as_array().into_iter().flatten() {
            if depth == 0 || *left == 0 {
                break;
            }
            details.push(Self::read(detail, depth - 1, left));
        }
        let additional = error.get("additionalInfo").filter(|info| info.to_string().len() <= MOST_TEXT);
        Self {
            code: text("code", 100),
            message: text("message", MOST_TEXT),
            target: text("target", 500),
            details,
            additional: additional.cloned(),
        }
    }

    /// Every error of the tree, outermost first; an error that stands as JSON inside a message is part of it.
    pub fn all(&self) -> Vec<Self> {
        let mut found = Vec::new();
        self.collect(&mut found, DEPTH);
        found
    }

    fn collect(&self, found: &mut Vec<Self>, depth: usize) {
        if found.len() >= MOST {
            return;
        }
        found.push(Self { details: Vec::new(), ..self.clone() });
        if depth == 0 {
            return;
        }
        let inside = self.message.trim_start().starts_with('{');
        let inside = inside.then(|| serde_json::from_str(&self.message).ok()).flatten();
        if let Some(inside) = inside.and_then(|body: Value| Self::from_body(&body)) {
            inside.collect(found, depth - 1);
        }
        for detail in &self.details {
            detail.collect(found, depth - 1);
        }
    }

    /// The innermost error that has a code: what a person can act on.
    pub fn innermost(&self) -> Self {
        self.all().into_iter().rfind(|error| !error.code.is_empty()).unwrap_or_else(|| self.clone())
    }
}
