//! ARM's error body (`contract/api.md` §18).

use std::fmt;

use serde::Serialize;

/// The error that callers of the API see.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct CloudError {
    /// HTTP status.
    pub status: u16,
    pub body: ErrorBody,
}

/// The members of `error`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ErrorBody {
    pub code: &'static str,
    pub message: String,
    /// Path of the member that is wrong; empty: none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub target: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<ErrorBody>,
}

impl CloudError {
    /// An error of that status.
    pub fn new(status: u16, code: &'static str, target: &str, message: impl Into<String>) -> Self {
        let body =
            ErrorBody { code, message: message.into(), target: target.to_owned(), details: Vec::new() };
        Self { status, body }
    }

    /// 400 with that code.
    pub fn bad(code: &'static str, target: &str, message: impl Into<String>) -> Self {
        Self::new(400, code, target, message)
    }

    /// 400 `InvalidParameter`: a value that the rules of `contract/api.md` §11 refuse.
    pub fn invalid(target: &str, message: impl Into<String>) -> Self {
        Self::bad("InvalidParameter", target, message)
    }

    /// 400 `PropertyChangeNotAllowed` (`contract/api.md` §11.4).
    pub fn change(target: &str) -> Self {
        let message = format!("Changing property '{target}' is not allowed.");
        Self::bad("PropertyChangeNotAllowed", target, message)
    }
}

impl fmt::Display for CloudError {
    /// The one-line form of `contract/api.md` §18.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.status, self.body)?;
        for (at, detail) in self.body.details.iter().enumerate() {
            let before = if at == 0 { " Details: " } else { ", " };
            write!(f, "{before}{detail}")?;
        }
        Ok(())
    }
}

impl fmt::Display for ErrorBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.code, self.target, self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_names_status_code_target_and_message() {
        let mut error = CloudError::invalid("location", "The provided location 'mars' is invalid.");
        assert_eq!(
            error.to_string(),
            "400: InvalidParameter: location: The provided location 'mars' is invalid."
        );
        error.body.details.push(CloudError::change("tags").body);
        assert!(
            error.to_string().ends_with(
                " Details: PropertyChangeNotAllowed: tags: Changing property 'tags' is not allowed."
            )
        );
    }
}
