//! Rows of a commit under way.

use std::sync::Arc;

use crate::limits;
use crate::room::journal::{Entry, Row};
use crate::tick::Tick;

/// Rows behind those that a log has.
pub(super) struct Rows {
    room: Arc<str>,
    first: u64,
    tick: Tick,
    done: Vec<Vec<u8>>,
    row: Row,
    /// Entries that stand before all others, if there are others.
    head: Row,
    /// Bytes of finished rows.
    bytes: usize,
    record: Vec<u8>,
}

impl Rows {
    /// No rows yet; the first will have this number.
    pub(super) fn new(room: Arc<str>, first: u64, tick: Tick) -> Rows {
        let (row, mut head) = (Row::new(), Row::new());
        head.push(&Entry::Tick(tick));
        Rows { room, first, tick, done: Vec::new(), row, head, bytes: 0, record: Vec::new() }
    }

    /// Adds an entry before all others, behind those added so.
    pub(super) fn head(&mut self, entry: &Entry<'_>) {
        self.head.push(entry);
    }

    /// What follows says itself what a first row says, unless others stand before it.
    pub(super) fn forget_head(&mut self) {
        if self.is_empty() {
            self.head = Row::new();
            self.head.push(&Entry::Tick(self.tick));
        }
    }

    /// Adds an entry.
    pub(super) fn push(&mut self, entry: &Entry<'_>) {
        self.open();
        self.row.push(entry);
    }

    /// Adds an entry with a record that `encode` appends to an empty buffer.
    pub(super) fn put_record(
        &mut self,
        encode: impl FnOnce(&mut Vec<u8>),
        entry: impl FnOnce(&[u8]) -> Entry<'_>,
    ) {
        let mut record = std::mem::take(&mut self.record);
        record.clear();
        encode(&mut record);
        self.push(&entry(&record));
        self.record = record;
    }

    /// A row that is long enough is finished; an empty one says its tick.
    fn open(&mut self) {
        if self.row.len() >= limits::SLICE {
            self.cut();
        }
        if self.row.is_empty() {
            if self.done.is_empty() {
                self.row = std::mem::replace(&mut self.head, Row::new());
            } else {
                self.row.push(&Entry::Tick(self.tick));
            }
        }
    }

    /// What follows stands in a row of its own.
    pub(super) fn cut(&mut self) {
        if !self.row.is_empty() {
            let row = std::mem::replace(&mut self.row, Row::new()).seal(&self.room, self.next());
            self.bytes += row.len();
            self.done.push(row);
        }
    }

    /// The number of the row under way.
    pub(super) fn next(&self) -> u64 {
        self.first + self.done.len() as u64
    }

    /// Bytes so far.
    pub(super) fn bytes(&self) -> usize {
        self.bytes + if self.row.is_empty() { 0 } else { self.row.len() }
    }

    /// Whether there is no entry.
    pub(super) fn is_empty(&self) -> bool {
        self.done.is_empty() && self.row.is_empty()
    }

    /// The finished rows.
    pub(super) fn finish(mut self) -> Vec<Vec<u8>> {
        self.cut();
        self.done
    }
}
