//! The shell of a simulated container or machine: a few commands over a file tree in memory.

mod archive;
mod commands;
mod editor;
mod syntax;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use parking_lot::Mutex;
use rp_base::Timestamp;

pub(crate) use self::archive::ends;
pub(crate) use self::editor::{Editor, PROMPT};
use self::syntax::{Connector, Joined, Piece, Redirection, Statement, Word};
use crate::files::{FileTree, resolve};

/// The greeting of a new shell.
pub(crate) const GREETING: &str = "This is a simulated container: echo, ls, cat, cp by tar, mkdir, rm, test, date, hostname, whoami, env, sleep and exit work.\n";
/// Bytes of a script. Its words become much longer: each `$A` in them may be replaced by the longest value.
const LONGEST_SCRIPT: usize = 16 * 1024;
/// Scripts within scripts.
const MOST_DEPTH: usize = 8;
/// Bytes of a script's output; beyond them it ends.
const MOST_OUTPUT: usize = 16 << 20;
/// Variables of a shell, and bytes of a value.
const MOST_VARIABLES: usize = 64;
const LONGEST_VALUE: usize = 4096;

/// What a command does with the standard input of its session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum InputUse {
    /// Give it back, to its end.
    Copy,
    /// Write it into a file, to its end; or append it.
    Write { path: String, append: bool },
    /// Unpack it as a tar archive in that folder.
    Extract { folder: String },
    /// Run it as lines of a shell.
    Lines,
}

/// The output and exit status of a command.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct CommandOutput {
    pub out: Vec<u8>,
    pub err: Vec<u8>,
    pub code: u8,
    /// The shell that ran it ends.
    pub exit: bool,
    /// It goes on with the session's standard input.
    pub input: Option<InputUse>,
}

impl CommandOutput {
    fn said(text: impl Into<Vec<u8>>) -> Self {
        Self { out: text.into(), ..Self::default() }
    }

    fn code(code: u8) -> Self {
        Self { code, ..Self::default() }
    }

    /// A failure with its reason on standard error.
    fn failed(code: u8, why: &str) -> Self {
        Self { err: format!("{why}\n").into_bytes(), code, ..Self::default() }
    }

    fn input(input: InputUse) -> Self {
        Self { input: Some(input), ..Self::default() }
    }
}

/// Commands that only one host has: gives the output of a command that it knows.
pub(crate) type HostCommands<'a> = &'a (dyn Fn(&[&str]) -> Option<String> + Send + Sync);

/// The environment of a command.
pub(crate) struct ShellContext<'a> {
    /// The name of the container or machine.
    pub host: &'a str,
    pub now: Timestamp,
    /// What `/rootfs/etc/ssh/ssh_host_*_key.pub` has; empty: there are no such files here.
    pub host_keys: &'a str,
    pub files: &'a Mutex<FileTree>,
    pub own: Option<HostCommands<'a>>,
}

/// What a shell keeps from one line to the next.
#[derive(Debug, Clone)]
pub(crate) struct ShellState {
    folder: String,
    variables: BTreeMap<String, String>,
    code: u8,
    depth: usize,
}

impl ShellState {
    /// A shell in that folder.
    pub(crate) fn new(folder: &str) -> Self {
        Self { folder: folder.to_owned(), variables: BTreeMap::new(), code: 0, depth: 0 }
    }

    fn set(&mut self, name: &str, value: &str) {
        let fits = self.variables.contains_key(name) || self.variables.len() < MOST_VARIABLES;
        if fits && value.len() <= LONGEST_VALUE {
            self.variables.insert(name.to_owned(), value.to_owned());
        }
    }

    fn path(&self, path: &str) -> String {
        resolve(&self.folder, path)
    }

    /// A word with its variables replaced.
    fn expand(&self, word: &Word, context: &ShellContext<'_>) -> String {
        let mut text = String::new();
        for piece in &word.pieces {
            match piece {
                Piece::Literal(literal) => text.push_str(literal),
                Piece::Quoted(raw) | Piece::Bare(raw) => self.expand_text(raw, context, &mut text),
            }
        }
        text
    }

    /// `$NAME`, `${NAME}`, `${NAME:-DEFAULT}` and `$?`.
    fn expand_text(&self, raw: &str, context: &ShellContext<'_>, into: &mut String) {
        let mut rest = raw;
        while let Some((before, after)) = rest.split_once('$') {
            into.push_str(before);
            if let Some(after) = after.strip_prefix('?') {
                into.push_str(&self.code.to_string());
                rest = after;
            } else if let Some((inner, after)) = after.strip_prefix('{').and_then(|all| all.split_once('}')) {
                let (name, default) = inner.split_once(":-").unwrap_or((inner, ""));
                let value = self.variable(name, context);
                into.push_str(if value.is_empty() { default } else { &value });
                rest = after;
            } else {
                let end = after.find(|c: char| c != '_' && !c.is_ascii_alphanumeric()).unwrap_or(after.len());
                let (name, after) = after.split_at(end);
                into.push_str(&if name.is_empty() { "$".to_owned() } else { self.variable(name, context) });
                rest = after;
            }
        }
        into.push_str(rest);
    }

    fn variable(&self, name: &str, context: &ShellContext<'_>) -> String {
        match (self.variables.get(name), name) {
            (Some(value), _) => value.clone(),
            (None, "HOSTNAME") => context.host.to_owned(),
            (None, "PWD") => self.folder.clone(),
            (None, "PATH") => "/usr/bin:/bin".to_owned(),
            _ => String::new(),
        }
    }

    /// Runs a script until a command exits or needs the session's input; the rest is then not run.
    pub(crate) fn script(&mut self, text: &str, context: &ShellContext<'_>) -> CommandOutput {
        if text.len() > LONGEST_SCRIPT {
            self.code = 2;
            return CommandOutput::failed(2, "sh: too long a script for this simulation");
        }
        let Ok(list) = syntax::parse(text) else {
            self.code = 2;
            return CommandOutput::failed(2, "sh: syntax error");
        };
        let mut all = CommandOutput::default();
        self.list(&list, context, &mut all);
        all.code = self.code;
        all
    }

    /// Runs one command whose words are as they are.
    pub(crate) fn words(&mut self, words: &[String], context: &ShellContext<'_>) -> CommandOutput {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let done = commands::run(self, &words, None, context);
        self.code = done.code;
        done
    }

    fn list(&mut self, list: &[Joined], context: &ShellContext<'_>, all: &mut CommandOutput) {
        for joined in list {
            match joined.connector {
                Connector::And if self.code != 0 => continue,
                Connector::Or if self.code == 0 => continue,
                _ => {}
            }
            let done = self.pipeline(&joined.pipeline, context);
            self.code = done.code;
            all.out.extend_from_slice(&done.out);
            all.err.extend_from_slice(&done.err);
            all.exit = done.exit;
            all.input = done.input;
            if all.exit || all.input.is_some() {
                return;
            }
            if all.out.len() + all.err.len() > MOST_OUTPUT {
                all.exit = true;
                return;
            }
        }
    }

    fn pipeline(&mut self, pipeline: &[Statement], context: &ShellContext<'_>) -> CommandOutput {
        let mut piped = None;
        let mut errors = Vec::new();
        for (number, statement) in pipeline.iter().enumerate() {
            let mut done = self.statement(statement, piped.take(), context);
            let last = number + 1 == pipeline.len();
            if !last && done.input.is_some() {
                return CommandOutput::failed(1, "sh: a pipe from standard input is not in this simulation");
            }
            errors.append(&mut done.err);
            if last {
                done.err = errors;
                // Commands of a pipe run in shells of their own.
                done.exit &= number == 0;
                return done;
            }
            piped = Some(done.out);
        }
        CommandOutput::default()
    }

    fn statement(
        &mut self,
        statement: &Statement,
        piped: Option<Vec<u8>>,
        context: &ShellContext<'_>,
    ) -> CommandOutput {
        match statement {
            Statement::Command { words, redirections } => self.command(words, redirections, piped, context),
            Statement::If { condition, then, otherwise } => {
                let mut all = CommandOutput::default();
                self.list(condition, context, &mut all);
                if !all.exit && all.input.is_none() {
                    let branch = if self.code == 0 { then } else { otherwise };
                    self.code = 0;
                    self.list(branch, context, &mut all);
                }
                all.code = self.code;
                all
            }
        }
    }

    fn command(
        &mut self,
        words: &[Word],
        redirections: &[Redirection],
        mut piped: Option<Vec<u8>>,
        context: &ShellContext<'_>,
    ) -> CommandOutput {
        let words: Vec<String> = words.iter().map(|word| self.expand(word, context)).collect();
        let assignments = words.iter().take_while(|word| assignment(word).is_some()).count();
        for word in &words[..assignments] {
            if let Some((name, value)) = assignment(word) {
                self.set(name, value);
            }
        }
        for redirection in redirections {
            if let Redirection::Input(word) = redirection {
                let name = self.expand(word, context);
                let read = context.files.lock().read(&self.path(&name)).map(<[u8]>::to_vec);
                match read {
                    _ if name == "/dev/null" => piped = Some(Vec::new()),
                    Ok(content) => piped = Some(content),
                    Err(error) => return CommandOutput::failed(1, &format!("sh: {name}: {error}")),
                }
            }
        }
        let words: Vec<&str> = words[assignments..].iter().map(String::as_str).collect();
        let mut done = match words.is_empty() {
            true => CommandOutput::default(),
            false => commands::run(self, &words, piped, context),
        };
        for redirection in redirections {
            if let Err(failed) = self.redirect(redirection, &mut done, context) {
                return failed;
            }
        }
        done
    }

    /// Puts the output of a command where a redirection says.
    fn redirect(
        &self,
        redirection: &Redirection,
        done: &mut CommandOutput,
        context: &ShellContext<'_>,
    ) -> Result<(), CommandOutput> {
        match redirection {
            Redirection::Input(_) | Redirection::Duplicate(1, 1) => Ok(()),
            Redirection::Duplicate(1, _) => {
                done.err.append(&mut done.out);
                Ok(())
            }
            Redirection::Duplicate(..) => {
                done.out.append(&mut done.err);
                Ok(())
            }
            Redirection::Output(descriptor, word, append) => {
                let name = self.expand(word, context);
                let from = if *descriptor == 2 { &mut done.err } else { &mut done.out };
                let data = std::mem::take(from);
                if name == "/dev/null" {
                    return Ok(());
                }
                let path = self.path(&name);
                let append = *append;
                if done.input == Some(InputUse::Copy) && *descriptor != 2 {
                    done.input = Some(InputUse::Write { path, append });
                    return Ok(());
                }
                store(context, &path, &data, append)
                    .map_err(|error| CommandOutput::failed(1, &format!("sh: {name}: {error}")))
            }
        }
    }
}

/// Ends a command that read its whole standard input: writes the file or unpacks the archive.
pub(crate) fn take_input(input: &InputUse, kept: &[u8], context: &ShellContext<'_>) -> CommandOutput {
    match input {
        InputUse::Write { path, append } => match store(context, path, kept, *append) {
            Ok(()) => CommandOutput::default(),
            Err(error) => {
                CommandOutput::failed(1, &format!("sh: {}: {error}", rp_base::text::clean(path, 200)))
            }
        },
        InputUse::Extract { folder } => {
            archive::finish(archive::extract(kept, folder, context.files, context.now))
        }
        InputUse::Copy | InputUse::Lines => CommandOutput::default(),
    }
}

/// As a terminal in raw mode needs it: carriage returns before line breaks.
pub(crate) fn on_screen(text: &[u8]) -> Vec<u8> {
    let mut screen = Vec::with_capacity(text.len() + 16);
    for byte in text {
        if *byte == b'\n' {
            screen.push(b'\r');
        }
        screen.push(*byte);
    }
    screen
}

/// Writes a file, or appends to it.
fn store(
    context: &ShellContext<'_>,
    path: &str,
    data: &[u8],
    append: bool,
) -> Result<(), crate::files::FileError> {
    let mut files = context.files.lock();
    let (mut content, mode) = match files.get(path) {
        Ok(entry) if append => (entry.content.clone().unwrap_or_default(), entry.mode),
        Ok(entry) => (Vec::new(), entry.mode),
        Err(_) => (Vec::new(), 0o644),
    };
    content.extend_from_slice(data);
    files.write(path, content, mode, context.now)
}

/// Name and value of `NAME=VALUE`.
fn assignment(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let named = name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
        && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric());
    named.then_some((name, value))
}
