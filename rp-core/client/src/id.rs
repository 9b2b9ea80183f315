//! The name of a cluster.

use std::fmt;
use std::str::FromStr;

use crate::error::ClientError;

/// The parts of a cluster's resource id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterId {
    pub subscription: String,
    pub group: String,
    pub name: String,
}

impl ClusterId {
    /// A cluster of that name.
    pub fn new(subscription: &str, group: &str, name: &str) -> Self {
        Self { subscription: subscription.to_owned(), group: group.to_owned(), name: name.to_owned() }
    }

    /// The resource id, which is its path.
    pub fn path(&self) -> String {
        let Self { subscription, group, name } = self;
        format!(
            "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.RedHatOpenShift/openShiftClusters/{name}"
        )
    }
}

impl fmt::Display for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path())
    }
}

impl FromStr for ClusterId {
    type Err = ClientError;

    /// Reads a resource id; names of its parts match in any case.
    fn from_str(text: &str) -> Result<Self, ClientError> {
        const NAMES: [&str; 5] = [
            "subscriptions",
            "resourcegroups",
            "providers",
            "microsoft.redhatopenshift",
            "openshiftclusters",
        ];
        let parts: Vec<&str> = text.trim_matches('/').split('/').collect();
        match parts.as_slice() {
            [a, subscription, b, group, c, d, e, name]
                if [a, b, c, d, e].iter().zip(NAMES).all(|(part, name)| part.eq_ignore_ascii_case(name)) =>
            {
                Ok(Self::new(subscription, group, name))
            }
            _ => Err(ClientError::Request(format!("{text} is no cluster's resource id"))),
        }
    }
}
