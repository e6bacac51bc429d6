//! How much of a connection's updates may be on the wire: what is sent and not acknowledged, and the window.

use std::collections::VecDeque;

use crate::limits;
use crate::tick::Tick;
use crate::wire::message::Ack;

/// A part of an update on the wire.
#[derive(Clone, Copy, Debug)]
struct Sent {
    tick: Tick,
    /// Which part of the update of that tick.
    part: u32,
    bytes: usize,
}

/// What one connection was sent and has not acknowledged. The window follows what it acknowledges in a second, so
/// that what is on the wire is about a second's worth of the link. On a link that takes longer than that for the
/// lowest window, updates are smaller, so that one that the link breaks off costs little.
#[derive(Debug)]
pub struct Window {
    sent: VecDeque<Sent>,
    // Invariant: the sum of `sent`.
    bytes: usize,
    size: usize,
    /// Bytes acknowledged since `counted`.
    acknowledged: usize,
    counted: Tick,
    /// When something was acknowledged last, or put on an empty wire.
    progress: Tick,
    /// Bytes that the link carries in a second, as far as something large has shown.
    pace: Option<usize>,
}

/// What is at least so large shows how fast a link is.
const TELLING: usize = 4 * 1024;
/// Seconds of the link that an update may take.
const SECONDS: usize = 2;

impl Default for Window {
    fn default() -> Self {
        Window {
            sent: VecDeque::new(),
            bytes: 0,
            size: limits::WINDOW_START,
            acknowledged: 0,
            counted: Tick::ZERO,
            progress: Tick::ZERO,
            pace: None,
        }
    }
}

impl Window {
    /// The window of a connection whose player's last link was so fast.
    #[must_use]
    pub fn with_pace(pace: Option<usize>) -> Window {
        Window { pace, ..Window::default() }
    }

    /// How fast the link is, as far as is known when it ends: what it did not carry in all this time says so too.
    #[must_use]
    pub fn pace(&self, now: Tick, tick_rate: u32) -> Option<usize> {
        let ticks = self.stuck(now);
        let slow = self.sent.front().filter(|_| ticks >= SECONDS as u64 * u64::from(tick_rate));
        let carried = slow.map(|first| per_second(first.bytes, ticks, tick_rate));
        self.pace.into_iter().chain(carried).min()
    }

    /// Bytes that are on the wire and not acknowledged.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether nothing is on the wire.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// The most bytes that may be on the wire, `most` at the most.
    #[must_use]
    pub fn size(&self, most: usize) -> usize {
        self.size.min(most)
    }

    /// The most bytes of an update on the wire.
    #[must_use]
    pub fn update(&self, most: usize) -> usize {
        let size = self.size(most);
        self.pace.map_or(size, |pace| pace.saturating_mul(SECONDS).clamp(TELLING, size))
    }

    /// Parts of an update went out.
    pub fn push(&mut self, tick: Tick, parts: &[usize]) {
        if self.sent.is_empty() {
            self.progress = tick;
        }
        for (part, bytes) in parts.iter().enumerate() {
            self.sent.push_back(Sent { tick, part: part as u32, bytes: *bytes });
            self.bytes += bytes;
        }
    }

    /// The client has updates up to a tick, and some parts of the next one. Returns whether that is more than it had.
    pub fn acknowledge(&mut self, ack: Ack, now: Tick, most: usize, tick_rate: u32) -> bool {
        let (before, mut open) = (self.sent.len(), None);
        while let Some(first) = self.sent.front().copied() {
            if first.tick > ack.tick {
                let next = *open.get_or_insert(first.tick);
                if first.tick != next || first.part >= ack.parts {
                    break;
                }
            }
            self.sent.pop_front();
            self.bytes -= first.bytes;
            self.acknowledged += first.bytes;
            let ticks = now.0.saturating_sub(first.tick.max(self.progress).0);
            let carried = per_second(first.bytes, ticks, tick_rate);
            // Something small says only what the link carries at the least.
            self.pace = match self.pace {
                _ if first.bytes >= TELLING => Some(carried),
                known => known.map(|pace| pace.max(carried)),
            };
            self.progress = now;
        }
        let taken = self.sent.len() < before;
        if now.0 >= self.counted.0 + u64::from(tick_rate) {
            if self.counted > Tick::ZERO {
                self.size = self.acknowledged.clamp(limits::WINDOW_LEAST, most.max(limits::WINDOW_LEAST));
            }
            self.acknowledged = 0;
            self.counted = now;
        }
        taken
    }

    /// For how many ticks nothing was acknowledged though something is on the wire.
    #[must_use]
    pub fn stuck(&self, now: Tick) -> u64 {
        if self.sent.is_empty() { 0 } else { now.0.saturating_sub(self.progress.0) }
    }
}

fn per_second(bytes: usize, ticks: u64, tick_rate: u32) -> usize {
    (bytes as u64).saturating_mul(tick_rate.into()).checked_div(ticks.max(1)).unwrap_or(0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(tick: u64, parts: u32) -> Ack {
        Ack { tick: Tick(tick), parts, events: 0 }
    }

    #[test]
    fn parts_of_the_open_update_count_as_progress() {
        let mut window = Window::default();
        window.push(Tick(1), &[10, 20, 30]);
        window.push(Tick(2), &[40]);
        window.acknowledge(ack(0, 2), Tick(5), 1 << 18, 20);
        assert_eq!((window.bytes(), window.stuck(Tick(9))), (70, 4));
        // Parts of the next update only, however many are claimed.
        window.acknowledge(ack(0, 9), Tick(6), 1 << 18, 20);
        assert_eq!(window.bytes(), 40);
        window.acknowledge(ack(2, 0), Tick(7), 1 << 18, 20);
        assert_eq!((window.bytes(), window.stuck(Tick(99))), (0, 0));
    }

    #[test]
    fn the_window_follows_what_a_second_acknowledges() {
        let mut window = Window::default();
        let most = 200 * 1024;
        assert_eq!(window.size(most), limits::WINDOW_START);
        let mut at = |tick: u64, bytes: usize| {
            window.push(Tick(tick), &[bytes]);
            window.acknowledge(ack(tick, 0), Tick(tick), most, 20);
            window.size(most)
        };
        assert_eq!(at(20, 1), limits::WINDOW_START, "nothing is known of the second before");
        assert_eq!(at(30, 100 * 1024), limits::WINDOW_START);
        assert_eq!(at(40, 0), 100 * 1024);
        at(50, 500 * 1024);
        assert_eq!(at(60, 0), most);
        assert_eq!(at(80, 0), limits::WINDOW_LEAST);
    }

    #[test]
    fn updates_are_small_on_a_link_that_was_slow() {
        let most = 256 * 1024;
        let mut window = Window::default();
        window.push(Tick(20), &[60_000]);
        assert_eq!(window.pace(Tick(40), 20), None, "a second says nothing yet");
        let pace = window.pace(Tick(620), 20);
        assert_eq!(pace, Some(2_000), "60,000 bytes were too many for 30 seconds");
        let mut window = Window::with_pace(pace);
        assert_eq!(window.update(most), TELLING);
        window.push(Tick(700), &[20_000]);
        window.acknowledge(ack(700, 0), Tick(800), most, 20);
        assert_eq!(window.update(most), 8_000, "4,000 a second");
        window.push(Tick(801), &[8_000]);
        window.acknowledge(ack(801, 0), Tick(802), most, 20);
        assert_eq!(window.update(most), window.size(most));
    }

    #[test]
    fn small_updates_find_that_a_link_is_fast_again() {
        let most = 256 * 1024;
        let mut window = Window::with_pace(Some(1_000));
        for tick in (20..60).step_by(2) {
            // What fills an update plain may be a fifth of it on the wire.
            let bytes = window.update(most) / 5;
            window.push(Tick(tick), &[bytes]);
            window.acknowledge(ack(tick, 0), Tick(tick + 2), most, 20);
        }
        assert_eq!(window.update(most), window.size(most));
        // Tiny ones say nothing against it.
        window.push(Tick(70), &[20]);
        window.acknowledge(ack(70, 0), Tick(90), most, 20);
        assert_eq!(window.update(most), window.size(most));
    }
}
