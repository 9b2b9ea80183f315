//! Credentials that are members of JSON or YAML: logins of registries, and kubeconfigs that let somebody in.
//!
//! Each colon is looked at once: back over the key before it, and on over the scalar behind it. A scalar that is looked
//! at to its end has no colon, and of another only the beginning is looked at, so the costs are linear.

use super::base64_runs::{decoded, is_letter};
use super::budget::{Budget, Finding};

/// Letters of the longest key of the table.
const LONGEST_KEY: usize = "current-context".len();
/// Letters of a login that are decoded. The name stands first.
const MOST_LOGIN: usize = 256;
/// Bytes that such a login may have with its line breaks.
const MOST_LOGIN_SPAN: usize = 1024;
/// Bytes of a value that are looked at.
const MOST_VALUE: usize = 64;
/// A token of a registry that is not longer stands for one, as in an example.
const LONGEST_EXAMPLE: usize = 8;

/// A member that says something about credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Member {
    Clusters,
    Users,
    Contexts,
    /// `auths` of a `config.json` of docker.
    Registries,
    /// Name and password of a registry, in base64.
    Login,
    /// What stands in the place of a password of a registry.
    RegistryToken,
    Password,
    /// With a password, and with the address that docker asked for, a registry's login in an old `.dockercfg`, whose hosts
    /// stand at the top.
    Username,
    Email,
    /// Of a kubeconfig's user.
    Token,
}

impl Member {
    fn named(key: &[u8]) -> Option<Self> {
        Some(match key {
            b"clusters" => Self::Clusters,
            b"users" => Self::Users,
            b"contexts" | b"current-context" => Self::Contexts,
            b"auths" => Self::Registries,
            b"auth" => Self::Login,
            b"identitytoken" | b"registrytoken" => Self::RegistryToken,
            b"password" => Self::Password,
            b"username" => Self::Username,
            b"email" => Self::Email,
            b"token" | b"client-key-data" | b"id-token" | b"refresh-token" | b"access-token"
            | b"client-secret" => Self::Token,
            _ => return None,
        })
    }
}

/// Which members a text has; of passwords and tokens, those with a value.
#[derive(Debug, Default)]
struct Members {
    clusters: bool,
    users: bool,
    contexts: bool,
    registries: bool,
    password: bool,
    username: bool,
    email: bool,
    token: bool,
}

/// Searches a text without escapes.
///
/// # Errors
/// What was found.
pub(super) fn search(text: &[u8], budget: &mut Budget) -> Result<(), Finding> {
    budget.spend(text.len())?;
    let mut members = Members::default();
    for colon in memchr::memchr_iter(b':', text) {
        let key = Key::before(&text[..colon]);
        budget.spend(key.span)?;
        if let Some(member) = Member::named(key.text) {
            budget.matched()?;
            members.note(member, &text[colon + 1..], budget)?;
        }
    }
    if members.are_credentials() { Err(Finding::Credentials) } else { Ok(()) }
}

impl Members {
    fn note(&mut self, member: Member, after: &[u8], budget: &mut Budget) -> Result<(), Finding> {
        match member {
            Member::Clusters => self.clusters = true,
            Member::Users => self.users = true,
            Member::Contexts => self.contexts = true,
            Member::Registries => self.registries = true,
            Member::Login => {
                if Scalar::after(after, budget)?.is_login(budget)? {
                    return Err(Finding::Credentials);
                }
            }
            Member::RegistryToken => {
                if Scalar::after(after, budget)?.is_longer(LONGEST_EXAMPLE, budget)? {
                    return Err(Finding::Credentials);
                }
            }
            Member::Username => self.username = true,
            Member::Email => self.email = true,
            Member::Password => self.password |= Scalar::after(after, budget)?.is_longer(0, budget)?,
            Member::Token => self.token |= Scalar::after(after, budget)?.is_longer(0, budget)?,
        }
        Ok(())
    }

    /// A kubeconfig that names files only, as those of OpenShift's static pods do, holds none.
    const fn are_credentials(&self) -> bool {
        let kubeconfig = self.clusters && self.users && self.contexts;
        let registry = self.registries || self.username && self.email;
        kubeconfig && (self.token || self.password) || registry && self.password
    }
}

/// What may be a key.
struct Key<'a> {
    text: &'a [u8],
    /// Bytes that were looked at.
    span: usize,
}

impl<'a> Key<'a> {
    /// The key that stands before a colon, with quotes or without.
    fn before(text: &'a [u8]) -> Self {
        let is_key = |byte: &u8| !matches!(byte, b' ' | b'"' | b'\'');
        let end = text.iter().rposition(is_key).map_or(0, |at| at + 1);
        let part = |byte: &&u8| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.') || !byte.is_ascii()
        };
        // One letter more than the longest: the end of a longer word is no key.
        let length = text[..end].iter().rev().take(LONGEST_KEY + 1).take_while(part).count();
        Self { text: &text[end - length..end], span: text.len() - end + length }
    }
}

/// A scalar of JSON or YAML.
struct Scalar<'a> {
    /// From its first letter on.
    text: &'a [u8],
    /// In quotes or a block: it may have several lines.
    multiline: bool,
    /// It would begin in the line after its key, where another member or an entry of a list may stand.
    next_line: bool,
}

impl<'a> Scalar<'a> {
    /// The scalar behind a colon.
    fn after(colon: &'a [u8], budget: &mut Budget) -> Result<Self, Finding> {
        let mut text = colon.trim_ascii_start();
        let next_line = colon[..colon.len() - text.len()].contains(&b'\n');
        let mut multiline = false;
        if let [b'|' | b'>', header @ ..] = text
            && !next_line
        {
            let end = header.iter().take_while(|byte| matches!(byte, b'-' | b'+' | b'0'..=b'9')).count();
            text = header[end..].trim_ascii_start();
            multiline = true;
        }
        let quotes = text.iter().take_while(|byte| matches!(byte, b'"' | b'\'')).count();
        text = &text[quotes..];
        // Two are an empty one.
        multiline |= quotes == 1;
        budget.spend(colon.len() - text.len())?;
        Ok(Self { text, multiline, next_line })
    }

    /// Whether it has a value of more letters than that, and not one that says that there is none.
    fn is_longer(&self, letters: usize, budget: &mut Budget) -> Result<bool, Finding> {
        let ends = |byte: &u8| {
            matches!(byte, b'"' | b'\'' | b',' | b'}' | b']' | b'#') || byte.is_ascii_whitespace()
        };
        let beginning = &self.text[..self.text.len().min(MOST_VALUE)];
        let end = beginning.iter().position(ends).unwrap_or(beginning.len());
        budget.spend(end)?;
        let (value, rest) = self.text.split_at(end);
        let is_none = matches!(value, b"" | b"null" | b"~");
        let opens = matches!(value, [b'{' | b'[', ..]);
        let other = self.next_line
            && (matches!(value, [b'-', ..] | [.., b':']) || matches!(rest, [b'"' | b'\'', b':', ..]));
        Ok(value.len() > letters && !is_none && !opens && !other)
    }

    /// Whether it is a name and a password in base64.
    fn is_login(&self, budget: &mut Budget) -> Result<bool, Finding> {
        let goes_on = |byte: &&u8| is_letter(**byte) || self.multiline && byte.is_ascii_whitespace();
        let span = self.text.iter().take(MOST_LOGIN_SPAN).take_while(goes_on).count();
        budget.spend(span)?;
        let letters = self.text[..span].iter().copied().filter(|byte| is_letter(*byte));
        let login = decoded(&letters.take(MOST_LOGIN).collect::<Vec<u8>>());
        let mut parts = login.splitn(2, |byte| *byte == b':');
        let (name, password) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        Ok(!name.is_empty() && name.iter().all(u8::is_ascii_graphic) && !password.is_empty())
    }
}
