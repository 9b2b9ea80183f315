//! From a key to its echo: straight to the machine by SSH, through the bastion by SSH, and in a terminal of the browser.
//!
//! What a browser itself takes to hear a key and to draw is the same for every terminal in it and not counted. The machine's
//! terminal echoes; the program on it only waits.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use futures_util::{SinkExt as _, StreamExt as _};
use http::{HeaderValue, Method, Request, header};
use russh::ChannelMsg;
use russh::keys::PrivateKeyWithHashAlg;
use rustls::pki_types::ServerName;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use url::Url;
use url::form_urlencoded::Serializer;

use super::clients::{Shell, connect};
use super::hosts::Hosts;
use super::site::{OPENSSH, Site};
use crate::measure::percentile;
use crate::report::{self, Part};
use crate::tls;

/// Milliseconds that the browser's terminal may add.
const AIM: f64 = 5.0;
const PATIENCE: Duration = Duration::from_secs(30);
/// A terminal that said nothing for so long has nothing more to say.
const QUIET: Duration = Duration::from_millis(500);
/// Between keys: a fast typist leaves ten times as much.
const PAUSE: Duration = Duration::from_millis(10);
/// A terminal keeps a line of 4,096 bytes (termios(3), `MAX_CANON`) and echoes nothing beyond.
const MOST_KEYS: usize = 4000;
const KEY: &[u8] = b"x";
/// What is typed first: a program that only waits.
const WAITER: &[u8] = b"exec cat\n";

/// A terminal, wherever it is.
enum Terminal {
    Ssh(Shell),
    Browser(Box<Browser>),
}

/// A page's end of a terminal.
struct Browser {
    socket: WebSocketStream<TlsStream<TcpStream>>,
    /// Bytes that came.
    came: u64,
}

/// On all three terminals.
pub(crate) async fn run(hosts: &Hosts, site: &Site, keys: usize, part: &mut Part) -> Result<()> {
    ensure!(keys <= MOST_KEYS, "at most {MOST_KEYS} keys");
    let mut ways = [
        ("straight to the machine, SSH", Terminal::Ssh(straight(hosts).await?), Vec::new()),
        ("through the bastion, SSH", Terminal::Ssh(through(site).await?), Vec::new()),
        (
            "in the browser's terminal, WebSocket",
            Terminal::Browser(Box::new(Browser::open(site).await?)),
            Vec::new(),
        ),
    ];
    for (name, terminal, _) in &mut ways {
        terminal.settle().await.with_context(|| (*name).to_owned())?;
    }
    for _ in 0..keys {
        for (name, terminal, times) in &mut ways {
            tokio::time::sleep(PAUSE).await;
            times.push(terminal.press().await.with_context(|| (*name).to_owned())?);
        }
    }
    report::table(
        &format!("From a key to its echo, {keys} keys each, in turns, milliseconds"),
        &["", "p50", "p99", "added, p50", "added, p99", "aim", ""],
    );
    for (_, _, times) in &mut ways {
        times.sort_unstable();
    }
    let [straight, ..] = &ways;
    let first = [0.5, 0.99].map(|share| percentile(&straight.2, share));
    for (at, (name, _, times)) in ways.iter().enumerate() {
        let own = [0.5, 0.99].map(|share| percentile(times, share));
        let added = [own[0] - first[0], own[1] - first[1]];
        if at > 0 {
            let what = format!("added to an echo {name}, p99 (p50: {:.2} ms)", added[0]);
            part.most(what, added[1], AIM, "ms");
        }
        let mut cells = vec![(*name).to_owned(), format!("{:.2}", own[0]), format!("{:.2}", own[1])];
        cells.extend(match at {
            0 => Default::default(),
            _ => [
                format!("{:.2}", added[0]),
                format!("{:.2}", added[1]),
                format!("\u{2264} {AIM}"),
                format!("{}, {}", report::verdict(added[0], AIM), report::verdict(added[1], AIM)),
            ],
        });
        report::row(&cells);
    }
    Ok(())
}

async fn straight(hosts: &Hosts) -> Result<Shell> {
    let mut connection = connect(([127, 0, 0, 1], hosts.machine.port).into()).await?;
    let key = Arc::new(russh::keys::load_secret_key(&hosts.person.file, None)?);
    let signed =
        connection.authenticate_publickey(&hosts.user, PrivateKeyWithHashAlg::new(key, None)).await?;
    ensure!(signed.success(), "the machine refused the key");
    Shell::on_terminal(connection).await
}

async fn through(site: &Site) -> Result<Shell> {
    let pass = site.pass(OPENSSH).await?;
    let mut connection = connect(pass.address()).await?;
    let key = Arc::new(russh::keys::load_secret_key(&pass.key, None)?);
    let certificate = russh::keys::load_openssh_certificate(&pass.certificate)?;
    let signed = connection.authenticate_openssh_cert(&pass.user, key, certificate).await?;
    ensure!(signed.success(), "the bastion refused the certificate");
    Shell::on_terminal(connection).await
}

impl Terminal {
    /// Starts the program that waits, once the shell is there.
    async fn settle(&mut self) -> Result<()> {
        self.quiet().await?;
        self.say(WAITER).await?;
        self.quiet().await
    }

    /// Until it says nothing more; something at least.
    async fn quiet(&mut self) -> Result<()> {
        timeout(PATIENCE, self.hear()).await.context("it says nothing")??;
        while let Ok(heard) = timeout(QUIET, self.hear()).await {
            heard?;
        }
        Ok(())
    }

    /// One key, until its echo.
    async fn press(&mut self) -> Result<Duration> {
        let began = Instant::now();
        self.say(KEY).await?;
        timeout(PATIENCE, self.hear()).await.context("no echo")??;
        let took = began.elapsed();
        if let Self::Browser(browser) = self {
            browser.acknowledge().await?;
        }
        Ok(took)
    }

    async fn say(&mut self, bytes: &'static [u8]) -> Result<()> {
        match self {
            Self::Ssh(shell) => Ok(shell.channel.data_bytes(bytes).await?),
            Self::Browser(browser) => Ok(browser.socket.send(Message::binary(bytes)).await?),
        }
    }

    /// The next bytes of the screen.
    async fn hear(&mut self) -> Result<()> {
        match self {
            Self::Ssh(shell) => loop {
                match shell.channel.wait().await.context("the session ended")? {
                    ChannelMsg::Data { .. } => return Ok(()),
                    ChannelMsg::Close => bail!("the machine closed it"),
                    _ => {}
                }
            },
            Self::Browser(browser) => loop {
                match browser.next().await? {
                    Message::Binary(bytes) => {
                        browser.came += bytes.len() as u64;
                        return Ok(());
                    }
                    Message::Close(_) => bail!("the server closed it"),
                    _ => {}
                }
            },
        }
    }
}

impl Browser {
    /// As the page does it: an access for the machine's terminal, then the WebSocket.
    async fn open(site: &Site) -> Result<Self> {
        give(site).await?;
        let portal: Url = site.aro.dev.url.parse()?;
        let (host, port) = (portal.host_str().context("a host")?, portal.port().context("a port")?);
        let tcp = TcpStream::connect(("127.0.0.1", port)).await?;
        tcp.set_nodelay(true)?;
        let config = tls::client(&site.aro.ca_pem()?, &[b"http/1.1"])?;
        let name = ServerName::try_from(host.to_owned())?;
        let stream = TlsConnector::from(config).connect(name, tcp).await?;
        let cookie = site.session.cookie().context("a cookie")?;
        let request = Request::get(format!("wss://{host}:{port}{}/terminal/socket", site.cluster))
            .header(header::HOST, format!("{host}:{port}"))
            .header(header::CONNECTION, "Upgrade")
            .header(header::UPGRADE, "websocket")
            .header(header::SEC_WEBSOCKET_VERSION, "13")
            .header(header::SEC_WEBSOCKET_KEY, generate_key())
            .header(header::SEC_WEBSOCKET_PROTOCOL, "aro.terminal.v1")
            .header(header::ORIGIN, site.session.base())
            .header(header::COOKIE, HeaderValue::from_str(cookie)?)
            .body(())?;
        let (socket, _) = tokio_tungstenite::client_async(request, stream).await?;
        let mut browser = Self { socket, came: 0 };
        let size = json!({ "cols": 80, "rows": 24 });
        let open = json!({ "t": "open", "place": { "machine": { "name": OPENSSH } }, "size": size });
        browser.socket.send(Message::text(open.to_string())).await?;
        let Message::Text(hello) = timeout(PATIENCE, browser.next()).await.context("no answer")?? else {
            bail!("no word about the session")
        };
        let said: Value = serde_json::from_str(&hello)?;
        ensure!(said["t"] == "hello", "{said}");
        Ok(browser)
    }

    async fn next(&mut self) -> Result<Message> {
        Ok(self.socket.next().await.context("the connection ended")??)
    }

    async fn acknowledge(&mut self) -> Result<()> {
        let ack = json!({ "t": "ack", "n": self.came });
        Ok(self.socket.send(Message::text(ack.to_string())).await?)
    }
}

/// Takes the access that a terminal of the page needs.
async fn give(site: &Site) -> Result<()> {
    let session = &site.session;
    let info = session.get("/api/info").await?.ok()?.json()?;
    let csrf = info["csrf"].as_str().context("no csrf in /api/info")?;
    let form = Serializer::new(String::new())
        .append_pair("machine", OPENSSH)
        .append_pair("reason", "benchmark of the terminal")
        .finish();
    let headers = [
        ("accept", "text/html"),
        ("content-type", "application/x-www-form-urlencoded"),
        ("origin", session.base()),
        ("x-csrf-token", csrf),
    ];
    let path = format!("{}/terminal/new", site.cluster);
    let answer = session.send(Method::POST, &path, &headers, Some(form)).await?;
    ensure!(answer.status == 303, "{}: {}", answer.status, tests_kit::shown(&answer.text));
    Ok(())
}
