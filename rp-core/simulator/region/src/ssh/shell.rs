//! The shell of a simulated machine: a few diagnostic commands; its greeting says that it is simulated.

use rp_base::Timestamp;
use rp_simulator::fleet::Cluster;
use rp_simulator::objects::nodes::Node;

use crate::api::shell::{self, CommandOutput, Editor, InputUse, ShellContext, ShellState};
use crate::files::{MOST_BYTES, SharedFileTree};

/// Where a session begins.
pub(super) const HOME: &str = "/var/home/core";
/// Bytes of standard input that are kept for a command: an archive has more than its files.
const MOST_INPUT: usize = 2 * MOST_BYTES;

/// The output that is sent to the client.
#[derive(Debug, Default)]
pub(super) struct ShellOutput {
    pub out: Vec<u8>,
    pub err: Vec<u8>,
    /// Exit status.
    pub ended: Option<u8>,
}

/// One session.
#[derive(Debug)]
pub(super) struct Shell {
    name: String,
    version: String,
    master: bool,
    up: Timestamp,
    editor: Editor,
    state: State,
    code: u8,
    files: SharedFileTree,
    commands: ShellState,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    /// No command or shell was requested yet.
    New,
    /// Lines are run.
    Lines { tty: bool },
    /// Input is echoed.
    Copying,
    /// Input is kept for a command that reads it whole.
    Keeping { input: InputUse, kept: Vec<u8> },
}

impl Shell {
    pub(super) fn new(cluster: &Cluster, node: &Node, files: SharedFileTree) -> Self {
        Self {
            name: node.name.clone(),
            version: cluster.version.clone(),
            master: node.master,
            up: cluster.created,
            editor: Editor::new(false),
            state: State::New,
            code: 0,
            files,
            commands: ShellState::new(HOME),
        }
    }

    fn prompt(&self) -> String {
        format!("[core@{} ~]$ ", self.name)
    }

    /// A shell that reads lines.
    pub(super) fn begin(&mut self, tty: bool, now: Timestamp) -> ShellOutput {
        self.state = State::Lines { tty };
        self.editor = Editor::new(tty);
        if !tty {
            return ShellOutput::default();
        }
        let greeting = format!(
            "Red Hat Enterprise Linux CoreOS {} (simulated)\r\nThis machine is simulated: hostname, uname, uptime, \
             journalctl, crictl ps, ip addr, df, free, systemctl status and exit work.\r\nLast login: {now}\r\n{}",
            self.version,
            self.prompt()
        );
        ShellOutput { out: greeting.into_bytes(), ..ShellOutput::default() }
    }

    /// One command.
    pub(super) fn exec(&mut self, command: &str, now: Timestamp) -> ShellOutput {
        let mut said = ShellOutput::default();
        match self.lines(command, now, &mut said) {
            LineOutcome::Input(InputUse::Copy) => self.state = State::Copying,
            LineOutcome::Input(InputUse::Lines) => self.state = State::Lines { tty: false },
            LineOutcome::Input(input) => self.state = State::Keeping { input, kept: Vec::new() },
            LineOutcome::On | LineOutcome::Exit => said.ended = Some(self.code),
        }
        said
    }

    /// What was typed.
    pub(super) fn typed(&mut self, data: &[u8], now: Timestamp) -> ShellOutput {
        let mut said = ShellOutput::default();
        let tty = match &mut self.state {
            State::Lines { tty } => *tty,
            State::Copying => {
                said.out = data.to_vec();
                return said;
            }
            State::Keeping { kept, .. } => {
                kept.extend_from_slice(data);
                if kept.len() > MOST_INPUT {
                    said.err = b"sh: too much input for this simulation\n".to_vec();
                    said.ended = Some(1);
                }
                return said;
            }
            State::New => return said,
        };
        for byte in data {
            let key = self.editor.key(*byte);
            said.out.extend_from_slice(&key.echo);
            let exit = match &key.line {
                Some(line) => match self.lines(line, now, &mut said) {
                    LineOutcome::Exit => true,
                    LineOutcome::On | LineOutcome::Input(_) => false,
                },
                None => key.end,
            };
            if exit {
                said.ended = Some(self.code);
                break;
            }
            if tty && key.line.is_some() {
                said.out.extend_from_slice(self.prompt().as_bytes());
            }
        }
        said
    }

    /// Nothing more will be typed.
    pub(super) fn end(&mut self, now: Timestamp) -> ShellOutput {
        let mut said = ShellOutput::default();
        match std::mem::replace(&mut self.state, State::Copying) {
            State::New => self.state = State::New,
            State::Copying => {}
            State::Lines { tty } => {
                self.state = State::Lines { tty };
                let rest = self.editor.rest();
                self.lines(&rest, now, &mut said);
            }
            State::Keeping { input, kept } => {
                let files = SharedFileTree::clone(&self.files);
                let context = ShellContext { host: &self.name, now, host_keys: "", files: &files, own: None };
                let done = shell::take_input(&input, &kept, &context);
                self.code = done.code;
                said.err = done.err;
            }
        }
        if self.state != State::New {
            said.ended = Some(self.code);
        }
        said
    }

    fn lines(&mut self, text: &str, now: Timestamp, said: &mut ShellOutput) -> LineOutcome {
        let tty = self.state == State::Lines { tty: true };
        let done = self.script(text, now);
        let screen = |text: Vec<u8>| if tty { shell::on_screen(&text) } else { text };
        said.out.extend(screen(done.out));
        // A terminal has one screen.
        let to = if tty { &mut said.out } else { &mut said.err };
        to.extend(screen(done.err));
        self.code = done.code;
        match done.input {
            Some(input) => LineOutcome::Input(input),
            None if done.exit => LineOutcome::Exit,
            None => LineOutcome::On,
        }
    }

    fn script(&mut self, text: &str, now: Timestamp) -> CommandOutput {
        let mut commands = self.commands.clone();
        let files = SharedFileTree::clone(&self.files);
        let own = |words: &[&str]| self.own(words, now);
        let context = ShellContext { host: &self.name, now, host_keys: "", files: &files, own: Some(&own) };
        let done = commands.script(text, &context);
        self.commands = commands;
        done
    }

    /// What only a machine has.
    fn own(&self, words: &[&str], now: Timestamp) -> Option<String> {
        let (program, arguments) = words.split_first()?;
        Some(match *program {
            "whoami" => "core\n".to_owned(),
            "id" => "uid=1000(core) gid=1000(core) groups=1000(core),4(adm),10(wheel) # simulated\n".to_owned(),
            "uname" if arguments.contains(&"-a") => format!(
                "Linux {} 5.14.0-427.simulated.el9.x86_64 #1 SMP PREEMPT_DYNAMIC x86_64 GNU/Linux\n",
                self.name
            ),
            "uname" => "Linux\n".to_owned(),
            "uptime" => {
                let days = now.since(self.up).as_secs() / 86_400;
                format!(" up {days} days,  1 user,  load average: 0.42, 0.37, 0.35 (simulated)\n")
            }
            "journalctl" => self.journal(now),
            "crictl" => self.containers(),
            "ip" => "2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 state UP # simulated\n".to_owned(),
            "df" => "Filesystem  Size  Used Avail Use% Mounted on\n/dev/sda4   127G   38G   90G  30% /sysroot # simulated\n"
                .to_owned(),
            "free" => "        total   used   free  # simulated\nMem:    31Gi   12Gi   18Gi\n".to_owned(),
            "systemctl" => "● kubelet.service - Kubernetes Kubelet\n     Active: active (running) # simulated\n".to_owned(),
            _ => return None,
        })
    }

    fn journal(&self, now: Timestamp) -> String {
        let line = |ago: u64, unit: &str, what: &str| {
            format!("{} {} {unit}: {what}\n", now - std::time::Duration::from_secs(ago), self.name)
        };
        [
            line(31, "systemd[1]", "Started simulated journal."),
            line(22, "kubelet[2417]", "\"SyncLoop (PLEG): event for pod\" # simulated"),
            line(9, "crio[2202]", "Checking image status # simulated"),
            line(2, "kubelet[2417]", "\"Probe succeeded\" probeType=\"Readiness\" # simulated"),
        ]
        .concat()
    }

    fn containers(&self) -> String {
        let names: &[&str] = match self.master {
            true => {
                &["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "ovnkube-controller"]
            }
            false => &["ovnkube-controller", "node-exporter", "dns"],
        };
        let mut text = "CONTAINER      STATE    NAME  # simulated\n".to_owned();
        for (number, name) in names.iter().enumerate() {
            text.push_str(&format!(
                "{:013x}  Running  {name}\n",
                0x51A0_0000_0000_u64 + number as u64 * 7919
            ));
        }
        text
    }
}

/// How the execution of lines ended.
enum LineOutcome {
    On,
    /// A command goes on with the session's input.
    Input(InputUse),
    Exit,
}
