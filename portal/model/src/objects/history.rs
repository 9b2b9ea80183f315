//! Versions of objects that a person has viewed, so that two of them can be compared: in memory, bounded, per person.
//! Secrets are never kept here, because they are never read.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rp_base::Timestamp;
use rp_documents::ResourceId;
use serde_json::Value;

use super::names::ObjectName;

/// States of one object.
const PER_OBJECT: usize = 8;
/// Bytes of all of them.
const MOST: usize = 48 * 1024 * 1024;
/// One object larger than this is not kept.
const LARGEST: usize = 4 * 1024 * 1024;
/// They are forgotten after this time.
const KEEP: Duration = Duration::from_secs(12 * 3600);

/// One version of an object.
#[derive(Debug, Clone)]
pub struct ObjectVersion {
    pub version: String,
    pub at: Timestamp,
    pub object: Arc<Value>,
}

#[derive(Debug)]
struct HistoryEntry {
    sub: String,
    cluster: ResourceId,
    object: ObjectName,
    seen: ObjectVersion,
    bytes: usize,
}

/// All versions that were viewed, oldest first.
#[derive(Debug, Default)]
pub struct ObjectHistory(Mutex<(VecDeque<HistoryEntry>, usize)>);

impl ObjectHistory {
    /// Keeps this state of an object and gives all that are known of it to this person, newest first.
    pub fn see(
        &self,
        sub: &str,
        cluster: &ResourceId,
        object: &ObjectName,
        seen: ObjectVersion,
        bytes: usize,
    ) -> Vec<ObjectVersion> {
        let mut guard = self.0.lock();
        let (kept, total) = &mut *guard;
        let same =
            |each: &HistoryEntry| each.sub == sub && each.object == *object && each.cluster == *cluster;
        let known = kept.iter().any(|each| same(each) && each.seen.version == seen.version);
        let now = seen.at;
        if !known && bytes <= LARGEST {
            if kept.iter().filter(|each| same(each)).count() >= PER_OBJECT
                && let Some(oldest) = kept.iter().position(same)
                && let Some(gone) = kept.remove(oldest)
            {
                *total -= gone.bytes;
            }
            *total += bytes;
            let (sub, cluster, object) = (sub.to_owned(), cluster.clone(), object.clone());
            kept.push_back(HistoryEntry { sub, cluster, object, seen: seen.clone(), bytes });
        }
        while let Some(first) = kept.front()
            && (*total > MOST || first.seen.at + KEEP < now)
        {
            *total -= first.bytes;
            kept.pop_front();
        }
        let mut all: Vec<ObjectVersion> =
            kept.iter().rev().filter(|each| same(each)).map(|each| each.seen.clone()).collect();
        if !all.iter().any(|each| each.version == seen.version) {
            all.insert(0, seen);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::objects::names::KindName;

    #[test]
    fn states_are_kept_for_one_person_and_bounded() {
        let moments = ObjectHistory::default();
        let cluster = ResourceId::imported("a").unwrap();
        let object = ObjectName::new(KindName::new("core", "v1", "pods").unwrap(), "a/b").unwrap();
        let seen = |version: usize| ObjectVersion {
            version: version.to_string(),
            at: Timestamp::from_seconds(1_000_000 + i64::try_from(version).unwrap()),
            object: Arc::new(json!({})),
        };
        for version in 0..20 {
            moments.see("p", &cluster, &object, seen(version), 1000);
        }
        let all = moments.see("p", &cluster, &object, seen(19), 1000);
        assert_eq!(all.len(), PER_OBJECT);
        assert_eq!((all[0].version.as_str(), all[7].version.as_str()), ("19", "12"));
        assert_eq!(moments.see("q", &cluster, &object, seen(1), 1000).len(), 1);
        // Too large to keep, but there for this page.
        assert_eq!(moments.see("r", &cluster, &object, seen(1), LARGEST + 1).len(), 1);
        assert_eq!(moments.see("r", &cluster, &object, seen(2), LARGEST + 1).len(), 1);
        for n in 0..40 {
            moments.see(&format!("s{n}"), &cluster, &object, seen(n), 2 * 1024 * 1024);
        }
        assert!(moments.0.lock().1 <= MOST);
        moments.see(
            "p",
            &cluster,
            &object,
            ObjectVersion { at: Timestamp::from_seconds(9_000_000), ..seen(99) },
            10,
        );
        assert_eq!(moments.0.lock().0.len(), 1);
    }
}
