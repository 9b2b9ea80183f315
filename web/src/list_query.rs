//! The query of the cluster list, as it stands in the URL.

use serde::Deserialize;

use crate::query::{Query, page_number, switch};

/// The query of the list. All fields come from the URL; unknown values mean "not asked".
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ListQuery {
    /// Free text.
    pub q: String,
    /// Saved view.
    pub view: ListView,
    /// Provisioning state, lower case, e.g. `failed`.
    pub state: String,
    /// Version or its beginning, e.g. `4.18`; `<4.17` means older.
    pub version: String,
    /// `aro` or `imported`.
    pub source: String,
    /// Subscription id.
    pub subscription: String,
    /// Resource group.
    pub group: String,
    /// Visibility of the API, `public` or `private`.
    pub api: String,
    /// Order.
    pub sort: Sort,
    /// Turned round from the order's own direction.
    #[serde(deserialize_with = "switch")]
    pub reverse: bool,
    /// Counted from 1.
    #[serde(deserialize_with = "page_number")]
    pub page: u64,
}

/// Saved views that everybody has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ListView {
    /// Failed, degraded, no answer, cancelled.
    NotHealthy,
    /// Creating, updating, deleting, admin update.
    InProgress,
    /// Failed.
    Failed,
    /// Imported.
    Imported,
    /// Everything.
    #[default]
    #[serde(other)]
    All,
}

impl ListView {
    /// All of them, in the order of the tabs.
    pub const EVERY: [Self; 5] =
        [Self::All, Self::NotHealthy, Self::InProgress, Self::Failed, Self::Imported];

    /// The value in the URL; empty for [`ListView::All`].
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::All => "",
            Self::NotHealthy => "not-healthy",
            Self::InProgress => "in-progress",
            Self::Failed => "failed",
            Self::Imported => "imported",
        }
    }

    /// Its words.
    #[must_use]
    pub fn words(&self) -> &'static str {
        match self {
            Self::All => "All",
            Self::NotHealthy => "Not healthy",
            Self::InProgress => "In progress",
            Self::Failed => "Failed",
            Self::Imported => "Imported",
        }
    }
}

/// Orders of the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sort {
    /// Name, from A.
    Name,
    /// Version, newest first.
    Version,
    /// Creation, newest first.
    Created,
    /// Last change, newest first.
    Modified,
    /// Source, ours first.
    Source,
    /// Worst state first, longest first within it.
    #[default]
    #[serde(other)]
    State,
}

impl Sort {
    /// The value in the URL; empty for [`Sort::State`].
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::State => "",
            Self::Name => "name",
            Self::Version => "version",
            Self::Created => "created",
            Self::Modified => "modified",
            Self::Source => "source",
        }
    }

    /// Whether its own direction is from the small to the large.
    fn ascends(self) -> bool {
        matches!(self, Self::Name | Self::Source)
    }
}

impl ListQuery {
    /// The page asked for, from 1.
    #[must_use]
    pub fn page(&self) -> u64 {
        self.page.max(1)
    }

    /// The path with this query.
    #[must_use]
    pub fn href(&self) -> String {
        let mut url = Query::new("/");
        url.add("q", &self.q);
        url.add("view", self.view.name());
        for (field, value) in self.fields() {
            url.add(field, value);
        }
        url.add("sort", self.sort.name());
        url.add("reverse", if self.reverse { "true" } else { "" });
        url.add("page", &if self.page() > 1 { self.page().to_string() } else { String::new() });
        url.done()
    }

    /// Field name, value of the filters.
    #[must_use]
    pub fn fields(&self) -> [(&'static str, &str); 6] {
        [
            ("state", self.state.as_str()),
            ("version", self.version.as_str()),
            ("source", self.source.as_str()),
            ("subscription", self.subscription.as_str()),
            ("group", self.group.as_str()),
            ("api", self.api.as_str()),
        ]
    }

    /// The filters that are set: field, value, and where the list is without it.
    #[must_use]
    pub fn chips(&self) -> Vec<(&'static str, String, String)> {
        let set = self.fields().into_iter().filter(|(_, value)| !value.is_empty());
        set.map(|(field, value)| (field, value.to_owned(), self.without(field).href())).collect()
    }

    /// Whether anything narrows the list.
    #[must_use]
    pub fn narrows(&self) -> bool {
        !self.q.is_empty() || self.view != ListView::All || self.fields().iter().any(|(_, v)| !v.is_empty())
    }

    /// The same without one filter.
    #[must_use]
    pub fn without(&self, field: &str) -> Self {
        let mut other = Self { page: 1, ..self.clone() };
        match field {
            "state" => other.state.clear(),
            "version" => other.version.clear(),
            "source" => other.source.clear(),
            "subscription" => other.subscription.clear(),
            "group" => other.group.clear(),
            "api" => other.api.clear(),
            _ => {}
        }
        other
    }

    /// The same in another order; the current order turned round.
    #[must_use]
    pub fn sorted(&self, sort: &Sort) -> Self {
        let reverse = self.sort == *sort && !self.reverse;
        Self { sort: *sort, reverse, page: 1, ..self.clone() }
    }

    /// Another page of the same.
    #[must_use]
    pub fn at_page(&self, page: u64) -> Self {
        Self { page, ..self.clone() }
    }

    /// Another view, without filters, in the same order.
    #[must_use]
    pub fn in_view(&self, view: &ListView) -> Self {
        Self { view: *view, sort: self.sort, reverse: self.reverse, ..Self::default() }
    }

    /// Value of `aria-sort` for a head; empty where the list is not sorted by it.
    #[must_use]
    pub fn aria_sort(&self, sort: &Sort) -> &'static str {
        match (self.sort == *sort, sort.ascends() != self.reverse) {
            (false, _) => "",
            (true, true) => "ascending",
            (true, false) => "descending",
        }
    }
}
