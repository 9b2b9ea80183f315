//! The tiny shell of a simulated container: enough to see that exec works.

use rp_base::Timestamp;

/// The greeting of a new shell.
pub(crate) const GREETING: &str = "This is a simulated container: echo, ls, date, hostname, whoami, env, cat, true, false, sleep and exit work.\n";

/// Where a machine's public host keys are, as its daemon sees them.
const HOST_KEYS: &str = "/rootfs/etc/ssh/ssh_host_*_key.pub";

/// The output and exit status of a command.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct CommandOutput {
    pub out: String,
    pub err: String,
    pub code: u8,
    /// The shell that ran it ends.
    pub exit: bool,
    /// Give back what came in on standard input, to its end.
    pub copy: bool,
}

/// The environment of a command.
#[derive(Debug)]
pub(crate) struct ShellContext<'a> {
    pub pod: &'a str,
    pub now: Timestamp,
    /// What `/rootfs/etc/ssh/ssh_host_*_key.pub` has; empty: there are no such files here.
    pub host_keys: &'a str,
}

/// The script of `sh -c SCRIPT`; `Some(None)` for a shell that reads its input; `None` for other commands.
pub(crate) fn shell<'a>(command: &[&'a str]) -> Option<Option<&'a str>> {
    let (program, arguments) = command.split_first()?;
    if !matches!(program.rsplit('/').next(), Some("sh" | "bash" | "ash")) {
        return None;
    }
    let script = arguments
        .iter()
        .position(|a| a.starts_with('-') && a.ends_with('c'))
        .and_then(|at| arguments.get(at + 1));
    Some(script.copied())
}

/// Runs a script: commands on lines and between `;`, until one exits.
pub(crate) fn script(text: &str, place: &ShellContext<'_>) -> CommandOutput {
    let mut all = CommandOutput::default();
    for line in text.split(['\n', ';']).take(1000) {
        let words: Vec<&str> = line.split_whitespace().map(|word| word.trim_matches(['"', '\''])).collect();
        if words.is_empty() {
            continue;
        }
        let done = run(&words, place);
        all.out.push_str(&done.out);
        all.err.push_str(&done.err);
        all.code = done.code;
        if done.exit || done.copy || all.out.len() > 1 << 20 {
            return CommandOutput { exit: done.exit, copy: done.copy, ..all };
        }
    }
    all
}

/// Runs one command.
pub(crate) fn run(words: &[&str], place: &ShellContext<'_>) -> CommandOutput {
    let out = |text: String| CommandOutput { out: text, ..CommandOutput::default() };
    let (program, arguments) = words.split_first().map_or(("", [].as_slice()), |(p, a)| (*p, a));
    match program.rsplit('/').next().unwrap_or_default() {
        "echo" => out(format!("{}\n", arguments.join(" "))),
        "ls" => out("bin\netc\nproc\nsimulated\ntmp\nusr\nvar\n".to_owned()),
        "date" => out(format!("{}\n", place.now)),
        "hostname" => out(format!("{}\n", place.pod)),
        "whoami" => out("simulated\n".to_owned()),
        "pwd" => out("/\n".to_owned()),
        "env" => out(format!("HOSTNAME={}\nSIMULATED=true\nPATH=/usr/bin:/bin\n", place.pod)),
        "cat" if !place.host_keys.is_empty() && arguments == [HOST_KEYS] => out(place.host_keys.to_owned()),
        "cat" if arguments.is_empty() => CommandOutput { copy: true, ..CommandOutput::default() },
        "true" | ":" | "sleep" | "cd" | "stty" | "clear" | "command" => CommandOutput::default(),
        "false" => CommandOutput { code: 1, ..CommandOutput::default() },
        "exit" => {
            let code = arguments.first().and_then(|code| code.parse().ok()).unwrap_or(0);
            CommandOutput { code, exit: true, ..CommandOutput::default() }
        }
        other => {
            let other = rp_base::text::clean(other, 100);
            CommandOutput {
                err: format!("sh: {other}: not in this simulation\n"),
                code: 127,
                ..CommandOutput::default()
            }
        }
    }
}

/// What a terminal shows before each line.
pub(crate) const PROMPT: &str = "simulated$ ";
/// The longest line.
const LONGEST: usize = 4096;

/// Gathers lines out of bytes; on a terminal it echoes and knows the usual control keys.
#[derive(Debug)]
pub(crate) struct Editor {
    line: Vec<u8>,
    tty: bool,
}

/// What a byte did.
#[derive(Debug, Default)]
pub(crate) struct Key {
    pub echo: Vec<u8>,
    /// A line is complete.
    pub line: Option<String>,
    /// End of transmission on an empty line.
    pub end: bool,
}

impl Editor {
    pub(crate) const fn new(tty: bool) -> Self {
        Self { line: Vec::new(), tty }
    }

    /// What was typed and not ended by a line break.
    pub(crate) fn rest(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.line)).into_owned()
    }

    /// Takes one byte.
    pub(crate) fn key(&mut self, byte: u8) -> Key {
        let echo =
            |bytes: &[u8]| Key { echo: if self.tty { bytes.to_vec() } else { Vec::new() }, ..Key::default() };
        match byte {
            b'\r' | b'\n' => {
                let echoed = echo(b"\r\n");
                Key { line: Some(self.rest()), ..echoed }
            }
            4 if self.tty => Key { end: self.line.is_empty(), ..Key::default() },
            3 if self.tty => {
                self.line.clear();
                Key { echo: format!("^C\r\n{PROMPT}").into_bytes(), ..Key::default() }
            }
            8 | 127 if self.tty => match self.line.pop() {
                Some(_) => Key { echo: b"\x08 \x08".to_vec(), ..Key::default() },
                None => Key::default(),
            },
            byte if self.line.len() < LONGEST => {
                let echoed = echo(&[byte]);
                self.line.push(byte);
                echoed
            }
            _ => Key::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: ShellContext<'_> =
        ShellContext { pod: "p-0", now: Timestamp::from_seconds(0), host_keys: "" };

    #[test]
    fn runs_scripts_until_they_exit() {
        let done = script("echo a b; false\nexit 7; echo never", &PLACE);
        assert_eq!((done.out.as_str(), done.code, done.exit), ("a b\n", 7, true));
        assert_eq!(script("nonsense", &PLACE).code, 127);
    }

    #[test]
    fn tells_shells_from_commands() {
        assert_eq!(shell(&["/bin/sh", "-c", "ls"]), Some(Some("ls")));
        assert_eq!(shell(&["bash"]), Some(None));
        assert_eq!(shell(&["ls", "-c"]), None);
    }
}
