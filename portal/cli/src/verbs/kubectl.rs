//! `aro kubectl CLUSTER -- …`

use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use super::kubeconfig::{ask, name};
use super::{items, put, resolve};
use crate::args::{Format, KubectlArgs};
use crate::client::Client;
use crate::kubeconfig::{Entry, PlugIn, context, written};
use crate::output::cell;
use crate::profile::Profile;
use crate::{CliError, Output, files};

/// A grant with less left than this is not begun with.
const LEAST_LEFT: i64 = 300;

/// Becomes kubectl, so that exit codes, signals and the terminal are its own. Its kubeconfig lies in the
/// profile's folder and holds no secret.
pub(super) async fn run(args: KubectlArgs, _out: &mut Output) -> Result<(), CliError> {
    let plug_in = PlugIn::from_connection(&args.connection, None)?;
    let profile = Profile::named(args.connection.config_dir.as_deref(), args.connection.profile.as_deref())?;
    let client = Client::new(&args.connection)?;
    let resource = resolve(&client, &args.cluster).await?;
    let file = match living(&client, &profile, &resource, &args.rights).await? {
        Some(file) => file,
        None => create_kubeconfig(&client, &profile, &resource, &args, &plug_in).await?,
    };
    let cause = Command::new("kubectl").args(&args.arguments).env("KUBECONFIG", &file).exec();
    Err(CliError::Program { program: "kubectl".to_owned(), cause })
}

/// The kubeconfig of a grant that this command created earlier and that is still active at the portal.
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
    let soon = rp_base::Clock::now(&rp_base::SystemClock).seconds() + LEAST_LEFT;
    let lives_on = |grant: &Value| {
        let end = rp_base::Timestamp::parse(&cell(grant, &["/not_after"]));
        end.is_ok_and(|end| end.seconds() > soon)
    };
    let fits = |grant: &&Value| {
        cell(grant, &["/rights"]) == rights
            && cell(grant, &["/state"]) == "active"
            && cell(grant, &["/target"]).eq_ignore_ascii_case(resource)
            && lives_on(grant)
    };
    let ids = items(&answer).iter().filter(fits).map(|grant| cell(grant, &["/id"]));
    Ok(ids.filter(|id| super::segment(id).is_ok()).map(|id| folder.join(id)).find(|file| file.exists()))
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
