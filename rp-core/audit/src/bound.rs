//! Bounds on an entry: what comes from outside (commands, queries, names) may be of any length.

use rp_documents::Entry;

/// Longest text of a field, bytes.
const TEXT: usize = 8 * 1024;
/// Longest command, over all arguments, bytes.
const COMMAND: usize = 32 * 1024;
/// Most arguments.
const ARGUMENTS: usize = 512;

/// Bytes of an entry's texts.
pub(crate) fn weight(entry: &Entry) -> usize {
    let Entry { identity_used, verb, group, resource, subresource, namespace, name, query, reason, .. } =
        entry;
    let fields = [identity_used, verb, group, resource, subresource, namespace, name, query, reason];
    let actor = [&entry.actor.sub, &entry.actor.name, &entry.actor.from, &entry.result.word];
    let texts = fields.into_iter().chain(actor).chain(&entry.command);
    // Every entry has some more: names of fields, digests, numbers.
    512 + texts.map(String::len).sum::<usize>()
}

/// Cuts what is too long and says so in its place.
pub(crate) fn shorten(entry: &mut Entry) {
    let fields = [
        &mut entry.identity_used,
        &mut entry.verb,
        &mut entry.group,
        &mut entry.resource,
        &mut entry.subresource,
        &mut entry.namespace,
        &mut entry.name,
        &mut entry.query,
        &mut entry.reason,
        &mut entry.actor.sub,
        &mut entry.actor.name,
        &mut entry.actor.from,
        &mut entry.result.word,
    ];
    for field in fields {
        cut(field, TEXT);
    }
    let mut room = COMMAND;
    let mut keep = entry.command.len().min(ARGUMENTS);
    for (at, argument) in entry.command.iter_mut().enumerate().take(keep) {
        if room == 0 {
            keep = at;
            break;
        }
        cut(argument, room.min(TEXT));
        room = room.saturating_sub(argument.len());
    }
    let left = entry.command.len() - keep;
    if left > 0 {
        entry.command.truncate(keep);
        entry.command.push(format!("[{left} more arguments]"));
    }
}

fn cut(text: &mut String, most: usize) {
    if text.len() <= most {
        return;
    }
    let left = text.len() - most;
    let end = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.truncate(end);
    text.push_str(&format!("[{left} more bytes]"));
}

#[cfg(test)]
mod tests {
    use rp_base::{Id, SystemRandom, Timestamp};
    use rp_documents::{Actor, Phase};

    use super::*;

    #[test]
    fn an_entry_has_a_largest_size() {
        let id = Id::random(&SystemRandom);
        let mut entry = Entry::new(Timestamp::default(), Phase::Start, id, Actor::default(), "exec");
        entry.query = "é".repeat(100_000);
        entry.command = vec!["x".repeat(10_000); 1000];
        shorten(&mut entry);
        assert!(entry.query.ends_with("more bytes]"));
        assert!(entry.command.last().unwrap().ends_with("more arguments]"));
        assert!(serde_json::to_string(&entry).unwrap().len() < 64 * 1024);
        let mut small = entry.clone();
        shorten(&mut small);
        assert_eq!(small.command.len(), entry.command.len());
    }
}
