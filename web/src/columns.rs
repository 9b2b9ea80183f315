//! Columns of the cluster list: what they are called, how they sort, how much room they need.

use serde::Deserialize;

/// A column. Each is an order too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Column {
    /// Name, from A. Always the first column.
    Name,
    /// What is wrong.
    Wrong,
    /// Version, newest first.
    Version,
    /// Creation, newest first.
    Created,
    /// Last change of the document, newest first.
    Modified,
    /// Source, ours first.
    Source,
    /// Last look, longest ago first.
    Looked,
    /// Azure region.
    Region,
    /// Resource group.
    Group,
    /// Subscription.
    Subscription,
    /// Degraded operators, most first.
    Operators,
    /// Nodes that are not ready, most first.
    Nodes,
    /// Firing alerts, most first.
    Alerts,
    /// End of the certificate, soonest first.
    Certificate,
    /// Age in its state, longest first.
    Age,
    /// Parts of the last look that failed, most first.
    Collectors,
    /// Visibility of the API.
    Api,
    /// Architecture version, newest first.
    Architecture,
    /// Maintenance.
    Maintenance,
    /// Phase of an installation.
    Phase,
    /// Infrastructure id.
    Infra,
    /// Commit of the service that provisioned it.
    Provisioned,
    /// Worst state first, longest first within it.
    #[default]
    #[serde(other)]
    State,
}

impl Column {
    /// Every column that can be chosen, in the order of the table.
    pub const EVERY: [Self; 22] = [
        Self::State,
        Self::Wrong,
        Self::Version,
        Self::Age,
        Self::Phase,
        Self::Operators,
        Self::Nodes,
        Self::Alerts,
        Self::Certificate,
        Self::Looked,
        Self::Collectors,
        Self::Created,
        Self::Modified,
        Self::Region,
        Self::Group,
        Self::Subscription,
        Self::Api,
        Self::Architecture,
        Self::Maintenance,
        Self::Infra,
        Self::Provisioned,
        Self::Source,
    ];
    /// The columns shown by default.
    pub const USUAL: [Self; 6] =
        [Self::State, Self::Wrong, Self::Version, Self::Looked, Self::Modified, Self::Source];

    /// The value in the URL.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::State => "state",
            Self::Wrong => "wrong",
            Self::Version => "version",
            Self::Created => "created",
            Self::Modified => "modified",
            Self::Source => "source",
            Self::Looked => "looked",
            Self::Region => "region",
            Self::Group => "group",
            Self::Subscription => "subscription",
            Self::Operators => "operators",
            Self::Nodes => "nodes",
            Self::Alerts => "alerts",
            Self::Certificate => "certificate",
            Self::Age => "age",
            Self::Collectors => "collectors",
            Self::Api => "api",
            Self::Architecture => "architecture",
            Self::Maintenance => "maintenance",
            Self::Phase => "phase",
            Self::Infra => "infra",
            Self::Provisioned => "provisioned",
        }
    }

    /// Its head.
    #[must_use]
    pub fn words(&self) -> &'static str {
        match self {
            Self::Name => "Cluster",
            Self::State => "State",
            Self::Wrong => "What is wrong",
            Self::Version => "Version",
            Self::Created => "Created",
            Self::Modified => "Changed",
            Self::Source => "Source",
            Self::Looked => "Last look",
            Self::Region => "Region",
            Self::Group => "Resource group",
            Self::Subscription => "Subscription",
            Self::Operators => "Operators degraded",
            Self::Nodes => "Nodes ready",
            Self::Alerts => "Alerts",
            Self::Certificate => "Certificate ends",
            Self::Age => "In its state",
            Self::Collectors => "Failed in the look",
            Self::Api => "API",
            Self::Architecture => "Architecture",
            Self::Maintenance => "Maintenance",
            Self::Phase => "Install phase",
            Self::Infra => "Infra ID",
            Self::Provisioned => "Provisioned by",
        }
    }

    /// Its classes: numbers at the end, and what gives way where there is little room.
    #[must_use]
    pub fn class(&self) -> &'static str {
        match self {
            Self::Wrong => "wide",
            Self::Created | Self::Modified => "num p3",
            Self::Looked
            | Self::Age
            | Self::Certificate
            | Self::Nodes
            | Self::Alerts
            | Self::Architecture => "num p2",
            Self::Source | Self::Infra | Self::Provisioned | Self::Subscription => "p3",
            Self::Name | Self::State | Self::Version => "",
            _ => "p2",
        }
    }

    /// Whether its own direction is from the small to the large.
    #[must_use]
    pub fn ascends(&self) -> bool {
        !matches!(
            self,
            Self::State
                | Self::Version
                | Self::Created
                | Self::Modified
                | Self::Operators
                | Self::Nodes
                | Self::Alerts
                | Self::Age
                | Self::Collectors
                | Self::Architecture
        )
    }

    /// From a list with commas between the names, in the order of the table; unknown names are passed over, none is
    /// [`Self::USUAL`].
    #[must_use]
    pub fn read(text: &str) -> Vec<Self> {
        let wanted: Vec<&str> = text.split(',').map(str::trim).take(64).collect();
        let chosen: Vec<Self> =
            Self::EVERY.into_iter().filter(|column| wanted.contains(&column.name())).collect();
        if chosen.is_empty() { Self::USUAL.to_vec() } else { chosen }
    }

    /// As [`Self::read`] takes it.
    #[must_use]
    pub fn write(columns: &[Self]) -> String {
        columns.iter().map(|column| column.name()).collect::<Vec<_>>().join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_survive_a_round_trip() {
        assert_eq!(Column::read("looked, state,<b>,state"), [Column::State, Column::Looked]);
        assert_eq!(Column::read(""), Column::USUAL);
        assert_eq!(Column::read(&Column::write(&Column::EVERY)), Column::EVERY);
    }
}
