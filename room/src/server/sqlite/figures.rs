//! What a store has done.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Figures of an [`SqliteStore`](super::SqliteStore), since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SqliteStats {
    /// Commits that are kept.
    pub commits: u64,
    /// Transactions, each of all commits that waited.
    pub transactions: u64,
    /// Those of them after which everything so far had been synced to the disk.
    pub synced: u64,
    /// The most rows that one transaction deleted.
    pub trimmed_most: u64,
    /// Rows deleted that were not wanted any more.
    pub trimmed: u64,
    /// How often the WAL was moved into the database.
    pub checkpoints: u64,
    /// How often the writer waited for that.
    pub waits: u64,
    /// Bytes of the WAL after the last transaction.
    pub wal: u64,
    /// The most that it had.
    pub wal_most: u64,
}

#[derive(Debug, Default)]
pub(super) struct Figures {
    pub(super) commits: AtomicU64,
    pub(super) transactions: AtomicU64,
    pub(super) synced: AtomicU64,
    pub(super) trimmed: AtomicU64,
    pub(super) trimmed_most: AtomicU64,
    pub(super) checkpoints: AtomicU64,
    pub(super) waits: AtomicU64,
    pub(super) wal: AtomicU64,
    pub(super) wal_most: AtomicU64,
}

impl Figures {
    pub(super) fn read(&self) -> SqliteStats {
        SqliteStats {
            commits: self.commits.load(Relaxed),
            transactions: self.transactions.load(Relaxed),
            synced: self.synced.load(Relaxed),
            trimmed: self.trimmed.load(Relaxed),
            trimmed_most: self.trimmed_most.load(Relaxed),
            checkpoints: self.checkpoints.load(Relaxed),
            waits: self.waits.load(Relaxed),
            wal: self.wal.load(Relaxed),
            wal_most: self.wal_most.load(Relaxed),
        }
    }
}
