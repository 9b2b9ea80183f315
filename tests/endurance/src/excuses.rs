//! What a fault may cause: broken connections, and answers of a gateway that cannot reach what is behind it. Nothing else is
//! excused at any time: not a 500, not a 4xx, not a wrong body, not silence.

use std::fmt;
use std::io::ErrorKind;

use tests_kit::{StatusError, WireError};

/// Why an attempt failed, as far as a fault may be the cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultEffect {
    /// A connection was refused, reset, or ended early.
    Broken,
    /// 502, 503 or 504, or what stands for 503 in SSH.
    Unavailable,
}

/// A refusal by a protocol that has no status: SSH does not tell why it refuses a certificate while grants are unknown.
#[derive(Debug)]
pub(crate) struct Refused(pub(crate) &'static str);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Refused {}

/// The effect of a fault that an error shows; `None`: no fault causes such an error.
pub(crate) fn effect(error: &anyhow::Error) -> Option<FaultEffect> {
    // The first cause that says something decides.
    error.chain().find_map(|cause| {
        if let Some(answer) = cause.downcast_ref::<StatusError>() {
            return Some(of_status(answer.status));
        }
        if let Some(wire) = cause.downcast_ref::<WireError>() {
            let broken = wire.ended.then_some(FaultEffect::Broken);
            return Some(if wire.status < 400 { broken } else { of_status(wire.status) });
        }
        if cause.is::<Refused>() {
            return Some(Some(FaultEffect::Unavailable));
        }
        if let Some(http) = cause.downcast_ref::<reqwest::Error>() {
            let broken = http.is_connect() || http.is_request() || http.is_body() || http.is_decode();
            return Some((broken && !http.is_timeout()).then_some(FaultEffect::Broken));
        }
        if let Some(ssh) = cause.downcast_ref::<russh::Error>() {
            return Some(of_ssh(ssh));
        }
        cause.downcast_ref::<std::io::Error>().map(|io| broken(io.kind()))
    })?
}

const fn of_status(status: u16) -> Option<FaultEffect> {
    match status {
        502..=504 => Some(FaultEffect::Unavailable),
        _ => None,
    }
}

fn of_ssh(error: &russh::Error) -> Option<FaultEffect> {
    match error {
        russh::Error::IO(io) => broken(io.kind()),
        russh::Error::Disconnect | russh::Error::HUP | russh::Error::SendError | russh::Error::RecvError => {
            Some(FaultEffect::Broken)
        }
        russh::Error::ChannelOpenFailure(_) => Some(FaultEffect::Unavailable),
        _ => None,
    }
}

const fn broken(kind: ErrorKind) -> Option<FaultEffect> {
    match kind {
        ErrorKind::ConnectionRefused
        | ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::NotConnected
        | ErrorKind::BrokenPipe
        | ErrorKind::UnexpectedEof => Some(FaultEffect::Broken),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use anyhow::{Context as _, anyhow};

    use super::*;

    fn status(status: u16) -> anyhow::Error {
        StatusError { status, text: "{}".to_owned() }.into()
    }

    #[test]
    fn a_gateways_answers_and_broken_connections_are_effects_of_a_fault() {
        for code in [502, 503, 504] {
            assert_eq!(effect(&status(code)), Some(FaultEffect::Unavailable), "{code}");
        }
        let reset =
            Err::<(), _>(io::Error::from(ErrorKind::ConnectionReset)).context("a tunnel").unwrap_err();
        assert_eq!(effect(&reset), Some(FaultEffect::Broken));
        let ended = anyhow::Error::from(WireError { status: 101, ended: true }).context("waiting");
        assert_eq!(effect(&ended), Some(FaultEffect::Broken));
        let away = WireError { status: 503, ended: false };
        assert_eq!(effect(&away.into()), Some(FaultEffect::Unavailable));
        assert_eq!(effect(&russh::Error::Disconnect.into()), Some(FaultEffect::Broken));
        assert_eq!(effect(&Refused("refused").into()), Some(FaultEffect::Unavailable));
    }

    #[test]
    fn nothing_else_is_one() {
        for code in [200, 400, 401, 403, 404, 409, 429, 500, 501] {
            assert_eq!(effect(&status(code)), None, "{code}");
            assert_eq!(effect(&WireError { status: code, ended: false }.into()), None, "{code}");
        }
        assert_eq!(effect(&WireError { status: 500, ended: true }.into()), None);
        assert_eq!(effect(&anyhow!("the machine answered \"\"")), None);
        assert_eq!(effect(&anyhow!("not done after 150 s")), None);
        assert_eq!(effect(&io::Error::from(ErrorKind::InvalidData).into()), None);
        // The first that says something decides: a 500 that followed a broken connection is a 500.
        assert_eq!(effect(&status(500).context("the connection was reset")), None);
    }
}
