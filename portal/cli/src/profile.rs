//! Sign-ins of this person on this machine: `CONFIG/profiles/NAME/`, folders 0700 and files 0600.
//!
//! `profile.json` says where the portal is, `token.json` holds the token of `aro login`, `grants/` the
//! tokens that kubectl was given last, `kubeconfigs/` the files of `aro kubectl`, `tunnels/` the accesses of `aro tunnel`,
//! `ssh/` keys and certificates of `aro ssh`, `browsers/` what `aro console` started, `names/` what a shell completes.
//! `CONFIG/profile` holds the name of the profile that `aro profile use` chose.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rp_base::{Clock as _, Secret, SystemClock, Timestamp, durable};
use serde::{Deserialize, Serialize};
use serde_json::json;
use url::Url;

use crate::{CliError, files, platform};

/// The profile where none is named or chosen.
pub(crate) const DEFAULT: &str = "default";
/// The file with the name of the chosen profile, beside the folder of all.
const CHOSEN: &str = "profile";

/// What is remembered about a portal.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Settings {
    pub(crate) portal: Url,
    /// Authorities to trust beside the system's, PEM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ca: Option<String>,
}

/// A token as the portal gave it at sign-in.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Token {
    pub(crate) token: Secret<String>,
    pub(crate) not_after: Timestamp,
    #[serde(default)]
    pub(crate) person: String,
}

/// One sign-in's folder, there or not.
#[derive(Debug, Clone)]
pub(crate) struct Profile {
    pub(crate) name: String,
    config: PathBuf,
    /// Whether another place than the usual one was asked for, which a kubeconfig must repeat.
    pub(crate) unusual: bool,
    folder: PathBuf,
}

impl Profile {
    /// The folder of that name under `config`, or under the usual one: `$XDG_CONFIG_HOME/aro`, else `~/.config/aro`.
    /// Without a name it is the one that `aro profile use` chose.
    pub(crate) fn named(config: Option<&Path>, name: Option<&str>) -> Result<Self, CliError> {
        if name.is_some_and(|name| !is_name(name)) {
            return Err(CliError::Usage(
                "--profile: a name has at most 64 letters, digits, - _ . and begins with a letter or digit"
                    .to_owned(),
            ));
        }
        let (unusual, config) = config_folder(config)?;
        let name = match name {
            Some(name) => name.to_owned(),
            None => chosen(&config)?,
        };
        let folder = config.join("profiles").join(&name);
        Ok(Self { name, config, unusual, folder })
    }

    /// The profiles that somebody signed in to, by name.
    pub(crate) fn all(config: Option<&Path>) -> Result<Vec<Self>, CliError> {
        let (_, folder) = config_folder(config)?;
        let Ok(entries) = std::fs::read_dir(folder.join("profiles")) else { return Ok(Vec::new()) };
        let names = entries.flatten().take(1_000).filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter(|name| is_name(name)).collect();
        names.sort();
        let profiles = names.iter().map(|name| Self::named(config, Some(name)));
        let mut profiles = profiles.collect::<Result<Vec<_>, _>>()?;
        profiles.retain(|profile| profile.folder.join("profile.json").is_file());
        Ok(profiles)
    }

    /// Makes it the profile of commands that name none.
    pub(crate) fn choose(&self) -> Result<(), CliError> {
        self.make(&self.folder)?;
        files::write_private(&self.config.join(CHOSEN), &format!("{}\n", self.name))
    }

    /// The folder that holds all profiles.
    pub(crate) fn config(&self) -> &Path {
        &self.config
    }

    pub(crate) fn grants(&self) -> PathBuf {
        self.folder.join("grants")
    }

    pub(crate) fn kubeconfigs(&self) -> PathBuf {
        self.folder.join("kubeconfigs")
    }

    /// Accesses of kind tunnel with their tokens.
    pub(crate) fn tunnels(&self) -> PathBuf {
        self.folder.join("tunnels")
    }

    /// Profiles of browsers while they run.
    pub(crate) fn browsers(&self) -> PathBuf {
        self.folder.join("browsers")
    }

    /// Names that a shell completes.
    pub(crate) fn names(&self) -> PathBuf {
        self.folder.join("names")
    }

    /// Keys and certificates for machines, one folder a cluster.
    pub(crate) fn ssh(&self) -> PathBuf {
        self.folder.join("ssh")
    }

    /// What is remembered; `None` before the first sign-in.
    pub(crate) fn settings(&self) -> Result<Option<Settings>, CliError> {
        read(&self.folder.join("profile.json"))
    }

    /// The token of the last sign-in, ended or not.
    pub(crate) fn token(&self) -> Result<Option<Token>, CliError> {
        read(&self.folder.join("token.json"))
    }

    /// Keeps a sign-in; what another person's or another portal's left goes.
    pub(crate) fn keep(&self, settings: &Settings, token: &Token) -> Result<(), CliError> {
        self.make(&self.folder)?;
        let same_portal = self.settings()?.is_some_and(|former| former.portal == settings.portal);
        let same_person = self.token().ok().flatten().is_some_and(|former| former.person == token.person);
        if !(same_portal && same_person) {
            self.forget_grants();
        }
        let settings = json!(settings).to_string();
        files::write_private(&self.folder.join("profile.json"), &settings)?;
        let text = Secret::new(
            json!({"token": token.token.expose(), "not_after": token.not_after, "person": token.person})
                .to_string(),
        );
        files::write_private(&self.folder.join("token.json"), text.expose())
    }

    /// Forgets the tokens; the portal's address stays.
    pub(crate) fn forget(&self) -> Result<(), CliError> {
        self.forget_grants();
        let path = self.folder.join("token.json");
        match std::fs::remove_file(&path) {
            Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => Err(CliError::File { path, cause }),
            _ => Ok(()),
        }
    }

    fn forget_grants(&self) {
        let kept =
            [self.grants(), self.kubeconfigs(), self.tunnels(), self.browsers(), self.ssh(), self.names()];
        for folder in kept {
            // What is not there is forgotten; locks and files of others are no secrets.
            let _ = std::fs::remove_dir_all(folder);
        }
    }

    /// Makes a folder of this profile and those above it, 0700.
    pub(crate) fn make(&self, folder: &Path) -> Result<(), CliError> {
        let failed = |cause| CliError::File { path: folder.to_owned(), cause };
        durable::make_folder(folder).map_err(failed)?;
        // One that was there may be open to others.
        platform::close_folder(&self.folder).map_err(failed)
    }

    /// The command that signs in to it.
    pub(crate) fn sign_in_command(&self, portal: Option<&Url>) -> String {
        let mut command = "aro login".to_owned();
        if let Some(portal) = portal {
            command.push_str(&format!(" --portal {portal}"));
        }
        // What a command without the flag would not take.
        if chosen(&self.config).ok().as_ref() != Some(&self.name) {
            command.push_str(&format!(" --profile {}", self.name));
        }
        command
    }

    /// The token, if it has not expired.
    pub(crate) fn living_token(&self, portal: &Url) -> Result<Secret<String>, CliError> {
        let command = || self.sign_in_command(Some(portal));
        let token = self.token()?;
        let token = token
            .ok_or_else(|| CliError::NotSignedIn { why: "you are not signed in", command: command() })?;
        if token.not_after <= SystemClock.now() {
            return Err(CliError::NotSignedIn { why: "your sign-in has ended", command: command() });
        }
        Ok(token.token)
    }
}

/// `(whether it is unusual, folder)` of all profiles.
fn config_folder(named: Option<&Path>) -> Result<(bool, PathBuf), CliError> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let home = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
    match named {
        Some(folder) => Ok((true, absolute(folder)?)),
        None => usual(variable("XDG_CONFIG_HOME"), variable(home)).ok_or_else(|| {
            CliError::Usage(format!("{home} is not set: say by --config-dir where sign-ins are kept"))
        }),
    }
}

/// The name of the chosen profile.
fn chosen(config: &Path) -> Result<String, CliError> {
    let path = config.join(CHOSEN);
    let Some(text) = files::read_private(&path)? else { return Ok(DEFAULT.to_owned()) };
    let name = text.expose().trim();
    if is_name(name) {
        Ok(name.to_owned())
    } else {
        Err(CliError::BadFile { path, what: "names no profile: choose one by aro profile use NAME" })
    }
}

/// `(whether it is unusual, folder)`; an address that is not absolute is none (XDG Base Directory Specification).
fn usual(xdg: Option<OsString>, home: Option<OsString>) -> Option<(bool, PathBuf)> {
    let xdg = xdg.map(PathBuf::from).filter(|path| path.is_absolute());
    match xdg {
        Some(folder) => Some((true, folder.join("aro"))),
        None => home.map(|home| (false, Path::new(&home).join(".config/aro"))),
    }
}

/// The same place from wherever it is named.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf, CliError> {
    std::path::absolute(path).map_err(|cause| CliError::File { path: path.to_owned(), cause })
}

fn is_name(name: &str) -> bool {
    name.len() <= 64
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

fn read<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<Option<T>, CliError> {
    let Some(text) = files::read_private(path)? else { return Ok(None) };
    serde_json::from_str(text.expose())
        .map(Some)
        .map_err(|_| CliError::BadFile { path: path.to_owned(), what: "is damaged; sign in again" })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_folder_is_where_the_desktop_says() {
        let os = |text: &str| Some(OsString::from(text));
        assert_eq!(usual(os("/x"), os("/home/a")), Some((true, "/x/aro".into())));
        assert_eq!(usual(os("relative"), os("/home/a")), Some((false, "/home/a/.config/aro".into())));
        assert_eq!(usual(None, None), None);
        for bad in ["", "..", ".hidden", "a/b", "a b", &"x".repeat(65)] {
            assert!(Profile::named(Some(Path::new("/x")), Some(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_chosen_profile_is_taken_where_none_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let named = |name| Profile::named(Some(folder.path()), name).map(|profile| profile.name);
        assert_eq!(named(None).unwrap(), DEFAULT);
        Profile::named(Some(folder.path()), Some("lab")).unwrap().choose().unwrap();
        assert_eq!(named(None).unwrap(), "lab");
        assert_eq!(named(Some("prod")).unwrap(), "prod");
        assert!(Profile::all(Some(folder.path())).unwrap().is_empty(), "nobody signed in");
        files::write_private(&folder.path().join(CHOSEN), "../x").unwrap();
        assert!(named(None).unwrap_err().to_string().contains("aro profile use"));
        assert_eq!(named(Some("prod")).unwrap(), "prod", "a named one needs no choice");
    }

    #[test]
    fn a_sign_in_is_kept_privately_and_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("aro");
        let profile = Profile::named(Some(&config), Some("lab")).unwrap();
        let portal: Url = "https://p.example/".parse().unwrap();
        assert!(profile.settings().unwrap().is_none());
        let error = profile.living_token(&portal).unwrap_err();
        assert_eq!(error.refusal().action, "Run: aro login --portal https://p.example/ --profile lab");

        let token = Token {
            token: Secret::new("t".to_owned()),
            not_after: SystemClock.now() + std::time::Duration::from_secs(60),
            person: "sre".to_owned(),
        };
        profile.keep(&Settings { portal: portal.clone(), ca: None }, &token).unwrap();
        for (path, mode) in [("profiles/lab", 0o700), ("profiles/lab/token.json", 0o600), ("", 0o700)] {
            let found = std::fs::metadata(config.join(path)).unwrap().permissions().mode();
            assert_eq!(found & 0o777, mode, "{path}");
        }
        assert_eq!(profile.living_token(&portal).unwrap().expose(), "t");

        let file = config.join("profiles/lab/token.json");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
        let error = profile.living_token(&portal).unwrap_err();
        assert!(error.to_string().contains("0640"), "{error}");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        std::fs::write(&file, "{").unwrap();
        assert!(profile.token().is_err());
        profile.forget().unwrap();
        profile.forget().unwrap();
        assert!(profile.token().unwrap().is_none() && profile.settings().unwrap().is_some());
    }
}
