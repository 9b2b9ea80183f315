//! `notify.destinations`: each a text `KIND:[URL]#option=value&…`.

use std::path::{Path, PathBuf};

use rp_settings::{Key, Reader, SecretFile, Word as _, values, words};
use url::Url;

use crate::sections::place_options::{self, Options};

/// Destinations of one service.
const MOST: usize = 16;
/// Where PagerDuty takes events (Events API v2).
const PAGERDUTY: &str = "https://events.pagerduty.com/v2/enqueue";

words! {
    /// What is told: a group of events.
    pub enum NotifyTopic {
        /// Requests of elevations and their decisions.
        Elevations = "elevations",
        /// Elevations without an approver, and their reviews.
        BreakGlass = "break-glass",
        /// Operations on clusters that failed.
        Operations = "operations",
        /// Maintenance that failed or did not start in its time.
        Maintenance = "maintenance",
        /// Certificates of clusters that end soon, and their renewals.
        Certificates = "certificates",
        /// Clusters that do not answer, and that answer again.
        Clusters = "clusters",
    }
}

/// A receiver of notifications.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotifyDestination {
    /// Names what was sent to it; no two are the same.
    pub name: String,
    pub to: NotifyTarget,
    /// What it is told.
    pub topics: Vec<NotifyTopic>,
    /// Azure regions of the clusters that it is told of; empty: all.
    pub regions: Vec<String>,
    /// Beside the system's authorities.
    pub ca_file: Option<PathBuf>,
}

/// Which shape it takes, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotifyTarget {
    /// Our own JSON, signed with the key where there is one.
    Webhook { url: NotifyUrl, secret_file: Option<SecretFile> },
    /// An incoming webhook of Slack.
    Slack(SecretFile),
    /// A workflow of Microsoft Teams that takes Adaptive Cards.
    Teams(SecretFile),
    /// Events API v2, and the file of the integration key.
    PagerDuty { url: Url, key_file: SecretFile },
}

/// An address that may hold a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotifyUrl {
    Plain(Url),
    File(SecretFile),
}

/// Every destination; mistakes are kept.
pub(super) fn read(r: &mut Reader, key: &'static Key) -> Vec<NotifyDestination> {
    let (texts, folder) = (r.texts(key), r.folder(key.path));
    let mut all: Vec<NotifyDestination> = Vec::new();
    for text in texts.iter().take(MOST) {
        match destination(text, &folder) {
            Ok(one) if all.iter().any(|other| other.name == one.name) => {
                let message = format!("two destinations are named {}: tell them apart by name=…", one.name);
                r.mistake(key.path, message);
            }
            Ok(one) => all.push(one),
            // A path may be a key that was put here by mistake: only the kind is shown.
            Err(message) => {
                let kind = text.split(':').next().unwrap_or_default();
                r.mistake(key.path, format!("{:?}: {message}", rp_base::text::clean(kind, 20)));
            }
        }
    }
    if texts.len() > MOST {
        r.mistake(key.path, format!("at most {MOST} destinations, got {}", texts.len()));
    }
    all
}

fn destination(text: &str, folder: &Path) -> Result<NotifyDestination, String> {
    let (place, options) = text.split_once('#').unwrap_or((text, ""));
    let (kind, url) = place.split_once(':').ok_or("expected webhook:, slack:, teams: or pagerduty:")?;
    let mut options = Options::read(options)?;
    let to = target(kind, url, &mut options, folder)?;
    let name = options.take("name").unwrap_or(kind).to_owned();
    place_options::check_name(&name)?;
    let topics = options.take("events").map_or_else(|| Ok(NotifyTopic::VALUES.to_vec()), topics)?;
    let regions = options.take("regions").map(regions).transpose()?.unwrap_or_default();
    let ca_file = options.take("ca").map(|path| folder.join(path));
    options.rest()?;
    Ok(NotifyDestination { name, to, topics, regions, ca_file })
}

fn target(kind: &str, url: &str, options: &mut Options<'_>, folder: &Path) -> Result<NotifyTarget, String> {
    let mut file = |name: &str| {
        options.take(name).filter(|path| !path.is_empty()).map(|path| SecretFile::new(folder.join(path)))
    };
    let address = |text: &str| {
        values::url(text).ok_or_else(|| {
            "expected https://host/path (http only for this machine), without a query; an address that holds a key is named by url_file=FILE".to_owned()
        })
    };
    match kind {
        "webhook" => {
            let url = match (file("url_file"), url.is_empty()) {
                (Some(file), true) => NotifyUrl::File(file),
                (None, false) => NotifyUrl::Plain(address(url)?),
                _ => return Err("a webhook has a URL or url_file=FILE, one of them".to_owned()),
            };
            Ok(NotifyTarget::Webhook { url, secret_file: file("secret_file") })
        }
        "slack" | "teams" => {
            if !url.is_empty() {
                return Err("its address holds a key: name the file that has it by url_file=FILE".to_owned());
            }
            let file = file("url_file").ok_or("url_file=FILE is missing: the file with its address")?;
            Ok(if kind == "slack" { NotifyTarget::Slack(file) } else { NotifyTarget::Teams(file) })
        }
        "pagerduty" => {
            let url = address(if url.is_empty() { PAGERDUTY } else { url })?;
            let key_file = file("key_file").ok_or("key_file=FILE is missing: the integration key")?;
            Ok(NotifyTarget::PagerDuty { url, key_file })
        }
        _ => Err("expected webhook:, slack:, teams: or pagerduty:".to_owned()),
    }
}

fn topics(text: &str) -> Result<Vec<NotifyTopic>, String> {
    let find = |word: &str| {
        let found = NotifyTopic::VALUES.iter().find(|topic| topic.word() == word);
        found.copied().ok_or_else(|| format!("events are of {}, joined by +", NotifyTopic::WORDS.join(", ")))
    };
    text.split('+').map(find).collect()
}

fn regions(text: &str) -> Result<Vec<String>, String> {
    let good =
        |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    let names: Vec<String> = text.split('+').map(str::to_owned).collect();
    if names.iter().all(|name| good(name)) {
        Ok(names)
    } else {
        Err("regions are names such as eastus, joined by +".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_one(text: &str) -> Result<NotifyDestination, String> {
        destination(text, Path::new("/etc/aro"))
    }

    #[test]
    fn every_kind_is_read() {
        let hub = read_one("webhook:https://hub.example/aro#name=hub&secret_file=key&events=elevations+break-glass&regions=eastus+westeurope&ca=ca.pem").unwrap();
        assert_eq!(hub.name, "hub");
        assert_eq!(hub.topics, [NotifyTopic::Elevations, NotifyTopic::BreakGlass]);
        assert_eq!(hub.regions, ["eastus", "westeurope"]);
        assert_eq!(hub.ca_file.as_deref(), Some(Path::new("/etc/aro/ca.pem")));
        let NotifyTarget::Webhook { url: NotifyUrl::Plain(url), secret_file: Some(file) } = hub.to else {
            panic!("{:?}", hub.to)
        };
        assert_eq!((url.as_str(), file.path()), ("https://hub.example/aro", Path::new("/etc/aro/key")));
        let slack = read_one("slack:#url_file=slack").unwrap();
        assert_eq!((slack.name.as_str(), slack.topics.len()), ("slack", NotifyTopic::VALUES.len()));
        assert_eq!(slack.to, NotifyTarget::Slack(SecretFile::new("/etc/aro/slack")));
        assert!(matches!(read_one("teams:#url_file=t").unwrap().to, NotifyTarget::Teams(_)));
        let duty = read_one("pagerduty:#key_file=k").unwrap();
        assert!(matches!(duty.to, NotifyTarget::PagerDuty { url, .. } if url.as_str() == PAGERDUTY));
    }

    #[test]
    fn mistakes_are_told() {
        for (text, told) in [
            ("ftp", "expected webhook:"),
            ("mail:x", "expected webhook:"),
            ("webhook:", "a URL or url_file"),
            ("webhook:https://a.example/#url_file=f", "a URL or url_file"),
            ("webhook:http://far.example/x", "http only for this machine"),
            ("webhook:https://a.example/x?key=1", "url_file=FILE"),
            ("slack:https://hooks.slack.com/services/T/B/x", "holds a key"),
            ("slack:", "url_file=FILE is missing"),
            ("pagerduty:", "key_file=FILE is missing"),
            ("slack:#url_file=f&events=all", "events are of elevations, break-glass"),
            ("slack:#url_file=f&regions=East US", "regions are names"),
            ("slack:#url_file=f&name=A B", "name is 1 to 40"),
            ("slack:#url_file=f&colour=red", "no option colour"),
        ] {
            let message = read_one(text).unwrap_err();
            assert!(message.contains(told), "{text}: {message}");
        }
    }
}
