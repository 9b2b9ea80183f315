//! The query of the cluster list, as it is in the URL.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::columns::Column;
use crate::query::{Query, switch};

/// The query of the list. All fields come from the URL; an unknown view or order means "not asked". What a filter's
/// text means, and whether it is valid, is decided by the code that applies it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ListQuery {
    /// Free text.
    pub q: String,
    /// View that everybody has.
    pub view: ListView,
    /// States, lower case, with commas between them, e.g. `failed,degraded`.
    pub state: String,
    /// Version or its beginning, e.g. `4.18`; `<4.17` means older, `4.14..4.16` a range with both ends.
    pub version: String,
    /// `aro` or `imported`.
    pub source: String,
    /// Subscription id.
    pub subscription: String,
    /// Resource group.
    pub group: String,
    /// Visibility of the API, `public` or `private`.
    pub api: String,
    /// Azure region.
    pub region: String,
    /// Phase of an installation that goes on.
    pub phase: String,
    /// A degraded operator; `any`.
    pub operator: String,
    /// A firing alert; `any`.
    pub alert: String,
    /// Days until a certificate ends.
    pub expires: String,
    /// In its state for at least so long: `30m`, `12h`, `7d`.
    pub age: String,
    /// A part of the last look that failed; `any`.
    pub collector: String,
    /// Not looked at for so many minutes.
    pub unseen: String,
    /// Names or resource ids with commas between them: these only.
    pub names: String,
    /// Order.
    pub sort: Column,
    /// Turned round from the order's own direction.
    #[serde(deserialize_with = "switch")]
    pub reverse: bool,
    /// The rows after this place; an answer gives it.
    #[schemars(skip)]
    pub after: String,
    /// The rows before this place; an answer gives it.
    #[schemars(skip)]
    pub before: String,
    /// Columns with commas between them; empty: those that are remembered.
    #[schemars(skip)]
    pub columns: String,
}

/// Views that everybody has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ListView {
    /// What somebody should look at: not healthy, a certificate near its end, not checked.
    Attention,
    /// Failed, degraded, no answer, cancelled.
    NotHealthy,
    /// Creating, updating, deleting, admin update.
    InProgress,
    /// Failed.
    Failed,
    /// Well, but a certificate ends within 30 days.
    Certificates,
    /// Not checked for a quarter of an hour, or never.
    Unchecked,
    /// Checked lately and well, no certificate near its end.
    Healthy,
    /// Of no other part of the fleet, e.g. in maintenance.
    Other,
    /// Imported.
    Imported,
    /// Everything.
    #[default]
    #[serde(other)]
    All,
}

impl ListView {
    /// Those that are tabs, in their order.
    pub const TABS: [Self; 5] = [Self::All, Self::Attention, Self::InProgress, Self::Failed, Self::Imported];
    /// All of them.
    pub const EVERY: [Self; 10] = [
        Self::All,
        Self::Attention,
        Self::NotHealthy,
        Self::InProgress,
        Self::Failed,
        Self::Certificates,
        Self::Unchecked,
        Self::Healthy,
        Self::Other,
        Self::Imported,
    ];

    /// The value in the URL; empty for [`ListView::All`].
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::All => "",
            Self::Attention => "attention",
            Self::NotHealthy => "not-healthy",
            Self::InProgress => "in-progress",
            Self::Failed => "failed",
            Self::Certificates => "certificates",
            Self::Unchecked => "unchecked",
            Self::Healthy => "healthy",
            Self::Other => "other",
            Self::Imported => "imported",
        }
    }

    /// Its words.
    #[must_use]
    pub fn words(&self) -> &'static str {
        match self {
            Self::All => "All",
            Self::Attention => "Needs attention",
            Self::NotHealthy => "Not healthy",
            Self::InProgress => "In progress",
            Self::Failed => "Failed",
            Self::Certificates => "Certificate ends soon",
            Self::Unchecked => "Not checked",
            Self::Healthy => "Healthy",
            Self::Other => "Other",
            Self::Imported => "Imported",
        }
    }
}

impl ListQuery {
    /// The path with this query.
    #[must_use]
    pub fn href(&self) -> String {
        self.on("/")
    }

    /// Another path with this query.
    #[must_use]
    pub fn on(&self, path: &str) -> String {
        let mut url = Query::new(path);
        url.add("q", &self.q);
        url.add("view", self.view.name());
        for (field, value) in self.fields() {
            url.add(field, value);
        }
        url.add("sort", if self.sort == Column::default() { "" } else { self.sort.name() });
        url.add("reverse", if self.reverse { "true" } else { "" });
        url.add("after", &self.after);
        url.add("before", &self.before);
        url.add("columns", &self.columns);
        url.done()
    }

    /// Field name, value of the filters.
    #[must_use]
    pub fn fields(&self) -> [(&'static str, &str); 15] {
        [
            ("state", self.state.as_str()),
            ("version", self.version.as_str()),
            ("source", self.source.as_str()),
            ("subscription", self.subscription.as_str()),
            ("group", self.group.as_str()),
            ("api", self.api.as_str()),
            ("region", self.region.as_str()),
            ("phase", self.phase.as_str()),
            ("operator", self.operator.as_str()),
            ("alert", self.alert.as_str()),
            ("expires", self.expires.as_str()),
            ("age", self.age.as_str()),
            ("collector", self.collector.as_str()),
            ("unseen", self.unseen.as_str()),
            ("names", self.names.as_str()),
        ]
    }

    /// The filter of that name, to be written; none: there is no such filter.
    pub fn field_mut(&mut self, field: &str) -> Option<&mut String> {
        Some(match field {
            "state" => &mut self.state,
            "version" => &mut self.version,
            "source" => &mut self.source,
            "subscription" => &mut self.subscription,
            "group" => &mut self.group,
            "api" => &mut self.api,
            "region" => &mut self.region,
            "phase" => &mut self.phase,
            "operator" => &mut self.operator,
            "alert" => &mut self.alert,
            "expires" => &mut self.expires,
            "age" => &mut self.age,
            "collector" => &mut self.collector,
            "unseen" => &mut self.unseen,
            "names" => &mut self.names,
            _ => return None,
        })
    }

    /// The filters that are set: words, value, and where the list is without it.
    #[must_use]
    pub fn chips(&self) -> Vec<(&'static str, String, String)> {
        let set = self.fields().into_iter().filter(|(_, value)| !value.is_empty());
        set.map(|(field, value)| {
            let shown = match field {
                "names" => {
                    format!("{} chosen", value.split(',').filter(|one| !one.trim().is_empty()).count())
                }
                "expires" => format!("within {value} d"),
                "unseen" => format!("for {value} min"),
                "age" => format!("at least {value}"),
                _ => value.to_owned(),
            };
            (filter_words(field), shown, self.without(field).href())
        })
        .collect()
    }

    /// Whether anything narrows the list.
    #[must_use]
    pub fn narrows(&self) -> bool {
        !self.q.is_empty() || self.view != ListView::All || self.fields().iter().any(|(_, v)| !v.is_empty())
    }

    /// The same without one filter, from the start.
    #[must_use]
    pub fn without(&self, field: &str) -> Self {
        let mut other = self.start();
        if let Some(value) = other.field_mut(field) {
            value.clear();
        }
        other
    }

    /// The same with one filter, from the start.
    #[must_use]
    pub fn with(&self, field: &str, wanted: &str) -> Self {
        let mut other = self.start();
        if let Some(value) = other.field_mut(field) {
            wanted.clone_into(value);
        }
        other
    }

    /// The same from the first row on.
    #[must_use]
    pub fn start(&self) -> Self {
        Self { after: String::new(), before: String::new(), ..self.clone() }
    }

    /// The same in another order; the current order turned round.
    #[must_use]
    pub fn sorted(&self, sort: &Column) -> Self {
        let reverse = self.sort == *sort && !self.reverse;
        Self { sort: *sort, reverse, ..self.start() }
    }

    /// The rows after a place.
    #[must_use]
    pub fn after(&self, place: &str) -> Self {
        Self { after: place.to_owned(), ..self.start() }
    }

    /// The rows before a place.
    #[must_use]
    pub fn before(&self, place: &str) -> Self {
        Self { before: place.to_owned(), ..self.start() }
    }

    /// Another view, without filters, in the same order and columns.
    #[must_use]
    pub fn in_view(&self, view: &ListView) -> Self {
        let columns = self.columns.clone();
        Self { view: *view, sort: self.sort, reverse: self.reverse, columns, ..Self::default() }
    }

    /// Value of `aria-sort` for a head; empty where the list is not sorted by it.
    #[must_use]
    pub fn aria_sort(&self, sort: &Column) -> &'static str {
        match (self.sort == *sort, sort.ascends() != self.reverse) {
            (false, _) => "",
            (true, true) => "ascending",
            (true, false) => "descending",
        }
    }

    /// The same clusters in the language of the fleet query: words and `field:value`.
    #[must_use]
    pub fn expression(&self) -> String {
        let mut words: Vec<String> = self.q.split_whitespace().map(str::to_owned).collect();
        if self.view != ListView::All {
            words.push(format!("view:{}", self.view.name()));
        }
        // A value with blanks in it cannot be said there; states and operators have none.
        let said = |value: &str| !value.is_empty() && !value.contains(char::is_whitespace);
        let fields = self.fields().into_iter().filter(|(_, value)| said(value));
        words.extend(fields.map(|(field, value)| format!("{field}:{value}")));
        words.join(" ")
    }

    /// What is kept as a view: everything but the place, as the query of a URL without `?`.
    #[must_use]
    pub fn kept(&self) -> String {
        self.start().href().split_once('?').map(|(_, query)| query.to_owned()).unwrap_or_default()
    }
}

/// A filter in words.
#[must_use]
pub fn filter_words(field: &str) -> &'static str {
    match field {
        "state" => "state",
        "version" => "version",
        "source" => "source",
        "subscription" => "subscription",
        "group" => "group",
        "api" => "API",
        "region" => "region",
        "phase" => "install phase",
        "operator" => "degraded operator",
        "alert" => "firing alert",
        "expires" => "certificate ends",
        "age" => "in its state",
        "collector" => "failing collector",
        "unseen" => "not checked",
        "names" => "clusters",
        _ => "filter",
    }
}
