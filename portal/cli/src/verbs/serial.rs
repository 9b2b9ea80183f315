//! `aro serial CLUSTER MACHINE`

use super::{items, resolve, segment};
use crate::args::{Format, SerialArgs};
use crate::client::Client;
use crate::output::cell;
use crate::{CliError, Output};

pub(super) async fn run(args: SerialArgs, out: &mut Output) -> Result<(), CliError> {
    let client = Client::new(&args.connection)?;
    let resource = resolve(&client, &args.cluster).await?;
    let path = format!("/api/v1/clusters{resource}/machines/{}/serial", segment(&args.machine)?);
    let lines = args.lines.to_string();
    let mut query = vec![("lines", lines.as_str())];
    query.extend(args.search.as_deref().map(|text| ("q", text)));
    query.extend(args.reason.as_deref().map(|reason| ("reason", reason)));
    let answer = client.get(&path, &query).await?;
    if args.connection.output == Format::Table && answer["older"].is_u64() {
        out.note(&format!("{} lines in all; more with --lines", cell(&answer, &["/total"])));
    }
    out.value(args.connection.output, &answer, |answer| {
        let text = |line| rp_base::text::clean(&cell(line, &["/text"]), 10_000);
        items(&answer["lines"]).iter().map(|line| format!("{}\n", text(line))).collect::<String>()
    })
}
