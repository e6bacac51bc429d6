//! How often something may be done: by all, and by one address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::door::group;
use crate::limits;

/// Credit for new sockets, of which each second brings as much as the next needs, and one second's worth is kept.
#[derive(Debug)]
pub(super) struct Throttle {
    all: Rate,
    credit: Mutex<(Account, Accounts)>,
    refusals: Arc<Semaphore>,
}

/// Credit of each address for something that is done seldom; one minute's worth is kept.
#[derive(Debug)]
pub(super) struct Allowance {
    accounts: Mutex<Accounts>,
}

/// The accounts of addresses.
#[derive(Debug)]
struct Accounts {
    rate: Rate,
    // Invariant: at most twice as many as were in use at the last clearing, and 64. An account that is full is as
    // good as none, and only who was let do something leaves one that is not.
    of: HashMap<IpAddr, Account>,
    clear_at: usize,
}

/// What something costs, and how much may be owed for it.
#[derive(Clone, Copy, Debug)]
struct Rate {
    cost: Duration,
    most: Duration,
}

/// When the credit will be whole again.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    full_at: Duration,
}

impl Rate {
    fn of(times: u32, span: Duration) -> Rate {
        Rate { cost: span / times.max(1), most: span }
    }
}

impl Account {
    /// The account as it is once something has been paid for, or `None` where that is too much.
    fn pay(self, rate: Rate, now: Duration) -> Option<Account> {
        let full_at = self.full_at.max(now) + rate.cost;
        (full_at - now <= rate.most).then_some(Account { full_at })
    }
}

impl Accounts {
    fn new(rate: Rate) -> Accounts {
        Accounts { rate, of: HashMap::new(), clear_at: 0 }
    }

    /// What an address's account is once it has paid, or `None` where that is too much.
    fn paid(&self, address: IpAddr, now: Duration) -> Option<Account> {
        self.of.get(&group(address)).copied().unwrap_or_default().pay(self.rate, now)
    }

    fn put(&mut self, address: IpAddr, account: Account, now: Duration) {
        if self.of.len() >= self.clear_at {
            self.of.retain(|_, account| account.full_at > now);
            self.clear_at = 64.max(2 * self.of.len());
        }
        self.of.insert(group(address), account);
    }
}

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

impl Throttle {
    /// Lets `a_second` sockets in a second, and half of them from one address.
    pub(super) fn new(a_second: u32) -> Throttle {
        let each = Accounts::new(Rate::of(a_second / 2, SECOND));
        Throttle {
            all: Rate::of(a_second, SECOND),
            credit: Mutex::new((Account::default(), each)),
            refusals: Arc::new(Semaphore::new(limits::REFUSALS)),
        }
    }

    /// Whether a socket may be opened. One that may not costs nobody's credit.
    pub(super) fn admits(&self, address: IpAddr, now: Duration) -> bool {
        let mut credit = self.credit.lock().unwrap_or_else(PoisonError::into_inner);
        let (all, each) = &mut *credit;
        let (Some(own), Some(paid)) = (each.paid(address, now), all.pay(self.all, now)) else {
            return false;
        };
        *all = paid;
        each.put(address, own, now);
        true
    }

    /// Leave to tell a socket that it is refused. Without it the connection is dropped, which costs less.
    pub(super) fn refusal(&self) -> Option<OwnedSemaphorePermit> {
        self.refusals.clone().try_acquire_owned().ok()
    }
}

impl Allowance {
    /// Allows something `a_minute` times a minute.
    pub(super) fn new(a_minute: u32) -> Allowance {
        Allowance { accounts: Mutex::new(Accounts::new(Rate::of(a_minute, MINUTE))) }
    }

    /// Whether an address may do it once more, which counts.
    pub(super) fn admits(&self, address: IpAddr, now: Duration) -> bool {
        self.unless(address, now, || None::<()>) == Some(None)
    }

    /// Does something that counts only where it fails; `None` where it failed too often before.
    pub(super) fn unless<T>(
        &self,
        address: IpAddr,
        now: Duration,
        attempt: impl FnOnce() -> Option<T>,
    ) -> Option<Option<T>> {
        let mut accounts = self.lock();
        let paid = accounts.paid(address, now)?;
        let done = attempt();
        if done.is_none() {
            accounts.put(address, paid, now);
        }
        Some(done)
    }

    /// Takes back what was counted last, since it was no failure after all.
    pub(super) fn give_back(&self, address: IpAddr) {
        let mut accounts = self.lock();
        let cost = accounts.rate.cost;
        if let Some(account) = accounts.of.get_mut(&group(address)) {
            account.full_at = account.full_at.saturating_sub(cost);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Accounts> {
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
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
        let kept = throttle.credit.lock().unwrap().1.of.len();
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

    #[test]
    fn what_succeeds_costs_nothing_and_what_fails_too_often_is_not_tried() {
        let tries = Allowance::new(10);
        let mut tried = 0;
        for _ in 0..100 {
            assert_eq!(tries.unless(ip(1), ms(0), || Some(())), Some(Some(())));
        }
        for _ in 0..100 {
            tries.unless(ip(1), ms(0), || {
                tried += 1;
                None::<()>
            });
        }
        assert_eq!(tried, 10);
        assert_eq!(tries.unless(ip(1), ms(0), || Some(())), None, "not even with a good one");
        assert_eq!(tries.unless(ip(2), ms(0), || Some(())), Some(Some(())));
        assert_eq!(
            tries.unless(ip(1), ms(6000), || Some(())),
            Some(Some(())),
            "a sixth of a minute brings more"
        );
        assert!(tries.admits(ip(4), ms(0)));
        tries.give_back(ip(4));
        tries.give_back(ip(5));
        let left = (0..100).filter(|_| tries.admits(ip(4), ms(0))).count();
        assert_eq!(left, 10, "one was no failure after all");
        let once = |now| (0..100).filter(|_| tries.admits(ip(3), now)).count();
        assert_eq!((once(ms(0)), once(ms(12_000)), once(ms(600_000))), (10, 2, 10));
    }
}
