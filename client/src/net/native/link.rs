//! The background tasks of a socket, and the queues between them and the game loop.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use fastwebsockets::{Frame, OpCode, Payload, Role, WebSocketError, WebSocketRead, WebSocketWrite};
use room::limits;
use room::session::code;
use tokio::io::{AsyncRead, AsyncWrite, BufWriter, ReadBuf};
use tokio::sync::Notify;
use tokio::task::{AbortHandle, JoinHandle};

use super::dial::Socket;
use crate::machine::Outgoing;

/// How a socket closed: the code, unless it broke, and the reason.
pub(super) type Closed = (Option<u16>, String);

/// The game loop's end. Dropping it closes the socket.
pub(super) struct Link {
    shared: Arc<Shared>,
    tasks: [AbortHandle; 2],
}

struct Shared {
    incoming: Mutex<Incoming>,
    // For whoever awaits a message.
    arrived: Arc<Notify>,
    // Bytes came since the game loop asked last, of whole messages or not.
    heard: AtomicBool,
    outgoing: Mutex<Queue>,
    // For the write task.
    filled: Notify,
}

#[derive(Default)]
struct Incoming {
    messages: Vec<(Instant, Vec<u8>)>,
    // Their bytes, each with `MESSAGE_COST`.
    bytes: usize,
    closed: Option<Closed>,
}

#[derive(Default)]
struct Queue {
    frames: Vec<Send>,
    bytes: usize,
    // The answer to the last ping. Earlier ones need none of their own, so that a room which only pings and does not
    // read fills no memory.
    pong: Option<Vec<u8>>,
    // Invariant: nothing is added behind a close.
    closed: bool,
}

enum Send {
    Message(Vec<u8>),
    Close(u16, String),
}

/// Bytes that are handed to the socket's task ahead; the rest waits in the machine.
const AHEAD: usize = 64 * 1024;

impl Link {
    /// Starts the tasks on the current runtime; they tell through `arrived` that something has come.
    pub(super) fn new((read, write): Socket, arrived: Arc<Notify>) -> Link {
        let shared = Arc::new(Shared {
            incoming: Mutex::default(),
            arrived,
            heard: AtomicBool::new(false),
            outgoing: Mutex::default(),
            filled: Notify::new(),
        });
        let read = Heard { read, shared: shared.clone() };
        let (mut read, write) =
            fastwebsockets::after_handshake_split(read, BufWriter::new(write), Role::Client);
        // The library refuses a length equal to its maximum.
        read.set_max_message_size(limits::ROOM_MESSAGE + 1);
        read.set_auto_close(false);
        read.set_auto_pong(false);
        let reader = tokio::spawn(receive(shared.clone(), read));
        let read_task = reader.abort_handle();
        let writer = tokio::spawn(transmit(shared.clone(), write, reader));
        Link { shared, tasks: [read_task, writer.abort_handle()] }
    }

    /// What has come since the last time, and when.
    pub(super) fn take(&self) -> (Vec<(Instant, Vec<u8>)>, Option<Closed>) {
        let mut incoming = lock(&self.shared.incoming);
        incoming.bytes = 0;
        (std::mem::take(&mut incoming.messages), incoming.closed.clone())
    }

    /// Whether bytes have come since the last time, of whole messages or not.
    pub(super) fn heard(&self) -> bool {
        self.shared.heard.swap(false, Ordering::Relaxed)
    }

    /// Whether the socket's task wants more.
    pub(super) fn has_room(&self) -> bool {
        lock(&self.shared.outgoing).bytes < AHEAD
    }

    /// Hands something to the socket's task.
    pub(super) fn send(&self, outgoing: Outgoing) {
        match outgoing {
            Outgoing::Message(bytes) => self.shared.send(Send::Message(bytes)),
            Outgoing::Close { code, reason } => self.shared.send(Send::Close(code, reason)),
            // Without its tasks nothing holds the socket.
            Outgoing::Abort => self.tasks.iter().for_each(AbortHandle::abort),
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.shared.send(Send::Close(code::GOING_AWAY, String::new()));
    }
}

/// Notes that bytes came: a large message on a slow link is not silence.
struct Heard<R> {
    read: R,
    shared: Arc<Shared>,
}

impl<R: AsyncRead + Unpin> AsyncRead for Heard<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.read).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.shared.heard.store(true, Ordering::Relaxed);
        }
        read
    }
}

impl Shared {
    fn send(&self, frame: Send) {
        let mut queue = lock(&self.outgoing);
        if queue.closed {
            return;
        }
        match &frame {
            Send::Message(bytes) => queue.bytes += bytes.len(),
            Send::Close(..) => queue.closed = true,
        }
        queue.frames.push(frame);
        drop(queue);
        self.filled.notify_one();
    }

    /// Answers a ping.
    fn pong(&self, payload: Vec<u8>) {
        lock(&self.outgoing).pong = Some(payload);
        self.filled.notify_one();
    }

    /// A message came. Past the most that may wait, the socket is given up.
    fn message(&self, message: Vec<u8>) -> Result<(), Closed> {
        let mut incoming = lock(&self.incoming);
        incoming.bytes += message.len() + limits::MESSAGE_COST;
        if incoming.bytes > limits::CLIENT_WAITING {
            return Err((None, "more than 16 MiB wait for `update`, which was not called".to_owned()));
        }
        incoming.messages.push((Instant::now(), message));
        drop(incoming);
        self.arrived.notify_one();
        Ok(())
    }

    fn closed(&self, closed: Closed) {
        lock(&self.incoming).closed.get_or_insert(closed);
        self.arrived.notify_one();
    }
}

/// The read task: takes messages until the socket ends.
async fn receive<R: AsyncRead + Unpin>(shared: Arc<Shared>, mut read: WebSocketRead<R>) {
    let Err(closed) = messages(&shared, &mut read).await;
    // Answers the room's close frame, or says why this side closes.
    let (code, reason) = match &closed {
        (Some(code::BAD_MESSAGE), reason) => (code::BAD_MESSAGE, reason.clone()),
        (Some(code), _) => (*code, String::new()),
        (None, _) => (code::LEFT, String::new()),
    };
    shared.closed(closed);
    shared.send(Send::Close(code, reason));
}

async fn messages<R: AsyncRead + Unpin>(
    shared: &Shared,
    read: &mut WebSocketRead<R>,
) -> Result<Infallible, Closed> {
    let bad = |what: &str| (Some(code::BAD_MESSAGE), format!("the room sent {what}"));
    loop {
        let frame =
            read.read_frame(&mut |_| async { Ok::<_, Infallible>(()) }).await.map_err(
                |error| match error {
                    WebSocketError::UnexpectedEOF => (None, "the link broke".to_owned()),
                    WebSocketError::IoError(error) => (None, format!("the link broke: {error}")),
                    error => bad(&format!("a bad frame: {error}")),
                },
            )?;
        match frame.opcode {
            OpCode::Binary if frame.fin => shared.message(frame.payload.into())?,
            OpCode::Binary | OpCode::Text | OpCode::Continuation => {
                return Err(bad("a text or fragmented message"));
            }
            OpCode::Ping => shared.pong(frame.payload.into()),
            OpCode::Pong => {}
            OpCode::Close => return Err(close_frame(&frame.payload)),
        }
    }
}

fn close_frame(payload: &[u8]) -> Closed {
    match payload {
        [high, low, reason @ ..] => {
            let code = u16::from_be_bytes([*high, *low]);
            (Some(code), String::from_utf8_lossy(reason).into_owned())
        }
        _ => (Some(code::LEFT), String::new()),
    }
}

/// The write task: sends what waits, and ends the socket behind a close frame.
async fn transmit<W: AsyncWrite + Unpin>(
    shared: Arc<Shared>,
    mut write: WebSocketWrite<W>,
    mut reader: JoinHandle<()>,
) {
    let sent = send_all(&shared, &mut write).await;
    if let Err(error) = sent {
        shared.closed((None, format!("the link broke: {error}")));
        reader.abort();
        return;
    }
    // The room answers a close frame; one that does not has had its chance.
    if tokio::time::timeout(Duration::from_secs(limits::CLOSE_SECONDS), &mut reader).await.is_err() {
        reader.abort();
        shared.closed((None, "closed".to_owned()));
    }
}

async fn send_all<W: AsyncWrite + Unpin>(
    shared: &Shared,
    write: &mut WebSocketWrite<W>,
) -> Result<(), WebSocketError> {
    let mut batch = Vec::new();
    loop {
        shared.filled.notified().await;
        let pong = {
            let mut queue = lock(&shared.outgoing);
            std::mem::swap(&mut queue.frames, &mut batch);
            queue.bytes = 0;
            queue.pong.take()
        };
        if let Some(payload) = pong {
            write.write_frame(Frame::pong(Payload::Owned(payload))).await?;
        }
        let mut closing = false;
        for frame in batch.drain(..) {
            let frame = match frame {
                Send::Message(bytes) => Frame::binary(Payload::Owned(bytes)),
                Send::Close(code, reason) => {
                    closing = true;
                    Frame::close(code, reason.as_bytes())
                }
            };
            write.write_frame(frame).await?;
        }
        write.flush().await?;
        if closing {
            return Ok(());
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared() -> Shared {
        Shared {
            incoming: Mutex::default(),
            arrived: Arc::default(),
            heard: AtomicBool::new(false),
            outgoing: Mutex::default(),
            filled: Notify::new(),
        }
    }

    #[tokio::test]
    async fn of_many_pings_to_a_stuck_socket_the_last_is_answered() {
        let shared = shared();
        for turn in 0..100_000u32 {
            shared.pong(turn.to_be_bytes().to_vec());
        }
        shared.send(Send::Close(code::LEFT, String::new()));
        let (near, mut far) = tokio::io::duplex(1024);
        let (_, mut write) = fastwebsockets::after_handshake_split(tokio::io::empty(), near, Role::Server);
        send_all(&shared, &mut write).await.expect("it is written");
        drop(write);
        let mut written = Vec::new();
        tokio::io::AsyncReadExt::read_to_end(&mut far, &mut written).await.expect("all of it");
        assert_eq!(written, b"\x8a\x04\x00\x01\x86\x9f\x88\x02\x03\xe8");
    }

    #[test]
    fn empty_messages_do_not_pile_up() {
        let shared = shared();
        let kept = (0..1_000_000).take_while(|_| shared.message(Vec::new()).is_ok()).count();
        assert!(kept <= limits::CLIENT_WAITING / limits::MESSAGE_COST, "{kept}");
    }
}
