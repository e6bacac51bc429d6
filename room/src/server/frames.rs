//! What a client says, frame by frame.

use std::convert::Infallible;

use fastwebsockets::{Frame, OpCode, Role, WebSocketError, WebSocketRead};
use tokio::io::AsyncRead;

use super::outbox::Outbox;
use super::socket::Stop;
use crate::limits;
use crate::session::code;

/// Whole messages of a socket.
pub(super) struct Frames<S>(WebSocketRead<S>);

impl<S: AsyncRead + Unpin> Frames<S> {
    pub(super) fn new(socket: S) -> Frames<S> {
        let (mut read, _) = fastwebsockets::after_handshake_split(socket, tokio::io::sink(), Role::Server);
        // The library refuses a length equal to its maximum.
        read.set_max_message_size(limits::CLIENT_MESSAGE + 1);
        read.set_auto_close(false);
        read.set_auto_pong(false);
        Frames(read)
    }

    /// The next message. Not to be called again after it was cancelled: a part of a frame may be lost.
    pub(super) async fn next(&mut self, outbox: &Outbox) -> Result<Vec<u8>, Stop> {
        loop {
            // Both answers that the library would send are sent by the outbox.
            let mut frame =
                self.0.read_frame(&mut |_| async { Ok::<_, Infallible>(()) }).await.map_err(fault)?;
            check(&mut frame)?;
            match frame.opcode {
                OpCode::Binary if frame.fin => return Ok(frame.payload.into()),
                OpCode::Text if frame.fin => {
                    return Err(Stop::close(code::BAD_MESSAGE, "a text message; messages are binary"));
                }
                OpCode::Binary | OpCode::Text | OpCode::Continuation => {
                    return Err(Stop::close(
                        code::BAD_MESSAGE,
                        "a fragmented message; send one frame a message",
                    ));
                }
                OpCode::Ping => outbox.pong(&frame.payload),
                OpCode::Pong => {}
                OpCode::Close => return Err(Stop::Left(answer(&frame.payload))),
            }
        }
    }
}

/// Refuses what WebSocket forbids a client and the library lets pass.
fn check(frame: &mut Frame<'_>) -> Result<(), Stop> {
    // The library tells whether there was a mask by writing the frame's head.
    let mut head = [0; 16];
    frame.fmt_head(&mut head);
    if head[1] & 0x80 == 0 {
        return Err(Stop::close(code::BAD_MESSAGE, "a frame without a mask; clients mask every frame"));
    }
    let control = matches!(frame.opcode, OpCode::Close | OpCode::Ping | OpCode::Pong);
    if control && frame.payload.len() > CONTROL {
        return Err(Stop::close(code::BAD_MESSAGE, "a control frame of more than 125 bytes"));
    }
    Ok(())
}

/// The most bytes of a control frame.
const CONTROL: usize = 125;

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

fn fault(error: WebSocketError) -> Stop {
    match error {
        WebSocketError::FrameTooLarge => Stop::close(code::TOO_LARGE, "a message of more than 32 KiB"),
        WebSocketError::UnexpectedEOF | WebSocketError::IoError(_) | WebSocketError::ConnectionClosed => {
            Stop::Broken
        }
        error => Stop::close(code::BAD_MESSAGE, error.to_string()),
    }
}
