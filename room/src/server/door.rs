//! The sockets that have not joined, and which of them is ended when there are too many.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

/// Counts sockets from the moment they are accepted until they are in a room.
#[derive(Debug)]
pub(super) struct Door {
    most: usize,
    // Oldest first, each with the address that it counts for.
    waiting: Mutex<Vec<(IpAddr, Arc<Waiting>)>>,
}

#[derive(Debug, Default)]
struct Waiting {
    authenticating: AtomicBool,
    evicted: AtomicBool,
    wake: Notify,
}

/// A socket's place at the door; dropping it leaves.
#[derive(Debug)]
pub(super) struct Pass {
    door: Arc<Door>,
    waiting: Arc<Waiting>,
}

impl Door {
    /// A door with room for `most` sockets.
    pub(super) fn new(most: usize) -> Arc<Door> {
        Arc::new(Door { most, waiting: Mutex::default() })
    }

    /// Lets a socket stand at the door. Where that makes too many, the oldest of the address with the most is
    /// ended, which may be this one.
    pub(super) fn enter(self: &Arc<Self>, address: IpAddr) -> Pass {
        let waiting = Arc::new(Waiting::default());
        let mut all = self.lock();
        all.push((group(address), waiting.clone()));
        if all.len() > self.most
            && let Some(victim) = victim(&all)
        {
            let (_, victim) = all.remove(victim);
            victim.evicted.store(true, Ordering::SeqCst);
            victim.wake.notify_waiters();
        }
        drop(all);
        Pass { door: self.clone(), waiting }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(IpAddr, Arc<Waiting>)>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pass {
    /// The socket counts for another address: the one that its proxy has named.
    pub(super) fn comes_from(&self, address: IpAddr) {
        let mut all = self.door.lock();
        if let Some((counted, _)) = all.iter_mut().find(|(_, other)| Arc::ptr_eq(other, &self.waiting)) {
            *counted = group(address);
        }
    }

    /// From now on this socket is not ended to make place for others. Returns whether it may stand like that: one
    /// address, which could fill the door for as long as authentication takes, may have half of it so.
    #[must_use]
    pub(super) fn authenticating(&self) -> bool {
        // Under the lock, so that a socket is either chosen before this or never.
        let all = self.door.lock();
        let own = all.iter().find(|(_, other)| Arc::ptr_eq(other, &self.waiting));
        let Some((own, _)) = own else { return false };
        let same = all
            .iter()
            .filter(|(address, other)| address == own && other.authenticating.load(Ordering::SeqCst));
        let may = same.count() < self.door.most.div_ceil(2);
        self.waiting.authenticating.store(may, Ordering::SeqCst);
        may
    }

    /// Whether it was ended to make place.
    pub(super) fn is_evicted(&self) -> bool {
        self.waiting.evicted.load(Ordering::SeqCst)
    }

    /// Waits until this socket has to go.
    pub(super) async fn evicted(&self) {
        let wake = self.waiting.wake.notified();
        tokio::pin!(wake);
        wake.as_mut().enable();
        if !self.is_evicted() {
            wake.await;
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let mut all = self.door.lock();
        all.retain(|(_, other)| !Arc::ptr_eq(other, &self.waiting));
        // What a crowd took is given back when it has come in.
        if all.len() < all.capacity() / 4 {
            let twice = 2 * all.len();
            all.shrink_to(twice.max(16));
        }
    }
}

/// The oldest socket of the address that has the most, among those whose authentication is not running.
fn victim(all: &[(IpAddr, Arc<Waiting>)]) -> Option<usize> {
    let mut counts = std::collections::BTreeMap::<IpAddr, (usize, Option<usize>)>::new();
    for (index, (address, waiting)) in all.iter().enumerate() {
        let (count, oldest) = counts.entry(*address).or_default();
        *count += 1;
        if oldest.is_none() && !waiting.authenticating.load(Ordering::SeqCst) {
            *oldest = Some(index);
        }
    }
    counts
        .into_values()
        .filter_map(|(count, oldest)| Some((count, oldest?)))
        .max_by_key(|&(count, oldest)| (count, std::cmp::Reverse(oldest)))
        .map(|(_, oldest)| oldest)
}

/// What counts as one address: an IPv4 address, or the /64 that one household holds in IPv6.
pub(super) fn group(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6((u128::from(v6) >> 64 << 64).into()),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    #[test]
    fn the_oldest_of_the_address_with_the_most_goes() {
        let door = Door::new(4);
        let other = door.enter(ip(1));
        let crowd: Vec<_> = (0..3).map(|_| door.enter(ip(2))).collect();
        let newest = door.enter(ip(3));
        assert!(crowd[0].is_evicted());
        assert!(!other.is_evicted() && !newest.is_evicted() && !crowd[1].is_evicted());
    }

    #[test]
    fn a_socket_whose_authentication_runs_is_never_ended() {
        let door = Door::new(2);
        let first = door.enter(ip(1));
        let second = door.enter(ip(2));
        assert!(first.authenticating() && second.authenticating());
        let third = door.enter(ip(3));
        assert!(third.is_evicted(), "the newcomer is the only one that may go");
        assert!(!first.is_evicted() && !second.is_evicted());
    }

    #[test]
    fn one_address_has_half_of_the_door_in_authentication() {
        let door = Door::new(4);
        let crowd: Vec<_> = (0..4).map(|_| door.enter(ip(1))).collect();
        let may: Vec<_> = crowd.iter().map(Pass::authenticating).collect();
        assert_eq!(may, [true, true, false, false]);
        let other = door.enter(ip(2));
        assert!(crowd[2].is_evicted() && !other.is_evicted());
        assert!(!crowd[2].authenticating(), "it has to go");
        assert!(other.authenticating());
    }

    #[test]
    fn who_leaves_makes_place() {
        let door = Door::new(1);
        drop(door.enter(ip(1)));
        assert!(!door.enter(ip(1)).is_evicted());
    }

    #[test]
    fn a_crowd_that_has_come_in_leaves_no_memory_taken() {
        let door = Door::new(2000);
        let mut crowd: Vec<_> = (0..1000).map(|_| door.enter(ip(1))).collect();
        crowd.truncate(100);
        assert!(door.lock().capacity() <= 400);
        drop(crowd);
        assert!(door.lock().capacity() <= 16);
    }

    #[test]
    fn who_comes_through_a_proxy_counts_for_herself() {
        let door = Door::new(3);
        let passes: Vec<_> = (1..=3).map(|_| door.enter(ip(9))).collect();
        passes[0].comes_from(ip(1));
        let newest = door.enter(ip(2));
        assert!(passes[1].is_evicted(), "the older of the two that share an address");
        assert!(!passes[0].is_evicted() && !newest.is_evicted());
    }

    #[test]
    fn a_household_counts_once() {
        let a: IpAddr = "2001:db8:1:2:3::4".parse().unwrap();
        let b: IpAddr = "2001:db8:1:2:9::9".parse().unwrap();
        assert_eq!(group(a), group(b));
        assert_eq!(group("::ffff:10.0.0.1".parse().unwrap()), ip(1));
    }

    #[tokio::test]
    async fn an_ended_socket_hears_so_whenever_it_asks() {
        let door = Door::new(1);
        let first = door.enter(ip(1));
        let _second = door.enter(ip(1));
        first.evicted().await;
        first.evicted().await;
    }
}
