//! Invented pages in every state, for the tests and for the gallery of `aro-dev`. Nothing that ships uses them.

mod access_dialog;
mod audit;
mod cluster;
mod clusters;
mod confirm;
mod consent;
mod elevate;
mod elevations;
mod fleet_lists;
mod gallery;
mod grant;
mod grants;
mod imported;
mod jump;
mod kubeconfig;
mod maintenance;
mod metrics;
mod notifications;
mod objects;
mod prometheus;
mod recordings;
mod report;
mod resources;
mod robots;
mod runs;
mod serial;
mod solo;
mod ssh;
mod states;
mod terminal;
mod tunnel;
mod workloads;

use web::{Elevation, Failure, Frame, KeysPage, Link, NavItem, Notice, Person, Rights, Side, Tone, View};

pub use gallery::{GalleryItem, PageVisitor, gallery, visit_pages};

/// One of each state a page can be in, for the tests and the gallery.
pub trait Sample: View + Sized {
    /// Name of the state and the page in it.
    fn samples() -> Vec<(&'static str, Self)>;
}

/// The clock of all samples: 2026-11-21 03:12:00 UTC.
const NOW: i64 = 1_795_230_720;
const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Markup, quotes, controls, a reversal of direction, zero width, and scripts of three kinds.
const HOSTILE: &str = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>\u{202e}gnp.exe\u{0}\u{7}\u{1b}[31m\u{200b}größe {{7*7}} ${x}";

/// Text that is far too long: 4,000 characters in one word.
fn endless() -> String {
    "lighthouse-payments-settlement-".repeat(129)
}

fn frame(place: NavItem) -> Frame {
    Frame {
        region: "westeurope".into(),
        now: NOW,
        person: Some(Person {
            name: "Juno Aaltonen".into(),
            account: "juno.aaltonen@example.com".into(),
            roles: vec!["sre".into(), "elevated".into(), "approver".into(), "auditor".into(), "admin".into()],
            may_take: true,
            may_audit: true,
            may_import: true,
            may_elevate: true,
            may_approve: true,
            may_admin: true,
        }),
        csrf: "c2FtcGxlLXRva2VuLW5vdC1hLXJlYWwtb25l".into(),
        request_id: "01JD7M2K-Q4ZX".into(),
        path: "/".into(),
        place,
        clusters: Some(10_214),
        grants: Some(4),
        regions: vec![
            Link::new("eastus2", "https://eastus2.portal.example.net/"),
            Link::new("northeurope", "https://northeurope.portal.example.net/"),
        ],
        ..Frame::default()
    }
}

/// Of a person who may only look.
fn viewer(place: NavItem) -> Frame {
    let person = Person {
        name: "Tobias Onyeka".into(),
        account: "tobias.onyeka@example.com".into(),
        roles: vec!["viewer".into()],
        ..Person::default()
    };
    Frame { person: Some(person), grants: None, ..frame(place) }
}

/// Whose every word is hostile.
fn hostile(place: NavItem) -> Frame {
    let person = Person {
        name: HOSTILE.into(),
        account: HOSTILE.into(),
        roles: vec![HOSTILE.into()],
        may_take: true,
        may_audit: true,
        may_import: true,
        may_elevate: true,
        may_approve: true,
        may_admin: true,
    };
    let notice = Notice { tone: Tone::Warn, lead: HOSTILE.into(), text: endless(), action: None };
    Frame {
        region: HOSTILE.into(),
        person: Some(person),
        csrf: HOSTILE.into(),
        request_id: HOSTILE.into(),
        path: format!("/?q={HOSTILE}"),
        regions: vec![Link::new(HOSTILE, format!("/{HOSTILE}"))],
        elevations: vec![Elevation {
            id: HOSTILE.into(),
            reason: HOSTILE.into(),
            cluster: Some(Link::new(HOSTILE, "/")),
            ..elevation()
        }],
        waiting: Some(u64::MAX),
        notices: vec![notice.clone()],
        toasts: vec![notice],
        ..frame(place)
    }
}

/// Whose session has ended.
fn ended(place: NavItem, path: &str) -> Frame {
    Frame { session_ended: true, path: path.into(), ..frame(place) }
}

fn elevation() -> Elevation {
    Elevation {
        id: "e-3xq9".into(),
        rights: Rights::Write,
        cluster: Some(Link::new("harbor-prod-weu-01", path("rg-harbor-prod", "harbor-prod-weu-01"))),
        break_glass: false,
        reason: "Replace a lost etcd member".into(),
        ticket: "INC-48213".into(),
        approved_by: "Mirela Kask".into(),
        since: NOW - 36 * MINUTE,
        until: NOW + 24 * MINUTE,
    }
}

const SUBSCRIPTION: &str = "0b6f3c1e-4f1d-4b7a-9a55-6d1f2a3bc0de";

fn path(group: &str, name: &str) -> String {
    resource_id(group, name).to_lowercase()
}

fn resource_id(group: &str, name: &str) -> String {
    format!(
        "/subscriptions/{SUBSCRIPTION}/resourceGroups/{group}/providers/Microsoft.RedHatOpenShift/openShiftClusters/{name}"
    )
}

fn imported_path(name: &str) -> String {
    format!(
        "/subscriptions/00000000-0000-0000-0000-000000000000/resourcegroups/imported/providers/microsoft.redhatopenshift/openshiftclusters/{}",
        web::text::encode(name)
    )
}

/// Our store does not answer.
fn store_away() -> Failure {
    Failure {
        status: 503,
        what: "We cannot read our store".into(),
        why: "It does not answer since 03:09:12. Clusters are not affected, and access that you hold keeps working. The operators of this service are informed.".into(),
        side: Side::Us,
        actions: vec![Link::new("Try again", "/")],
        request_id: "01JD7M2P-VV31".into(),
    }
}

/// The person may not see it.
fn no_rights(what: &str, role: &str) -> Failure {
    Failure {
        status: 403,
        what: what.into(),
        why: format!(
            "Your groups give you the role viewer; this needs {role}. Ask for the group aro-portal-{role}, then sign in again."
        ),
        side: Side::You,
        actions: vec![Link::new("Go to clusters", "/")],
        request_id: "01JD7M2R-0KQ8".into(),
    }
}

impl Sample for KeysPage {
    fn samples() -> Vec<(&'static str, Self)> {
        vec![
            ("page", Self { frame: frame(NavItem::Elsewhere) }),
            ("expired", Self { frame: ended(NavItem::Elsewhere, "/keys") }),
            ("hostile", Self { frame: hostile(NavItem::Elsewhere) }),
        ]
    }
}
