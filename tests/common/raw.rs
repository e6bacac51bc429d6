//! A WebSocket client that does as it is told, wrong things too.

use std::net::IpAddr;
use std::time::Duration;

use room::wire::message::{Ack, Claim, ClientMessage, Hello, Resume, RoomMessage, Token};
use room::wire::{PROTOCOL_VERSION, SUBPROTOCOL, payload};
use room::{Game, PlayerId, Schema, SessionId, Tick};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

/// How long anything that should happen may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) const CONTINUATION: u8 = 0;
pub(crate) const TEXT: u8 = 1;
pub(crate) const BINARY: u8 = 2;
pub(crate) const CLOSE: u8 = 8;
pub(crate) const PING: u8 = 9;
pub(crate) const PONG: u8 = 10;

/// An upgrade request; change it, then open it.
pub(crate) struct Request {
    method: &'static str,
    address: String,
    path: String,
    headers: Vec<(String, String)>,
    behind: Vec<u8>,
    from: IpAddr,
}

impl Request {
    /// A good request for the room at a `ws://` URL.
    pub(crate) fn new(url: &str) -> Request {
        let rest = url.strip_prefix("ws://").expect("a ws:// URL");
        let (address, path) = rest.split_once('/').expect("a path");
        let (address, path) = (address.to_owned(), format!("/{path}"));
        let request = Request {
            method: "GET",
            address: address.clone(),
            path,
            headers: Vec::new(),
            behind: Vec::new(),
            from: IpAddr::from([127, 0, 0, 1]),
        };
        request
            .with("Host", &address)
            .with("Connection", "Upgrade")
            .with("Upgrade", "websocket")
            .with("Sec-WebSocket-Version", "13")
            .with("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
            .with("Sec-WebSocket-Protocol", SUBPROTOCOL)
    }

    /// Sets a header.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Request {
        self = self.without(name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn method(mut self, method: &'static str) -> Request {
        self.method = method;
        self
    }

    /// Sets a header once more.
    pub(crate) fn and(mut self, name: &str, value: &str) -> Request {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Bytes that go out with the request.
    pub(crate) fn followed_by(mut self, bytes: &[u8]) -> Request {
        self.behind.extend(bytes);
        self
    }

    /// The loopback address that it comes from; 127.0.0.1 if not said.
    pub(crate) fn from(mut self, address: [u8; 4]) -> Request {
        self.from = address.into();
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Request {
        self.headers.retain(|(other, _)| other != name);
        self
    }

    /// Sends it: a socket, or the HTTP status that refused one.
    pub(crate) async fn open(self) -> Result<Raw, u16> {
        self.try_open().await.expect("the server listens and answers")
    }

    /// As [`open`](Self::open), where the server may drop the connection.
    pub(crate) async fn try_open(self) -> std::io::Result<Result<Raw, u16>> {
        let socket = TcpSocket::new_v4()?;
        socket.bind((self.from, 0).into())?;
        let mut stream = socket.connect(self.address.parse().expect("an address")).await?;
        let mut text = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        for (name, value) in &self.headers {
            text += &format!("{name}: {value}\r\n");
        }
        text += "\r\n";
        let bytes = [text.as_bytes(), &self.behind].concat();
        stream.write_all(&bytes).await?;
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await?);
        }
        let head = String::from_utf8(head).expect("text");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        if status != 101 {
            return Ok(Err(status));
        }
        let head = head.to_ascii_lowercase();
        assert!(head.contains(&format!("sec-websocket-protocol: {SUBPROTOCOL}\r\n")), "{head}");
        assert!(head.contains("sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo=\r\n"), "{head}");
        Ok(Ok(Raw { stream, messages: Vec::new() }))
    }
}

/// What a welcome says of a session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seat {
    pub(crate) session: SessionId,
    pub(crate) token: Token,
    pub(crate) epoch: u32,
    pub(crate) player: PlayerId,
    pub(crate) resumed: bool,
    pub(crate) generation: u64,
    pub(crate) incarnation: u64,
}

impl Seat {
    /// What a message says, if it is a welcome.
    pub(crate) fn of(message: &[u8]) -> Option<Seat> {
        let Ok(RoomMessage::Welcome(welcome)) = RoomMessage::decode(message) else { return None };
        Some(Seat {
            session: welcome.session,
            token: welcome.token,
            epoch: welcome.epoch,
            player: welcome.player,
            resumed: welcome.resumed,
            generation: welcome.generation,
            incarnation: welcome.incarnation,
        })
    }

    /// The hello with which a client that holds nothing comes back.
    pub(crate) fn hello(&self, schema: &Schema) -> Hello {
        let claim = Claim {
            generation: self.generation,
            incarnation: self.incarnation,
            complete: Tick::ZERO,
            ids: Vec::new(),
        };
        let resume = Resume { session: self.session, token: self.token, received: 0, claim };
        Hello { resume: Some(resume), ..hello(schema) }
    }
}

/// An open socket.
pub(crate) struct Raw {
    stream: TcpStream,
    /// Every message that came.
    pub(crate) messages: Vec<Vec<u8>>,
}

impl Raw {
    pub(crate) async fn open(url: &str) -> Raw {
        Request::new(url).open().await.expect("a socket")
    }

    /// A socket that has said a good hello and was let in.
    pub(crate) async fn joined<G: Game>(url: &str) -> Raw {
        Raw::seated(url, hello(&G::schema())).await.0
    }

    /// A socket that was let in with this hello, and its seat.
    pub(crate) async fn seated(url: &str, hello: Hello) -> (Raw, Seat) {
        let mut raw = Raw::open(url).await;
        raw.send(&hello_message(hello)).await;
        let seat = raw.welcome().await;
        (raw, seat)
    }

    /// The code and reason with which this hello is answered.
    pub(crate) async fn refused(url: &str, hello: Hello) -> (u16, String) {
        let mut raw = Raw::open(url).await;
        raw.send(&hello_message(hello)).await;
        let closed = raw.closed().await;
        assert!(raw.messages.is_empty(), "who is refused gets nothing");
        closed
    }

    /// The next message, which is a welcome.
    pub(crate) async fn welcome(&mut self) -> Seat {
        match self.next().await {
            Some((BINARY, first)) => Seat::of(&first).expect("a welcome"),
            Some((CLOSE, payload)) => panic!("closed: {}", String::from_utf8_lossy(&payload)),
            other => panic!("no welcome but {other:?}"),
        }
    }

    /// Leaves for good.
    pub(crate) async fn leave(&mut self) {
        let mut message = Vec::new();
        ClientMessage::Leave.encode(&mut message);
        self.send(&message).await;
    }

    /// Acknowledges, which confirms the token of the welcome.
    pub(crate) async fn acknowledge(&mut self, tick: Tick) {
        let mut message = Vec::new();
        ClientMessage::Ack(Ack { tick, ..Ack::default() }).encode(&mut message);
        self.send(&message).await;
    }

    /// Sends a good message.
    pub(crate) async fn send(&mut self, message: &[u8]) {
        self.frame(true, BINARY, message).await;
    }

    /// Sends a frame, whatever it is. A server that has closed may not take it.
    pub(crate) async fn frame(&mut self, fin: bool, opcode: u8, payload: &[u8]) {
        let mut bytes = vec![u8::from(fin) << 7 | opcode];
        match payload.len() {
            len @ 0..126 => bytes.push(0x80 | len as u8),
            len @ 126..65536 => {
                bytes.push(0x80 | 126);
                bytes.extend((len as u16).to_be_bytes());
            }
            len => {
                bytes.push(0x80 | 127);
                bytes.extend((len as u64).to_be_bytes());
            }
        }
        let mask = [1, 2, 3, 4];
        bytes.extend(mask);
        bytes.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
        let _ = self.stream.write_all(&bytes).await;
    }

    /// Sends bytes that need not be a frame.
    pub(crate) async fn bytes(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes).await;
    }

    /// Ends the connection at once, so that many can follow one another.
    pub(crate) fn reset(self) {
        let _ = self.stream.set_zero_linger();
    }

    /// The next frame, or `None` where the socket ended without one.
    pub(crate) async fn next(&mut self) -> Option<(u8, Vec<u8>)> {
        tokio::time::timeout(PATIENCE, self.read()).await.expect("something happens in time")
    }

    async fn read(&mut self) -> Option<(u8, Vec<u8>)> {
        let first = self.stream.read_u8().await.ok()?;
        assert_eq!(first & 0xf0, 0x80, "one frame a message, no extensions");
        let len = match self.stream.read_u8().await.ok()? {
            126 => u64::from(self.stream.read_u16().await.ok()?),
            127 => self.stream.read_u64().await.ok()?,
            len => u64::from(len),
        };
        let mut payload = vec![0; len as usize];
        self.stream.read_exact(&mut payload).await.ok()?;
        Some((first & 0x0f, payload))
    }

    /// The next message. Pings before it are answered.
    pub(crate) async fn message(&mut self) -> Vec<u8> {
        loop {
            match self.next().await {
                Some((BINARY, message)) => return message,
                Some((PING, payload)) => self.frame(true, PONG, &payload).await,
                other => panic!("no message but {other:?}"),
            }
        }
    }

    /// Reads until the socket is closed: the code and the reason.
    pub(crate) async fn closed(&mut self) -> (u16, String) {
        loop {
            match self.next().await {
                Some((BINARY, message)) => self.messages.push(message),
                Some((PING | PONG, _)) => {}
                Some((CLOSE, payload)) => {
                    let (code, reason) = payload.split_first_chunk().expect("a code");
                    let reason = String::from_utf8(reason.to_vec()).expect("UTF-8");
                    assert!(self.read().await.is_none(), "nothing follows a close frame");
                    return (u16::from_be_bytes(*code), reason);
                }
                other => panic!("no close frame but {other:?}"),
            }
        }
    }
}

/// A hello that gets in.
pub(crate) fn hello(schema: &Schema) -> Hello {
    Hello {
        protocol: PROTOCOL_VERSION,
        schema_hash: schema.hash(),
        name: "Mallory".to_owned(),
        ..Hello::default()
    }
}

pub(crate) fn hello_message(hello: Hello) -> Vec<u8> {
    let mut bytes = Vec::new();
    ClientMessage::Hello(hello).encode(&mut bytes);
    bytes
}

/// A hello that gives this word to the room's authentication.
pub(crate) fn hello_with(schema: &Schema, word: &str) -> Hello {
    Hello { auth: auth(word), ..hello(schema) }
}

/// A word as a hello carries it.
pub(crate) fn auth(word: &str) -> Vec<u8> {
    let mut auth = Vec::new();
    payload::encode(word, room::limits::AUTH, &mut auth).expect("a short word");
    auth
}
