//! The notice of the person's last action, shown once on the next page. A cookie of a word and a number carries it over
//! the redirect. It is not signed, because a forged cookie misleads only its own browser.

use axum::response::Response;
use http::{HeaderMap, HeaderValue, header};
use web::{Notice, Tone};

const COOKIE: &str = "__Host-aro-did";

/// A completed action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flash {
    Revoked,
    RevokedMany(u64),
    Extended,
    ElevationRequested,
    Elevated,
    BrokeGlass,
    Approved,
    Refused,
    Ended,
    Withdrawn,
    Reviewed,
    RobotRevoked(u64),
    MaintenanceOrdered,
    MaintenanceCancelled,
    FlagSet,
    TestRecorded,
    ActionDone,
}

impl Flash {
    const PLAIN: [Self; 15] = [
        Self::Revoked,
        Self::Extended,
        Self::ElevationRequested,
        Self::Elevated,
        Self::BrokeGlass,
        Self::Approved,
        Self::Refused,
        Self::Ended,
        Self::Withdrawn,
        Self::Reviewed,
        Self::MaintenanceOrdered,
        Self::MaintenanceCancelled,
        Self::FlagSet,
        Self::TestRecorded,
        Self::ActionDone,
    ];

    const fn word(self) -> &'static str {
        match self {
            Self::Revoked => "revoked",
            Self::RevokedMany(_) => "revoked-many",
            Self::Extended => "extended",
            Self::ElevationRequested => "asked",
            Self::Elevated => "elevated",
            Self::BrokeGlass => "broke-glass",
            Self::Approved => "approved",
            Self::Refused => "refused",
            Self::Ended => "ended",
            Self::Withdrawn => "withdrawn",
            Self::Reviewed => "reviewed",
            Self::RobotRevoked(_) => "robot-revoked",
            Self::MaintenanceOrdered => "ordered",
            Self::MaintenanceCancelled => "cancelled",
            Self::FlagSet => "flag-set",
            Self::TestRecorded => "test-recorded",
            Self::ActionDone => "action-done",
        }
    }

    fn read(text: &str) -> Option<Self> {
        let (word, number) = text.split_once('.').unwrap_or((text, "0"));
        let number = number.parse().ok()?;
        match word {
            "revoked-many" => Some(Self::RevokedMany(number)),
            "robot-revoked" => Some(Self::RobotRevoked(number)),
            _ => Self::PLAIN.into_iter().find(|flash| flash.word() == word),
        }
    }

    /// From the cookie of a request.
    pub fn from_headers(headers: &HeaderMap) -> Option<Self> {
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs =
            cookies.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.find(|(name, _)| *name == COOKIE).and_then(|(_, value)| Self::read(value))
    }

    /// As a toast.
    pub fn notice(self) -> Notice {
        let grants = |n: u64| web::text::plural(n, "grant", "grants");
        let (tone, lead, text) = match self {
            Self::Revoked => (Tone::Ok, "Revoked.", "It no longer works; its streams are cut.".to_owned()),
            Self::RevokedMany(0) => (Tone::Ok, "Nothing was alive.", "No grant had to be ended.".to_owned()),
            Self::RevokedMany(n) => {
                (Tone::Ok, "Revoked.", format!("{} ended; their streams are cut.", grants(n)))
            }
            Self::Extended => (Tone::Ok, "Extended.", "Nothing else about it has changed.".to_owned()),
            Self::ElevationRequested => (
                Tone::Busy,
                "Requested.",
                "A second person decides. The banner tells you when you are elevated.".to_owned(),
            ),
            Self::Elevated => {
                (Tone::Power, "Elevated.", "New grants are read-only unless you ask for more.".to_owned())
            }
            Self::BrokeGlass => {
                (Tone::Bad, "Glass broken.", "The alarm is out; it will be reviewed.".to_owned())
            }
            Self::Approved => (Tone::Ok, "Approved.", "They are elevated from now on.".to_owned()),
            Self::Refused => (Tone::Ok, "Refused.", "They read your words in their list.".to_owned()),
            Self::Ended => (Tone::Ok, "Ended.", "Grants taken under it only read now.".to_owned()),
            Self::Withdrawn => (Tone::Ok, "Withdrawn.", "Nobody will be asked any more.".to_owned()),
            Self::Reviewed => (Tone::Ok, "Reviewed.", "Your finding is in the audit.".to_owned()),
            Self::MaintenanceOrdered => {
                (Tone::Ok, "Ordered.", "It starts in its time, when the cluster is at rest.".to_owned())
            }
            Self::MaintenanceCancelled => (Tone::Ok, "Cancelled.", "It does not start.".to_owned()),
            Self::FlagSet => {
                (Tone::Ok, "Flag set.", "Maintenance writes it to the cluster; see Operations.".to_owned())
            }
            Self::ActionDone => {
                (Tone::Ok, "Done.", "The cluster has made the change; it is in the audit.".to_owned())
            }
            Self::TestRecorded => {
                (Tone::Ok, "Test recorded.", "It is sent within seconds; load the page again.".to_owned())
            }
            Self::RobotRevoked(n) => {
                (Tone::Ok, "Revoked.", format!("The robot and {} of it ended.", grants(n)))
            }
        };
        Notice { tone, lead: lead.to_owned(), text, action: None }
    }

    /// Sets the cookie on a response.
    pub fn set_cookie_on(self, mut response: Response) -> Response {
        let number = match self {
            Self::RevokedMany(n) | Self::RobotRevoked(n) => n,
            _ => 0,
        };
        let value =
            format!("{COOKIE}={}.{number}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=60", self.word());
        set(&mut response, &value);
        response
    }
}

/// Deletes the cookie after the notice is shown.
pub fn clear_cookie(response: &mut Response) {
    set(response, &format!("{COOKIE}=; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=0"));
}

fn set(response: &mut Response, cookie: &str) {
    if let Ok(value) = HeaderValue::from_str(cookie) {
        response.headers_mut().append(header::SET_COOKIE, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_survives_the_way_and_nothing_else_does() {
        for flash in Flash::PLAIN.into_iter().chain([Flash::RevokedMany(7), Flash::RobotRevoked(0)]) {
            let response = flash.set_cookie_on(Response::default());
            let cookie = response.headers()[header::SET_COOKIE]
                .to_str()
                .unwrap()
                .split(';')
                .next()
                .unwrap()
                .to_owned();
            let mut headers = HeaderMap::new();
            headers.insert(header::COOKIE, format!("a=b; {cookie}; c=d").parse().unwrap());
            assert_eq!(Flash::from_headers(&headers), Some(flash));
            assert!(!flash.notice().text.is_empty());
        }
        for bad in ["", "revoked.x", "<script>", "revoked-many.-1", "unknown.1"] {
            assert_eq!(Flash::read(bad), None, "{bad}");
        }
    }
}
