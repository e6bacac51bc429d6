//! What waits to be written to one socket.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fastwebsockets::{Frame, OpCode, Payload};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::Notify;

use crate::limits;

/// Frames are laid one behind the other in a buffer that the write task takes whole, so that everything a tick
/// sends goes out in one write and nothing is allocated once the buffers have grown.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    state: Mutex<State>,
    // For the write task.
    filled: Notify,
    // For the read task.
    ended: Notify,
}

#[derive(Debug, Default)]
struct State {
    bytes: Vec<u8>,
    // The frame that answers the last ping. Earlier ones need no answer of their own, so that a client which only
    // pings and does not read holds no more than this.
    pong: Vec<u8>,
    // Bytes that the write task has taken and not yet handed to the socket.
    writing: usize,
    // Bytes handed to the socket so far.
    written: u64,
    end: Option<End>,
}

/// How an outbox ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// A close frame is the last thing in it.
    Closing,
    /// Nothing more can be written.
    Broken,
    /// More waited than may, or too long; nothing more is written.
    FellBehind,
}

/// More waits for this socket than a connection may hold.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Overflow;

impl Outbox {
    /// Adds a binary message. It goes out at the next [`flush`](Self::flush). After a close, does nothing.
    pub(super) fn message(&self, message: &[u8]) -> Result<(), Overflow> {
        let mut state = self.lock();
        if state.end.is_some() {
            return Ok(());
        }
        if state.waiting() + message.len() > limits::SOCKET_BACKLOG {
            drop(state);
            self.abandon(End::FellBehind);
            return Err(Overflow);
        }
        append(&mut state.bytes, OpCode::Binary, message);
        Ok(())
    }

    /// Answers a ping, at once.
    pub(super) fn pong(&self, payload: &[u8]) {
        let mut state = self.lock();
        state.pong.clear();
        append(&mut state.pong, OpCode::Pong, payload);
        drop(state);
        self.flush();
    }

    /// Asks whether the other side is there, at once.
    pub(super) fn ping(&self) {
        let mut state = self.lock();
        if state.end.is_none() {
            append(&mut state.bytes, OpCode::Ping, b"");
        }
        drop(state);
        self.flush();
    }

    /// Lets the write task take what was added.
    pub(super) fn flush(&self) {
        self.filled.notify_one();
    }

    /// Adds the close frame, after which nothing more is added. Only the first close counts.
    pub(super) fn close(&self, code: u16, reason: &str) {
        let mut state = self.lock();
        if state.end.is_none() {
            let reason = crate::session::close_reason(reason.to_owned());
            let mut payload = Vec::with_capacity(2 + reason.len());
            payload.extend_from_slice(&code.to_be_bytes());
            payload.extend_from_slice(reason.as_bytes());
            append(&mut state.bytes, OpCode::Close, &payload);
            state.end = Some(End::Closing);
        }
        drop(state);
        self.filled.notify_one();
        self.ended.notify_one();
    }

    /// Gives the socket up: what waits is dropped, no close frame is sent.
    pub(super) fn abandon(&self, how: End) {
        let mut state = self.lock();
        state.end = Some(how);
        state.bytes = Vec::new();
        drop(state);
        self.filled.notify_one();
        self.ended.notify_one();
    }

    /// How it ended, if it has.
    pub(super) fn end(&self) -> Option<End> {
        self.lock().end
    }

    /// Waits for the end. For one task at a time.
    pub(super) async fn ended(&self) -> End {
        loop {
            if let Some(end) = self.end() {
                return end;
            }
            self.ended.notified().await;
        }
    }

    /// How many bytes the socket has taken so far, or `None` where none wait for it.
    pub(super) fn progress(&self) -> Option<u64> {
        let state = self.lock();
        (state.waiting() > 0).then_some(state.written)
    }

    /// The write task: writes what comes until the end.
    pub(super) async fn write<W: AsyncWrite + Unpin>(self: Arc<Self>, mut socket: W) {
        let mut batch = Vec::new();
        loop {
            let end = self.take(&mut batch).await;
            if matches!(end, Some(End::Broken | End::FellBehind)) {
                return;
            }
            let mut left = &batch[..];
            while !left.is_empty() {
                match socket.write(left).await {
                    Ok(0) | Err(_) => return self.abandon(End::Broken),
                    Ok(taken) => left = &left[taken..],
                }
                let mut state = self.lock();
                state.written += (state.writing - left.len()) as u64;
                state.writing = left.len();
            }
            if end == Some(End::Closing) {
                // An error means that the other side has gone already.
                let _ = socket.shutdown().await;
                return;
            }
        }
    }

    /// Swaps what waits into `batch`, which was written.
    async fn take(&self, batch: &mut Vec<u8>) -> Option<End> {
        batch.clear();
        if batch.capacity() > KEEP {
            *batch = Vec::new();
        }
        loop {
            let end = {
                let state = &mut *self.lock();
                if state.end.is_none() {
                    state.bytes.append(&mut state.pong);
                }
                std::mem::swap(&mut state.bytes, batch);
                state.writing = batch.len();
                state.end
            };
            if !batch.is_empty() || end.is_some() {
                return end;
            }
            self.filled.notified().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn waiting(&self) -> usize {
        self.bytes.len() + self.writing
    }
}

/// Buffers larger than this are not kept once they are written, and do not grow by doubling: what waits for a
/// socket that takes nothing stands there for long.
const KEEP: usize = 64 * 1024;

fn append(bytes: &mut Vec<u8>, opcode: OpCode, payload: &[u8]) {
    let mut head = [0; 16];
    let size = Frame::new(true, opcode, None, Payload::Borrowed(payload)).fmt_head(&mut head);
    let needed = bytes.len() + size + payload.len();
    if needed > KEEP && needed > bytes.capacity() {
        bytes.reserve_exact(needed.next_multiple_of(KEEP) - bytes.len());
    }
    bytes.extend_from_slice(&head[..size]);
    bytes.extend_from_slice(payload);
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn written(outbox: Arc<Outbox>) -> Vec<u8> {
        let mut out = std::io::Cursor::new(Vec::new());
        outbox.write(&mut out).await;
        out.into_inner()
    }

    #[tokio::test]
    async fn messages_and_the_close_go_out_in_order_and_nothing_after() {
        let outbox = Arc::new(Outbox::default());
        outbox.message(b"one").unwrap();
        outbox.message(&[7; 300]).unwrap();
        outbox.close(4000, "bad");
        outbox.message(b"late").unwrap();
        outbox.close(1000, "");
        let out = written(outbox.clone()).await;
        assert_eq!(&out[..5], b"\x82\x03one");
        assert_eq!(&out[5..9], [0x82, 126, 1, 44]);
        assert_eq!(&out[309..], b"\x88\x05\x0f\xa0bad");
        assert_eq!(outbox.ended().await, End::Closing);
    }

    #[test]
    fn a_socket_that_does_not_drain_is_given_up() {
        let outbox = Outbox::default();
        let message = vec![0; limits::ROOM_MESSAGE];
        let fits = (0..).take_while(|_| outbox.message(&message).is_ok()).count();
        assert!((60..=64).contains(&fits), "{fits}");
        assert_eq!(outbox.end(), Some(End::FellBehind));
        assert_eq!(outbox.lock().bytes.capacity(), 0);
    }

    #[test]
    fn a_long_reason_is_cut_between_characters() {
        let outbox = Outbox::default();
        outbox.close(4013, &"ä".repeat(100));
        let bytes = outbox.lock().bytes.clone();
        assert_eq!(bytes[1], 124);
        assert!(std::str::from_utf8(&bytes[4..]).is_ok());
    }

    #[tokio::test]
    async fn of_many_pings_the_last_is_answered_and_nothing_behind_the_close() {
        let outbox = Arc::new(Outbox::default());
        for turn in 0..100_000u32 {
            outbox.pong(&turn.to_be_bytes());
        }
        assert!(outbox.lock().pong.capacity() < 256);
        let mut batch = Vec::new();
        assert_eq!(outbox.take(&mut batch).await, None);
        assert_eq!(batch, [0x8a, 4, 0, 1, 0x86, 0x9f]);
        outbox.pong(b"?");
        outbox.close(1000, "");
        outbox.pong(b"?");
        assert_eq!(written(outbox).await, b"\x88\x02\x03\xe8");
    }

    #[tokio::test]
    async fn a_socket_that_takes_nothing_makes_no_progress() {
        let outbox = Arc::new(Outbox::default());
        assert_eq!(outbox.progress(), None);
        let (mut near, far) = tokio::io::duplex(10);
        let writer = tokio::spawn(outbox.clone().write(far));
        outbox.message(&[7; 30]).unwrap();
        outbox.flush();
        while outbox.progress() != Some(10) {
            tokio::task::yield_now().await;
        }
        let mut read = [0; 32];
        tokio::io::AsyncReadExt::read_exact(&mut near, &mut read).await.unwrap();
        while outbox.progress().is_some() {
            tokio::task::yield_now().await;
        }
        writer.abort();
    }

    #[tokio::test]
    async fn what_waits_for_a_stuck_socket_is_kept_without_slack() {
        let outbox = Outbox::default();
        let mut batch = Vec::new();
        for size in [10, 60_000, 3000] {
            for _ in 0..300_000 / size {
                outbox.message(&vec![7; size]).unwrap();
            }
            outbox.take(&mut batch).await;
            assert!(batch.len() >= 300_000 && batch.capacity() <= batch.len() + KEEP);
        }
    }
}
