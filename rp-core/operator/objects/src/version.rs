//! Versions of OpenShift, as rules compare them.

use std::fmt;
use std::str::FromStr;

/// Why a text is not a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the version is not MAJOR.MINOR.PATCH")]
pub struct VersionError;

/// Major, minor and patch. A pre-release (`4.18.3-rc.1`) counts as its release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
    pub patch: u32,
}

impl Version {
    /// A version.
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self { major, minor, patch }
    }

    /// Whether it is of that minor version or of a later one.
    pub fn is_at_least(self, major: u32, minor: u32) -> bool {
        (self.major, self.minor) >= (major, minor)
    }
}

impl FromStr for Version {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        let plain = text.split(['-', '+']).next().unwrap_or_default();
        let mut numbers = plain.split('.').map(number);
        let mut next = || numbers.next().flatten().ok_or(VersionError);
        let version = Self::new(next()?, next()?, next()?);
        numbers.next().is_none().then_some(version).ok_or(VersionError)
    }
}

/// Digits only: `parse` would also take a sign.
fn number(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        let read = |text: &str| text.parse::<Version>();
        assert_eq!(read("4.18.3"), Ok(Version::new(4, 18, 3)));
        assert_eq!(read("4.18.3-rc.1+build"), Ok(Version::new(4, 18, 3)));
        for text in ["", "4", "4.18", "4.18.3.1", "4.+18.3", "v4.18.3", "4.18.99999999999"] {
            assert_eq!(read(text), Err(VersionError), "{text:?}");
        }
        assert!(read("4.9.30").unwrap() < read("4.10.1").unwrap());
        assert!(read("4.17.0").unwrap().is_at_least(4, 17) && !read("4.16.99").unwrap().is_at_least(4, 17));
        assert!(read("5.0.0").unwrap().is_at_least(4, 17));
    }
}
