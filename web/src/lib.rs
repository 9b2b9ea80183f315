//! Pages of the portal: typed page structs with their templates, one sample for each state they can
//! be in, and the assets. Knows nothing of HTTP, stores or clocks: instants are seconds since 1970
//! UTC, and everything that is shown is a plain value of a struct here.
//!
//! A page is a struct that implements [`View`]: `page.render(Part::of(…))` gives the whole document or
//! the inside of the element that a fragment request asks for.

mod alerts;
mod ask;
pub mod assets;
mod audit;
mod cluster;
mod clusters;
mod consent;
mod elevate;
mod elevations;
mod explore;
mod filters;
mod fleet;
mod frame;
mod gallery;
mod grant;
mod grants;
mod imported;
mod keys;
mod kubeconfig;
mod list_query;
mod lives;
mod metrics;
mod parts;
mod query;
mod report;
mod robots;
mod samples;
mod solo;
mod state;
mod statistics;
pub mod statuses;
pub mod text;
mod view;
pub mod when;

pub use alerts::{AlertGroup, AlertRow, AlertSilence, Alerts, AlertsPage, AlertsState};
pub use ask::{AskChoices, AskField, AskPage};
pub use audit::{AuditPage, AuditQuery, AuditResult, AuditRow, Chain};
pub use cluster::{Cluster, ClusterPage, Field, ImportedFrom, May, Section, Tab, Verdict};
pub use clusters::{Broken, ClusterRow, ClustersPage, Piece, Summary, Tally, VersionCount};
pub use consent::{ConsentPage, DevicePage};
pub use elevate::{ElevateChoice, ElevateErrors, ElevateForm, ElevatePage};
pub use elevations::{ElevationRow, ElevationState, ElevationWay, ElevationsPage};
pub use explore::{
    ExplorePage, ExploreQuery, MOST_QUERIES, QueryResult, RANGES, ResultRow, ResultTable, explore_href,
    sparkline,
};
pub use fleet::{AGGREGATES, FleetFault, FleetOutcome, FleetPage, FleetRow, FleetTable};
pub use frame::{CSRF_FIELD, Elevation, Frame, Person, Place, banner};
pub use gallery::{GalleryItem, gallery};
pub use grant::{GrantPage, StreamRow};
pub use grants::{AccessPage, GrantKind, GrantQuery, GrantRow, GrantState, GrantView};
pub use imported::{ImportErrors, ImportForm, ImportedPage, ImportedRow};
pub use keys::{KEYS, KeysPage};
pub use kubeconfig::{KubeconfigErrors, KubeconfigForm, KubeconfigPage, LEAST_REASON, RightsChoice};
pub use list_query::{ListQuery, ListView, Sort};
pub use metrics::{MetricsGiven, MetricsPage};
pub use parts::{Badge, Failure, Link, Notice, Rights, Side, State, Step, StepState, Tone};
pub use query::Query;
pub use report::{ReportAction, ReportElevation, ReportGrant, ReportPage, ReportPerson, ReportQuery};
pub use robots::{NewToken, RobotErrors, RobotForm, RobotRow, RobotState, RobotsPage};
pub use solo::{FailureFragment, Group, SoloPage};
pub use statistics::{STATISTIC_RANGES, StatisticChart, StatisticGroup, StatisticsPage};
pub use view::{Part, Sample, View};
