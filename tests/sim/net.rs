//! Links: two streams of bytes with latency, bandwidth and stalls, which can be cut at any byte.

use std::collections::VecDeque;

/// Milliseconds from one step of the run to the next.
pub(crate) const STEP: u64 = 10;

/// What travels.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    Message(Vec<u8>),
    Close { code: u16, reason: String },
}

impl Item {
    fn len(&self) -> usize {
        match self {
            // A frame's head.
            Item::Message(bytes) => bytes.len() + 4,
            Item::Close { reason, .. } => reason.len() + 8,
        }
    }
}

/// One direction of a link.
#[derive(Debug)]
pub(crate) struct Pipe {
    waiting: VecDeque<Item>,
    /// Bytes of the first one waiting that are on their way already.
    begun: usize,
    bytes: usize,
    flying: VecDeque<(u64, Item)>,
    /// Milliseconds.
    pub(crate) latency: u64,
    /// Bytes a millisecond.
    pub(crate) rate: u64,
    /// Nothing moves before; then all that came meanwhile arrives at once.
    pub(crate) stalled_until: u64,
    /// The link breaks when so many more bytes have gone.
    pub(crate) cut_after: Option<usize>,
}

/// Bytes a millisecond of a link that is not slow.
pub(crate) const FAST: u64 = 2000;

impl Pipe {
    pub(crate) fn new(latency: u64, rate: u64) -> Pipe {
        Pipe {
            waiting: VecDeque::new(),
            begun: 0,
            bytes: 0,
            flying: VecDeque::new(),
            latency,
            rate,
            stalled_until: 0,
            cut_after: None,
        }
    }

    pub(crate) fn push(&mut self, item: Item) {
        self.bytes += item.len();
        self.waiting.push_back(item);
    }

    /// Bytes that the link has not taken.
    pub(crate) fn backlog(&self) -> usize {
        self.bytes
    }

    pub(crate) fn is_stalled(&self, now: u64) -> bool {
        now < self.stalled_until
    }

    /// Takes the faults away.
    pub(crate) fn calm(&mut self) {
        (self.rate, self.stalled_until, self.cut_after) = (FAST, 0, None);
    }

    /// One step; returns whether the link breaks in it.
    pub(crate) fn step(&mut self, now: u64) -> bool {
        if self.is_stalled(now) {
            return false;
        }
        let mut budget = (self.rate * STEP) as usize;
        while let Some(first) = self.waiting.front() {
            let take = (first.len() - self.begun).min(budget);
            if let Some(cut) = &mut self.cut_after {
                if *cut <= take {
                    return true;
                }
                *cut -= take;
            }
            budget -= take;
            self.begun += take;
            self.bytes -= take;
            if self.begun < first.len() {
                break;
            }
            self.begun = 0;
            let at = self.flying.back().map_or(0, |(at, _)| *at).max(now + self.latency);
            self.flying.extend(self.waiting.pop_front().map(|item| (at, item)));
        }
        false
    }

    /// The next item that is there whole.
    pub(crate) fn arrive(&mut self, now: u64) -> Option<Item> {
        if self.is_stalled(now) || self.flying.front()?.0 > now {
            return None;
        }
        self.flying.pop_front().map(|(_, item)| item)
    }

    /// Nothing is put in any more. What is there still arrives, if it does; returns when the last of it does.
    pub(crate) fn halt(&mut self, now: u64, arrives: bool) -> Option<u64> {
        if !arrives {
            self.lose();
            return None;
        }
        for item in std::mem::take(&mut self.waiting) {
            let at = self.flying.back().map_or(0, |(at, _)| *at).max(now + self.latency);
            self.flying.push_back((at, item));
        }
        (self.begun, self.bytes, self.cut_after) = (0, 0, None);
        self.flying.back().map(|(at, _)| (*at).max(self.stalled_until))
    }

    /// Loses everything that is not there.
    pub(crate) fn lose(&mut self) {
        self.waiting.clear();
        self.flying.clear();
        (self.begun, self.bytes) = (0, 0);
    }
}
