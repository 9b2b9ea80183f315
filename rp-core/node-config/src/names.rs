//! Names and addresses that go into configuration files of machines, checked by a grammar that leaves nothing to escape
//! (`contract/operator.md` "Do better" 23).

use std::collections::BTreeSet;
use std::fmt;
use std::net::Ipv4Addr;

/// The longest name, in octets, without the dot of the root (RFC 1035 §3.1).
const MOST_NAME: usize = 253;
/// The longest label, in octets (RFC 1035 §2.3.4).
const MOST_LABEL: usize = 63;

/// Why a text is not a domain name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error("the domain name is empty")]
    Empty,
    #[error("the domain name is longer than {MOST_NAME} octets")]
    TooLong,
    #[error("label {number} of the domain name is empty or longer than {MOST_LABEL} octets")]
    LabelLength { number: usize },
    #[error("label {number} of the domain name begins or ends with a hyphen")]
    Hyphen { number: usize },
    #[error("label {number} of the domain name has a character other than letters, digits and hyphens")]
    Character { number: usize },
    #[error("an IP address is no domain name")]
    Address,
}

/// A domain name by RFC 1123 §2.1, in lower case, without a dot at its end.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DomainName(String);

impl DomainName {
    /// Reads a name. Upper case becomes lower case.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        if text.is_empty() {
            return Err(NameError::Empty);
        }
        if text.len() > MOST_NAME {
            return Err(NameError::TooLong);
        }
        for (label, number) in text.split('.').zip(1..) {
            check_label(label, number)?;
        }
        if text.parse::<Ipv4Addr>().is_ok() {
            return Err(NameError::Address);
        }
        Ok(Self(text.to_ascii_lowercase()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn check_label(label: &str, number: usize) -> Result<(), NameError> {
    if label.is_empty() || label.len() > MOST_LABEL {
        return Err(NameError::LabelLength { number });
    }
    if label.starts_with('-') || label.ends_with('-') {
        return Err(NameError::Hyphen { number });
    }
    match label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        true => Ok(()),
        false => Err(NameError::Character { number }),
    }
}

impl fmt::Display for DomainName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The private endpoint through which a cluster reaches Azure, and the domains that it serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gateway {
    pub address: Ipv4Addr,
    pub domains: Vec<DomainName>,
}

impl Gateway {
    /// The domains in their order, each once.
    pub(crate) fn distinct_domains(&self) -> Vec<&DomainName> {
        let mut known = BTreeSet::new();
        self.domains.iter().filter(|domain| known.insert(*domain)).collect()
    }
}

/// The names that a machine must resolve without any DNS server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeNames {
    /// The domain of the cluster.
    pub domain: DomainName,
    /// The internal address of the API server.
    pub api_int: Ipv4Addr,
    /// The address of the default ingress.
    pub ingress: Ipv4Addr,
    /// `None`: the cluster has no private endpoint to the gateway.
    pub gateway: Option<Gateway>,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_checked_by_the_grammar() {
        assert_eq!(DomainName::parse("Api.Example.com").unwrap().as_str(), "api.example.com");
        let long = format!("{}.com", "a".repeat(64));
        let longer = "a.".repeat(127) + "a";
        for (text, error) in [
            ("", NameError::Empty),
            (longer.as_str(), NameError::TooLong),
            (".example.com", NameError::LabelLength { number: 1 }),
            ("example.com.", NameError::LabelLength { number: 3 }),
            (long.as_str(), NameError::LabelLength { number: 1 }),
            ("a.-b.c", NameError::Hyphen { number: 2 }),
            ("a.b-", NameError::Hyphen { number: 2 }),
            ("a_b.c", NameError::Character { number: 1 }),
            ("a\nserver=/#/1.2.3.4", NameError::Character { number: 1 }),
            ("a/b", NameError::Character { number: 1 }),
            ("bücher.example", NameError::Character { number: 1 }),
            ("10.0.0.1", NameError::Address),
        ] {
            assert_eq!(DomainName::parse(text), Err(error), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn no_name_has_a_character_with_a_meaning(text in any::<String>()) {
            if let Ok(name) = DomainName::parse(&text) {
                let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'-');
                prop_assert!(name.as_str().bytes().all(plain));
                prop_assert!(!name.as_str().contains(".."));
            }
        }

        #[test]
        fn names_by_the_grammar_are_read(text in "[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?(\\.[a-z]([a-z0-9-]{0,20}[a-z0-9])?){1,4}") {
            prop_assert_eq!(DomainName::parse(&text).map(|name| name.to_string()), Ok(text));
        }
    }
}
