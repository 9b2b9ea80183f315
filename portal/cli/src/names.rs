//! Names that a shell completes: of clusters, grants, elevations, robots and profiles.
//!
//! `names/KIND.json` in the profile's folder holds what the last list showed. While a person types, a file older than a minute
//! is asked for anew, within a bound; what does not come in time is completed from the file. Nobody is asked to sign in.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use clap_complete::engine::CompletionCandidate;
use rp_base::{Clock as _, SystemClock, Timestamp, text};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::answer::{items, segment};
use crate::args::{Connection, Format};
use crate::client::Client;
use crate::completer::{ValueKind, set_source};
use crate::output::cell;
use crate::profile::Profile;
use crate::{CliError, files};

/// How long a person who types waits for new names.
const BOUND: Duration = Duration::from_millis(300);
/// Names older than this are asked for anew.
const FRESH: Duration = Duration::from_secs(60);
/// Names that are kept of a kind.
const MOST: usize = 5_000;

/// What is completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameKind {
    Clusters,
    Grants,
    Elevations,
    Robots,
}

impl NameKind {
    /// The kind that a path of the portal lists.
    pub(crate) fn for_path(path: &str) -> Option<Self> {
        [Self::Clusters, Self::Grants, Self::Elevations, Self::Robots]
            .into_iter()
            .find(|kind| kind.path() == path)
    }

    const fn path(self) -> &'static str {
        match self {
            Self::Clusters => "/api/v1/clusters",
            Self::Grants => "/api/v1/grants",
            Self::Elevations => "/api/v1/elevations",
            Self::Robots => "/api/v1/robots",
        }
    }

    const fn query(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Clusters => &[("limit", "500")],
            Self::Grants => &[("mine", "true"), ("state", "active"), ("limit", "500")],
            Self::Elevations => &[("mine", "true")],
            Self::Robots => &[],
        }
    }

    const fn file(self) -> &'static str {
        match self {
            Self::Clusters => "clusters.json",
            Self::Grants => "grants.json",
            Self::Elevations => "elevations.json",
            Self::Robots => "robots.json",
        }
    }

    /// The name of a row, and a few words about it.
    fn name(self, row: &Value) -> KnownName {
        let cluster = |pointer| cell(row, &[pointer]).rsplit('/').next().unwrap_or_default().to_owned();
        let (name, words) = match self {
            Self::Clusters => {
                ("/name", [cell(row, &["/state", "/provisioningState"]), cell(row, &["/version"])])
            }
            Self::Grants => ("/id", [cell(row, &["/kind"]), cluster("/target")]),
            Self::Elevations => ("/id", [cell(row, &["/state"]), cell(row, &["/owner/name"])]),
            Self::Robots => ("/name", [cell(row, &["/state"]), cell(row, &["/rights"])]),
        };
        KnownName { name: cell(row, &[name]), help: text::clean(words.join(" ").trim(), 100) }
    }
}

/// One name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct KnownName {
    name: String,
    help: String,
}

/// The content of a file.
#[derive(Debug, Serialize, Deserialize)]
struct KnownNames {
    at: Timestamp,
    names: Vec<KnownName>,
}

/// Keeps the names of rows that a list showed. `whole`: there are no others. A credential from a file is a script's, which
/// completes nothing.
pub(crate) fn keep(connection: &Connection, kind: NameKind, rows: &[Value], whole: bool) {
    if connection.token_file.is_some() || connection.session_cookie_file.is_some() {
        return;
    }
    if let Ok(Some(profile)) = profile_of(connection) {
        // A list does not fail because its names cannot be kept.
        let _ = write(&profile, kind, rows, whole);
    }
}

fn write(profile: &Profile, kind: NameKind, rows: &[Value], whole: bool) -> Result<KnownNames, CliError> {
    let mut names: Vec<KnownName> = rows.iter().map(|row| kind.name(row)).collect();
    // Names become words of a command line, where a dash at the beginning makes a flag.
    names.retain(|one| segment(&one.name).is_ok() && !one.name.starts_with('-') && one.name.len() <= 200);
    if !whole {
        let former = read(profile, kind).map(|known| known.names).unwrap_or_default();
        let is_new = |one: &KnownName| names.iter().all(|other| other.name != one.name);
        let kept: Vec<KnownName> = former.into_iter().take(MOST).filter(is_new).collect();
        names.extend(kept);
    }
    names.truncate(MOST);
    let known = KnownNames { at: SystemClock.now(), names };
    let folder = profile.names();
    profile.make(&folder)?;
    files::write_private(&folder.join(kind.file()), &serde_json::json!(known).to_string())?;
    Ok(known)
}

fn read(profile: &Profile, kind: NameKind) -> Option<KnownNames> {
    let text = files::read_private(&profile.names().join(kind.file())).ok()??;
    serde_json::from_str(text.expose()).ok()
}

/// The profile whose portal the command line means; `None` where it names another one, or nobody signed in.
fn profile_of(connection: &Connection) -> Result<Option<Profile>, CliError> {
    let profile = Profile::named(connection.config_dir.as_deref(), connection.profile.as_deref())?;
    let Some(settings) = profile.settings()? else { return Ok(None) };
    let asked = connection.portal.as_ref();
    let same = asked.is_none_or(|portal| portal.origin() == settings.portal.origin());
    Ok(same.then_some(profile))
}

/// Completes arguments by the names that are known here.
pub fn complete_names() {
    set_source(|kind, current| match kind {
        ValueKind::Clusters => candidates(NameKind::Clusters, current),
        ValueKind::Grants => candidates(NameKind::Grants, current),
        ValueKind::Elevations => candidates(NameKind::Elevations, current),
        ValueKind::Robots => candidates(NameKind::Robots, current),
        ValueKind::Profiles => profiles(current),
    });
}

fn profiles(current: &OsStr) -> Vec<CompletionCandidate> {
    let connection = typed_connection(std::env::args_os());
    let known = Profile::all(connection.config_dir.as_deref()).unwrap_or_default();
    let names = known.into_iter().map(|profile| KnownName { name: profile.name, help: String::new() });
    matching(names, current)
}

fn candidates(kind: NameKind, current: &OsStr) -> Vec<CompletionCandidate> {
    let connection = typed_connection(std::env::args_os());
    let Ok(Some(profile)) = profile_of(&connection) else { return Vec::new() };
    let kept = read(&profile, kind);
    let now = SystemClock.now();
    // A clock that was set back makes no old name new.
    let is_fresh = |known: &KnownNames| known.at <= now && now.since(known.at) < FRESH;
    let known = match kept {
        Some(known) if is_fresh(&known) => Some(known),
        kept => refreshed(&connection, &profile, kind).or(kept),
    };
    matching(known.map(|known| known.names).unwrap_or_default(), current)
}

/// Asks the portal, as far as it answers in time and the sign-in lives.
fn refreshed(connection: &Connection, profile: &Profile, kind: NameKind) -> Option<KnownNames> {
    let client = Client::new(connection).ok()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    let answer = runtime.block_on(async {
        tokio::time::timeout(BOUND, client.get(kind.path(), kind.query())).await.ok()?.ok()
    });
    // A look-up of the portal's name that still runs is not waited for.
    runtime.shutdown_background();
    let answer = answer?;
    let whole = kind == NameKind::Robots
        || (kind == NameKind::Clusters && cell(&answer, &["/continue", "/next"]).is_empty());
    write(profile, kind, items(&answer), whole).ok()
}

fn matching(names: impl IntoIterator<Item = KnownName>, current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(current) = current.to_str().map(str::to_lowercase) else { return Vec::new() };
    let fits = |one: &KnownName| one.name.to_lowercase().starts_with(&current);
    let candidate = |one: KnownName| {
        let help = (!one.help.is_empty()).then(|| one.help.into());
        CompletionCandidate::new(one.name).help(help)
    };
    names.into_iter().filter(fits).map(candidate).collect()
}

/// What the half-typed command line, which stands after the first `--`, and the environment say of the portal.
fn typed_connection(arguments: impl Iterator<Item = OsString>) -> Connection {
    let words: Vec<String> = arguments
        .skip_while(|word| word != "--")
        .skip(1)
        .take_while(|word| word != "--")
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let typed = |flag: &str| {
        let apart = words.windows(2).find(|two| two[0] == flag).map(|two| two[1].clone());
        let joined =
            || words.iter().find_map(|word| word.strip_prefix(flag)?.strip_prefix('=').map(str::to_owned));
        apart.or_else(joined)
    };
    let said = |flag: &str, variable: &str| {
        typed(flag).or_else(|| std::env::var(variable).ok()).filter(|value| !value.is_empty())
    };
    Connection {
        portal: said("--portal", "ARO_PORTAL").and_then(|text| text.parse().ok()),
        profile: said("--profile", "ARO_PROFILE"),
        token_file: None,
        session_cookie_file: None,
        ca_file: said("--ca-file", "ARO_CA_FILE").map(PathBuf::from),
        config_dir: said("--config-dir", "ARO_CONFIG_DIR").map(PathBuf::from),
        output: Format::Table,
    }
}

#[cfg(test)]
mod tests {
    use rp_base::Secret;
    use serde_json::json;

    use super::*;
    use crate::profile::{Settings, Token};

    fn signed_in(config: &std::path::Path) -> (Profile, Connection) {
        let profile = Profile::named(Some(config), None).unwrap();
        let portal: url::Url = "https://p.example/".parse().unwrap();
        let not_after = SystemClock.now() + Duration::from_secs(600);
        let token = Token { token: Secret::new("t".to_owned()), not_after, person: "sre".to_owned() };
        profile.keep(&Settings { portal, ca: None }, &token).unwrap();
        let words = ["aro", "--", "aro", "nodes", "--config-dir", config.to_str().unwrap(), "ha"];
        (profile, typed_connection(words.map(OsString::from).into_iter()))
    }

    #[test]
    fn names_of_lists_are_kept_and_completed() {
        let folder = tempfile::tempdir().unwrap();
        let (profile, connection) = signed_in(folder.path());
        let rows = json!([
            {"name": "harbor", "state": "Succeeded", "version": "4.18.1"},
            {"name": "bad name"},
            {"name": "--yes"},
        ]);
        keep(&connection, NameKind::Clusters, rows.as_array().unwrap(), true);
        let more = json!([{"name": "quay"}]);
        keep(&connection, NameKind::Clusters, more.as_array().unwrap(), false);
        let known = read(&profile, NameKind::Clusters).unwrap();
        let names: Vec<&str> = known.names.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["quay", "harbor"], "what cannot be a word of a command line is left out");
        let found = matching(known.names, OsStr::new("HA"));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].get_value(), "harbor");
        assert_eq!(found[0].get_help().unwrap().to_string(), "Succeeded 4.18.1");
        keep(&connection, NameKind::Clusters, more.as_array().unwrap(), true);
        assert_eq!(read(&profile, NameKind::Clusters).unwrap().names.len(), 1);
        profile.forget().unwrap();
        assert!(read(&profile, NameKind::Clusters).is_none(), "signing out forgets them");
    }

    #[test]
    fn names_are_of_the_profiles_own_portal() {
        let folder = tempfile::tempdir().unwrap();
        let (profile, mut connection) = signed_in(folder.path());
        connection.portal = Some("https://other.example/".parse().unwrap());
        let rows = json!([{"name": "harbor"}]);
        keep(&connection, NameKind::Clusters, rows.as_array().unwrap(), true);
        assert!(read(&profile, NameKind::Clusters).is_none());
        connection.portal = None;
        connection.token_file = Some("token".into());
        keep(&connection, NameKind::Clusters, rows.as_array().unwrap(), true);
        assert!(read(&profile, NameKind::Clusters).is_none(), "a script's credential");
    }

    #[test]
    fn what_is_typed_goes_before_the_environment() {
        let words = ["aro", "--", "aro", "kubectl", "h", "--profile=lab", "--", "--config-dir", "/kubectl"];
        let connection = typed_connection(words.map(OsString::from).into_iter());
        assert_eq!(connection.profile.as_deref(), Some("lab"));
        assert_ne!(connection.config_dir.as_deref(), Some(std::path::Path::new("/kubectl")));
    }
}
