//! `aro tunnel CLUSTER`

use std::sync::Arc;

use rp_tunnel::Destination;
use tokio::sync::mpsc;

use super::resolve;
use crate::args::{AccessArgs, TunnelArgs};
use crate::client::Client;
use crate::output::cell;
use crate::profile::Profile;
use crate::tunnel::{Link, LocalListener, Tunnel, TunnelRequest, forget, kept, request, to_json};
use crate::{CliError, Output, platform, progress};

pub(super) async fn run(args: TunnelArgs, out: &mut Output) -> Result<(), CliError> {
    let places = args.to.iter().map(|text| {
        Destination::parse(text).map_err(|error| CliError::Usage(format!("--to {text}: {error}")))
    });
    let to = places.collect::<Result<Vec<_>, _>>()?;
    let door = LocalListener::open(args.listen).await?;
    let client = Client::new(&args.connection)?;
    let resource = resolve(&client, &args.cluster).await?;
    let opened = open_tunnel(&client, &args.connection, &resource, to, args.wish, out).await?;
    let OpenedTunnel { tunnel, link, remarks } = opened;
    let told = to_json(&tunnel, door.address);
    out.value(args.connection.output, &told, |told| format!("{}\n", cell(told, &["/address"])))?;
    out.note(&format!(
        "SOCKS5 and HTTP proxy for {} until {}. End it with Ctrl-C.",
        tunnel.destinations.join(", "),
        tunnel.not_after
    ));
    serve(door, link, remarks, std::future::pending(), out).await
}

/// An access and its first connection.
#[derive(Debug)]
pub(super) struct OpenedTunnel {
    pub(super) tunnel: Tunnel,
    pub(super) link: Arc<Link>,
    /// Remarks for the person.
    pub(super) remarks: mpsc::Receiver<String>,
}

/// Obtains the access that the command line describes, and connects. A kept access that the proxy refuses as ended is
/// forgotten, and a new one is requested once.
pub(super) async fn open_tunnel(
    client: &Client,
    connection: &crate::args::Connection,
    resource: &str,
    to: Vec<Destination>,
    wish: AccessArgs,
    out: &mut Output,
) -> Result<OpenedTunnel, CliError> {
    let profile = Profile::named(connection.config_dir.as_deref(), connection.profile.as_deref())?;
    let AccessArgs { reason, ticket, life } = wish;
    let wish = TunnelRequest { to, reason, ticket, life };
    if let Some(tunnel) = kept(client, &profile, resource, &wish).await? {
        match connect(tunnel.clone()).await {
            Err(error) if error.is_ended_access() => forget(&profile, &tunnel),
            opened => return opened,
        }
    }
    connect(request(client, &profile, resource, wish, out).await?).await
}

async fn connect(tunnel: Tunnel) -> Result<OpenedTunnel, CliError> {
    let (link, remarks) = Link::new(tunnel.clone())?;
    progress::shown("connecting to the proxy", Box::pin(link.begin())).await?;
    Ok(OpenedTunnel { tunnel, link, remarks })
}

/// Serves until the access ends, the person ends it, or `done`.
pub(super) async fn serve(
    door: LocalListener,
    link: Arc<Link>,
    mut remarks: mpsc::Receiver<String>,
    done: impl Future<Output = ()>,
    out: &mut Output,
) -> Result<(), CliError> {
    let serving = tokio::spawn(door.serve(Arc::clone(&link)));
    let terminated = platform::terminated()?;
    let keeping = async move { link.keep().await };
    tokio::pin!(keeping, done, terminated);
    let ended = loop {
        tokio::select! {
            error = &mut keeping => break Err(error),
            remark = remarks.recv() => if let Some(remark) = remark { out.note(&remark) },
            _ = tokio::signal::ctrl_c() => break Ok(()),
            () = &mut terminated => break Ok(()),
            () = &mut done => break Ok(()),
        }
    };
    serving.abort();
    while let Ok(remark) = remarks.try_recv() {
        out.note(&remark);
    }
    ended
}
