//! A confirmation before an action: revoke, extend, approve, refuse, end, review, rotate. A dialog
//! over the page it came from, and a page of its own without scripts.
//!
//! The form posts its fields, `back` and the CSRF token to [`ConfirmPage::action`]; done, it goes back with
//! 303; a mistake answers 422 with this page and everything that was typed.

use crate::filters;
use crate::frame::Frame;
use crate::parts::{Failure, Link};

/// The question.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "ask.html", block = "dialog", blocks = ["main"])]
pub struct ConfirmPage {
    /// What is around it.
    pub frame: Frame,
    /// Name in tests: `dialog-<name>`.
    pub name: &'static str,
    /// Symbol id beside the title.
    pub icon: &'static str,
    /// The question.
    pub title: String,
    /// The page behind it: its words are the heading there.
    pub back: Link,
    /// What will happen, in numbers where there are some.
    pub text: Vec<String>,
    /// The thing it is about.
    pub facts: Vec<(String, String)>,
    /// The same as a command; empty where there is none.
    pub command: String,
    /// Where the form is sent.
    pub action: String,
    /// What is sent along.
    pub hidden: Vec<(String, String)>,
    /// One of a few.
    pub choices: Option<ConfirmChoices>,
    /// What is typed.
    pub fields: Vec<ConfirmField>,
    /// Look of the button: `primary`, `power`, `danger`.
    pub kind: &'static str,
    /// Words of the button.
    pub submit: String,
    /// Its words while it runs.
    pub running: String,
    /// The form sends itself again after a second, as long as the dialog is open: progress of what takes long.
    pub repeats: bool,
    /// Words of the button that does nothing; empty: Cancel.
    pub leave: &'static str,
    /// What was wrong with all of it; the form stays.
    pub error: Option<Failure>,
    /// In place of the form.
    pub failure: Option<Failure>,
}

/// One of a few.
#[derive(Clone, Debug, Default)]
pub struct ConfirmChoices {
    /// What is chosen.
    pub legend: String,
    /// Field name.
    pub name: &'static str,
    /// Value and words.
    pub values: Vec<(String, String)>,
    /// The chosen value.
    pub chosen: String,
    /// What would be right.
    pub error: Option<String>,
}

/// A field to type into.
#[derive(Clone, Debug, Default)]
pub struct ConfirmField {
    /// Field name.
    pub name: &'static str,
    /// Label.
    pub label: String,
    /// One line under it.
    pub hint: String,
    /// What was typed.
    pub value: String,
    /// It must not be empty.
    pub required: bool,
    /// One line, set in the face of what is typed exactly; else several lines of words.
    pub exact: bool,
    /// What would be right.
    pub error: Option<String>,
}
