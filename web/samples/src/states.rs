use crate::{DAY, HOSTILE, HOUR, MINUTE, NOW, Sample, ended, endless, frame, hostile, no_rights, store_away};
use web::{
    Badge, Condition, EmptyState, Failure, Frame, LastLook, Link, Meter, MissingPart, NavItem, Notice,
    Rights, Side, Skeleton, Slot, State, StatesPage, Step, StepState, Tone,
};

fn missing() -> Vec<MissingPart> {
    vec![
        MissingPart { what: "Machines".into(), why: "the cluster answered 403".into() },
        MissingPart { what: "Events".into(), why: "no answer within 10 s".into() },
    ]
}

fn silent() -> Failure {
    Failure {
        status: 504,
        what: "The cluster did not answer".into(),
        why: "It did not accept a connection on its private link within 30 s. Other clusters in westeurope answer, so the fault is likely on its side.".into(),
        side: Side::Cluster,
        actions: vec![Link::new("Try again", "#st-slots")],
        request_id: "01JD7M2N-08RA".into(),
    }
}

fn step(state: StepState, text: &str, note: &str, hint: &str) -> Step {
    Step { state, text: text.into(), note: note.into(), hint: hint.into(), since: None }
}

fn condition(kind: &str, status: Badge, reason: &str, message: &str) -> Condition {
    Condition {
        kind: kind.into(),
        status,
        reason: reason.into(),
        since: Some(NOW - 47 * MINUTE),
        message: message.into(),
    }
}

fn states() -> Vec<State> {
    vec![
        State::Healthy,
        State::Succeeded,
        State::Degraded,
        State::Failed("Updating".into()),
        State::NoAnswer,
        State::Creating,
        State::Updating(Some(62)),
        State::AdminUpdate,
        State::Deleting,
        State::Canceled,
        State::Maintenance,
        State::Imported,
        State::Unknown,
    ]
}

fn notices() -> Vec<Notice> {
    let tones = [Tone::Bad, Tone::Warn, Tone::Ok, Tone::Busy, Tone::Power, Tone::Accent, Tone::Mute];
    let notice = |tone: Tone| Notice {
        tone,
        lead: "One thing, one action.".into(),
        text: "It stands at the top of the panel that it is about.".into(),
        action: Some(Link::new("Do it", "#st-notices")),
    };
    tones.into_iter().map(notice).collect()
}

fn slots() -> Vec<(&'static str, Slot)> {
    vec![
        ("Ready", Slot::Ready),
        ("Loading", Slot::Loading(Skeleton::table("Nodes", &["Node", "State", "CPU"], 3))),
        (
            "Slow",
            Slot::Loading(Skeleton {
                since: Some(NOW - 9),
                ..Skeleton::table("Machines", &["Machine", "Phase"], 2)
            }),
        ),
        ("Empty and well", Slot::Empty(EmptyState::well("No operator is degraded").text("Asked 4 s ago."))),
        (
            "Empty",
            Slot::Empty(
                EmptyState::nothing("list", "No events in the last hour")
                    .action(Link::new("Look further back", "#st-slots")),
            ),
        ),
        ("Partial", Slot::Partial(missing())),
        (
            "Last known",
            Slot::LastKnown {
                since: NOW - 6 * MINUTE,
                why: "The cluster does not answer since 03:06 UTC.".into(),
            },
        ),
        ("Error, cluster side", Slot::Failed(silent())),
        ("Error, our side", Slot::Failed(store_away())),
    ]
}

fn looks() -> Vec<LastLook> {
    vec![
        LastLook { at: NOW - 40, took_ms: 1_240, failed: Vec::new(), overdue: false },
        LastLook { at: NOW - 12 * MINUTE, took_ms: 50_000, failed: missing(), overdue: true },
    ]
}

fn page() -> StatesPage {
    let bad = || Badge::filled(Tone::Bad, "failed", "False");
    StatesPage {
        frame: frame(NavItem::Elsewhere),
        states: states(),
        rights: vec![Rights::Read, Rights::Write, Rights::Admin],
        badges: vec![
            Badge::quiet(Tone::Ok, "ok", "Ready"),
            Badge::quiet(Tone::Mute, "pause", "Cordoned"),
            Badge::filled(Tone::Warn, "cert", "6 d left"),
            Badge::filled(Tone::Bad, "record", "Recording"),
        ],
        notices: notices(),
        slots: slots(),
        blanks: vec![EmptyState::nothing("search", "No cluster matches").text("“harbr” in 10,214 clusters.")],
        failures: vec![no_rights("You may not list clusters", "viewer")],
        bones: Skeleton::lines("Document", 4),
        looks: looks(),
        conditions: vec![
            condition("Ready", bad(), "KubeletNotReady", "container runtime network not ready"),
            condition(
                "MemoryPressure",
                Badge::quiet(Tone::Ok, "ok", "False"),
                "KubeletHasSufficientMemory",
                "",
            ),
            Condition {
                since: Some(NOW - 70 * DAY),
                ..condition("Available", Badge::quiet(Tone::Ok, "ok", "True"), "AsExpected", "")
            },
        ],
        meters: vec![
            Meter { share: Some(620), words: "62 %".into() },
            Meter { share: Some(870), words: "87 %".into() },
            Meter { share: Some(960), words: "15.4 of 16 GiB".into() },
            Meter { share: None, words: "no data".into() },
        ],
        steps: vec![
            step(StepState::Done, "Bootstrap", "12 min", ""),
            step(StepState::Now, "Cluster operators", "", "21 of 33 available; usually 20 min"),
            step(StepState::Held, "Machine config", "", "waits for master-1 to drain"),
            step(StepState::Failed, "Console", "", "no router answers"),
            step(StepState::Waiting, "Remove bootstrap", "", ""),
        ],
        missing: missing(),
    }
}

fn all_hostile() -> StatesPage {
    let part = || MissingPart { what: HOSTILE.into(), why: endless() };
    let blank =
        || EmptyState { lead: HOSTILE.into(), text: HOSTILE.into(), ..EmptyState::nothing("list", "") };
    StatesPage {
        frame: hostile(NavItem::Elsewhere),
        states: vec![State::Failed(HOSTILE.into())],
        badges: vec![Badge::filled(Tone::Bad, "failed", HOSTILE)],
        slots: vec![
            ("Partial", Slot::Partial(vec![part()])),
            ("Last known", Slot::LastKnown { since: NOW + 3 * HOUR, why: HOSTILE.into() }),
            ("Empty", Slot::Empty(blank())),
        ],
        blanks: vec![blank()],
        looks: vec![LastLook { at: i64::MAX, took_ms: u64::MAX, failed: vec![part()], overdue: true }],
        conditions: vec![condition(
            HOSTILE,
            Badge::filled(Tone::Bad, "failed", HOSTILE),
            HOSTILE,
            &endless(),
        )],
        meters: vec![Meter { share: Some(u32::MAX), words: HOSTILE.into() }],
        steps: vec![step(StepState::Now, HOSTILE, HOSTILE, HOSTILE)],
        ..page()
    }
}

impl Sample for web::GalleryPage {
    fn samples() -> Vec<(&'static str, Self)> {
        let names = ["clusters-many", "states-all", "solo-404"].map(str::to_owned).to_vec();
        vec![
            ("page", Self { frame: frame(NavItem::Elsewhere), names }),
            ("hostile", Self { frame: hostile(NavItem::Elsewhere), names: vec![HOSTILE.to_owned()] }),
        ]
    }
}

impl Sample for StatesPage {
    fn samples() -> Vec<(&'static str, Self)> {
        vec![
            ("all", page()),
            (
                "elevated",
                Self {
                    frame: Frame { elevations: vec![crate::elevation()], ..frame(NavItem::Elsewhere) },
                    ..page()
                },
            ),
            ("expired", Self { frame: ended(NavItem::Elsewhere, "/"), ..page() }),
            ("hostile", all_hostile()),
        ]
    }
}
