//! Columns of the cluster list, each declared once: what it is called, how it sorts, how much room it needs. Its sort key is
//! in `portal-model`, its cell in `templates/parts/cluster_cell.html`.

use schemars::JsonSchema;
use serde::Deserialize;

/// A column. Each is an order too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ClusterColumn")]
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
    /// Last check, longest ago first.
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

/// What a column is called, and how it stands in the table.
struct Declared {
    /// The value in the URL: the variant in lower case.
    name: &'static str,
    /// The head.
    words: &'static str,
    /// The classes of its cells.
    class: &'static str,
    /// Its own direction is from the small to the large.
    ascends: bool,
}

impl Declared {
    const fn new(name: &'static str, words: &'static str, class: &'static str) -> Self {
        Self { name, words, class, ascends: true }
    }

    const fn descends(self) -> Self {
        Self { ascends: false, ..self }
    }
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

    /// What is declared of it.
    const fn declared(self) -> Declared {
        match self {
            Self::Name => Declared::new("name", "Cluster", ""),
            Self::State => Declared::new("state", "State", "").descends(),
            Self::Wrong => Declared::new("wrong", "What is wrong", "wide"),
            Self::Version => Declared::new("version", "Version", "").descends(),
            Self::Age => Declared::new("age", "In its state", "num p2").descends(),
            Self::Phase => Declared::new("phase", "Install phase", "p2"),
            Self::Operators => Declared::new("operators", "Operators degraded", "p2").descends(),
            Self::Nodes => Declared::new("nodes", "Nodes ready", "num p2").descends(),
            Self::Alerts => Declared::new("alerts", "Alerts", "num p2").descends(),
            Self::Certificate => Declared::new("certificate", "Certificate ends", "num p2"),
            Self::Looked => Declared::new("looked", "Last checked", "num p2"),
            Self::Collectors => Declared::new("collectors", "Failed in the look", "p2").descends(),
            Self::Created => Declared::new("created", "Created", "num p3").descends(),
            Self::Modified => Declared::new("modified", "Changed", "num p3").descends(),
            Self::Region => Declared::new("region", "Region", "p2"),
            Self::Group => Declared::new("group", "Resource group", "p2"),
            Self::Subscription => Declared::new("subscription", "Subscription", "p3"),
            Self::Api => Declared::new("api", "API", "p2"),
            Self::Architecture => Declared::new("architecture", "Architecture", "num p2").descends(),
            Self::Maintenance => Declared::new("maintenance", "Maintenance", "p2"),
            Self::Infra => Declared::new("infra", "Infra ID", "p3"),
            Self::Provisioned => Declared::new("provisioned", "Provisioned by", "p3"),
            Self::Source => Declared::new("source", "Source", "p3"),
        }
    }

    /// The value in the URL.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.declared().name
    }

    /// Its head.
    #[must_use]
    pub fn words(&self) -> &'static str {
        self.declared().words
    }

    /// Its classes: numbers at the end, and what gives way where there is little room.
    #[must_use]
    pub fn class(&self) -> &'static str {
        self.declared().class
    }

    /// Whether its own direction is from the small to the large.
    #[must_use]
    pub fn ascends(&self) -> bool {
        self.declared().ascends
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
