//! Kubeconfigs whose user is an exec credential plug-in: no secret stands in the file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::args::{Connection, Format};
use crate::profile::{Profile, absolute};
use crate::{CliError, files};

/// Users of ours begin with this, so that a merge never replaces another's.
const PREFIX: &str = "aro-";
/// How long another program may hold the file.
const PATIENCE: u32 = 50;
const LOOK: Duration = Duration::from_millis(20);

/// The command that kubectl runs for a token, without the argument that names the grant.
#[derive(Debug, Clone)]
pub(crate) struct PlugIn {
    command: String,
    arguments: Vec<String>,
}

impl PlugIn {
    /// The same credential that was used now: a sign-in, or a token file. A session's cookie gives no tokens.
    pub(crate) fn from_connection(
        connection: &Connection,
        command: Option<String>,
    ) -> Result<Self, CliError> {
        if connection.session_cookie_file.is_some() {
            return Err(CliError::Usage(
                "a session's cookie cannot renew tokens: sign in with aro login, or take a file with a token by aro kubeconfig --static"
                    .to_owned(),
            ));
        }
        let profile = Profile::named(connection.config_dir.as_deref(), connection.profile.as_deref())?;
        let mut arguments = vec!["--profile".to_owned(), profile.name.clone()];
        if profile.unusual {
            arguments.extend(["--config-dir".to_owned(), text(profile.config())?]);
        }
        if let Some(token) = &connection.token_file {
            let portal = match &connection.portal {
                Some(portal) => portal.to_string(),
                None => profile.settings()?.map(|known| known.portal.to_string()).unwrap_or_default(),
            };
            arguments.extend(["--portal".to_owned(), portal]);
            arguments.extend(["--token-file".to_owned(), text(&absolute(token)?)?]);
            if let Some(ca) = &connection.ca_file {
                arguments.extend(["--ca-file".to_owned(), text(&absolute(ca)?)?]);
            }
        }
        let command = match command {
            Some(command) => command,
            None => {
                let own = std::env::current_exe()
                    .map_err(|cause| CliError::Program { program: "aro".to_owned(), cause })?;
                text(&own)?
            }
        };
        Ok(Self { command, arguments })
    }
}

fn text(path: &Path) -> Result<String, CliError> {
    path.to_str()
        .map(str::to_owned)
        .ok_or_else(|| CliError::BadFile { path: path.to_owned(), what: "has a name that is not UTF-8" })
}

/// One cluster, one grant.
#[derive(Debug)]
pub(crate) struct Entry<'a> {
    /// The context's name.
    pub(crate) context: String,
    pub(crate) server: &'a str,
    /// The proxy's authority, PEM, where the system does not know it.
    pub(crate) ca: Option<&'a str>,
    pub(crate) grant: &'a str,
    pub(crate) plug_in: &'a PlugIn,
}

impl Entry<'_> {
    /// A kubeconfig with this entry only.
    pub(crate) fn alone(&self) -> Value {
        let mut config = json!({ "apiVersion": "v1", "kind": "Config", "preferences": {} });
        self.put_into(&mut config);
        config
    }

    fn parts(&self) -> [(&'static str, String, &'static str, Value); 3] {
        let own = format!("{PREFIX}{}", self.context);
        let mut cluster = json!({ "server": self.server });
        if let Some(pem) = self.ca {
            cluster["certificate-authority-data"] = Value::from(STANDARD.encode(pem));
        }
        let mut arguments = vec!["credential".to_owned(), "--grant".to_owned(), self.grant.to_owned()];
        arguments.extend(self.plug_in.arguments.iter().cloned());
        let exec = json!({
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": self.plug_in.command,
            "args": arguments,
            "env": null,
            "interactiveMode": "IfAvailable",
            "provideClusterInfo": false,
            "installHint": "This kubeconfig gets its tokens from the program aro. Install it, or take the kubeconfig anew with: aro kubeconfig",
        });
        let context = json!({ "cluster": own, "user": own, "namespace": "default" });
        [
            ("clusters", own.clone(), "cluster", cluster),
            ("users", own, "user", json!({ "exec": exec })),
            ("contexts", self.context.clone(), "context", context),
        ]
    }

    fn put_into(&self, config: &mut Value) {
        for (list, name, key, value) in self.parts() {
            let entry = json!({ "name": name, key: value });
            let known = config[list].as_array_mut().map(std::mem::take).unwrap_or_default();
            let others = known.into_iter().filter(|one| one["name"] != name.as_str());
            config[list] = others.chain([entry]).collect();
        }
        config["current-context"] = Value::from(self.context.clone());
    }

    /// Adds it to a kubeconfig that is there or begins one; everything else in it stays, but comments.
    ///
    /// # Errors
    /// The file is no kubeconfig, is held by another program, or has a context of that name that is not ours.
    pub(crate) async fn merge_into(&self, file: &Path) -> Result<(), CliError> {
        // A link stays a link.
        let path = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
        let failed = |cause| CliError::File { path: path.clone(), cause };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let _held = FileLock::acquire(&path).await?;
        let mut config = match std::fs::exists(&path).map_err(failed)? {
            true => parse(&path)?,
            false => json!({ "apiVersion": "v1", "kind": "Config", "preferences": {} }),
        };
        self.may_replace(&config)?;
        self.put_into(&mut config);
        files::write_private(&path, &written(&config, Format::Yaml)?)
    }

    fn may_replace(&self, config: &Value) -> Result<(), CliError> {
        let contexts = config["contexts"].as_array().map_or(&[][..], Vec::as_slice);
        let same = contexts.iter().find(|one| one["name"] == self.context.as_str());
        let is_ours = |one: &Value| {
            one.pointer("/context/user").and_then(Value::as_str).is_some_and(|user| user.starts_with(PREFIX))
        };
        if same.is_some_and(|one| !is_ours(one)) {
            return Err(CliError::Usage(format!(
                "the kubeconfig has a context {} of somebody else; give another name by --context",
                self.context
            )));
        }
        Ok(())
    }
}

fn parse(path: &Path) -> Result<Value, CliError> {
    let bad = || CliError::BadFile { path: path.to_owned(), what: "is not a kubeconfig" };
    let text = files::read(path)?;
    if text.expose().trim().is_empty() {
        return Ok(json!({ "apiVersion": "v1", "kind": "Config", "preferences": {} }));
    }
    let config: Value = serde_saphyr::from_str(text.expose()).map_err(|_| bad())?;
    let lists = ["clusters", "users", "contexts"];
    let sound = config["kind"] == "Config"
        && lists.iter().all(|list| config[list].is_array() || config[list].is_null());
    if sound { Ok(config) } else { Err(bad()) }
}

/// A kubeconfig as a file's text.
pub(crate) fn written(config: &Value, format: Format) -> Result<String, CliError> {
    match format {
        Format::Json => Ok(rp_base::text::terminal_json(format!("{config:#}\n"))),
        Format::Table | Format::Yaml | Format::Csv | Format::Name => {
            serde_saphyr::to_string(config).map_err(|_| CliError::Answer("it cannot be written as YAML"))
        }
    }
}

/// Where a merge goes when no file is named: the first of `$KUBECONFIG`, else `~/.kube/config`.
pub(crate) fn usual_file() -> Result<PathBuf, CliError> {
    let listed = std::env::var_os("KUBECONFIG");
    let first = listed.iter().flat_map(std::env::split_paths).find(|path| !path.as_os_str().is_empty());
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".kube/config"));
    first.or_else(home).ok_or_else(|| {
        CliError::Usage("neither KUBECONFIG nor HOME is set: name the file by --file".to_owned())
    })
}

/// `FILE.lock`, as kubectl itself makes it while it changes a kubeconfig.
#[derive(Debug)]
struct FileLock(PathBuf);

impl FileLock {
    async fn acquire(path: &Path) -> Result<Self, CliError> {
        let mut name = path.as_os_str().to_owned();
        name.push(".lock");
        let lock = PathBuf::from(name);
        for _ in 0..PATIENCE {
            match std::fs::OpenOptions::new().write(true).create_new(true).open(&lock) {
                Ok(_) => return Ok(Self(lock)),
                Err(cause) if cause.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(cause) => return Err(CliError::File { path: lock, cause }),
            }
            tokio::time::sleep(LOOK).await;
        }
        Err(CliError::Busy { path: lock })
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The context's name where none is given: the cluster's, and the rights where they are more than reading, so
/// that a context created earlier for reading is not used by mistake to change a cluster.
pub(crate) fn context(cluster: &str, rights: &str) -> String {
    if rights == "read" { cluster.to_owned() } else { format!("{cluster}-{rights}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plug_in() -> PlugIn {
        PlugIn { command: "/bin/aro".to_owned(), arguments: vec!["--profile".to_owned(), "p".to_owned()] }
    }

    fn entry<'a>(context: &str, plug_in: &'a PlugIn) -> Entry<'a> {
        Entry { context: context.to_owned(), server: "https://s/x", ca: Some("PEM"), grant: "g-1", plug_in }
    }

    #[test]
    fn runs_us_and_holds_no_secret() {
        let plug_in = plug_in();
        let config = entry("harbor", &plug_in).alone();
        let exec = &config["users"][0]["user"]["exec"];
        assert_eq!(exec["args"], json!(["credential", "--grant", "g-1", "--profile", "p"]));
        assert_eq!(exec["interactiveMode"], "IfAvailable");
        assert_eq!(config["contexts"][0]["name"], "harbor");
        assert_eq!(config["clusters"][0]["cluster"]["certificate-authority-data"], "UEVN");
        assert_eq!(config["users"][0]["user"].as_object().unwrap().len(), 1, "nothing but the plug-in");
    }

    #[tokio::test]
    async fn a_merge_leaves_what_is_not_ours() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("sub/config");
        let plug_in = plug_in();
        entry("harbor", &plug_in).merge_into(&file).await.unwrap();
        let theirs = "kind: Config\napiVersion: v1\nextensions: [{name: keep}]\nusers: [{name: me, user: {token: x}}]\n\
                      contexts: [{name: quay, context: {cluster: c, user: me}}]\nclusters: null\ncurrent-context: quay\n";
        std::fs::write(&file, theirs).unwrap();
        entry("harbor", &plug_in).merge_into(&file).await.unwrap();
        let again = Entry { grant: "g-2", ..entry("harbor", &plug_in) };
        again.merge_into(&file).await.unwrap();
        let config = parse(&file).unwrap();
        assert_eq!(config["extensions"][0]["name"], "keep");
        assert_eq!(config["users"].as_array().unwrap().len(), 2);
        assert_eq!(config["users"][1]["user"]["exec"]["args"][2], "g-2");
        assert_eq!(config["current-context"], "harbor");
        let refused = entry("quay", &plug_in).merge_into(&file).await.unwrap_err();
        assert!(refused.to_string().contains("--context"), "{refused}");
        assert_eq!(std::fs::read_dir(folder.path().join("sub")).unwrap().count(), 1, "no lock, no leftovers");
        std::fs::write(&file, "kind: List\n").unwrap();
        assert!(entry("harbor", &plug_in).merge_into(&file).await.is_err());
        std::fs::write(folder.path().join("sub/config.lock"), "").unwrap();
        assert!(matches!(entry("x", &plug_in).merge_into(&file).await, Err(CliError::Busy { .. })));
    }
}
