//! The commands of the simulated shell.

use super::{
    CommandOutput, InputUse, MOST_DEPTH, MOST_OUTPUT, ShellContext, ShellState, archive, assignment,
};
use crate::files::FileEntry;

/// Where a machine's public host keys are, as its daemon sees them.
const HOST_KEYS: &str = "/rootfs/etc/ssh/ssh_host_*_key.pub";
/// What `command -v` finds.
const PROGRAMS: [&str; 22] = [
    "bash", "cat", "date", "echo", "env", "false", "head", "hostname", "ls", "mkdir", "mv", "pwd", "rm",
    "sh", "sleep", "tail", "tar", "test", "touch", "true", "wc", "whoami",
];

/// Runs one command; `piped` is its standard input when that is not the session's.
pub(super) fn run(
    state: &mut ShellState,
    words: &[&str],
    piped: Option<Vec<u8>>,
    context: &ShellContext<'_>,
) -> CommandOutput {
    let (mut words, mut exit) = (words, false);
    // A loop, because the client decides how many such words there are.
    while let Some(inner) = wrapped(state, words) {
        exit |= words.first().copied().map(file_name) == Some("exec");
        words = inner;
    }
    let mut done = one(state, words, piped, context);
    done.exit |= exit;
    done
}

/// The part of a path behind its last slash.
fn file_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or_default()
}

/// The command that another one only runs: that of `exec`, `sudo`, `command`, or of `env` after its variables.
fn wrapped<'w, 'a>(state: &mut ShellState, words: &'w [&'a str]) -> Option<&'w [&'a str]> {
    let (program, arguments) = words.split_first()?;
    match file_name(program) {
        "exec" | "sudo" if !arguments.is_empty() => Some(arguments),
        "command" => {
            arguments.first().is_some_and(|first| !matches!(*first, "-v" | "-V")).then_some(arguments)
        }
        "env" => {
            let own = arguments
                .iter()
                .take_while(|word| assignment(word).is_some() || word.starts_with('-'))
                .count();
            for (name, value) in arguments.iter().take(own).filter_map(|word| assignment(word)) {
                state.set(name, value);
            }
            arguments.get(own..).filter(|command| !command.is_empty())
        }
        _ => None,
    }
}

/// Runs a command that is none of those that only run another one.
fn one(
    state: &mut ShellState,
    words: &[&str],
    piped: Option<Vec<u8>>,
    context: &ShellContext<'_>,
) -> CommandOutput {
    let Some((program, arguments)) = words.split_first() else { return CommandOutput::default() };
    if let Some(out) = context.own.and_then(|own| own(words)) {
        return CommandOutput::said(out);
    }
    match file_name(program) {
        "exec" | "sudo" => CommandOutput::default(),
        "env" => environment(state, context),
        "command" => arguments.split_first().map_or_else(CommandOutput::default, |(_, names)| lookup(names)),
        "sh" | "bash" | "ash" => shell(state, arguments, piped, context),
        "export" => {
            for (name, value) in arguments.iter().filter_map(|word| assignment(word)) {
                state.set(name, value);
            }
            CommandOutput::default()
        }
        "exit" => {
            let code = arguments.first().and_then(|code| code.parse().ok()).unwrap_or(state.code);
            CommandOutput { code, exit: true, ..CommandOutput::default() }
        }
        "date" => CommandOutput::said(format!("{}\n", context.now)),
        "hostname" => CommandOutput::said(format!("{}\n", context.host)),
        "whoami" => CommandOutput::said("simulated\n"),
        "pwd" => CommandOutput::said(format!("{}\n", state.folder)),
        "true" | ":" | "sleep" | "stty" | "clear" => CommandOutput::default(),
        "false" => CommandOutput::code(1),
        "echo" => match arguments.split_first() {
            Some((&"-n", rest)) => CommandOutput::said(rest.join(" ")),
            _ => CommandOutput::said(format!("{}\n", arguments.join(" "))),
        },
        "cat" if !context.host_keys.is_empty() && arguments == [HOST_KEYS] => {
            CommandOutput::said(context.host_keys)
        }
        name => on_files(state, name, arguments, piped, context),
    }
}

/// Commands that read or change files, or only what is piped to them.
fn on_files(
    state: &mut ShellState,
    name: &str,
    arguments: &[&str],
    piped: Option<Vec<u8>>,
    context: &ShellContext<'_>,
) -> CommandOutput {
    match name {
        "cat" => cat(state, arguments, piped, context),
        "head" | "tail" => part(state, name, arguments, piped, context),
        "wc" => match read(state, arguments, piped, context) {
            Ok(content) if arguments.contains(&"-l") => {
                let lines = content.iter().filter(|byte| **byte == b'\n').count();
                CommandOutput::said(format!("{lines}\n"))
            }
            Ok(content) => CommandOutput::said(format!("{}\n", content.len())),
            Err(failed) => failed,
        },
        "ls" => list(state, arguments, context),
        "test" => test(state, arguments, context),
        "[" => test(state, arguments.strip_suffix(&["]"]).unwrap_or(arguments), context),
        "cd" => change_folder(state, arguments.first().copied().unwrap_or("/"), context),
        "mkdir" | "touch" | "rm" | "rmdir" | "mv" => change(state, name, arguments, context),
        "tar" => archive::run(state, arguments, piped, context),
        other => {
            let other = rp_base::text::clean(other, 100);
            CommandOutput::failed(127, &format!("sh: {other}: not in this simulation"))
        }
    }
}

/// `env` without a command.
fn environment(state: &ShellState, context: &ShellContext<'_>) -> CommandOutput {
    let own: String = state.variables.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
    CommandOutput::said(format!("HOSTNAME={}\nSIMULATED=true\nPATH=/usr/bin:/bin\n{own}", context.host))
}

fn lookup(names: &[&str]) -> CommandOutput {
    let found: Vec<&&str> = names.iter().filter(|name| PROGRAMS.contains(name)).collect();
    let out: String = found.iter().map(|name| format!("/usr/bin/{name}\n")).collect();
    CommandOutput { code: u8::from(found.len() < names.len()), ..CommandOutput::said(out) }
}

/// `sh -c SCRIPT`, or a shell that reads its input.
fn shell(
    state: &mut ShellState,
    arguments: &[&str],
    piped: Option<Vec<u8>>,
    context: &ShellContext<'_>,
) -> CommandOutput {
    let script = arguments
        .iter()
        .position(|argument| argument.starts_with('-') && argument.ends_with('c'))
        .and_then(|at| arguments.get(at + 1));
    let text = match (script, piped) {
        (Some(script), _) => (*script).to_owned(),
        (None, Some(piped)) => String::from_utf8_lossy(&piped).into_owned(),
        (None, None) => return CommandOutput::input(InputUse::Lines),
    };
    if state.depth >= MOST_DEPTH {
        return CommandOutput::failed(126, "sh: too many shells within shells for this simulation");
    }
    let mut inner = ShellState { depth: state.depth + 1, code: 0, ..state.clone() };
    let done = inner.script(&text, context);
    if done.input == Some(InputUse::Lines) {
        // The lines that come now are those of the inner shell.
        state.variables = inner.variables;
    }
    CommandOutput { exit: false, ..done }
}

/// The content of the files that are named, or of what is piped.
fn read(
    state: &ShellState,
    arguments: &[&str],
    piped: Option<Vec<u8>>,
    context: &ShellContext<'_>,
) -> Result<Vec<u8>, CommandOutput> {
    let names = arguments
        .iter()
        .filter(|argument| !argument.starts_with(['-', '+']) && argument.parse::<u64>().is_err());
    let names: Vec<&str> = names.copied().collect();
    if names.is_empty() {
        let refused =
            || CommandOutput::failed(1, "sh: this command reads files and pipes only in this simulation");
        return piped.ok_or_else(refused);
    }
    let files = context.files.lock();
    let mut all = Vec::new();
    for name in names.into_iter().take(16) {
        match files.read(&state.path(name)) {
            Ok(content) if all.len() + content.len() > MOST_OUTPUT => {
                return Err(CommandOutput::failed(1, "sh: too much output for this simulation"));
            }
            Ok(content) => all.extend_from_slice(content),
            Err(error) => {
                return Err(CommandOutput::failed(
                    1,
                    &format!("{}: {error}", rp_base::text::clean(name, 200)),
                ));
            }
        }
    }
    Ok(all)
}

fn cat(
    state: &ShellState,
    arguments: &[&str],
    piped: Option<Vec<u8>>,
    context: &ShellContext<'_>,
) -> CommandOutput {
    if piped.is_none() && (arguments.is_empty() || arguments == ["-"]) {
        return CommandOutput::input(InputUse::Copy);
    }
    match read(state, arguments, piped, context) {
        Ok(content) => CommandOutput::said(content),
        Err(failed) => failed,
    }
}

/// `head` and `tail`, by lines (`-n N`) and for `tail` from a byte on (`-c +N`).
fn part(
    state: &ShellState,
    name: &str,
    arguments: &[&str],
    piped: Option<Vec<u8>>,
    context: &ShellContext<'_>,
) -> CommandOutput {
    let content = match read(state, arguments, piped, context) {
        Ok(content) => content,
        Err(failed) => return failed,
    };
    let number = |text: &str| text.trim_start_matches(['-', '+', 'n', 'c']).parse::<usize>().ok();
    let count = arguments.iter().find_map(|argument| number(argument)).unwrap_or(10);
    if name == "tail" && arguments.iter().any(|argument| argument.starts_with("-c")) {
        return CommandOutput::said(content.get(count.saturating_sub(1)..).unwrap_or_default());
    }
    let lines: Vec<&[u8]> = content.split_inclusive(|byte| *byte == b'\n').collect();
    let chosen = match name {
        "head" => &lines[..count.min(lines.len())],
        _ => &lines[lines.len().saturating_sub(count)..],
    };
    CommandOutput::said(chosen.concat())
}

fn list(state: &ShellState, arguments: &[&str], context: &ShellContext<'_>) -> CommandOutput {
    let long = arguments.iter().any(|argument| argument.starts_with('-') && argument.contains('l'));
    let line = |name: &str, entry: &FileEntry| match long {
        true => format!(
            "{}{} 1 simulated simulated {:>8} {} {name}\n",
            if entry.is_folder() { "d" } else { "-" },
            permissions(entry.mode),
            entry.size(),
            entry.changed
        ),
        false => format!("{name}\n"),
    };
    let mut names: Vec<&str> =
        arguments.iter().copied().filter(|argument| !argument.starts_with('-')).collect();
    if names.is_empty() {
        names.push(".");
    }
    let files = context.files.lock();
    let mut done = CommandOutput::default();
    for name in names.into_iter().take(16) {
        let path = state.path(name);
        match files.get(&path) {
            Ok(entry) if entry.is_folder() => {
                let lines = files.children(&path).map(|(name, entry)| line(name, entry));
                done.out.extend(lines.flat_map(String::into_bytes));
            }
            Ok(entry) => done.out.extend(line(name, entry).into_bytes()),
            Err(error) => {
                let name = rp_base::text::clean(name, 200);
                done = CommandOutput {
                    out: done.out,
                    ..CommandOutput::failed(2, &format!("ls: cannot access '{name}': {error}"))
                };
            }
        }
    }
    done
}

/// `rwxr-xr-x`.
fn permissions(mode: u32) -> String {
    let letter = |bit: usize| match mode >> (8 - bit) & 1 {
        1 => ['r', 'w', 'x'][bit % 3],
        _ => '-',
    };
    (0..9).map(letter).collect()
}

fn test(state: &ShellState, arguments: &[&str], context: &ShellContext<'_>) -> CommandOutput {
    let holds = match arguments {
        ["!", rest @ ..] => return CommandOutput::code(u8::from(test(state, rest, context).code == 0)),
        ["-t", _] => false,
        ["-n", text] => !text.is_empty(),
        ["-z", text] => text.is_empty(),
        [form, path] => {
            let files = context.files.lock();
            match (files.get(&state.path(path)), *form) {
                (Ok(entry), "-d") => entry.is_folder(),
                (Ok(entry), "-f") => !entry.is_folder(),
                (Ok(entry), "-s") => entry.size() > 0,
                (Ok(_), "-e" | "-r" | "-w") => true,
                _ => false,
            }
        }
        [text] => !text.is_empty(),
        [left, "=" | "==", right] => left == right,
        [left, "!=", right] => left != right,
        _ => false,
    };
    CommandOutput::code(u8::from(!holds))
}

fn change_folder(state: &mut ShellState, name: &str, context: &ShellContext<'_>) -> CommandOutput {
    let path = state.path(name);
    let is_folder = context.files.lock().get(&path).is_ok_and(FileEntry::is_folder);
    if is_folder {
        state.folder = path;
        return CommandOutput::default();
    }
    CommandOutput::failed(1, &format!("sh: cd: {}: Not a directory", rp_base::text::clean(name, 200)))
}

/// Commands that change the tree.
fn change(
    state: &ShellState,
    program: &str,
    arguments: &[&str],
    context: &ShellContext<'_>,
) -> CommandOutput {
    let (options, names): (Vec<&str>, Vec<&str>) =
        arguments.iter().copied().partition(|argument| argument.starts_with('-'));
    let has = |letter: char| options.iter().any(|option| option.contains(letter));
    let mut files = context.files.lock();
    let path = |name: &str| state.path(name);
    if let ("mv", [from, to]) = (program, names.as_slice()) {
        return match files.rename(&path(from), &path(to)) {
            Ok(()) => CommandOutput::default(),
            Err(error) => CommandOutput::failed(1, &format!("mv: {error}")),
        };
    }
    for name in names.iter().take(64) {
        let path = path(name);
        let done = match program {
            "mkdir" if has('p') => files.make_folders(&path, context.now),
            "mkdir" => files.make_folder(&path, context.now),
            "touch" if files.get(&path).is_ok() => Ok(()),
            "touch" => files.write(&path, Vec::new(), 0o644, context.now),
            "rm" if has('f') && files.get(&path).is_err() => Ok(()),
            _ => files.remove(&path, has('r')),
        };
        if let Err(error) = done {
            let name = rp_base::text::clean(name, 200);
            return CommandOutput::failed(1, &format!("{program}: '{name}': {error}"));
        }
    }
    CommandOutput::default()
}
