//! The server's end of SPDY/3.1 (draft-mbelshe-httpbis-spdy-00), as far as Kubernetes clients use it: the client opens all
//! streams, nobody counts windows.

mod headers_block;

use std::collections::HashMap;
use std::io;
use std::pin::pin;
use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use hyper::header::{CONNECTION, HeaderMap, HeaderName, HeaderValue, UPGRADE};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadHalf};
use tokio::sync::mpsc;
use tokio::time::timeout;

use self::headers_block::{HeaderReader, HeaderWriter};
use super::remote_streams::{Gone, Output, RemoteStreams};

const SYN_STREAM: u16 = 1;
const SYN_REPLY: u16 = 2;
const RST_STREAM: u16 = 3;
const PING: u16 = 6;
const GOAWAY: u16 = 7;
const HEADERS: u16 = 8;
const FIN: u8 = 1;

/// Bytes of a control frame.
const MOST_CONTROL: usize = 64 * 1024;
/// Streams at once whose input is open.
const MOST_STREAMS: usize = 128;
/// Bytes of a piece of data.
const PIECE: usize = 32 * 1024;
/// Frames and pieces that wait.
const QUEUE: usize = 16;
/// Without a frame for that long a connection ends.
const IDLE: Duration = Duration::from_mins(30);
/// For the client to open the streams of a session.
const OPENING: Duration = Duration::from_secs(30);
/// For the client to read the rest and to close after the server: a slow one is still at the output.
const GOODBYE: Duration = Duration::from_mins(1);

const PROTOCOL: &str = "x-stream-protocol-version";

/// The headers of the answer, when the request is an upgrade to SPDY that offers the protocol.
pub(super) fn handshake(
    headers: &HeaderMap,
    protocol: &'static str,
) -> Option<Vec<(HeaderName, HeaderValue)>> {
    if !headers.get(UPGRADE)?.as_bytes().eq_ignore_ascii_case(b"SPDY/3.1") {
        return None;
    }
    let offered = headers
        .get_all(PROTOCOL)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|offered| offered.trim() == protocol);
    offered.then(|| {
        vec![
            (CONNECTION, HeaderValue::from_static("Upgrade")),
            (UPGRADE, HeaderValue::from_static("SPDY/3.1")),
            (HeaderName::from_static(PROTOCOL), HeaderValue::from_static(protocol)),
        ]
    })
}

/// A stream that the client opened.
#[derive(Debug)]
pub(super) struct SpdyStream {
    headers: Vec<(String, String)>,
    /// Ends when the client has ended its side.
    pub input: mpsc::Receiver<Bytes>,
    pub output: SpdyOutput,
}

impl SpdyStream {
    /// The value of a header; the name is in lower case.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }
}

/// The server's side of a stream.
#[derive(Debug, Clone)]
pub(super) struct SpdyOutput {
    id: u32,
    frames: mpsc::Sender<Bytes>,
}

impl SpdyOutput {
    pub(super) async fn send(&self, data: &[u8]) -> Result<(), Gone> {
        for piece in data.chunks(PIECE) {
            self.frames.send(data_frame(self.id, 0, piece)).await.map_err(|_| Gone)?;
        }
        Ok(())
    }

    /// Nothing more is sent.
    pub(super) async fn end(&self) -> Result<(), Gone> {
        self.frames.send(data_frame(self.id, FIN, &[])).await.map_err(|_| Gone)
    }
}

/// `data` has at most [`PIECE`] bytes.
fn data_frame(id: u32, flags: u8, data: &[u8]) -> Bytes {
    let mut frame = BytesMut::with_capacity(data.len() + 8);
    frame.put_u32(id);
    frame.put_u8(flags);
    frame.put_uint(data.len() as u64, 3);
    frame.put_slice(data);
    frame.freeze()
}

fn control_frame(kind: u16, payload: &[u8]) -> Bytes {
    let mut frame = BytesMut::with_capacity(payload.len() + 8);
    frame.put_u16(0x8003);
    frame.put_u16(kind);
    frame.put_u8(0);
    frame.put_uint(payload.len() as u64, 3);
    frame.put_slice(payload);
    frame.freeze()
}

/// Serves a connection until the client ends it; gives away the streams that it opens.
pub(super) async fn serve<S>(stream: S, opened: mpsc::Sender<SpdyStream>) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (read, mut write) = tokio::io::split(stream);
    let (frames, mut queue) = mpsc::channel::<Bytes>(QUEUE);
    let reader = Reader {
        read,
        opened,
        frames,
        streams: HashMap::new(),
        unpack: HeaderReader::new(),
        pack: HeaderWriter::new(),
    };
    let writing = async {
        while let Some(frame) = queue.recv().await {
            write.write_all(&frame).await?;
            write.flush().await?;
        }
        io::Result::Ok(())
    };
    tokio::select! {
        read = reader.run() => read,
        written = writing => written,
    }
}

struct Reader<S> {
    read: ReadHalf<S>,
    opened: mpsc::Sender<SpdyStream>,
    frames: mpsc::Sender<Bytes>,
    streams: HashMap<u32, mpsc::Sender<Bytes>>,
    unpack: HeaderReader,
    pack: HeaderWriter,
}

fn malformed(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn number(bytes: &[u8]) -> io::Result<u32> {
    let first = bytes.first_chunk::<4>().ok_or_else(|| malformed("a SPDY frame is too short"))?;
    Ok(u32::from_be_bytes(*first))
}

impl<S: AsyncRead> Reader<S> {
    async fn run(mut self) -> io::Result<()> {
        loop {
            let mut head = [0; 8];
            match timeout(IDLE, self.read.read_exact(&mut head)).await {
                Ok(Ok(_)) => {}
                Ok(Err(error)) if error.kind() != io::ErrorKind::UnexpectedEof => return Err(error),
                Ok(Err(_)) | Err(_) => return Ok(()),
            }
            let [a, b, c, d, flags, high, middle, low] = head;
            let word = u32::from_be_bytes([a, b, c, d]);
            let length = usize::from(high) << 16 | usize::from(middle) << 8 | usize::from(low);
            let fin = flags & FIN != 0;
            if a & 0x80 == 0 {
                self.data(word, length, fin).await?;
                continue;
            }
            if length > MOST_CONTROL {
                return Err(malformed("a SPDY control frame is too long"));
            }
            let mut payload = vec![0; length];
            self.fill(&mut payload).await?;
            match u16::from_be_bytes([c, d]) {
                SYN_STREAM => self.open(&payload, fin).await?,
                // Their headers are read because all blocks are one compressed stream.
                SYN_REPLY | HEADERS => {
                    self.unpack.read(payload.get(4..).unwrap_or_default())?;
                }
                RST_STREAM => {
                    self.streams.remove(&number(&payload)?);
                }
                // Odd numbers are the client's.
                PING if number(&payload)? % 2 == 1 => self.send(control_frame(PING, &payload)).await?,
                GOAWAY => return Ok(()),
                _ => {}
            }
        }
    }

    /// The rest of a frame, which must not take longer than the next frame may.
    async fn fill(&mut self, into: &mut [u8]) -> io::Result<()> {
        timeout(IDLE, self.read.read_exact(into)).await??;
        Ok(())
    }

    async fn send(&mut self, frame: Bytes) -> io::Result<()> {
        self.frames.send(frame).await.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    async fn data(&mut self, id: u32, length: usize, fin: bool) -> io::Result<()> {
        let mut left = length;
        while left > 0 {
            let mut piece = vec![0; left.min(PIECE)];
            self.fill(&mut piece).await?;
            left -= piece.len();
            let gone = match self.streams.get(&id) {
                Some(stream) => stream.send(piece.into()).await.is_err(),
                None => false,
            };
            if gone {
                self.streams.remove(&id);
            }
        }
        if fin {
            self.streams.remove(&id);
        }
        Ok(())
    }

    async fn open(&mut self, payload: &[u8], fin: bool) -> io::Result<()> {
        let id = number(payload)? & 0x7fff_ffff;
        let headers = self.unpack.read(payload.get(10..).unwrap_or_default())?;
        if self.streams.len() >= MOST_STREAMS || self.streams.contains_key(&id) {
            return Err(malformed("too many SPDY streams, or the same one twice"));
        }
        let mut reply = id.to_be_bytes().to_vec();
        reply.extend_from_slice(&self.pack.no_headers()?);
        self.send(control_frame(SYN_REPLY, &reply)).await?;
        let (input_sender, input) = mpsc::channel(QUEUE);
        if !fin {
            self.streams.insert(id, input_sender);
        }
        let output = SpdyOutput { id, frames: self.frames.clone() };
        // Nobody takes streams any more: the connection is about to end.
        let _ = self.opened.send(SpdyStream { headers, input, output }).await;
        Ok(())
    }
}

/// The streams that a client of exec or attach opens besides `error`.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExpectedStreams {
    pub stdin: bool,
    pub stdout: bool,
    pub stderr: bool,
    pub resize: bool,
}

impl ExpectedStreams {
    /// Takes them as they come; `None` when the client went away before.
    async fn collect(self, opened: &mut mpsc::Receiver<SpdyStream>) -> Option<HashMap<String, SpdyStream>> {
        let wanted = [
            ("error", true),
            ("stdin", self.stdin),
            ("stdout", self.stdout),
            ("stderr", self.stderr),
            ("resize", self.resize),
        ];
        let mut found: HashMap<String, SpdyStream> = HashMap::new();
        while !wanted.iter().all(|(name, wanted)| !wanted || found.contains_key(*name)) {
            let stream = opened.recv().await?;
            let kind = stream.header("streamtype")?.to_owned();
            // Only the five: a client does not decide how many are kept.
            if wanted.iter().any(|(name, _)| *name == kind) {
                found.insert(kind, stream);
            }
        }
        Some(found)
    }
}

/// Carries a session of exec or attach (`v4.channel.k8s.io`) over SPDY streams.
pub(super) async fn session<F>(
    upgraded: Upgraded,
    expected: ExpectedStreams,
    session: impl FnOnce(RemoteStreams) -> F,
) -> io::Result<()>
where
    F: Future<Output = Result<(), Gone>>,
{
    let (opened_sender, mut opened) = mpsc::channel(QUEUE);
    let mut serving = pin!(serve(TokioIo::new(upgraded), opened_sender));
    let running = async {
        let found = timeout(OPENING, expected.collect(&mut opened)).await;
        let Some(mut found) = found.ok().flatten() else { return };
        let (streams, input, outputs) = RemoteStreams::new();
        let stdin = found.remove("stdin");
        // The others are not read: sizes of a terminal would fill their queue and block the whole connection.
        for stream in found.values_mut() {
            stream.input.close();
        }
        let feeding = async move {
            if let Some(mut stdin) = stdin {
                while let Some(data) = stdin.input.recv().await {
                    if input.send(data).await.is_err() {
                        break;
                    }
                }
            }
            drop(input);
            std::future::pending::<()>().await;
        };
        let session = async { tokio::join!(session(streams), write_streams(outputs, &found)) };
        tokio::select! {
            _ = session => {}
            () = feeding => {}
        }
    };
    tokio::select! {
        served = &mut serving => return served,
        () = running => {}
    }
    timeout(GOODBYE, serving).await.unwrap_or(Ok(()))
}

/// Output into the streams of their names, and the end of all streams.
async fn write_streams(
    mut outputs: mpsc::Receiver<Output>,
    streams: &HashMap<String, SpdyStream>,
) -> Result<(), Gone> {
    while let Some(output) = outputs.recv().await {
        let (name, data) = match output {
            Output::Stdout(data) => ("stdout", data),
            Output::Stderr(data) => ("stderr", data),
            Output::Status(data) => ("error", data),
        };
        if let Some(stream) = streams.get(name) {
            stream.output.send(&data).await?;
        }
    }
    for stream in streams.values() {
        stream.output.end().await?;
    }
    Ok(())
}
