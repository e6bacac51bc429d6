//! What a client says, frame by frame.

use fastwebsockets::OpCode;
use smallvec::SmallVec;
use tokio::io::{AsyncRead, AsyncReadExt};

use super::outbox::Outbox;
use super::socket::Stop;
use crate::limits;
use crate::session::code;

/// A whole message. Most are acknowledgements, which take no allocation.
pub(super) type Message = SmallVec<[u8; 24]>;

/// Whole messages of a socket.
pub(super) struct Frames<S> {
    socket: S,
    // What has come and is not taken stands from `taken` to `filled`.
    buffer: Vec<u8>,
    taken: usize,
    filled: usize,
}

/// The head of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Head {
    opcode: OpCode,
    mask: [u8; 4],
    // Bytes of the head, and of what it stands before.
    size: usize,
    len: usize,
}

/// The size to which a buffer returns once a large message is taken.
const BUFFER: usize = 1024;
/// The most bytes of a frame's head.
const HEAD: usize = 14;
/// The most bytes of a control frame.
const CONTROL: usize = 125;

impl<S: AsyncRead + Unpin> Frames<S> {
    /// Of a socket from which `came` was read already.
    pub(super) fn new(socket: S, came: &[u8]) -> Frames<S> {
        let mut buffer = came.to_vec();
        buffer.resize(came.len().max(BUFFER), 0);
        Frames { socket, buffer, taken: 0, filled: came.len() }
    }

    /// The next message. May be cancelled and called again.
    pub(super) async fn next(&mut self, outbox: &Outbox) -> Result<Message, Stop> {
        loop {
            while let Some((opcode, payload)) = self.frame()? {
                match opcode {
                    OpCode::Ping => outbox.pong(payload),
                    OpCode::Pong => {}
                    OpCode::Close => return Err(Stop::Left(answer(payload))),
                    _ => return Ok(Message::from_slice(payload)),
                }
            }
            self.fill().await?;
        }
    }

    /// The next frame, if it is here whole.
    fn frame(&mut self) -> Result<Option<(OpCode, &[u8])>, Stop> {
        let came = &self.buffer[self.taken..self.filled];
        let Some(Head { opcode, mask, size, len }) = head(came)? else { return Ok(None) };
        if came.len() < size + len {
            return Ok(None);
        }
        let from = self.taken + size;
        self.taken = from + len;
        let payload = &mut self.buffer[from..self.taken];
        for four in payload.chunks_mut(4) {
            four.iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= mask);
        }
        Ok(Some((opcode, payload)))
    }

    /// Waits for more. The buffer grows with what has come, not with what a head promises.
    async fn fill(&mut self) -> Result<(), Stop> {
        self.buffer.copy_within(self.taken..self.filled, 0);
        self.filled -= std::mem::take(&mut self.taken);
        if self.filled == self.buffer.len() {
            // What fills the largest buffer holds a whole frame, which was taken.
            self.buffer.resize((2 * self.filled).min(limits::CLIENT_MESSAGE + HEAD), 0);
        } else if self.filled <= BUFFER && self.buffer.len() > BUFFER {
            self.buffer.truncate(BUFFER.max(self.filled + 1));
            self.buffer.shrink_to_fit();
        }
        match self.socket.read(&mut self.buffer[self.filled..]).await {
            Ok(0) | Err(_) => Err(Stop::Broken),
            Ok(n) => {
                self.filled += n;
                Ok(())
            }
        }
    }
}

/// Reads a frame's head, if it is here whole, and refuses what no client may send.
fn head(came: &[u8]) -> Result<Option<Head>, Stop> {
    let bad = |what| Err(Stop::close(code::BAD_MESSAGE, what));
    let [first, second, rest @ ..] = came else { return Ok(None) };
    let (fin, reserved, masked) = (first & 0x80 != 0, first & 0x70 != 0, second & 0x80 != 0);
    let opcode = match first & 0x0f {
        _ if reserved => return bad("a frame with a reserved bit; there are no extensions"),
        _ if !masked => return bad("a frame without a mask; clients mask every frame"),
        0x1 if fin => return bad("a text message; messages are binary"),
        0x0..=0x2 if !fin => return bad("a fragmented message; send one frame a message"),
        0x0 => return bad("a fragmented message; send one frame a message"),
        0x2 => OpCode::Binary,
        0x8 => OpCode::Close,
        0x9 => OpCode::Ping,
        0xa => OpCode::Pong,
        _ => return bad("a frame of an unknown kind"),
    };
    let (size, len) = match (second & 0x7f, rest) {
        (126, [a, b, ..]) => (4, u64::from(u16::from_be_bytes([*a, *b]))),
        (127, [a, b, c, d, e, f, g, h, ..]) => (10, u64::from_be_bytes([*a, *b, *c, *d, *e, *f, *g, *h])),
        (126 | 127, _) => return Ok(None),
        (len, _) => (2, u64::from(len)),
    };
    if opcode != OpCode::Binary && !fin {
        return bad("a control frame in pieces");
    }
    if opcode != OpCode::Binary && len > CONTROL as u64 {
        return bad("a control frame of more than 125 bytes");
    }
    if len > limits::CLIENT_MESSAGE as u64 {
        return Err(Stop::close(code::TOO_LARGE, "a message of more than 32 KiB"));
    }
    let Some(mask) = came.get(size..size + 4).and_then(|mask| mask.try_into().ok()) else { return Ok(None) };
    Ok(Some(Head { opcode, mask, size: size + 4, len: len as usize }))
}

/// The code that answers a close frame.
fn answer(payload: &[u8]) -> u16 {
    match payload {
        [] => code::LEFT,
        [high, low, ..] => match u16::from_be_bytes([*high, *low]) {
            code @ (1000..=1003 | 1007..=1014 | 3000..=4999) => code,
            _ => PROTOCOL_ERROR,
        },
        [_] => PROTOCOL_ERROR,
    }
}

/// WebSocket's own code for a frame that it does not allow.
const PROTOCOL_ERROR: u16 = 1002;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::AsyncWriteExt;
    use tokio::time::timeout;

    use super::*;

    fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
        let mask = [1, 2, 3, 4];
        let mut frame = vec![first];
        match payload.len() {
            len @ 0..=125 => frame.push(0x80 | len as u8),
            len @ 126..=65_535 => {
                frame.push(0x80 | 126);
                frame.extend((len as u16).to_be_bytes());
            }
            len => {
                frame.push(0x80 | 127);
                frame.extend((len as u64).to_be_bytes());
            }
        }
        frame.extend(mask);
        frame.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
        frame
    }

    #[tokio::test(start_paused = true)]
    async fn messages_come_whole_however_they_are_cut_and_however_often_the_wait_is_cancelled() {
        let long: Vec<u8> = (0..3000u32).map(|n| n as u8).collect();
        let sent = [&b"a"[..], b"", &[7; 125], &[8; 126], &long, &vec![9; limits::CLIENT_MESSAGE], b"z"];
        let bytes: Vec<u8> = sent.iter().flat_map(|payload| frame(0x82, payload)).collect();
        for cut in [1, 3, 1000, bytes.len()] {
            let (mut far, near) = tokio::io::duplex(64);
            // The first bytes came with the request.
            let (came, rest) = bytes.split_at(cut.min(5));
            let rest = rest.to_vec();
            tokio::spawn(async move {
                for part in rest.chunks(cut) {
                    far.write_all(part).await.expect("it is read");
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                std::future::pending::<()>().await;
            });
            let mut frames = Frames::new(near, came);
            let outbox = Outbox::default();
            for payload in sent {
                let message = loop {
                    let wait = timeout(Duration::from_millis(3), frames.next(&outbox)).await;
                    if let Ok(message) = wait {
                        break message.expect("a message");
                    }
                };
                assert_eq!(message[..], *payload);
            }
            assert!(frames.buffer.len() <= limits::CLIENT_MESSAGE + HEAD);
        }
    }

    #[tokio::test]
    async fn a_buffer_grows_with_what_has_come_and_shrinks_again() {
        let (mut far, near) = tokio::io::duplex(1 << 20);
        let mut frames = Frames::new(near, b"");
        let outbox = Outbox::default();
        let large = frame(0x82, &[1; 30_000]);
        far.write_all(&large[..100]).await.expect("it fits");
        assert!(timeout(Duration::from_millis(20), frames.next(&outbox)).await.is_err());
        assert_eq!(frames.buffer.len(), BUFFER);
        far.write_all(&large[100..]).await.expect("it fits");
        assert_eq!(frames.next(&outbox).await.expect("a message").len(), 30_000);
        assert!(timeout(Duration::from_millis(20), frames.next(&outbox)).await.is_err());
        assert_eq!((frames.buffer.len(), frames.buffer.capacity()), (BUFFER, BUFFER));
    }

    #[test]
    fn what_no_client_may_send_is_refused_by_its_head() {
        let refused = |bytes: &[u8]| match head(bytes) {
            Err(Stop::Close(code, reason)) => (code, reason.into_owned()),
            other => panic!("{other:?}"),
        };
        assert!(refused(&[0xc2, 0x80]).1.contains("reserved"));
        assert!(refused(&[0x82, 0x00]).1.contains("mask"));
        assert!(refused(&[0x81, 0x80]).1.contains("text"));
        for first in [0x00, 0x80, 0x01, 0x02] {
            assert!(refused(&[first, 0x80]).1.contains("fragmented"));
        }
        assert!(refused(&[0x83, 0x80]).1.contains("unknown"));
        assert!(refused(&[0x09, 0x80]).1.contains("pieces"));
        assert!(refused(&[0x89, 0xfe, 0, 126]).1.contains("125"));
        assert_eq!(refused(&[0x82, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0]).0, code::TOO_LARGE);
        assert_eq!(head(&frame(0x82, b"abc")[..5]).expect("no fault"), None);
    }
}
