//! `aro profile …`: which sign-in is used.

use rp_base::{Clock as _, SystemClock};
use serde_json::{Value, json};

use super::write_list;
use crate::args::ProfileVerb;
use crate::output::{Column, cell};
use crate::profile::Profile;
use crate::{CliError, Output};

const PROFILES: [Column<'_>; 5] = [
    ("NAME", |row| cell(row, &["/name"])),
    ("USED", |row| if row["used"] == true { "yes".to_owned() } else { String::new() }),
    ("PORTAL", |row| cell(row, &["/portal"])),
    ("PERSON", |row| cell(row, &["/person"])),
    ("UNTIL", |row| cell(row, &["/not_after"])),
];

pub(super) fn run(verb: ProfileVerb, out: &mut Output) -> Result<(), CliError> {
    match verb {
        ProfileVerb::List { connection } => {
            let config = connection.config_dir.as_deref();
            let used = Profile::named(config, connection.profile.as_deref())?;
            let rows = Profile::all(config)?;
            let rows: Vec<Value> = rows.iter().map(|one| row(one, &used)).collect::<Result<_, _>>()?;
            write_list(&json!({ "items": rows }), connection.output, &PROFILES, out)
        }
        ProfileVerb::Use { name, connection } => {
            let profile = Profile::named(connection.config_dir.as_deref(), Some(&name))?;
            if profile.settings()?.is_none() {
                return Err(CliError::Usage(format!(
                    "nobody signed in as {name} yet: aro login PORTAL --profile {name}; aro profile list names those that are there"
                )));
            }
            profile.choose()?;
            let answer = row(&profile, &profile)?;
            out.value(connection.output, &answer, |answer| {
                format!("{name} is used: {}\n", cell(answer, &["/portal"]))
            })
        }
    }
}

/// What is known of a sign-in; nothing of its token but how long it lives.
fn row(profile: &Profile, used: &Profile) -> Result<Value, CliError> {
    let settings = profile.settings()?;
    let token = profile.token()?;
    let lives = token.as_ref().is_some_and(|token| token.not_after > SystemClock.now());
    Ok(json!({
        "name": profile.name,
        "used": profile.name == used.name,
        "portal": settings.map(|settings| settings.portal),
        "person": token.as_ref().map(|token| token.person.as_str()),
        "not_after": token.as_ref().map(|token| token.not_after),
        "signed_in": lives,
    }))
}
