//! Whether the other side of a socket is still there.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, ReadBuf};
use tokio::time::{Instant, Sleep};

use super::outbox::Outbox;
use crate::limits;

/// How often a socket is asked, and for how long it may say nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rhythm {
    pub(super) ping: Duration,
    pub(super) silence: Duration,
}

impl Default for Rhythm {
    fn default() -> Rhythm {
        Rhythm {
            ping: Duration::from_secs(limits::PING_SECONDS),
            silence: Duration::from_secs(limits::SILENCE_SECONDS),
        }
    }
}

/// Why a socket is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lost {
    /// Nothing has come for too long.
    Silent,
    /// Nothing of what waits was taken for too long.
    Stuck,
}

/// When the last byte came.
#[derive(Debug)]
pub(super) struct Heard {
    opened: Instant,
    // Nanoseconds after that.
    last: AtomicU64,
}

impl Heard {
    pub(super) fn new() -> Arc<Heard> {
        Arc::new(Heard { opened: Instant::now(), last: AtomicU64::new(0) })
    }

    fn note(&self) {
        self.last.store(self.opened.elapsed().as_nanos() as u64, Ordering::Relaxed);
    }

    fn last(&self) -> Instant {
        self.opened + Duration::from_nanos(self.last.load(Ordering::Relaxed))
    }
}

/// A socket that notes when something comes: bytes and not frames, because a large frame takes long on a slow
/// link.
#[derive(Debug)]
pub(super) struct Ear<R> {
    socket: R,
    heard: Arc<Heard>,
}

impl<R> Ear<R> {
    pub(super) fn new(socket: R, heard: Arc<Heard>) -> Ear<R> {
        Ear { socket, heard }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Ear<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.socket).poll_read(cx, buffer);
        if buffer.filled().len() > before {
            self.heard.note();
        }
        read
    }
}

/// Asks a socket, and tells when it must be given up.
pub(super) struct Pulse {
    rhythm: Rhythm,
    heard: Arc<Heard>,
    // One timer for everything.
    timer: Pin<Box<Sleep>>,
    next_ping: Instant,
    // What the socket had taken when it was last seen to take something, and when that was.
    progress: Option<(u64, Instant)>,
}

impl Pulse {
    pub(super) fn new(rhythm: Rhythm, heard: Arc<Heard>) -> Pulse {
        heard.note();
        let next_ping = Instant::now() + rhythm.ping;
        let timer = Box::pin(tokio::time::sleep_until(next_ping));
        Pulse { rhythm, heard, timer, next_ping, progress: None }
    }

    /// Returns once the socket must be given up. May be cancelled and called again. What has come must be read
    /// before this is polled: a server that was held up itself has not heard what waits for it.
    pub(super) async fn lost(&mut self, outbox: &Outbox) -> Lost {
        loop {
            self.timer.as_mut().await;
            let now = Instant::now();
            if now >= self.heard.last() + self.rhythm.silence {
                return Lost::Silent;
            }
            if now >= self.next_ping {
                if self.is_stuck(outbox.progress(), now) {
                    return Lost::Stuck;
                }
                outbox.ping();
                self.next_ping = now + self.rhythm.ping;
            }
            self.timer.as_mut().reset(self.next_ping.min(self.heard.last() + self.rhythm.silence));
        }
    }

    fn is_stuck(&mut self, progress: Option<u64>, now: Instant) -> bool {
        match (progress, self.progress) {
            (Some(taken), Some((before, since))) if taken == before => {
                now - since >= Duration::from_secs(limits::FELL_BEHIND_SECONDS)
            }
            (taken, _) => {
                self.progress = taken.map(|taken| (taken, now));
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[tokio::test(start_paused = true)]
    async fn who_says_nothing_is_given_up_and_who_says_a_byte_is_not() {
        let heard = Heard::new();
        let (mut far, near) = tokio::io::duplex(64);
        let mut near = Ear::new(near, heard.clone());
        let outbox = Arc::new(Outbox::default());
        let (mut taken, out) = tokio::io::duplex(4096);
        let writer = tokio::spawn(outbox.clone().write(out));
        let mut pulse = Pulse::new(Rhythm::default(), heard);
        let began = Instant::now();
        let said = async {
            for _ in 0..4 {
                tokio::time::sleep(Duration::from_secs(14)).await;
                far.write_all(b"x").await.expect("room for a byte");
                near.read_u8().await.expect("a byte");
            }
            std::future::pending::<()>().await;
        };
        let lost = tokio::select! {
            lost = pulse.lost(&outbox) => lost,
            () = said => unreachable!(),
        };
        assert_eq!((lost, began.elapsed().as_secs()), (Lost::Silent, 4 * 14 + 15));
        let mut pings = Vec::new();
        outbox.close(1000, "");
        writer.await.expect("it writes");
        taken.read_to_end(&mut pings).await.expect("what was written");
        assert_eq!(pings.len(), 14 * 2 + 4, "one each five seconds");
    }

    #[tokio::test(start_paused = true)]
    async fn who_takes_nothing_for_a_minute_is_given_up() {
        let heard = Heard::new();
        let outbox = Arc::new(Outbox::default());
        let mut pulse = Pulse::new(Rhythm::default(), heard.clone());
        let (_far, near) = tokio::io::duplex(64);
        let writer = tokio::spawn(outbox.clone().write(near));
        outbox.message(&[7; 300]).expect("it fits");
        outbox.flush();
        let began = Instant::now();
        let talk = async {
            loop {
                tokio::time::sleep(Duration::from_secs(1)).await;
                heard.note();
            }
        };
        let lost = tokio::select! {
            lost = pulse.lost(&outbox) => lost,
            () = talk => unreachable!(),
        };
        assert_eq!((lost, began.elapsed().as_secs()), (Lost::Stuck, 65));
        writer.abort();
    }
}
