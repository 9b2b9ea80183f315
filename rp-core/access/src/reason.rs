//! How long the reason for an access or a change is. It goes into the audit log (`contract/rules.md` §3.9).

use crate::policy::Policy;

/// The most characters of a reason.
const MOST_REASON: usize = 1000;

/// The bounds of a reason, in characters without the blanks around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReasonLimits {
    pub least: usize,
    pub most: usize,
}

/// A reason that is shorter or longer than these bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the reason must say in {} to {} characters what you are going to do", .0.least, .0.most)]
pub struct BadReason(pub ReasonLimits);

impl ReasonLimits {
    /// Those of a note that may be empty.
    pub const OPTIONAL: Self = Self { least: 0, most: MOST_REASON };

    /// The same where a reason is needed whatever the policy says.
    #[must_use]
    pub fn required(self) -> Self {
        Self { least: self.least.max(1), ..self }
    }

    /// The reason without the blanks around it.
    ///
    /// # Errors
    /// It is too short or too long.
    pub fn check(self, text: &str) -> Result<&str, BadReason> {
        let text = text.trim();
        let length = text.chars().count();
        if (self.least..=self.most).contains(&length) { Ok(text) } else { Err(BadReason(self)) }
    }
}

impl Policy {
    /// The bounds of a reason: `[access] min_reason` to 1000 characters.
    pub fn reason_limits(&self) -> ReasonLimits {
        ReasonLimits { least: self.access.min_reason, ..ReasonLimits::OPTIONAL }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_counted_in_characters_without_blanks() {
        let access = rp_config::Access { min_reason: 4, ..rp_config::Access::default() };
        let limits = Policy { access, ..Policy::default() }.reason_limits();
        assert_eq!(limits.check("  größe\n"), Ok("größe"));
        assert_eq!(limits.check(" größ "), Ok("größ"));
        assert_eq!(limits.check(" abc  "), Err(BadReason(limits)));
        assert_eq!(limits.check(&"ß".repeat(1000)).map(str::len), Ok(2000));
        assert_eq!(limits.check(&"x".repeat(1001)), Err(BadReason(limits)));
    }

    #[test]
    fn what_is_required_is_never_empty() {
        let limits = ReasonLimits::OPTIONAL;
        assert_eq!(limits.check(" "), Ok(""));
        assert_eq!(limits.required().check(" "), Err(BadReason(ReasonLimits { least: 1, most: 1000 })));
        assert_eq!(ReasonLimits { least: 10, ..limits }.required().least, 10);
    }
}
