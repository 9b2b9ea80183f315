//! Whole recordings on disk, over a store in memory.

mod hostile;
mod kit;

use std::time::Duration;

use rp_config::RecordingPolicy;
use rp_documents::RecordingKind;

use crate::{
    DiskStorage, Fault, RecordError, RecordingQuery, RecordingState, SearchQuery, Storage as _, StreamKind,
};
use kit::{Broken, Kit, text};

#[tokio::test]
async fn what_passed_is_read_again_with_its_end() {
    let kit = Kit::new(RecordingPolicy::Required, true).await;
    let recorder = kit.begin("master-0").await.unwrap().unwrap();
    recorder.wrote(StreamKind::Output, b"$ ").await.unwrap();
    kit.clock.advance(Duration::from_millis(1250));
    recorder.wrote(StreamKind::Input, b"ls\r").await.unwrap();
    recorder.wrote(StreamKind::Error, b"no such file\r\n").await.unwrap();
    recorder.resized(120, 40).await.unwrap();
    recorder.finish("exit 2").await;
    let (found, text, faults) = kit.read(recorder.id()).await;
    assert_eq!(faults, []);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains("\"version\":3") && lines[0].contains("\"cols\":80"), "{}", lines[0]);
    assert_eq!(lines[1], r#"[0.000,"o","$ "]"#);
    assert_eq!(lines[2], r#"[1.250,"i","ls\r"]"#);
    assert_eq!(lines[3], r#"[0.000,"e","no such file\r\n"]"#);
    assert_eq!(lines[4], r#"[0.000,"r","120x40"]"#);
    assert_eq!(lines[5..], [r#"[0.000,"m","exit 2"]"#, r#"[0.000,"x","2"]"#]);
    assert_eq!((found.outcome.as_deref(), found.bytes, found.chunks), (Some("exit 2"), 16, 2));
    assert_eq!(RecordingState::from_recording(&found, kit.now()), RecordingState::Ended);
    // The end entry says what a check needs.
    let entries = kit.audit_of("recording.end").await;
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0].query, format!("chunks=2&head={}", found.head));
    assert!(matches!(recorder.wrote(StreamKind::Output, b"late").await, Err(RecordError::Ended)));
}

#[tokio::test]
async fn keystrokes_are_recorded_only_by_policy_and_nothing_when_it_is_off() {
    let kit = Kit::new(RecordingPolicy::Wanted, false).await;
    let recorder = kit.begin("master-0").await.unwrap().unwrap();
    recorder.wrote(StreamKind::Input, b"a password\r").await.unwrap();
    recorder.finish("exit 0").await;
    assert!(!kit.read(recorder.id()).await.1.contains("password"));
    let off = Kit::new(RecordingPolicy::Off, true).await;
    assert!(off.begin("master-0").await.unwrap().is_none());
    assert!(crate::Recordings::off().begin(off.start(&off.grant(), "x")).await.unwrap().is_none());
}

#[tokio::test]
async fn a_killed_writer_leaves_all_but_the_last_moment() {
    let kit = Kit::new(RecordingPolicy::Required, false).await;
    let recorder = kit.begin("master-0").await.unwrap().unwrap();
    recorder.wrote(StreamKind::Output, b"before\r\n").await.unwrap();
    // The chunk is stored without an end, or anything else that says so.
    let seen = kit.until_stored(recorder.id(), "before").await;
    assert_eq!(seen.ended, None);
    let file = kit.file(recorder.id());
    let whole = std::fs::read(&file).unwrap();
    for cut in 0..whole.len() {
        std::fs::write(&file, &whole[..cut]).unwrap();
        let (text, faults) = kit.read_as(&seen).await;
        assert!(text.len() < kit::CAST && whole.len() > cut, "{cut}");
        assert!(
            cut == 0
                || faults.iter().any(|fault| matches!(fault, Fault::Torn(_)))
                || text.contains("version"),
            "{cut}: {faults:?}"
        );
    }
    kit.clock.advance(Duration::from_secs(300));
    assert_eq!(RecordingState::from_recording(&seen, kit.now()), RecordingState::BrokenOff);
}

#[tokio::test]
async fn what_a_dead_process_left_gets_its_end_from_the_next_one() {
    let mut kit = Kit::new(RecordingPolicy::Required, false).await;
    let recorder = kit.begin("master-0").await.unwrap().unwrap();
    let id = recorder.id().clone();
    recorder.wrote(StreamKind::Output, b"before\r\n").await.unwrap();
    let seen = kit.until_stored(&id, "before").await;
    kit.recordings.sweep().await.unwrap();
    assert_eq!(
        RecordingState::from_recording(&kit.read(&id).await.0, kit.now()),
        RecordingState::Running,
        "it is this process's"
    );
    kit.again();
    kit.recordings.sweep().await.unwrap();
    let (found, cast, faults) = kit.read(&id).await;
    assert_eq!(RecordingState::from_recording(&found, kit.now()), RecordingState::BrokenOff);
    assert_eq!((found.chunks, found.bytes, found.ended), (2, 8, Some(seen.started)));
    assert_eq!((text(&cast).as_str(), &faults[..]), ("before\r\n", &[Fault::Cut][..]));
    let ends = kit.audit_of("recording.end").await;
    assert_eq!((ends.len(), ends[0].result.word.as_str(), ends[0].bytes_out), (1, "cut", 8));
    assert!(ends[0].query.contains(&format!("chunks=2&head={}", found.head)), "{ends:?}");
    // Once is enough.
    kit.recordings.sweep().await.unwrap();
    assert_eq!(kit.audit_of("recording.end").await.len(), 1);
    // Torn within its last chunk: that is what is said.
    let file = kit.file(&id);
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, &whole[..whole.len() - 1]).unwrap();
    assert_eq!(kit.read(&id).await.2, [Fault::Torn(1)]);
    std::fs::write(&file, &whole).unwrap();
    // It lived after all: its own word counts.
    recorder.finish("exit 0").await;
    let (found, _, faults) = kit.read(&id).await;
    assert_eq!(
        (RecordingState::from_recording(&found, kit.now()), found.outcome.as_deref()),
        (RecordingState::Ended, Some("exit 0"))
    );
    assert_eq!(faults, []);
}

#[tokio::test]
async fn a_folder_is_one_processs_alone() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("recordings");
    let first = DiskStorage::open(&place).unwrap();
    let second = DiskStorage::open(&place).unwrap();
    assert!(first.is_ours_alone() && !second.is_ours_alone());
    drop((first, second));
    assert!(DiskStorage::open(&place).unwrap().is_ours_alone());
}

#[tokio::test]
async fn what_was_done_to_chunks_is_found_and_named() {
    let kit = Kit::new(RecordingPolicy::Required, false).await;
    let (ours, frames) = kit.recorded("master-0", &["one", "two", "three", "four"]).await;
    let (theirs, others) = kit.recorded("master-1", &["other", "things"]).await;
    assert_ne!(ours.id, theirs.id);
    let told = |which: Vec<&[u8]>| {
        std::fs::write(kit.file(&ours.id), which.concat()).unwrap();
        kit.read_as(&ours)
    };
    let all: Vec<&[u8]> = frames.iter().map(Vec::as_slice).collect();
    assert_eq!(told(all.clone()).await.1, []);
    // Missing in the middle: what is there is shown.
    let mut missing = all.clone();
    missing.remove(2);
    let (text, faults) = told(missing).await;
    assert_eq!(faults, [Fault::Missing { from: 2, before: 3 }]);
    assert!(text.contains("one") && !text.contains("two") && text.contains("three"));
    assert_eq!(faults[0].to_string(), "chunk 2 is missing");
    // The end is missing.
    assert_eq!(told(all[..3].to_vec()).await.1, [Fault::Short { expected: ours.chunks, found: 3 }]);
    // In another order.
    let mut order = all.clone();
    order.swap(1, 2);
    assert!(told(order).await.1.contains(&Fault::Order { expected: 3, found: 1 }));
    // Of another recording, in the same place.
    let mut foreign = all.clone();
    foreign[1] = &others[1];
    assert!(told(foreign).await.1.contains(&Fault::Foreign(1)));
    // Changed by one bit.
    let mut changed = frames[2].clone();
    *changed.last_mut().unwrap() ^= 1;
    let mut tampered = all.clone();
    tampered[2] = &changed;
    let (text, faults) = told(tampered).await;
    assert!(faults.contains(&Fault::Foreign(2)) && text.contains("three"), "{faults:?}");
    // Something else altogether.
    assert_eq!(
        told(vec![all[0], b"not a chunk, for it is far too long to be one and has other letters"]).await.1,
        [Fault::NoChunk(1)]
    );
}

#[tokio::test]
async fn a_full_disk_cuts_what_must_be_recorded_and_lets_go_on_what_should() {
    for policy in [RecordingPolicy::Required, RecordingPolicy::Wanted] {
        let kit = Kit::with(policy, false, Some(Broken::AfterBegin)).await;
        let recorder = kit.begin("master-0").await.unwrap().unwrap();
        recorder.wrote(StreamKind::Output, b"lost").await.unwrap();
        if policy == RecordingPolicy::Required {
            let error = recorder.failed().await;
            assert!(matches!(error, RecordError::Storage(_)), "{error}");
            assert!(rp_base::chain(&error).to_string().contains("full"), "{}", rp_base::chain(&error));
            assert!(recorder.wrote(StreamKind::Output, b"more").await.is_err());
        } else {
            kit.until_metric("aro_recording_failures_total 1").await;
            recorder.wrote(StreamKind::Output, b"more").await.unwrap();
            kit.until_metric("aro_recording_lost_bytes_total 4").await;
        }
        recorder.finish("exit 0").await;
        assert_eq!(kit.audit_of("recording.end").await[0].result.word, "failed");
    }
    // And before the begin.
    let kit = Kit::with(RecordingPolicy::Required, false, Some(Broken::AtOnce)).await;
    assert!(kit.begin("master-0").await.is_err());
    assert!(
        kit.recordings
            .list(&RecordingQuery { limit: 10, ..RecordingQuery::default() })
            .await
            .unwrap()
            .recordings
            .is_empty()
    );
    let kit = Kit::with(RecordingPolicy::Wanted, false, Some(Broken::AtOnce)).await;
    assert!(kit.begin("master-0").await.unwrap().is_none());
}

#[tokio::test]
async fn recordings_are_listed_newest_first_and_narrowed() {
    let kit = Kit::new(RecordingPolicy::Wanted, false).await;
    let mut ids = Vec::new();
    for place in ["a", "b", "c", "d", "e"] {
        let recorder = kit.begin(place).await.unwrap().unwrap();
        recorder.finish("exit 0").await;
        ids.insert(0, recorder.id().clone());
        kit.clock.advance(Duration::from_secs(60));
    }
    let mut listing = RecordingQuery { limit: 2, ..RecordingQuery::default() };
    let mut seen = Vec::new();
    loop {
        let listed = kit.recordings.list(&listing).await.unwrap();
        seen.extend(listed.recordings.into_iter().map(|recording| recording.id));
        listing.after = listed.next;
        if listing.after.is_none() {
            break;
        }
    }
    assert_eq!(seen, ids);
    let recordings = &kit.recordings;
    let one = |listing: RecordingQuery| async move {
        recordings.list(&RecordingQuery { limit: 100, ..listing }).await.unwrap().recordings.len()
    };
    assert_eq!(one(RecordingQuery { owner: Some("sub-1".to_owned()), ..RecordingQuery::default() }).await, 5);
    assert_eq!(one(RecordingQuery { owner: Some("sub-2".to_owned()), ..RecordingQuery::default() }).await, 0);
    assert_eq!(
        one(RecordingQuery { person: Some("ELE".to_lowercase()), ..RecordingQuery::default() }).await,
        5
    );
    assert_eq!(one(RecordingQuery { target: kit.grant().target, ..RecordingQuery::default() }).await, 5);
    for (grant, found) in [("grant-1", 5), ("grant-2", 0)] {
        assert_eq!(
            one(RecordingQuery { grant: Some(grant.to_owned()), ..RecordingQuery::default() }).await,
            found
        );
    }
    let half = kit.now().millis() - 150_000;
    let half = rp_base::Timestamp::from_millis(half);
    assert_eq!(one(RecordingQuery { since: Some(half), ..RecordingQuery::default() }).await, 2);
    assert_eq!(one(RecordingQuery { until: Some(half), ..RecordingQuery::default() }).await, 3);
    let wrong = RecordingQuery { after: Some("../x".to_owned()), limit: 1, ..RecordingQuery::default() };
    assert!(kit.recordings.list(&wrong).await.is_err());
}

#[tokio::test]
async fn text_is_found_where_it_was_shown() {
    let kit = Kit::new(RecordingPolicy::Wanted, true).await;
    let (ours, _) =
        kit.recorded("master-0", &["\x1b[1mcat", " /etc/", "hosts\r\n", "Needle \x1b[31min hay\r\n"]).await;
    kit.recorded("master-1", &["nothing to see\r\n"]).await;
    let search = |text: &str| SearchQuery {
        listing: RecordingQuery { limit: 100, ..RecordingQuery::default() },
        text: text.to_owned(),
        within: Duration::from_secs(60),
    };
    let found = kit.recordings.search(&search("needle in")).await.unwrap();
    assert_eq!((found.found.len(), found.read, found.unreadable, found.next), (1, 2, 0, None));
    let (recording, hits) = &found.found[0];
    assert_eq!((&recording.id, hits.len(), hits[0].line.as_str()), (&ours.id, 1, "Needle in hay"));
    assert_eq!(kit.recordings.search(&search("cat /etc/hosts")).await.unwrap().found.len(), 1);
    assert!(kit.recordings.search(&search("absent")).await.unwrap().found.is_empty());
}

#[tokio::test]
async fn what_is_over_is_removed_with_its_key_and_a_word_stays() {
    let kit = Kit::new(RecordingPolicy::Wanted, false).await;
    let (old, _) = kit.recorded("master-0", &["old"]).await;
    kit.clock.advance(Duration::from_secs(401 * 24 * 3600));
    let (new, _) = kit.recorded("master-0", &["new"]).await;
    assert_eq!(kit.recordings.sweep().await.unwrap(), 1);
    assert!(!kit.file(&old.id).exists() && kit.file(&new.id).exists());
    assert!(kit.recordings.find(old.id.as_str()).await.unwrap().is_none());
    assert_eq!(kit.audit_of("recording.remove").await[0].name, old.id.to_string());
    assert_eq!(kit.recordings.sweep().await.unwrap(), 0);
}

#[tokio::test]
async fn a_session_that_is_dropped_ends_its_recording() {
    let kit = Kit::new(RecordingPolicy::Required, false).await;
    let recorder = kit.begin("a/b/c").await.unwrap().unwrap();
    let id = recorder.id().clone();
    recorder.wrote(StreamKind::Output, &vec![b'x'; 300_000]).await.unwrap();
    drop(recorder);
    kit.recordings.close(Duration::from_secs(60)).await;
    let (found, cast, faults) = kit.read(&id).await;
    assert_eq!((found.outcome.as_deref(), faults), (Some("cut"), vec![]));
    assert_eq!(text(&cast).len(), 300_000);
    assert_eq!(found.kind, RecordingKind::Ssh);
}
