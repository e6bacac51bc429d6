//! What players do: play, and all that a browser lets them do to their connection.

use std::time::Duration;

use room::EntityId;
use room_client::{CallOptions, SendError, Status, Undelivered};

use super::game::{Act, Ask, Avatar, Mark, RARE, What};
use super::page::Saved;
use super::run::Sim;

/// Which event an undelivered one was; none for a call.
pub(crate) fn mark_of(undelivered: &Undelivered) -> Option<Mark> {
    if undelivered.call.is_some() {
        return None;
    }
    Some(undelivered.message.decode::<Act>().expect("what was sent decodes").mark)
}

impl Sim {
    /// What the player of a page does in a frame.
    pub(crate) fn act(&mut self, id: u32) {
        let page = &self.pages[&id];
        if page.done {
            return;
        }
        // So that slow pages do as much.
        let frames = page.frame.div_ceil(50).min(4);
        for _ in 0..frames {
            self.play(id);
        }
        if self.rng.one_in(20) {
            self.save(id);
        }
        let chance = self.plan.mischief * self.pages[&id].frame / 10;
        if self.rng.millionths(chance) {
            self.misbehave(id);
        }
        let clock = self.clock();
        let Some(page) = self.pages.get_mut(&id) else { return };
        if *page.machine.status() == Status::Lost && self.rng.one_in(20) {
            page.machine.rejoin(clock);
            self.observe(id);
        }
    }

    fn play(&mut self, id: u32) {
        match self.rng.below(60) {
            0..6 => {
                let mut by = || self.rng.below(7) as f64 - 3.0;
                let what = What::Walk { dx: by(), dy: by() };
                self.say(id, what, 0);
            }
            6..9 => {
                let pad = if self.plan.pad > 0 && self.rng.one_in(4) { self.rng.below(3000) } else { 0 };
                self.say(id, What::Say, pad as usize);
            }
            9 | 10 => self.ask(id),
            11 => self.flick(id),
            12 if self.rng.one_in(8) && (self.plan.settings.deployed || self.rng.one_in(30)) => {
                self.say(id, What::Boom, 0);
            }
            _ => {}
        }
    }

    fn act_of(&mut self, id: u32, n: u64, what: What, pad: usize) -> Act {
        let page = &self.pages[&id];
        Act { mark: Mark { page: id, life: page.life, n }, what, pad: "q".repeat(pad) }
    }

    fn say(&mut self, id: u32, what: What, pad: usize) {
        let n = self.pages[&id].said + 1;
        let act = self.act_of(id, n, what, pad);
        let page = self.pages.get_mut(&id).expect("it acts");
        match page.machine.send(&act) {
            Ok(_) => {
                page.said = n;
                if what == What::Boom {
                    self.booms.insert((id, act.mark.life, n));
                    self.given_up.insert((id, act.mark.life, n));
                }
            }
            Err(SendError::Over | SendError::Full { .. }) => {}
            Err(error) => panic!("page {id} cannot send in {:?}: {error}", page.machine.status()),
        }
    }

    fn flick(&mut self, id: u32) {
        let n = self.pages[&id].flicked + 1;
        let act = self.act_of(id, n, What::Say, 0);
        let page = self.pages.get_mut(&id).expect("it acts");
        if page.machine.transient(&act).is_ok() {
            page.flicked = n;
        }
    }

    fn ask(&mut self, id: u32) {
        let n = self.pages[&id].asked + 1;
        let refuse = self.rng.one_in(4);
        let name = if self.rng.one_in(3) { RARE } else { "buy" };
        let page = self.pages.get_mut(&id).expect("it acts");
        let avatars: Vec<EntityId> =
            page.machine.replica().all::<Avatar>().map(|(id, _)| id.entity()).collect();
        let through = (!avatars.is_empty() && self.rng.one_in(3)).then(|| *self.rng.pick(&avatars));
        let deadline = self.rng.one_in(4).then(|| Duration::from_millis(self.rng.below(3000)));
        let ask = Ask { mark: Mark { page: id, life: page.life, n }, after: page.said, refuse };
        if let Ok(call) = page.machine.call(name, &ask, CallOptions { through, deadline }) {
            page.asked = n;
            let known = page.reading.calls.insert(call, ask);
            assert!(known.is_none(), "page {id} makes call {call:?} twice");
        }
    }

    /// Keeps what a reload would find.
    pub(crate) fn save(&mut self, id: u32) -> bool {
        let page = self.pages.get_mut(&id).expect("it acts");
        if page.has_lost() {
            return false;
        }
        let Some(checkpoint) = page.machine.checkpoint() else { return false };
        if page.hidden {
            // What a hidden page was told is in there and nowhere else.
            page.saved.clear();
            let book = page.reading.session.and_then(|session| self.books.get(&session));
            page.reading.captured = book.map_or(0, |book| book.said.len() as u64);
        }
        let mut reading = page.reading.clone();
        if page.said > 0 {
            reading.owed.insert((id, page.life), page.said);
        }
        page.saved.push(Saved { checkpoint, reading, players: page.players.clone() });
        true
    }

    fn misbehave(&mut self, id: u32) {
        self.count("mischief");
        let (clock, now) = (self.clock(), self.now);
        let page = self.pages.get_mut(&id).expect("it acts");
        let choice = self.rng.below(13);
        match choice {
            0 | 1 => {
                page.hidden = !page.hidden;
                page.machine.handle_hidden(clock, page.hidden);
            }
            2 | 3 => self.reload(id, true),
            4 => self.reload(id, false),
            5 => self.second_tab(id),
            6 => self.other_device(id),
            7 => {
                let pad = *self.rng.pick(&[0, 0, 2000, 8000]);
                for _ in 0..self.rng.between(50, 400) {
                    self.say(id, What::Say, pad);
                }
            }
            8 => {
                page.left = true;
                page.machine.leave(clock);
            }
            9 if self.rng.one_in(3) => self.say(id, What::KickMe, 0),
            10 => page.machine.handle_foreground(clock),
            11 => page.machine.handle_online(clock),
            _ => {
                // Away, longer than most holds or shorter.
                page.offline_until = now + self.rng.below(15_000);
                if let Some(socket) = page.socket {
                    self.cut_somehow(socket);
                }
            }
        }
        let what = || format!("page {id} does {choice}");
        self.trace(what);
        self.observe(id);
    }

    /// The page goes, and comes again as it was saved last or as it was saved some time.
    fn reload(&mut self, id: u32, latest: bool) {
        if latest {
            self.save(id);
        }
        let page = &self.pages[&id];
        let (person, account) = (page.person, page.account.clone());
        let saved = match page.saved.as_slice() {
            [] => None,
            saved if latest => saved.last().cloned(),
            saved => Some(self.rng.pick(saved).clone()),
        };
        self.forget_page(id);
        self.open_page(person, account, saved);
    }

    /// The page is gone, with its socket.
    pub(crate) fn forget_page(&mut self, id: u32) {
        self.scan(id);
        let Some(page) = self.pages.remove(&id) else { return };
        let Some(number) = page.socket else { return };
        let with_frame = self.rng.one_in(2);
        let socket = self.sockets.get_mut(&number).expect("an open end keeps its socket");
        socket.client_open = false;
        if with_frame && !socket.cut {
            let item = super::net::Item::Close { code: 1001, reason: String::new() };
            socket.up.push(item);
        } else {
            self.cut_somehow(number);
        }
    }

    /// Another tab opens from a copy of what this one saved.
    fn second_tab(&mut self, id: u32) {
        if self.save(id) {
            let page = &self.pages[&id];
            let saved = page.saved.last().cloned();
            self.open_page(page.person, page.account.clone(), saved);
        }
    }

    /// The same account comes from another device, which knows nothing.
    fn other_device(&mut self, id: u32) {
        let page = &self.pages[&id];
        if page.account.is_some() {
            self.open_page(page.person, page.account.clone(), None);
        }
    }

    /// People without a page open one sooner or later.
    pub(crate) fn people(&mut self) {
        for person in 0..self.plan.clients {
            let here = self.pages.values().any(|page| page.person == person && !page.done);
            if here || !self.rng.one_in(100) {
                continue;
            }
            let mut theirs = self.pages.values().filter(|page| page.person == person);
            let saved = theirs.next_back().and_then(|page| page.saved.last().cloned());
            let from = saved.filter(|_| self.rng.one_in(2));
            let ids: Vec<u32> =
                self.pages.values().filter(|page| page.person == person).map(|page| page.id).collect();
            ids.into_iter().for_each(|id| self.forget_page(id));
            let account = self.accounts[person].clone();
            self.open_page(person, account, from);
        }
    }
}
