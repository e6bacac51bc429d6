//! Byte budgets: what a connection may be sent in a second, and how long what has to wait waits at most.

/// About what an update takes besides its content.
pub const UPDATE_HEAD: usize = 20;

/// A connection's bucket. It holds one send's share and is filled by as much at every send; what was sent past it is
/// a debt that later shares pay off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bucket {
    debt: usize,
    /// The send at which that is the debt.
    send: u64,
}

impl Bucket {
    /// What of a send's share is spent before it.
    #[must_use]
    pub fn debt(&self, send: u64, share: usize) -> usize {
        let paid = (share as u64).saturating_mul(send.saturating_sub(self.send));
        self.debt.saturating_sub(usize::try_from(paid).unwrap_or(usize::MAX))
    }

    /// What the bucket holds at a send.
    #[must_use]
    pub fn left(&self, send: u64, share: usize) -> usize {
        share.saturating_sub(self.debt(send, share))
    }

    /// Bytes went out at a send.
    pub fn charge(&mut self, bytes: usize, send: u64, share: usize) {
        self.debt = (self.debt(send, share) + bytes).saturating_sub(share);
        self.send = send + 1;
    }
}

/// The bytes of each send in a room with a budget.
#[must_use]
pub fn share(bytes_per_second: usize, send_every: u32, tick_rate: u32) -> usize {
    let share = (bytes_per_second as u64).saturating_mul(send_every.into()) / u64::from(tick_rate.max(1));
    usize::try_from(share).unwrap_or(usize::MAX).max(1)
}

/// How many sends something waits at the most where a [budget](crate::room::Visibility::budget) holds it back.
///
/// `wanted` is what one update with everything that the connection sees would take, each entity with a head of its
/// own; `share` is what a send may use: the bytes per second, by the sends per second, less the update's own head of
/// about 20 bytes and what the room's state, private state and leaves take of each. Sends at which the connection's
/// window was full do not count.
///
/// ```
/// // 500 entities of 16 bytes at 10 KiB a second and 20 sends.
/// assert_eq!(room::longest_wait(500 * 16, 10 * 1024 / 20 - 20), 36);
/// ```
#[must_use]
pub fn longest_wait(wanted: usize, share: usize) -> u64 {
    // Half of each share goes to what has waited longest, in the order in which it began to wait. One that does not
    // fit behind others is the first of the next send: two sends in a row carry a whole share of it at the least.
    (2 * wanted.div_ceil(share.max(1)) + 2) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_debt_is_paid_off_by_later_shares_and_nothing_is_saved_up() {
        let mut bucket = Bucket::default();
        assert_eq!(bucket.left(7, 100), 100);
        bucket.charge(250, 7, 100);
        assert_eq!([8, 9, 10].map(|send| bucket.left(send, 100)), [0, 50, 100]);
        bucket.charge(10, 9, 100);
        assert_eq!(bucket.left(10, 100), 100, "a bucket holds one share");
        assert_eq!(bucket.left(99, 100), 100);
    }
}
