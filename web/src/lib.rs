//! Pages of the portal: typed page structs with their templates, and the assets. A sample for each state that a page can
//! be in is in `web-samples`. Knows nothing of HTTP, stores or clocks: what a template takes is a plain value, an instant
//! seconds since 1970 UTC. Rows of `rp-rows` have instants of type `Timestamp`; the code here
//! makes seconds of them.
//!
//! A page is a struct that implements [`View`]: `page.render(PageFragment::of(…))` gives the whole document or
//! the inside of the element that a fragment request asks for.

mod access_dialog;
mod alerts;
pub mod assets;
mod audit;
mod cluster;
mod clusters;
mod code;
mod columns;
mod component_filters;
mod components;
mod confirm;
mod consent;
mod durations;
mod elevate;
mod elevations;
mod events;
mod explore;
mod filters;
mod fleet;
mod fleet_lists;
mod frame;
mod gallery_page;
mod grant;
mod grant_state;
mod grants;
mod imported;
mod jump;
mod keys;
mod kubeconfig;
mod list_query;
mod live;
mod log_level;
mod logs;
mod maintenance;
mod metrics;
mod network;
mod notifications;
pub mod objects;
mod panel;
mod parts;
mod query;
mod reason;
mod recordings;
mod report;
mod resources;
mod robots;
mod serial;
mod solo;
mod ssh;
mod state;
mod states_page;
mod statistics;
pub mod statuses;
pub mod table;
mod tabs;
mod terminal;
pub mod text;
mod tunnel;
mod view;
pub mod when;
mod workloads;

pub use access_dialog::{
    AccessDialog, AccessDialogKind, AccessErrors, AccessForm, AccessGiven, AccessQuestion, LEAST_REASON,
};
pub use alerts::{AlertGroup, AlertRow, AlertSilence, Alerts, AlertsPage, AlertsState};
pub use audit::{AuditPage, AuditQuery, AuditResult, AuditRow, Chain};
pub use cluster::{
    AccessDecision, Cluster, ClusterPage, Field, ImportedFrom, ItemHead, Section, TableFilter, Verdict,
};
pub use clusters::{
    BrokenCluster, ClusterRow, ClustersPage, Facets, MeterSegment, SavedLink, Summary, SummaryLine,
    VersionCount,
};
pub use code::{DiffRow, Node, Span, ansi};
pub use columns::Column;
pub use components::{Condition, EmptyState, LastLook, Meter, MissingPart, Skeleton, Slot};
pub use confirm::{ConfirmChoices, ConfirmField, ConfirmPage};
pub use consent::{ConsentPage, DevicePage};
pub use elevate::{ElevateChoice, ElevateErrors, ElevateForm, ElevatePage};
pub use elevations::{ElevationMethod, ElevationRow, ElevationState, ElevationsPage};
pub use events::{EventLine, EventQuery, EventsPage};
pub use explore::{
    ExplorePage, ExploreQuery, MOST_QUERIES, QueryResult, RANGES, ResultRow, ResultTable, explore_href,
    sparkline,
};
pub use fleet::{AGGREGATES, FleetFault, FleetOutcome, FleetPage, FleetRow, FleetTable};
pub use fleet_lists::{
    FleetAlertRow, FleetAlertsPage, FleetOperationRow, FleetOperations, FleetOperationsPage,
};
pub use frame::{CSRF_FIELD, Elevation, Frame, NavItem, Person, banner};
pub use gallery_page::GalleryPage;
pub use grant::{GrantPage, StreamRow};
pub use grant_state::{GrantEnd, GrantState};
pub use grants::{AccessPage, GrantKind, GrantQuery, GrantRow, GrantView};
pub use imported::{ImportErrors, ImportForm, ImportedPage, ImportedRow};
pub use jump::{JumpGroup, JumpItem, JumpPage};
pub use keys::{KEYS, KeysPage};
pub use kubeconfig::{KubeconfigChoices, RightsChoice};
pub use list_query::{ListQuery, ListView, filter_words};
pub use live::{LiveBar, LiveState};
pub use log_level::{LogLevel, levels};
pub(crate) use logs::LEVELS;
pub use logs::{LogLine, LogPage, LogQuery, SINCES, TAILS};
pub use maintenance::{MaintenancePage, ManifestList};
pub use metrics::MetricsToken;
pub use network::{IngressRow, LastDial, NetworkObject, NetworkPage};
pub use notifications::{DestinationPart, NotificationProgress, NotificationRow, NotificationsPage};
pub use panel::{Block, DisplayTime, Item, LANES, Lane, Line, Pair, Panel, Value};
pub use parts::{Badge, Failure, Link, Notice, Rights, Side, State, Step, StepState, Tone};
pub use query::Query;
pub use reason::ReasonPage;
pub use recordings::{RecordingPage, RecordingRow, RecordingState, RecordingsPage, RecordingsQuery};
pub use report::{ReportAction, ReportElevation, ReportGrant, ReportPage, ReportPerson, ReportQuery};
pub use resources::{
    KindGroup, KindQuery, KindRow, LiveElement, ObjectBody, ObjectDescription, ObjectHead, ObjectPage,
    ObjectQuery, ObjectRevision, ObjectRow, ObjectView, ObjectsPage, ResourcesPage,
};
pub use robots::{NewToken, RobotErrors, RobotForm, RobotRow, RobotState, RobotsPage};
pub use serial::{SERIAL_LINES, SERIAL_USUAL, SerialPage, SerialQuery};
pub use solo::{FailureFragment, Group, SoloPage};
pub use ssh::{HostKeyRow, HostKeysPage, RefusedKeyRow, SshChoices, SshCredentials, SshMachineRow};
pub use states_page::StatesPage;
pub use statistics::{STATISTIC_RANGES, StatisticChart, StatisticGroup, StatisticsPage};
pub use table::{Cell, Table, TableQuery};
pub use tabs::{Tab, TabCount};
pub(crate) use terminal::terminal_notes;
pub use terminal::{
    TerminalAccess, TerminalChoice, TerminalMachine, TerminalOpen, TerminalPage, TerminalPod, TerminalQuery,
};
pub use tunnel::{TunnelChoices, TunnelCommands};
pub use view::{DocumentOptions, PageFragment, View};
pub use workloads::{
    ContainerRow, POD_RESTARTS, POD_STATES, Pod, PodPage, PodQuery, PodRow, PodsPage, WORKLOAD_KINDS,
    WorkloadPage, WorkloadQuery, WorkloadRow, WorkloadsPage, of_count,
};
