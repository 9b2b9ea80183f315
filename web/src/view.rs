//! A page, or the part of it that a fragment request asks for.

use askama::Template;

use crate::filters;
use crate::frame::Frame;
use crate::keys::KeysDialog;
use crate::text::VisibleEscaper;
use crate::{
    AccessDialog, AccessPage, AlertsPage, AuditPage, ClusterPage, ClustersPage, ConfirmPage, ConsentPage,
    DevicePage, ElevatePage, ElevationsPage, ExplorePage, FailureFragment, FleetPage, GrantPage,
    ImportedPage, KeysPage, ReportPage, RobotsPage, SoloPage, StatisticsPage,
};

/// The part of a page that is rendered. One template makes all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PageFragment {
    /// The whole document.
    #[default]
    Page,
    /// The inside of `#main`.
    Main,
    /// The inside of `#list`.
    List,
    /// The inside of `#dialog`.
    Dialog,
}

impl PageFragment {
    /// From the headers of htmx: `HX-Request`, `HX-Target` and `HX-History-Restore-Request`. A
    /// restore and an unknown target get the whole page.
    #[must_use]
    pub fn from_htmx(htmx: bool, target: Option<&str>, history_restore: bool) -> Self {
        if !htmx || history_restore {
            return Self::Page;
        }
        match target {
            Some("main") => Self::Main,
            Some("list") => Self::List,
            Some("dialog") => Self::Dialog,
            _ => Self::Page,
        }
    }
}

/// What every page can do.
pub trait View {
    /// Its frame.
    fn frame(&self) -> &Frame;

    /// The thing it shows, first part of the document's title.
    fn title(&self) -> String;

    /// What it changes in the document around its own part.
    fn options(&self) -> DocumentOptions {
        DocumentOptions::default()
    }

    /// HTML of the part. A page without such a part gives its nearest: a list without `#list` its
    /// `#main`, a page that is not a dialog its whole document.
    ///
    /// # Errors
    /// Only when formatting fails, which a `String` never does.
    fn render(&self, part: PageFragment) -> askama::Result<String>;
}

/// What a page changes in the document around its own part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentOptions {
    /// Names of style sheets beside those of every page.
    pub styles: Vec<&'static str>,
    /// Names of scripts beside those of every page.
    pub scripts: Vec<&'static str>,
    /// The page has a search of its own: none in the head.
    pub own_search: bool,
}

/// The document around a page. It is a template of its own: as the parent of every page's template it would be
/// compiled once for each.
#[derive(Template)]
#[template(path = "base.html")]
struct Document<'a> {
    frame: &'a Frame,
    title: String,
    options: DocumentOptions,
    /// HTML inside of `#main`.
    main: &'a str,
    /// HTML of the dialog that is open over it.
    dialog: Option<&'a str>,
}

fn document<V: View>(page: &V, main: &str, dialog: Option<&str>) -> askama::Result<String> {
    Document { frame: page.frame(), title: page.title(), options: page.options(), main, dialog }.render()
}

/// The inside of `#main` with the document's title, which htmx takes over.
fn with_title(title: &str, frame: &Frame, main: &str) -> askama::Result<String> {
    use askama::filters::Escaper as _;
    let mut out = String::with_capacity(main.len() + 100);
    out.push_str("<title>");
    out.push_str(&frame.waiting_lead());
    VisibleEscaper.write_escaped_str(&mut out, title)?;
    out.push_str(" · ");
    VisibleEscaper.write_escaped_str(&mut out, &frame.region)?;
    out.push_str(" · aro</title>");
    out.push_str(main);
    Ok(out)
}

/// Implements [`View`] for a page inside the frame: what it has for `#list` and `#dialog`.
macro_rules! view {
    (
        $page:ty, |$this:ident| $title:expr, list: $list:expr, dialog: $dialog:expr
        $(, options: |$with_options:ident| $options:expr)?
    ) => {
        impl View for $page {
            fn frame(&self) -> &Frame {
                &self.frame
            }

            fn title(&self) -> String {
                let $this = self;
                $title
            }

            $(fn options(&self) -> DocumentOptions {
                let $with_options = self;
                $options
            })?

            fn render(&self, part: PageFragment) -> askama::Result<String> {
                let whole = || document(self, &Template::render(self)?, None);
                let main = || with_title(&self.title(), &self.frame, &Template::render(self)?);
                let list: fn(&Self) -> Option<askama::Result<String>> = $list;
                let dialog: fn(&Self) -> Option<askama::Result<String>> = $dialog;
                match part {
                    PageFragment::Page => whole(),
                    PageFragment::Main => main(),
                    PageFragment::List => list(self).unwrap_or_else(main),
                    PageFragment::Dialog => dialog(self).unwrap_or_else(whole),
                }
            }
        }
    };
}

/// Implements [`View`] for a page that is a dialog over a short `#main`.
macro_rules! dialog_view {
    ($page:ty, |$this:ident| $title:expr) => {
        impl View for $page {
            fn frame(&self) -> &Frame {
                &self.frame
            }

            fn title(&self) -> String {
                let $this = self;
                $title
            }

            fn render(&self, part: PageFragment) -> askama::Result<String> {
                match part {
                    PageFragment::Page => {
                        document(self, &self.as_main().render()?, Some(&Template::render(self)?))
                    }
                    PageFragment::Main | PageFragment::List => {
                        with_title(&self.title(), &self.frame, &self.as_main().render()?)
                    }
                    PageFragment::Dialog => Template::render(self),
                }
            }
        }
    };
}

/// With these styles, and, if it shows what they are for, with this script.
fn with_assets(styles: &[&'static str], script: Option<&'static str>) -> DocumentOptions {
    DocumentOptions { styles: styles.to_vec(), scripts: Vec::from_iter(script), own_search: false }
}

fn own_search() -> DocumentOptions {
    DocumentOptions { own_search: true, ..DocumentOptions::default() }
}

view!(
    ClustersPage,
    |_p| "Clusters".into(),
    list: |p| Some(p.as_list().render()),
    dialog: |_| None,
    options: |_p| own_search()
);
view!(ClusterPage, |p| p.name(), list: |p| Some(p.as_list().render()), dialog: |_| None);
view!(AccessPage, |p| p.heading().into(), list: |p| Some(p.as_list().render()), dialog: |_| None);
view!(AuditPage, |_p| "Audit".into(), list: |p| Some(p.as_list().render()), dialog: |_| None);
view!(ImportedPage, |_p| "Imported clusters".into(), list: |p| Some(p.as_list().render()), dialog: |_| None);
view!(
    GrantPage,
    |p| format!("{}, {}", p.grant.kind.words(), p.grant.place()),
    list: |p| Some(p.as_list().render()),
    dialog: |_| None
);
view!(
    ElevatePage,
    |p| if p.form.breaks_glass() { "Break-glass".into() } else { "Elevate".into() },
    list: |_| None,
    dialog: |_| None
);
view!(ElevationsPage, |_p| "Elevations".into(), list: |p| Some(p.as_list().render()), dialog: |_| None);
view!(crate::NotificationsPage, |_p| "Notifications".into(), list: |p| Some(p.as_list().render()), dialog: |_| None);
view!(RobotsPage, |_p| "Robots".into(), list: |p| Some(p.as_list().render()), dialog: |_| None);
view!(ReportPage, |p| format!("Access report, {}", p.cluster), list: |_| None, dialog: |_| None);
dialog_view!(ConfirmPage, |p| p.title.clone());
view!(KeysPage, |_p| "Keys".into(), list: |_| None, dialog: |_| Some(KeysDialog.render()));
dialog_view!(AccessDialog, |p| format!("{} {}", p.words().title, p.cluster));

/// A page without the frame has no parts.
macro_rules! whole {
    ($page:ty, $title:expr) => {
        impl View for $page {
            fn frame(&self) -> &Frame {
                &self.frame
            }

            fn title(&self) -> String {
                $title.into()
            }

            fn render(&self, _: PageFragment) -> askama::Result<String> {
                Template::render(self)
            }
        }
    };
}

whole!(ConsentPage, "Let a program act as you");
whole!(DevicePage, "Enter the code of your program");

view!(
    ExplorePage,
    |p| format!("Explore, {}", p.cluster.name),
    list: |_| None,
    dialog: |_| None,
    options: |p| {
        let asks = p.failure.is_none() && p.may_ask.yes();
        with_assets(&["metrics.css"], asks.then_some("explore.js"))
    }
);
view!(
    StatisticsPage,
    |p| format!("Statistics, {}", p.cluster.name),
    list: |_| None,
    dialog: |_| None,
    options: |p| {
        let asks = p.failure.is_none() && p.may_ask.yes();
        with_assets(&["metrics.css"], asks.then_some("charts.js"))
    }
);
view!(
    AlertsPage,
    |p| format!("Alerts, {}", p.cluster.name),
    list: |p| Some(p.as_list().render()),
    dialog: |_| None,
    options: |_p| with_assets(&["metrics.css"], None)
);
view!(crate::JumpPage, |_p| "Jump".into(), list: |_| None, dialog: |_| None, options: |_p| own_search());
view!(crate::GalleryPage, |_p| "Gallery".into(), list: |_| None, dialog: |_| None);
view!(crate::StatesPage, |_p| "States".into(), list: |_| None, dialog: |_| None);
view!(
    FleetPage,
    |_p| "Fleet query".into(),
    list: |_| None,
    dialog: |_| None,
    options: |p| {
        let asks = p.failure.is_none() && p.may_ask.yes();
        with_assets(&["metrics.css"], asks.then_some("explore.js"))
    }
);
view!(
    crate::FleetAlertsPage,
    |_p| "Alerts".into(),
    list: |p| Some(p.as_list().render()),
    dialog: |_| None
);
view!(
    crate::FleetOperationsPage,
    |_p| "Operations".into(),
    list: |p| Some(p.as_list().render()),
    dialog: |_| None
);
view!(
    crate::MaintenancePage,
    |_p| "Maintenance".into(),
    list: |p| Some(p.as_list().render()),
    dialog: |_| None
);
view!(
    crate::HostKeysPage,
    |p| format!("Host keys of {}", p.cluster),
    list: |p| Some(p.as_list().render()),
    dialog: |_| None
);

macro_rules! of_cluster {
    ($($page:path, $words:literal, $list:expr;)*) => {$(
        view!($page, |p| format!($words, p.cluster.name), list: $list, dialog: |_| None);
    )*};
}

of_cluster! {
    crate::PodsPage, "Pods, {}", |p| Some(p.as_list().render());
    crate::WorkloadsPage, "Workloads, {}", |p| Some(p.as_list().render());
    crate::EventsPage, "Events, {}", |p| Some(p.as_list().render());
    crate::ResourcesPage, "Resources, {}", |p| Some(p.as_list().render());
    crate::NetworkPage, "Network, {}", |_| None;
    crate::ReasonPage, "Why, {}", |_| None;
}
view!(crate::PodPage, |p| format!("{}, {}", p.pod.row.name, p.cluster.name), list: |_| None, dialog: |_| None);
view!(crate::WorkloadPage, |p| format!("{}, {}", p.row.name, p.cluster.name), list: |_| None, dialog: |_| None);
view!(
    crate::TerminalPage,
    |p| {
        let chosen = if p.query.is_chosen() { format!("{}, ", p.words()) } else { String::new() };
        format!("{chosen}terminal, {}", p.cluster.name)
    },
    list: |_| None,
    dialog: |_| None,
    options: |p| {
        if p.is_open() { with_assets(&["terminal.css"], Some("terminal.js")) } else { DocumentOptions::default() }
    }
);
view!(
    crate::LogPage,
    |p| format!("Log of {}, {}", p.pod, p.cluster.name),
    list: |_| None,
    dialog: |_| None,
    options: |p| with_assets(&[], p.failure.is_none().then_some("log.js"))
);
view!(
    crate::SerialPage,
    |p| format!("Serial console of {}, {}", p.machine, p.cluster.name),
    list: |_| None,
    dialog: |_| None
);
view!(crate::RecordingsPage, |_p| "Recordings".into(), list: |p| Some(p.as_list().render()), dialog: |_| None);
view!(
    crate::RecordingPage,
    |p| format!("Recording of {}", p.row.place),
    list: |_| None,
    dialog: |_| None,
    options: |p| if p.failure.is_none() {
        with_assets(&["terminal.css", "player.css"], Some("player.js"))
    } else {
        DocumentOptions::default()
    }
);
view!(
    crate::ObjectsPage,
    |p| format!("{}, {}", p.kind.kind, p.cluster.name),
    list: |p| Some(p.as_list().render()),
    dialog: |_| None
);
view!(
    crate::ObjectPage,
    |p| format!("{}, {}, {}", p.object.name, p.object.kind, p.cluster.name),
    list: |_| None,
    dialog: |_| None
);

impl View for SoloPage {
    fn frame(&self) -> &Frame {
        &self.frame
    }

    fn title(&self) -> String {
        self.head.clone()
    }

    /// A fragment gets the failure alone: the page around it stays.
    fn render(&self, part: PageFragment) -> askama::Result<String> {
        match part {
            PageFragment::Page => Template::render(self),
            PageFragment::Main | PageFragment::List | PageFragment::Dialog => {
                FailureFragment { failure: self.as_failure() }.render()
            }
        }
    }
}
