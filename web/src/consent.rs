//! Pages on which a person lets a program act for them.

use crate::filters;
use crate::frame::Frame;

/// A program asks for a token that acts as the person.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "consent.html")]
pub struct ConsentPage {
    /// What is around it: region, clock, person and CSRF token are used.
    pub frame: Frame,
    /// Where the form posts to.
    pub action: String,
    /// Hidden fields: name and value.
    pub fields: Vec<(String, String)>,
    /// The letters that the program shows, or empty: it runs on the computer of this browser.
    pub code: String,
    /// The program may run on another computer: another person may have sent the link.
    pub elsewhere: bool,
    /// Who asks: label and value.
    pub about: Vec<(String, String)>,
    /// When it asked, where that is not just now.
    pub asked: Option<i64>,
    /// What the program will be able to do, as sentences.
    pub gets: Vec<String>,
    /// When the token ends.
    pub until: i64,
}

/// Asks for the letters that a program shows.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "device.html")]
pub struct DevicePage {
    /// What is around it.
    pub frame: Frame,
    /// What was typed.
    pub typed: String,
    /// What is wrong with it.
    pub error: Option<String>,
}
