//! A model of how a TLS server reads the names of a ClientHello: RFC 8446 §4.1.2 and §5.1, RFC 6066 §3.

/// Takes bytes from the front.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self, bytes: usize) -> Option<usize> {
        Some(self.take(bytes)?.iter().fold(0, |number, byte| number << 8 | usize::from(*byte)))
    }

    /// A vector with its length in so many bytes.
    fn vector(&mut self, bytes: usize) -> Option<Reader<'a>> {
        let length = self.number(bytes)?;
        self.take(length).map(Reader)
    }
}

/// The host names that the first message asks for; `None`: it is no whole ClientHello.
pub fn names(bytes: &[u8]) -> Option<Vec<String>> {
    let message = handshake(bytes)?;
    let mut message = Reader(&message);
    if message.number(1)? != 1 {
        return None;
    }
    let mut body = message.vector(3)?;
    body.take(2 + 32)?;
    body.vector(1)?;
    body.vector(2)?;
    body.vector(1)?;
    let mut extensions = body.vector(2)?;
    let mut found = Vec::new();
    while !extensions.0.is_empty() {
        let kind = extensions.number(2)?;
        let mut extension = extensions.vector(2)?;
        if kind != 0 {
            continue;
        }
        let mut list = extension.vector(2)?;
        while !list.0.is_empty() {
            let is_host = list.number(1)? == 0;
            let name = list.vector(2)?;
            if is_host {
                found.push(String::from_utf8(name.0.to_vec()).ok()?);
            }
        }
    }
    Some(found)
}

/// The first handshake message, which may be spread over several records.
fn handshake(bytes: &[u8]) -> Option<Vec<u8>> {
    let (mut records, mut message) = (Reader(bytes), Vec::new());
    loop {
        if records.number(1)? != 22 {
            return None;
        }
        records.take(2)?;
        message.extend_from_slice(records.vector(2)?.0);
        let mut begun = Reader(&message);
        if begun.number(1).is_some() && begun.vector(3).is_some() {
            return Some(message);
        }
    }
}
