//! `{RES}/tunnel`: the dialog that builds the commands `aro console` and `aro tunnel`. It issues no access: they
//! request it themselves, and keep its token on the person's own machine.

use axum::extract::{Query, State};
use axum::response::Response;
use http::StatusCode;
use portal_model::index::Entry;
use portal_model::state::PortalState;
use portal_model::tunnels;
use portal_session::context::{Context, Ctx};
use portal_session::fault::Fault;
use portal_session::user::{CurrentUser, missing};
use proxy::tunnel_endpoint::{Destination as Where, Offer};
use rp_base::text::clean;
use rp_documents::{Rights, Role, Side};
use web::{AccessDecision, LEAST_REASON, NavItem, TunnelCommands, TunnelErrors, TunnelForm, TunnelPage};

use crate::answer::answer;
use crate::cluster_head::may_take;
use crate::cluster_path::ClusterPath;
use crate::frame::frame;

const MOST_REASON: usize = 1000;
const MOST_TICKET: usize = 100;
/// Maximum number of additional destinations.
const MOST_PLACES: usize = 20;

/// The dialog, or its page; with what was filled in, the commands.
pub async fn dialog(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    ClusterPath(id): ClusterPath,
    Query(form): Query<TunnelForm>,
) -> Result<Response, Fault> {
    let entry = state.model.index.snapshot().get(&id).cloned().ok_or_else(Fault::no_cluster)?;
    let mut page = blank(&state, &context, &user, &entry).await;
    if page.failure.is_some() || page.barred.is_some() {
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
    page.usual = offer.usual.iter().map(ToString::to_string).collect();
    page.domain.clone_from(&offer.domain);
    page.console = !offer.console.is_empty();
    let asked = form != TunnelForm::default();
    page.form = form;
    if !asked {
        return answer(&context, StatusCode::OK, &page);
    }
    match commands(&page, &offer) {
        Ok(given) => {
            page.given = Some(given);
            answer(&context, StatusCode::OK, &page)
        }
        Err(errors) => {
            page.errors = errors;
            answer(&context, StatusCode::UNPROCESSABLE_ENTITY, &page)
        }
    }
}

async fn blank(state: &PortalState, context: &Context, user: &CurrentUser, entry: &Entry) -> TunnelPage {
    let mut frame = frame(state, context);
    frame.place = NavItem::Clusters;
    let unreachable = |why: String| {
        Fault::new(StatusCode::CONFLICT, "not_reachable", Side::Cluster, "This cluster cannot be reached yet")
            .why(why)
    };
    let failure = match may_take(entry, user) {
        _ if !user.has(Role::Sre) => Some(missing(Role::Sre)),
        AccessDecision::Yes => None,
        AccessDecision::No(why) => Some(unreachable(why)),
    };
    let mut lives: Vec<u64> = [3600, 4 * 3600, 8 * 3600].into();
    let most = state.session.access.policy().longest(Rights::Write).as_secs();
    lives.retain(|life| *life <= most);
    if lives.is_empty() {
        lives.push(most);
    }
    TunnelPage {
        cluster: entry.id.name().to_owned(),
        path: entry.path(),
        barred: crate::denial::denial_reason(state, user, entry).await,
        failure: failure.map(|fault| fault.failure(&frame)),
        lives,
        frame,
        ..TunnelPage::default()
    }
}

/// What to run; or what is wrong with the form.
fn commands(page: &TunnelPage, offer: &Offer) -> Result<TunnelCommands, TunnelErrors> {
    let form = &page.form;
    let mut errors = TunnelErrors::default();
    let reason = form.reason.split_whitespace().collect::<Vec<_>>().join(" ");
    if reason.chars().count() < LEAST_REASON {
        let words = format!("Too short: say in at least {LEAST_REASON} characters what you are going to do.");
        errors.reason = Some(words);
    } else if reason.chars().count() > MOST_REASON {
        errors.reason = Some(format!("At most {MOST_REASON} characters."));
    }
    let ticket = form.ticket.trim();
    if ticket.chars().count() > MOST_TICKET {
        errors.ticket = Some(format!("A ticket has at most {MOST_TICKET} characters."));
    }
    let life = match form.life.trim() {
        "" => None,
        text => text.parse::<u64>().ok().filter(|life| page.lives.contains(life)).or_else(|| {
            errors.life = Some("One of these lengths.".to_owned());
            None
        }),
    };
    let more = further(&form.to, offer).unwrap_or_else(|words| {
        errors.to = Some(words);
        Vec::new()
    });
    if errors.to.is_none() && more.is_empty() && offer.usual.is_empty() {
        errors.to = Some("Name a route of the cluster's ingress.".to_owned());
    }
    if errors != TunnelErrors::default() {
        return Err(errors);
    }
    let mut wish = format!(" --reason {}", quoted(&reason));
    if !ticket.is_empty() {
        wish.push_str(&format!(" --ticket {}", quoted(ticket)));
    }
    if let Some(life) = life {
        wish.push_str(&format!(" --life {}", span(life)));
    }
    let name = quoted(&page.cluster);
    let all: Vec<String> = offer.usual.iter().chain(&more).map(ToString::to_string).collect();
    let to: String = if more.is_empty() {
        String::new()
    } else {
        all.iter().map(|place| format!(" --to {place}")).collect()
    };
    let console = if page.console { format!("aro console {name}{wish}") } else { String::new() };
    Ok(TunnelCommands { console, tunnel: format!("aro tunnel {name}{to}{wish}"), places: all })
}

/// The additional destinations; or a sentence about the first invalid one.
fn further(text: &str, offer: &Offer) -> Result<Vec<Where>, String> {
    let words = text.split([',', ' ', '\t', '\r', '\n']).filter(|word| !word.is_empty());
    let mut places = Vec::new();
    for word in words {
        let place =
            Where::parse(word).map_err(|error| format!("{} cannot be read: {error}.", clean(word, 100)))?;
        if !offer.allows(&place) {
            return Err(format!("The cluster does not offer {place}."));
        }
        if !offer.usual.contains(&place) && !places.contains(&place) {
            places.push(place);
        }
    }
    if places.len() > MOST_PLACES {
        return Err(format!("At most {MOST_PLACES} places."));
    }
    Ok(places)
}

/// One word for a shell, whatever it holds.
fn quoted(text: &str) -> String {
    let text = clean(text, MOST_REASON);
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

    fn page(to: &str, reason: &str, life: &str) -> TunnelPage {
        let form =
            TunnelForm { to: to.into(), reason: reason.into(), life: life.into(), ticket: String::new() };
        TunnelPage {
            cluster: "harbor".into(),
            console: true,
            lives: vec![1800, 3600],
            form,
            ..TunnelPage::default()
        }
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
        let given = commands(&page("", "it's $(id) \n`x`", "1800"), &offer()).unwrap();
        assert_eq!(given.console, r"aro console harbor --reason 'it'\''s $(id) `x`' --life 30m");
        assert_eq!(given.tunnel, r"aro tunnel harbor --reason 'it'\''s $(id) `x`' --life 30m");
        assert_eq!(quoted("--version"), "'--version'");
        assert_eq!(quoted("INC-4711"), "INC-4711");
    }

    #[test]
    fn further_places_are_named_with_the_usual_ones() {
        let given = commands(&page("Grafana.apps.example:443", "look at grafana", "3600"), &offer()).unwrap();
        let to = "--to console.apps.example:443 --to grafana.apps.example:443";
        assert_eq!(given.tunnel, format!("aro tunnel harbor {to} --reason 'look at grafana' --life 1h"));
        assert_eq!(given.places.len(), 2);
    }

    #[test]
    fn each_field_says_what_is_wrong_with_it() {
        let wrong =
            |to: &str, reason: &str, life: &str| commands(&page(to, reason, life), &offer()).unwrap_err();
        assert!(wrong("evil.example:443", "long enough", "").to.unwrap().contains("does not offer"));
        assert!(wrong("a b:c", "long enough", "").to.unwrap().contains("cannot be read"));
        assert!(wrong("", "short", "").reason.is_some());
        assert!(wrong("", "long enough", "7").life.is_some());
        let none = Offer { console: String::new(), usual: Vec::new(), domain: "apps.example".into() };
        assert!(commands(&page("", "long enough", ""), &none).unwrap_err().to.is_some());
    }
}
