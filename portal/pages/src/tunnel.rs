//! `{RES}/tunnel`: the dialog that builds the commands `aro console` and `aro tunnel`. It issues no access: they
//! request it themselves, and keep its token on the person's own machine.

use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::StatusCode;
use portal_model::access_kinds::TUNNEL;
use portal_model::access_offer;
use portal_model::state::PortalState;
use portal_model::tunnels;
use portal_session::context::Ctx;
use portal_session::fault::Fault;
use portal_session::refusals::sentence;
use portal_session::user::CurrentUser;
use proxy::tunnel_endpoint::{Destination as Where, Offer};
use rp_access::ReasonLimits;
use rp_base::text::clean;
use web::{
    AccessDialogKind, AccessErrors, AccessForm, AccessGiven, AccessQuestion, TunnelChoices, TunnelCommands,
};

use crate::access_dialog;
use crate::answer::answer;
use crate::cluster_path::ClusterPath;

/// What its form asks.
const FIELDS: [&str; 4] = ["destinations", "life", "reason", "ticket"];
const MOST_TICKET: usize = 100;
/// Maximum number of additional destinations.
const MOST_PLACES: usize = 20;

/// The dialog, or its page; with what was filled in, the commands.
pub async fn dialog(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    ClusterPath(id): ClusterPath,
    RawQuery(query): RawQuery,
) -> Result<Response, Fault> {
    let form = access_dialog::read_form(query.unwrap_or_default().as_bytes(), &FIELDS)?;
    let entry = state.model.index.snapshot().get(&id).cloned().ok_or_else(Fault::no_cluster)?;
    let may = access_offer::offer(&state, &user, &entry, &TUNNEL).await;
    let kind = AccessDialogKind::Tunnel(TunnelChoices::default());
    let mut page = access_dialog::dialog(&state, &context, &entry, &may, kind);
    if page.failure.is_some() || page.question.barred.is_some() {
        return answer(&context, StatusCode::OK, &page);
    }
    let offer = match state.model.clusters.places.offer(&id).await {
        Ok(offer) => offer,
        Err(error) => {
            let fault = tunnels::failed(&error);
            page.failure = Some(fault.failure(&page.frame));
            return answer(&context, fault.status, &page);
        }
    };
    page.kind = AccessDialogKind::Tunnel(TunnelChoices {
        usual: offer.usual.iter().map(ToString::to_string).collect(),
        domain: offer.domain.clone(),
    });
    // A form that was sent names a life; the way back from an elevation fills in reason and ticket alone.
    let sent = !form.life.is_empty() || !form.destinations.is_empty();
    page.question.form = form;
    if !sent {
        return answer(&context, StatusCode::OK, &page);
    }
    let limits = state.session.access.policy().reason_limits();
    page.given = commands(&page.cluster, &mut page.question, &offer, limits).map(AccessGiven::Commands);
    let status = if page.given.is_some() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    answer(&context, status, &page)
}

/// What to run; `None`: something is wrong with the form.
fn commands(
    cluster: &str,
    question: &mut AccessQuestion,
    offer: &Offer,
    limits: ReasonLimits,
) -> Option<TunnelCommands> {
    let AccessQuestion { lives, form, errors, .. } = question;
    let flags = flags(lives, form, errors, limits);
    let more = further(form, errors, offer);
    if errors.destinations.is_none() && more.is_empty() && offer.usual.is_empty() {
        errors.destinations = Some("Name a route of the cluster's ingress.".to_owned());
    }
    if errors.any() {
        return None;
    }
    let name = quoted(cluster);
    let all: Vec<String> = offer.usual.iter().chain(&more).map(ToString::to_string).collect();
    let to: String = if more.is_empty() {
        String::new()
    } else {
        all.iter().map(|place| format!(" --to {place}")).collect()
    };
    let console = if offer.console.is_empty() { String::new() } else { format!("aro console {name}{flags}") };
    Some(TunnelCommands { console, tunnel: format!("aro tunnel {name}{to}{flags}"), places: all })
}

/// The flags of the access that a command asks for: reason, ticket and life.
fn flags(lives: &[u64], form: &AccessForm, errors: &mut AccessErrors, limits: ReasonLimits) -> String {
    let reason = form.reason.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Err(bad) = limits.check(&reason) {
        errors.reason = Some(sentence(&bad));
    }
    let ticket = access_dialog::ticket(form);
    if ticket.as_ref().is_some_and(|ticket| ticket.chars().count() > MOST_TICKET) {
        errors.ticket = Some(format!("A ticket has at most {MOST_TICKET} characters."));
    }
    let life = match form.life.trim() {
        "" => None,
        text => text.parse::<u64>().ok().filter(|life| lives.contains(life)).or_else(|| {
            errors.life = Some("One of these lengths.".to_owned());
            None
        }),
    };
    let mut flags = format!(" --reason {}", quoted(&reason));
    if let Some(ticket) = ticket {
        flags.push_str(&format!(" --ticket {}", quoted(&ticket)));
    }
    if let Some(life) = life {
        flags.push_str(&format!(" --life {}", span(life)));
    }
    flags
}

/// The additional destinations; what is wrong with the first invalid one stands at the field.
fn further(form: &AccessForm, errors: &mut AccessErrors, offer: &Offer) -> Vec<Where> {
    let mut places = Vec::new();
    for word in access_dialog::destinations(form) {
        let wrong = match Where::parse(word) {
            Err(error) => format!("{} cannot be read: {error}.", clean(word, 100)),
            Ok(place) if !offer.allows(&place) => format!("The cluster does not offer {place}."),
            Ok(place) => {
                if !offer.usual.contains(&place) && !places.contains(&place) {
                    places.push(place);
                }
                continue;
            }
        };
        errors.destinations = Some(wrong);
        return Vec::new();
    }
    if places.len() > MOST_PLACES {
        errors.destinations = Some(format!("At most {MOST_PLACES} places."));
        return Vec::new();
    }
    places
}

/// One word for a shell, whatever it holds.
fn quoted(text: &str) -> String {
    let text = clean(text, ReasonLimits::OPTIONAL.most);
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./:@".contains(&b);
    if !text.is_empty() && text.bytes().all(plain) && !text.starts_with('-') {
        return text;
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn span(seconds: u64) -> String {
    match seconds {
        hours if hours % 3600 == 0 => format!("{}h", hours / 3600),
        minutes if minutes % 60 == 0 => format!("{}m", minutes / 60),
        seconds => format!("{seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(to: &str, reason: &str, life: &str) -> AccessQuestion {
        let form = AccessForm {
            destinations: to.into(),
            reason: reason.into(),
            life: life.into(),
            ..AccessForm::default()
        };
        AccessQuestion { lives: vec![1800, 3600], form, ..AccessQuestion::default() }
    }

    const LIMITS: ReasonLimits = ReasonLimits { least: 10, most: 1000 };

    fn given(to: &str, reason: &str, life: &str) -> TunnelCommands {
        commands("harbor", &mut asked(to, reason, life), &offer(), LIMITS).unwrap()
    }

    fn offer() -> Offer {
        Offer {
            console: "https://console.apps.example/".into(),
            usual: vec![Where::parse("console.apps.example:443").unwrap()],
            domain: "apps.example".into(),
        }
    }

    #[test]
    fn a_reason_stays_one_word_of_the_shell() {
        let given = given("", "it's $(id) \n`x`", "1800");
        assert_eq!(given.console, r"aro console harbor --reason 'it'\''s $(id) `x`' --life 30m");
        assert_eq!(given.tunnel, r"aro tunnel harbor --reason 'it'\''s $(id) `x`' --life 30m");
        assert_eq!(quoted("--version"), "'--version'");
        assert_eq!(quoted("INC-4711"), "INC-4711");
    }

    #[test]
    fn further_places_are_named_with_the_usual_ones() {
        let given = given("Grafana.apps.example:443", "look at grafana", "3600");
        let to = "--to console.apps.example:443 --to grafana.apps.example:443";
        assert_eq!(given.tunnel, format!("aro tunnel harbor {to} --reason 'look at grafana' --life 1h"));
        assert_eq!(given.places.len(), 2);
    }

    #[test]
    fn each_field_says_what_is_wrong_with_it() {
        let wrong = |to: &str, reason: &str, life: &str, offer: &Offer| {
            let mut question = asked(to, reason, life);
            assert_eq!(commands("harbor", &mut question, offer, LIMITS), None);
            question.errors
        };
        let (some, long) = (offer(), "long enough");
        let none = Offer { console: String::new(), usual: Vec::new(), ..offer() };
        assert!(wrong("evil.example:443", long, "", &some).destinations.unwrap().contains("does not offer"));
        assert!(wrong("a b:c", long, "", &some).destinations.unwrap().contains("cannot be read"));
        assert!(wrong("", "short", "", &some).reason.is_some());
        assert!(wrong("", long, "7", &some).life.is_some());
        assert!(wrong("", long, "", &none).destinations.is_some());
    }
}
