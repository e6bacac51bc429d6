//! How many sockets may be opened: in all, and by one address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::door::group;
use crate::limits;

/// Credit for new sockets, of which each second brings as much as the next needs, and one second's worth is kept.
#[derive(Debug)]
pub(super) struct Throttle {
    all: Rate,
    each: Rate,
    credit: Mutex<Credit>,
    refusals: Arc<Semaphore>,
}

#[derive(Debug, Default)]
struct Credit {
    all: Account,
    // Invariant: at most twice as many as were in use at the last clearing, and 64. An account that is full is as
    // good as none, and only a socket that was let in leaves one that is not.
    addresses: HashMap<IpAddr, Account>,
    clear_at: usize,
}

/// What a socket costs.
#[derive(Clone, Copy, Debug)]
struct Rate {
    cost: Duration,
}

/// When the credit will be whole again.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    full_at: Duration,
}

impl Rate {
    fn of(a_second: u32) -> Rate {
        Rate { cost: SECOND / a_second.max(1) }
    }
}

impl Account {
    /// The account as it is once a socket has been paid for, or `None` where that is too much.
    fn pay(self, rate: Rate, now: Duration) -> Option<Account> {
        let full_at = self.full_at.max(now) + rate.cost;
        (full_at - now <= SECOND).then_some(Account { full_at })
    }
}

const SECOND: Duration = Duration::from_secs(1);

impl Throttle {
    /// Lets `a_second` sockets in a second, and half of them from one address.
    pub(super) fn new(a_second: u32) -> Throttle {
        Throttle {
            all: Rate::of(a_second),
            each: Rate::of(a_second / 2),
            credit: Mutex::default(),
            refusals: Arc::new(Semaphore::new(limits::REFUSALS)),
        }
    }

    /// Whether a socket may be opened. One that may not costs nobody's credit.
    pub(super) fn admits(&self, address: IpAddr, now: Duration) -> bool {
        let address = group(address);
        let mut credit = self.credit.lock().unwrap_or_else(PoisonError::into_inner);
        let own = credit.addresses.get(&address).copied().unwrap_or_default();
        let (Some(own), Some(all)) = (own.pay(self.each, now), credit.all.pay(self.all, now)) else {
            return false;
        };
        credit.all = all;
        if credit.addresses.len() >= credit.clear_at {
            credit.addresses.retain(|_, account| account.full_at > now);
            credit.clear_at = 64.max(2 * credit.addresses.len());
        }
        credit.addresses.insert(address, own);
        true
    }

    /// Leave to tell a socket that it is refused. Without it the connection is dropped, which costs less.
    pub(super) fn refusal(&self) -> Option<OwnedSemaphorePermit> {
        self.refusals.clone().try_acquire_owned().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(last: u32) -> IpAddr {
        IpAddr::from((10 << 24 | last).to_be_bytes())
    }

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn one_address_opens_half_and_another_the_rest() {
        let throttle = Throttle::new(200);
        let let_in = |address, now| (0..1000).filter(|_| throttle.admits(ip(address), now)).count();
        assert_eq!(let_in(1, ms(0)), 100);
        assert_eq!(let_in(2, ms(0)), 100, "the first one's refusals took nothing");
        assert_eq!(let_in(3, ms(0)), 0, "the server has enough for now");
        assert_eq!(let_in(1, ms(100)), 10);
        assert_eq!(let_in(3, ms(100)), 10);
        assert_eq!(let_in(1, ms(5000)), 100, "no more than a second's worth is kept");
    }

    #[test]
    fn a_flood_from_everywhere_leaves_little_behind() {
        let throttle = Throttle::new(1000);
        for n in 0..200_000 {
            throttle.admits(ip(n), Duration::from_micros(u64::from(n) * 100));
        }
        let kept = throttle.credit.lock().unwrap().addresses.len();
        assert!(kept <= 4000, "{kept}");
    }

    #[test]
    fn few_are_told_at_a_time() {
        let throttle = Throttle::new(1);
        let told: Vec<_> = std::iter::from_fn(|| throttle.refusal()).collect();
        assert_eq!(told.len(), limits::REFUSALS);
        drop(told);
        assert!(throttle.refusal().is_some());
    }
}
