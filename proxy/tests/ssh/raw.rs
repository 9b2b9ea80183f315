//! A client that says what no client says: packets by hand, with `curve25519-sha256` and AES-GCM (RFC 4253, RFC 5647).

use std::net::SocketAddr;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::agreement::{EphemeralPrivateKey, UnparsedPublicKey, X25519, agree_ephemeral};
use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::rand::SystemRandom;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

use crate::world::soon;

const NAME: &[u8] = b"SSH-2.0-by-hand";
const TAG: usize = 16;
/// Longest packet that is taken.
const MOST: usize = 1 << 20;

/// Messages (RFC 4250 §4.1.2).
pub(crate) mod message_number {
    pub(crate) const KEXINIT: u8 = 20;
    pub(crate) const NEWKEYS: u8 = 21;
    pub(crate) const KEX_INIT: u8 = 30;
    pub(crate) const AUTH_REQUEST: u8 = 50;
    pub(crate) const AUTH_FAILURE: u8 = 51;
    pub(crate) const AUTH_SUCCESS: u8 = 52;
    pub(crate) const AUTH_KEY_OK: u8 = 60;
    pub(crate) const OPEN: u8 = 90;
    pub(crate) const OPENED: u8 = 91;
    pub(crate) const OPEN_FAILURE: u8 = 92;
    pub(crate) const WINDOW_ADJUST: u8 = 93;
    pub(crate) const DATA: u8 = 94;
    pub(crate) const CLOSE: u8 = 97;
    pub(crate) const REQUEST: u8 = 98;
}

/// A message that is being put together.
#[derive(Debug, Clone, Default)]
pub(crate) struct Message(pub(crate) Vec<u8>);

impl Message {
    pub(crate) fn with_kind(kind: u8) -> Self {
        Self(vec![kind])
    }

    pub(crate) fn byte(mut self, byte: u8) -> Self {
        self.0.push(byte);
        self
    }

    pub(crate) fn number(mut self, number: u32) -> Self {
        self.0.extend(number.to_be_bytes());
        self
    }

    pub(crate) fn string(self, text: impl AsRef<[u8]>) -> Self {
        let text = text.as_ref();
        let mut more = self.number(u32::try_from(text.len()).unwrap());
        more.0.extend(text);
        more
    }

    /// A positive number of many bytes.
    fn mpint(self, bytes: &[u8]) -> Self {
        let start = bytes.iter().position(|&byte| byte != 0).unwrap_or(bytes.len());
        let mut number = bytes[start..].to_vec();
        if number.first().is_some_and(|first| first & 0x80 != 0) {
            number.insert(0, 0);
        }
        self.string(number)
    }

    /// A session with a window of everything.
    pub(crate) fn session(number: u32) -> Self {
        Self::with_kind(message_number::OPEN).string("session").number(number).number(u32::MAX).number(32768)
    }

    pub(crate) fn exec(channel: u32, command: &str) -> Self {
        Self::with_kind(message_number::REQUEST).number(channel).string("exec").byte(1).string(command)
    }
}

/// One direction's key.
struct Cipher {
    key: LessSafeKey,
    nonce: [u8; 12],
}

impl Cipher {
    fn new(key: &[u8], nonce: &[u8]) -> Self {
        let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, key).unwrap());
        Self { key, nonce: nonce[..12].try_into().unwrap() }
    }

    fn next(&mut self) -> Nonce {
        let nonce = Nonce::assume_unique_for_key(self.nonce);
        let counter = u64::from_be_bytes(self.nonce[4..].try_into().unwrap()).wrapping_add(1);
        self.nonce[4..].copy_from_slice(&counter.to_be_bytes());
        nonce
    }
}

/// The way to the server.
pub(crate) struct Up {
    tcp: OwnedWriteHalf,
    cipher: Cipher,
}

/// The way from it.
pub(crate) struct Down {
    tcp: OwnedReadHalf,
    cipher: Cipher,
}

/// A connection whose keys are exchanged.
pub(crate) struct Raw {
    pub(crate) up: Up,
    pub(crate) down: Down,
    pub(crate) session: Vec<u8>,
}

impl Raw {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        Self::over(TcpStream::connect(address).await.unwrap()).await
    }

    /// Over a connection on which something was said already.
    pub(crate) async fn over(tcp: TcpStream) -> Self {
        soon("the key exchange", exchange(tcp)).await
    }

    /// Asks for the sign-in, and signs in with a password.
    pub(crate) async fn sign_in(&mut self, user: &str, password: &str) {
        self.ask_to_sign_in().await;
        let request = Message::with_kind(message_number::AUTH_REQUEST).string(user).string("ssh-connection");
        self.up.send(&request.string("password").byte(0).string(password)).await.unwrap();
        self.down.until(message_number::AUTH_SUCCESS).await;
    }

    pub(crate) async fn ask_to_sign_in(&mut self) {
        self.up.send(&Message::with_kind(5).string("ssh-userauth")).await.unwrap();
        self.down.until(6).await;
    }

    /// Opens a session; the server's number of it.
    pub(crate) async fn session(&mut self, number: u32) -> u32 {
        self.up.send(&Message::session(number)).await.unwrap();
        let opened = self.down.until(message_number::OPENED).await;
        u32::from_be_bytes(opened[5..9].try_into().unwrap())
    }
}

impl Up {
    pub(crate) async fn send(&mut self, message: &Message) -> std::io::Result<()> {
        self.send_all(std::slice::from_ref(message)).await
    }

    /// All of it in one piece.
    pub(crate) async fn send_all(&mut self, messages: &[Message]) -> std::io::Result<()> {
        let mut bytes = Vec::new();
        for message in messages {
            let packet = packet(&message.0, 16);
            let (length, body) = packet.split_at(4);
            let mut sealed = body.to_vec();
            let nonce = self.cipher.next();
            self.cipher.key.seal_in_place_append_tag(nonce, Aad::from(length), &mut sealed).unwrap();
            bytes.extend(length);
            bytes.extend(sealed);
        }
        self.tcp.write_all(&bytes).await
    }

    /// What is no packet.
    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.tcp.write_all(bytes).await
    }
}

impl Down {
    /// The next message; `None`: the server has closed.
    pub(crate) async fn next(&mut self) -> Option<Vec<u8>> {
        let mut length = [0; 4];
        self.tcp.read_exact(&mut length).await.ok()?;
        let size = usize::try_from(u32::from_be_bytes(length)).unwrap();
        assert!(size < MOST, "a packet of {size} bytes");
        let mut sealed = vec![0; size + TAG];
        self.tcp.read_exact(&mut sealed).await.ok()?;
        let nonce = self.cipher.next();
        let body = self.cipher.key.open_in_place(nonce, Aad::from(&length), &mut sealed).unwrap();
        let padding = usize::from(body[0]);
        Some(body[1..body.len() - padding].to_vec())
    }

    /// The next message of that kind.
    pub(crate) async fn until(&mut self, kind: u8) -> Vec<u8> {
        let looking = async {
            loop {
                let message = self.next().await.unwrap_or_else(|| panic!("closed before message {kind}"));
                if message[0] == kind {
                    return message;
                }
            }
        };
        soon(&format!("message {kind}"), looking).await
    }

    /// Reads to the server's close; how many messages of that kind came.
    pub(crate) async fn rest(&mut self, kind: u8) -> usize {
        let mut count = 0;
        while let Some(message) = self.next().await {
            count += usize::from(message[0] == kind);
        }
        count
    }
}

/// `length || padding || payload || padding`, not sealed.
fn packet(payload: &[u8], block: usize) -> Vec<u8> {
    // The length of a sealed packet counts for no block.
    let head = if block == 8 { 5 } else { 1 };
    let padding = 4 + (block - (head + payload.len() + 4) % block) % block;
    let mut packet = u32::try_from(1 + payload.len() + padding).unwrap().to_be_bytes().to_vec();
    packet.push(u8::try_from(padding).unwrap());
    packet.extend(payload);
    packet.extend(vec![0; padding]);
    packet
}

async fn plain(tcp: &mut (impl AsyncRead + Unpin)) -> Vec<u8> {
    let size = usize::try_from(tcp.read_u32().await.unwrap()).unwrap();
    assert!(size < MOST, "a packet of {size} bytes");
    let mut body = vec![0; size];
    tcp.read_exact(&mut body).await.unwrap();
    let padding = usize::from(body[0]);
    body[1..size - padding].to_vec()
}

async fn say(tcp: &mut (impl AsyncWrite + Unpin), message: &Message) {
    tcp.write_all(&packet(&message.0, 8)).await.unwrap();
}

async fn exchange(mut tcp: TcpStream) -> Raw {
    tcp.write_all(&[NAME, b"\r\n"].concat()).await.unwrap();
    let mut theirs = Vec::new();
    while !theirs.ends_with(b"\r\n") {
        theirs.push(tcp.read_u8().await.unwrap());
    }
    theirs.truncate(theirs.len() - 2);
    let mut ours = Message::with_kind(message_number::KEXINIT);
    ours.0.extend([7; 16]);
    let cipher = "aes256-gcm@openssh.com";
    for names in [
        "curve25519-sha256,kex-strict-c-v00@openssh.com",
        "ssh-ed25519",
        cipher,
        cipher,
        "hmac-sha2-256",
        "hmac-sha2-256",
        "none",
        "none",
        "",
        "",
    ] {
        ours = ours.string(names);
    }
    let ours = ours.byte(0).number(0);
    say(&mut tcp, &ours).await;
    let their_init = plain(&mut tcp).await;
    let random = SystemRandom::new();
    let own = EphemeralPrivateKey::generate(&X25519, &random).unwrap();
    let public = own.compute_public_key().unwrap();
    say(&mut tcp, &Message::with_kind(message_number::KEX_INIT).string(public.as_ref())).await;
    let reply = plain(&mut tcp).await;
    let mut fields = Vec::new();
    let mut rest = &reply[1..];
    while let Some((length, more)) = rest.split_first_chunk::<4>() {
        let (field, more) = more.split_at(usize::try_from(u32::from_be_bytes(*length)).unwrap());
        fields.push(field);
        rest = more;
    }
    let peer = UnparsedPublicKey::new(&X25519, fields[1]);
    let shared = agree_ephemeral(own, peer, (), |secret| Ok(secret.to_vec())).unwrap();
    let hashed = Message::default()
        .string(NAME)
        .string(&theirs)
        .string(&ours.0)
        .string(&their_init)
        .string(fields[0])
        .string(public.as_ref())
        .string(fields[1])
        .mpint(&shared);
    let hash = digest(&SHA256, &hashed.0);
    let derived = |letter: u8| {
        let mut input = Message::default().mpint(&shared).0;
        input.extend(hash.as_ref());
        input.push(letter);
        input.extend(hash.as_ref());
        digest(&SHA256, &input)
    };
    say(&mut tcp, &Message::with_kind(message_number::NEWKEYS)).await;
    assert_eq!(plain(&mut tcp).await, [message_number::NEWKEYS]);
    let (read, write) = tcp.into_split();
    let cipher = |key: u8, nonce: u8| Cipher::new(derived(key).as_ref(), derived(nonce).as_ref());
    Raw {
        up: Up { tcp: write, cipher: cipher(b'C', b'A') },
        down: Down { tcp: read, cipher: cipher(b'D', b'B') },
        session: hash.as_ref().to_vec(),
    }
}
