//! A person at a terminal: `aro` with a home folder of its own.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, Result, bail, ensure};
use reqwest::{Method, Url};
use serde_json::Value;
use tests_kit::{Folder, GENEROUS, Kubectl, Output, Session, binary, part};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::world::World;

/// A home folder, and the portal that is signed in to from there.
pub(crate) struct Terminal {
    pub(crate) world: &'static World,
    pub(crate) home: Folder,
}

impl Terminal {
    pub(crate) async fn new() -> Result<Self> {
        Self::within(World::get().await?)
    }

    /// A terminal of an account that no other story uses.
    pub(crate) fn within(world: &'static World) -> Result<Self> {
        Ok(Self { world, home: Folder::new("terminal")? })
    }

    /// A terminal where this account has signed in by its browser.
    pub(crate) async fn signed_in(account: &str) -> Result<Self> {
        let terminal = Self::new().await?;
        let said = terminal.login(account, &[]).await?;
        ensure!(said.contains(account), "{said}");
        Ok(terminal)
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Result<Command> {
        let kubectl = part("kubectl")?;
        let programs = kubectl.parent().context("kubectl lies in a folder")?;
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new(binary("aro")?);
        command.args(arguments).current_dir(self.home.path()).env("HOME", self.home.path());
        command.env("PATH", format!("{}:{path}", programs.display()));
        for name in ["ARO_PORTAL", "ARO_PROFILE", "ARO_TOKEN_FILE", "ARO_CA_FILE", "ARO_CONFIG_DIR"] {
            command.env_remove(name);
        }
        for name in ["XDG_CONFIG_HOME", "DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "KUBECONFIG", "HTTPS_PROXY"]
        {
            command.env_remove(name);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        Ok(command)
    }

    pub(crate) async fn run(&self, arguments: &[&str]) -> Result<Output> {
        let output = tokio::time::timeout(GENEROUS, self.command(arguments)?.output());
        let output = output.await.with_context(|| format!("aro {arguments:?} does not end"))??;
        Ok(Output {
            status: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout)?,
            stderr: String::from_utf8(output.stderr)?,
        })
    }

    /// Runs it with `-o json`.
    pub(crate) async fn json(&self, arguments: &[&str]) -> Result<Value> {
        let text = self.run(&[arguments, &["-o", "json"]].concat()).await?.ok()?;
        serde_json::from_str(&text).with_context(|| text)
    }

    /// kubectl with a kubeconfig, at home here.
    pub(crate) fn kubectl(&self, kubeconfig: &Path) -> Result<Kubectl> {
        Kubectl::new(&self.home, kubeconfig)
    }

    /// A path under the folder of the sign-ins.
    pub(crate) fn profile_file(&self, path: &str) -> PathBuf {
        self.home.path().join(".config/aro/profiles/default").join(path)
    }

    /// Signs in by a browser of this machine, which is a session that agrees; gives what was printed.
    pub(crate) async fn login(&self, account: &str, more: &[&str]) -> Result<String> {
        let mut waiting = self.begin_login(&[&["--no-browser"], more].concat()).await?;
        let session = self.world.aro.session(account).await?;
        let back = agree(&session, &waiting.address).await?;
        ensure!(back.host_str() == Some("127.0.0.1"), "the portal leads to {back}");
        let browser = reqwest::Client::builder().no_proxy().build()?;
        let page = browser.get(back).send().await?.text().await?;
        ensure!(page.contains("close this tab"), "{page}");
        waiting.end().await
    }

    /// `aro login` until it has printed where to go.
    pub(crate) async fn begin_login(&self, more: &[&str]) -> Result<PendingLogin> {
        let ca = self.world.aro.dev.ca_file.to_string_lossy().into_owned();
        let base = ["login", "--portal", &self.world.aro.dev.url, "--ca-file", &ca];
        let mut child = self.command(&[&base, more].concat())?.spawn()?;
        let mut notes = BufReader::new(child.stderr.take().context("standard error")?).lines();
        let mut said = String::new();
        let address = tokio::time::timeout(GENEROUS, async {
            while let Some(line) = notes.next_line().await? {
                said.push_str(&line);
                said.push('\n');
                // Of a device's addresses the last has the code in it.
                let last = line.contains("user_code=") || line.contains("/api/cli/login");
                if let Ok(url) = Url::parse(line.trim())
                    && last
                {
                    return Ok(url);
                }
            }
            bail!("it ended")
        });
        let address = address.await.context("no address")?.with_context(|| said.clone())?;
        Ok(PendingLogin { child, notes, address })
    }
}

/// An `aro login` that waits for the person.
pub(crate) struct PendingLogin {
    child: Child,
    notes: tokio::io::Lines<BufReader<tokio::process::ChildStderr>>,
    /// Where the person is to go.
    pub(crate) address: Url,
}

impl PendingLogin {
    /// Its standard output, once it succeeded.
    pub(crate) async fn end(&mut self) -> Result<String> {
        let status = tokio::time::timeout(GENEROUS, self.child.wait()).await.context("it waits on")??;
        let mut text = String::new();
        self.child.stdout.take().context("standard output")?.read_to_string(&mut text).await?;
        let mut notes = String::new();
        while let Some(line) = self.notes.next_line().await? {
            notes.push_str(&line);
            notes.push('\n');
        }
        ensure!(status.success(), "{status}: {notes}");
        Ok(text)
    }
}

/// Says yes on a page of consent, as its form would; gives where the answer leads.
pub(crate) async fn agree(session: &Session, page: &Url) -> Result<Url> {
    let path = format!("{}?{}", page.path(), page.query().unwrap_or_default());
    let shown = session.send(Method::GET, &path, &[("accept", "text/html")], None).await?.ok()?;
    let mut fields = hidden_fields(&shown.text);
    ensure!(!fields.is_empty(), "no form: {}", shown.text);
    fields.push(("answer".to_owned(), "yes".to_owned()));
    let body = Url::parse_with_params("http://form/", &fields)?.query().unwrap_or_default().to_owned();
    let headers = [
        ("accept", "text/html"),
        ("content-type", "application/x-www-form-urlencoded"),
        ("origin", session.base()),
    ];
    let answer = session.send(Method::POST, page.path(), &headers, Some(body)).await?;
    let location = answer.header("location").to_owned();
    if location.is_empty() {
        // A device's consent does not redirect: it shows a page.
        return answer.ok().map(|_| page.clone());
    }
    Ok(page.join(&location)?)
}

fn hidden_fields(html: &str) -> Vec<(String, String)> {
    let attribute = |tag: &str, name: &str| {
        let value = tag.split_once(&format!("{name}=\""))?.1.split_once('"')?.0;
        Some(unescaped(value))
    };
    html.split("<input type=\"hidden\"")
        .skip(1)
        .filter_map(|tag| Some((attribute(tag, "name")?, attribute(tag, "value")?)))
        .collect()
}

fn unescaped(text: &str) -> String {
    let entities =
        [("&#38;", "&"), ("&amp;", "&"), ("&#34;", "\""), ("&#39;", "'"), ("&#60;", "<"), ("&#62;", ">")];
    entities.iter().fold(text.to_owned(), |text, (entity, letter)| text.replace(entity, letter))
}
