//! Lines out of the bytes that a person types.

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
