//! A client without a copy: it takes what comes, and acknowledges every update, for the least that this can cost.

use std::io::{Error, ErrorKind};
use std::sync::atomic::{AtomicU64, Ordering};

use room::session::Hello;
use room::wire::message::{Ack, ClientMessage, tag};
use room::wire::update::Part;
use room::wire::{PROTOCOL_VERSION, SUBPROTOCOL};
use room::{Game, Tick};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::game::Crowd;

const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

/// An open socket of a room.
pub struct Socket {
    stream: TcpStream,
    // What came and is not taken yet stands between `taken` and `filled`.
    buffer: Vec<u8>,
    taken: usize,
    filled: usize,
    out: Vec<u8>,
    // Of the update that is under way.
    tick: Tick,
}

impl Socket {
    /// Opens a socket at a `ws://` URL, says hello and waits for the welcome.
    pub async fn join(url: &str) -> std::io::Result<Socket> {
        let bad = |what: String| Error::new(ErrorKind::InvalidData, what);
        let rest = url.strip_prefix("ws://").ok_or_else(|| bad(format!("{url} is no ws:// URL")))?;
        let (host, path) = rest.split_once('/').ok_or_else(|| bad(format!("{url} names no room")))?;
        let stream = TcpStream::connect(host).await?;
        stream.set_nodelay(true)?;
        let buffer = vec![0; 4096];
        let mut socket = Socket { stream, buffer, taken: 0, filled: 0, out: Vec::new(), tick: Tick::ZERO };
        let request = format!(
            "GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
             Sec-WebSocket-Protocol: {SUBPROTOCOL}\r\n\r\n"
        );
        socket.stream.write_all(request.as_bytes()).await?;
        let head = socket.http_head().await?;
        if !head.starts_with("HTTP/1.1 101") {
            return Err(bad(head.lines().next().unwrap_or("no answer").to_owned()));
        }
        let schema_hash = Crowd::schema().hash();
        let hello = Hello { protocol: PROTOCOL_VERSION, schema_hash, ..Hello::default() };
        socket.say(&ClientMessage::Hello(hello));
        socket.send().await?;
        while socket.frame()?.is_none() {
            socket.receive().await?;
        }
        socket.say(&ClientMessage::Ack(Ack::default()));
        socket.send().await?;
        Ok(socket)
    }

    /// Takes updates and counts them until the socket ends; says why it did.
    pub async fn run(mut self, updates: &AtomicU64) -> Error {
        loop {
            if let Err(error) = self.turn(updates).await {
                return error;
            }
        }
    }

    /// Takes what has come, and answers.
    async fn turn(&mut self, updates: &AtomicU64) -> std::io::Result<()> {
        while let Some((opcode, from, to)) = self.frame()? {
            let payload = &self.buffer[from..to];
            match opcode {
                BINARY if payload.first() == Some(&tag::UPDATE) => {
                    let part =
                        Part::decode(&payload[1..]).map_err(|error| Error::other(error.to_string()))?;
                    self.tick = part.head.map_or(self.tick, |head| head.tick);
                    if part.last {
                        updates.fetch_add(1, Ordering::Relaxed);
                        self.say(&ClientMessage::Ack(Ack { tick: self.tick, ..Ack::default() }));
                    }
                }
                PING => put_frame(&mut self.out, PONG, &self.buffer[from..to]),
                CLOSE => {
                    let code = payload.get(..2).map(|code| u16::from_be_bytes([code[0], code[1]]));
                    let reason = String::from_utf8_lossy(payload.get(2..).unwrap_or_default());
                    return Err(Error::other(format!("closed with {code:?} {reason}")));
                }
                _ => {}
            }
        }
        self.send().await?;
        self.receive().await
    }

    async fn http_head(&mut self) -> std::io::Result<String> {
        loop {
            let came = &self.buffer[..self.filled];
            if let Some(end) = came.windows(4).position(|window| window == b"\r\n\r\n") {
                self.taken = end + 4;
                return Ok(String::from_utf8_lossy(&came[..end]).into_owned());
            }
            self.receive().await?;
        }
    }

    /// The next whole frame: its opcode, and where its payload stands.
    fn frame(&mut self) -> std::io::Result<Option<(u8, usize, usize)>> {
        let came = &self.buffer[self.taken..self.filled];
        let [_, short, rest @ ..] = came else { return Ok(None) };
        let (head, len) = match (short, rest) {
            (0..=125, _) => (2, u64::from(*short)),
            (126, [high, low, ..]) => (4, u64::from(u16::from_be_bytes([*high, *low]))),
            (127, [a, b, c, d, e, f, g, h, ..]) => (10, u64::from_be_bytes([*a, *b, *c, *d, *e, *f, *g, *h])),
            (126 | 127, _) => return Ok(None),
            _ => return Err(Error::other("a masked frame from the server")),
        };
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        if len > room::limits::ROOM_MESSAGE {
            return Err(Error::other("a frame that is larger than any message"));
        }
        if came.len() < head + len {
            return Ok(None);
        }
        let (opcode, from) = (came[0] & 15, self.taken + head);
        self.taken = from + len;
        Ok(Some((opcode, from, self.taken)))
    }

    /// Waits for more.
    async fn receive(&mut self) -> std::io::Result<()> {
        self.buffer.copy_within(self.taken..self.filled, 0);
        self.filled -= std::mem::take(&mut self.taken);
        if self.filled == self.buffer.len() {
            self.buffer.resize(2 * self.filled, 0);
        }
        match self.stream.read(&mut self.buffer[self.filled..]).await? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            n => {
                self.filled += n;
                Ok(())
            }
        }
    }

    fn say(&mut self, message: &ClientMessage<'_>) {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        put_frame(&mut self.out, BINARY, &bytes);
    }

    async fn send(&mut self) -> std::io::Result<()> {
        if !self.out.is_empty() {
            self.stream.write_all(&self.out).await?;
            self.out.clear();
        }
        Ok(())
    }
}

/// Appends a small frame of a client. Its mask is 0, which changes nothing.
fn put_frame(out: &mut Vec<u8>, opcode: u8, payload: &[u8]) {
    debug_assert!(payload.len() <= 125);
    out.extend([0x80 | opcode, 0x80 | payload.len() as u8, 0, 0, 0, 0]);
    out.extend_from_slice(payload);
}
