//! `aro kubectl CLUSTER -- …`

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use rp_base::{Clock as _, SystemClock, Timestamp};
use serde_json::{Value, json};

use super::kubeconfig::{ask, name};
use super::{items, put, resolve};
use crate::args::{Format, KubectlArgs};
use crate::client::Client;
use crate::kubeconfig::{Entry, PlugIn, context, written};
use crate::output::cell;
use crate::platform::become_program;
use crate::profile::Profile;
use crate::{CliError, Output, files};

/// A grant with less left than this is not begun with.
const LEAST_LEFT: Duration = Duration::from_secs(300);

/// Becomes kubectl, so that exit codes, signals and the terminal are its own. Its kubeconfig lies in the
/// profile's folder and holds no secret.
pub(super) async fn run(args: KubectlArgs, _out: &mut Output) -> Result<(), CliError> {
    let plug_in = PlugIn::from_connection(&args.connection, None)?;
    let profile = Profile::named(args.connection.config_dir.as_deref(), args.connection.profile.as_deref())?;
    let client = Client::new(&args.connection)?;
    let resource = resolve(&client, &args.cluster).await?;
    let file = kubeconfig_of(&client, &profile, &resource, &args, &plug_in).await?;
    let mut command = Command::new("kubectl");
    command.args(&args.arguments).env("KUBECONFIG", &file);
    Err(become_program(command, "kubectl"))
}

/// The kubeconfig of a grant of this person that lives, else of a new one. The file's name is the grant's id.
pub(super) async fn kubeconfig_of(
    client: &Client,
    profile: &Profile,
    resource: &str,
    args: &KubectlArgs,
    plug_in: &PlugIn,
) -> Result<PathBuf, CliError> {
    match living(client, profile, resource, &args.rights).await? {
        Some(file) => Ok(file),
        None => create_kubeconfig(client, profile, resource, args, plug_in).await,
    }
}

/// The kubeconfig of a grant that this command created earlier, is still active at the portal and gives these rights now.
async fn living(
    client: &Client,
    profile: &Profile,
    resource: &str,
    rights: &str,
) -> Result<Option<PathBuf>, CliError> {
    let folder = profile.kubeconfigs();
    if !folder.exists() {
        return Ok(None);
    }
    let query = [
        ("mine", "true"),
        ("target", resource),
        ("kind", "kubeconfig"),
        ("state", "active"),
        ("active", "true"),
        ("limit", "500"),
    ];
    let answer = client.get("/api/v1/grants", &query).await?;
    let soon = SystemClock.now() + LEAST_LEFT;
    let fitting = items(&answer).iter().filter(|grant| gives(grant, resource, rights, soon));
    let ids = fitting.map(|grant| cell(grant, &["/id"]));
    Ok(ids.filter(|id| super::segment(id).is_ok()).map(|id| folder.join(id)).find(|file| file.exists()))
}

/// Whether a grant gives exactly these rights on the cluster now and until after `soon`. One that was given with more
/// rights only reads when its elevation is over.
fn gives(grant: &Value, resource: &str, rights: &str, soon: Timestamp) -> bool {
    cell(grant, &["/rights"]) == rights
        && cell(grant, &["/rights_now", "/rights"]) == rights
        && cell(grant, &["/state"]) == "active"
        && cell(grant, &["/target"]).eq_ignore_ascii_case(resource)
        && Timestamp::parse(&cell(grant, &["/not_after"])).is_ok_and(|end| end > soon)
}

async fn create_kubeconfig(
    client: &Client,
    profile: &Profile,
    resource: &str,
    args: &KubectlArgs,
    plug_in: &PlugIn,
) -> Result<PathBuf, CliError> {
    let Some(reason) = &args.reason else {
        return Err(CliError::Usage(format!(
            "no grant of yours for {} with {} rights lives: say by --reason why you need one",
            name(resource),
            args.rights
        )));
    };
    let mut body = json!({ "reason": reason, "rights": args.rights });
    put(&mut body, "ticket", args.ticket.clone());
    put(&mut body, "life", args.life);
    let given = ask(client, resource, body).await?;
    let entry = Entry {
        context: context(name(resource), &args.rights),
        server: &given.server,
        ca: given.ca.as_deref(),
        grant: &given.id,
        plug_in,
    };
    let folder = profile.kubeconfigs();
    profile.make(&folder)?;
    let file = folder.join(super::segment(&given.id)?);
    files::write_private(&file, &written(&entry.alone(), Format::Json)?)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_whose_elevation_is_over_is_not_used_again() {
        let soon = Timestamp::from_seconds(1_795_000_000);
        let good = json!({"id": "g", "state": "active", "rights": "write", "rights_now": "write", "target": "/X/harbor",
            "not_after": soon + Duration::from_secs(1)});
        assert!(gives(&good, "/x/harbor", "write", soon));
        for (member, other) in [
            ("rights_now", json!("read")),
            ("state", json!("ended")),
            ("state", json!("revoked")),
            ("rights", json!("admin")),
            ("target", json!("/x/other")),
            ("not_after", json!(soon)),
        ] {
            let mut grant = good.clone();
            grant[member] = other;
            assert!(!gives(&grant, "/x/harbor", "write", soon), "{member}: {grant}");
            assert!(!gives(&grant, "/x/harbor", "read", soon), "{member}: {grant}");
        }
    }
}
