//! One HEAD request after the other to a URL until one is answered: any status is success, because only the network
//! is checked.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use reqwest::{Client, NoProxy, Proxy, redirect};
use rp_base::chain;
use rp_net::tls::public_config;
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

/// Redirects of one try.
const MOST_REDIRECTS: usize = 10;
/// Octets of the text of an error.
const MOST_TEXT: usize = 300;

/// How often and how long a URL is tried.
#[derive(Debug, Clone, Copy)]
pub(super) struct Probe {
    /// Tries of a URL.
    pub(super) tries: u32,
    /// Time of one try; a try that fails sooner is followed by the next one only then.
    pub(super) each: Duration,
}

impl Default for Probe {
    fn default() -> Self {
        Self { tries: 6, each: Duration::from_secs(10) }
    }
}

/// The proxy of the cluster (`proxies.config.openshift.io/cluster`, its status).
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct ProxySettings {
    http: String,
    https: String,
    none: String,
}

impl ProxySettings {
    pub(super) fn of(proxy: Option<&Value>) -> Self {
        let text = |name: &str| {
            let member = proxy.and_then(|proxy| proxy.get("status")?.get(name)?.as_str());
            member.unwrap_or_default().to_owned()
        };
        Self { http: text("httpProxy"), https: text("httpsProxy"), none: text("noProxy") }
    }

    fn proxies(&self) -> Result<Vec<Proxy>, reqwest::Error> {
        let exceptions = || NoProxy::from_string(&self.none);
        let mut out = Vec::new();
        if !self.http.is_empty() {
            out.push(Proxy::http(&self.http)?.no_proxy(exceptions()));
        }
        if !self.https.is_empty() {
            out.push(Proxy::https(&self.https)?.no_proxy(exceptions()));
        }
        Ok(out)
    }
}

impl Probe {
    /// Tries all URLs at once; gives `URL: error` of those that failed, in the order of the URLs.
    pub(super) async fn all(self, urls: Vec<String>, proxy: &ProxySettings) -> Vec<String> {
        let client = match self.client(proxy) {
            Ok(client) => Arc::new(client),
            Err(error) => return urls.iter().map(|url| format!("{url}: {error}")).collect(),
        };
        let mut tasks = JoinSet::new();
        for url in urls {
            let client = Arc::clone(&client);
            tasks.spawn(async move { self.one(&client, &url).await.map(|error| format!("{url}: {error}")) });
        }
        let mut failures: Vec<_> = tasks.join_all().await.into_iter().flatten().collect();
        // A message whose lines change places would look like a change.
        failures.sort();
        failures
    }

    fn client(self, proxy: &ProxySettings) -> Result<Client, String> {
        let tls = public_config().map_err(|error| chain(&error).to_string())?;
        let mut builder = Client::builder()
            .tls_backend_preconfigured((*tls).clone())
            .redirect(redirect::Policy::limited(MOST_REDIRECTS))
            // Each try opens a connection of its own: it is the connection that is checked.
            .pool_max_idle_per_host(0)
            .timeout(self.each)
            .no_proxy();
        for proxy in proxy.proxies().map_err(|_| "the proxy of the cluster is not valid".to_owned())? {
            builder = builder.proxy(proxy);
        }
        builder.build().map_err(|error| text(&error))
    }

    /// The error of the last try; `None`: one was answered.
    async fn one(self, client: &Client, url: &str) -> Option<String> {
        let mut last = String::new();
        for _ in 0..self.tries {
            let began = Instant::now();
            match client.head(url).send().await {
                Ok(_) => return None,
                Err(error) if error.is_builder() => return Some(text(&error)),
                Err(error) => last = text(&error),
            }
            sleep_until(began + self.each).await;
        }
        Some(last)
    }
}

/// The innermost cause says most; the URL stands before it already.
fn text(error: &reqwest::Error) -> String {
    let mut text = if error.is_timeout() { "timed out".to_owned() } else { error.to_string() };
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = inner.to_string();
        cause = inner.source();
    }
    text.truncate(text.floor_char_boundary(MOST_TEXT));
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    const QUICK: Probe = Probe { tries: 2, each: Duration::from_millis(200) };

    /// Answers each connection with that text; gives the address and what the clients send.
    async fn server(answer: &'static str) -> (String, tokio::sync::mpsc::Receiver<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (sender, receiver) = tokio::sync::mpsc::channel(16);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut buffer = [0; 1024];
                let read = stream.read(&mut buffer).await.unwrap_or(0);
                let _ = stream.write_all(answer.as_bytes()).await;
                let _ = sender.send(String::from_utf8_lossy(&buffer[..read]).into_owned()).await;
            }
        });
        (address, receiver)
    }

    #[tokio::test]
    async fn any_answer_is_success_and_failures_come_sorted() {
        rp_net::tls::install_provider();
        let (address, _requests) = server("HTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n").await;
        let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let urls = vec![
            format!("http://{closed}/b"),
            format!("http://{address}/"),
            format!("http://{closed}/a"),
            "nonsense".to_owned(),
        ];
        let failures = QUICK.all(urls, &ProxySettings::default()).await;
        assert_eq!(failures.len(), 3, "{failures:?}");
        assert!(failures[0].starts_with(&format!("http://{closed}/a: ")), "{failures:?}");
        assert!(failures[1].starts_with(&format!("http://{closed}/b: ")), "{failures:?}");
        assert!(failures[2].starts_with("nonsense: "), "{failures:?}");
    }

    #[tokio::test]
    async fn the_proxy_of_the_cluster_is_used_but_for_its_exceptions() {
        rp_net::tls::install_provider();
        let (address, mut requests) = server("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
        let proxy = ProxySettings::of(Some(
            &json!({ "status": { "httpProxy": format!("http://{address}"), "noProxy": ".svc" } }),
        ));
        let urls = vec!["http://example.test/x".to_owned(), "http://none.svc/".to_owned()];
        let failures = QUICK.all(urls, &proxy).await;
        assert_eq!(failures.len(), 1, "{failures:?}");
        assert!(failures[0].starts_with("http://none.svc/: "), "{failures:?}");
        assert!(requests.recv().await.unwrap().starts_with("HEAD http://example.test/x HTTP/1.1"));
    }

    #[test]
    fn the_times_are_those_of_the_contract() {
        let probe = Probe::default();
        assert_eq!((probe.tries, probe.each), (6, Duration::from_secs(10)));
    }
}
