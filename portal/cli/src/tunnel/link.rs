//! The connection to the portal's proxy, made again when it is lost.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _, future};
use rp_base::text;
use rp_tunnel::{Destination, Keepalive, MOST_MESSAGE, OpenError, Opener, PROTOCOL, TunnelStream, client};
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tokio_rustls::TlsConnector;
use tokio_tungstenite::client_async_with_config;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::{HeaderValue, header};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message};
use url::Url;

use super::grant::Tunnel;
use crate::error::Refusal;
use crate::{CliError, tls};

/// For the whole of a connection's beginning.
const CONNECT_WITHIN: Duration = Duration::from_secs(20);
/// A program waits so long for a connection that is being made again.
const PATIENCE: Duration = Duration::from_secs(20);
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);
/// Remarks that wait to be shown.
const REMARKS: usize = 64;

/// One tunnel, whatever connection carries it now.
#[derive(Debug)]
pub(crate) struct Link {
    tunnel: Tunnel,
    tls: Arc<ClientConfig>,
    current: watch::Sender<Option<Opener>>,
    remarks: mpsc::Sender<String>,
}

impl std::fmt::Debug for Tunnel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tunnel").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Link {
    /// Not connected yet. Remarks for the person come out of the other half.
    pub(crate) fn new(tunnel: Tunnel) -> Result<(Arc<Self>, mpsc::Receiver<String>), CliError> {
        let tls = Arc::new(tls::config(tunnel.ca.as_deref())?);
        let (remarks, shown) = mpsc::channel(REMARKS);
        let link = Self { tunnel, tls, current: watch::Sender::new(None), remarks };
        Ok((Arc::new(link), shown))
    }

    /// Makes the first connection, so that a refusal is known before anybody uses the tunnel.
    ///
    /// # Errors
    /// The proxy refuses the access or cannot be reached.
    pub(crate) async fn begin(&self) -> Result<(), CliError> {
        let opener = self.connect_in_time().await?;
        self.current.send_replace(Some(opener));
        Ok(())
    }

    /// Keeps a connection, at first the one of [`Self::begin`], until the access has ended.
    ///
    /// # Errors
    /// Always: why it ended. An absent portal is waited for, but not at the first time.
    pub(crate) async fn keep(&self) -> CliError {
        let mut pause = FIRST_PAUSE;
        let mut ever = false;
        let mut begun = self.current.borrow().clone();
        loop {
            let connected = match begun.take() {
                Some(opener) => Ok(opener),
                None => self.connect_in_time().await,
            };
            match connected {
                Ok(opener) => {
                    if ever {
                        self.remark("The tunnel is connected again.");
                    }
                    (ever, pause) = (true, FIRST_PAUSE);
                    self.current.send_replace(Some(opener.clone()));
                    opener.wait_closing().await;
                    match opener.bye_reason() {
                        Some(why) => {
                            self.remark(&format!("The tunnel was closed: {}.", text::clean(&why, 200)));
                        }
                        None => self.remark("The tunnel was lost; connecting again."),
                    }
                }
                Err(error @ CliError::Away { .. }) if ever => {
                    self.remark(&error.to_string());
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                Err(error) => return error,
            }
        }
    }

    fn remark(&self, text: &str) {
        // Remarks that are not read in time are dropped.
        let _ = self.remarks.try_send(text.to_owned());
    }

    pub(super) fn refused(&self, place: &Destination, error: &OpenError) {
        self.remark(&format!("{place}: {}", text::clean(&error.to_string(), 300)));
    }

    fn away(&self, why: impl std::fmt::Display) -> CliError {
        let host = self.tunnel.server.host_str().unwrap_or_default().to_owned();
        CliError::Away { host, why: text::clean(&why.to_string(), 200) }
    }

    /// Opens a stream on the living connection, or on the one that is made next.
    pub(super) async fn open(&self, place: &Destination) -> Result<TunnelStream, OpenError> {
        let mut current = self.current.subscribe();
        let opened = async {
            loop {
                let living = current.wait_for(|opener| opener.as_ref().is_some_and(|one| !one.is_closing()));
                let opener = living.await.map_err(|_| OpenError::Closed)?.clone();
                let Some(opener) = opener else { continue };
                match opener.open(place).await {
                    Err(OpenError::Closed) => {
                        // Its keeper learns of it too.
                        tokio::task::yield_now().await;
                    }
                    answer => return answer,
                }
            }
        };
        tokio::time::timeout(PATIENCE, opened).await.unwrap_or(Err(OpenError::Closed))
    }

    async fn connect_in_time(&self) -> Result<Opener, CliError> {
        let connected = tokio::time::timeout(CONNECT_WITHIN, self.connect()).await;
        connected.unwrap_or_else(|_| Err(self.away("it took too long")))
    }

    async fn connect(&self) -> Result<Opener, CliError> {
        let server = &self.tunnel.server;
        let (host, port) =
            (server.host_str().unwrap_or_default(), server.port_or_known_default().unwrap_or(443));
        let bare = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let tcp = TcpStream::connect((bare.as_str(), port)).await.map_err(|error| self.away(error))?;
        tcp.set_nodelay(true).map_err(|error| self.away(error))?;
        let name = ServerName::try_from(bare).map_err(|_| CliError::Answer("the proxy's address"))?;
        let stream = TlsConnector::from(Arc::clone(&self.tls))
            .connect(name, tcp)
            .await
            .map_err(|error| self.away(error))?;
        let config = WebSocketConfig::default()
            .max_message_size(Some(MOST_MESSAGE))
            .max_frame_size(Some(MOST_MESSAGE));
        let request = request(server, self.tunnel.token.expose())?;
        let (socket, answer) = match client_async_with_config(request, stream, Some(config)).await {
            Ok(connected) => connected,
            Err(Error::Http(answer)) => {
                return Err(refusal_error(answer.status().as_u16(), answer.body().as_deref()));
            }
            Err(error) => return Err(self.away(error)),
        };
        let agreed = answer.headers().get(header::SEC_WEBSOCKET_PROTOCOL);
        if agreed.is_none_or(|agreed| agreed != PROTOCOL) {
            return Err(CliError::Answer("another version of the tunnel"));
        }
        let (outgoing, incoming) = socket.split();
        let incoming = Box::pin(incoming.filter_map(|message| future::ready(binary(message))));
        let outgoing = Box::pin(outgoing.with(|frame: Bytes| future::ok::<_, Error>(Message::Binary(frame))));
        let (opener, driver) = client(Keepalive::default());
        tokio::spawn(driver.run(incoming, outgoing));
        Ok(opener)
    }
}

fn request(
    server: &Url,
    token: &str,
) -> Result<tokio_tungstenite::tungstenite::handshake::client::Request, CliError> {
    let mut address = server.clone();
    address.set_scheme("wss").map_err(|()| CliError::Answer("the proxy's address"))?;
    let mut request =
        address.as_str().into_client_request().map_err(|_| CliError::Answer("the proxy's address"))?;
    let bearer = rp_base::Secret::new(format!("Bearer {token}"));
    let mut bearer = HeaderValue::from_str(bearer.expose()).map_err(|_| CliError::Answer("the token"))?;
    bearer.set_sensitive(true);
    let headers = request.headers_mut();
    headers.insert(header::AUTHORIZATION, bearer);
    headers.insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(PROTOCOL));
    headers.insert(header::USER_AGENT, HeaderValue::from_static(concat!("aro/", env!("CARGO_PKG_VERSION"))));
    Ok(request)
}

/// Turns the proxy's refusal into an error. Temporary failures become `Away`, which the caller retries.
fn refusal_error(status: u16, body: Option<&[u8]>) -> CliError {
    let value: serde_json::Value =
        body.and_then(|body| serde_json::from_slice(body).ok()).unwrap_or_default();
    let refusal = value.get("error").and_then(|inner| serde_json::from_value::<Refusal>(inner.clone()).ok());
    if matches!(status, 429 | 500..=599) {
        let why = refusal.map_or_else(|| format!("it answered {status}"), |refusal| refusal.message);
        return CliError::Away { host: "the proxy".to_owned(), why };
    }
    let refusal = refusal.unwrap_or_else(|| Refusal {
        code: format!("http_{status}"),
        message: format!("the proxy answered {status}"),
        side: String::new(),
        action: String::new(),
        request_id: String::new(),
    });
    CliError::Refused { status, refusal }
}

fn binary(message: Result<Message, Error>) -> Option<Result<Bytes, Error>> {
    match message {
        Ok(Message::Binary(frame)) => Some(Ok(frame)),
        Ok(_) | Err(Error::ConnectionClosed) => None,
        Err(error) => Some(Err(error)),
    }
}
