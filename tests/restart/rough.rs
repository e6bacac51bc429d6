//! Servers with a store in bad times: overloaded, emptied while something is to be done, failing in the middle of a
//! change.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

/// Everything that was performed, and how often.
static DONE: Mutex<BTreeMap<String, u32>> = Mutex::new(BTreeMap::new());

fn done(what: &str) -> u32 {
    DONE.lock().unwrap().get(what).copied().unwrap_or(0)
}

/// Events are words: `slow` makes every tick longer than it may be, `fail` starts the game and fails the room in its
/// own work, anything else is what is asked for when the last player leaves.
#[derive(Default)]
struct Mill {
    slow: bool,
    last_will: String,
}

/// Whether the next `fail` fails.
static FAILS: AtomicBool = AtomicBool::new(true);

impl Game for Mill {
    type Event = String;
    type Scratch = ();

    fn schema() -> Schema {
        Schema::new().state::<Tally>()
    }

    fn on_event(&mut self, room: &mut Room<Self>, _: Peer, event: String) {
        let count = room.state::<Tally>().count + 1;
        room.state_mut::<Tally>().set_count(count);
        match event.as_str() {
            "slow" => self.slow = true,
            "count" => {}
            "fail" => {
                if FAILS.swap(false, Ordering::SeqCst) {
                    room.set_started(true);
                    panic!("the test asked for it");
                }
            }
            "discard" => room.discard_when_empty(true),
            _ => self.last_will = event,
        }
    }

    fn on_tick(&mut self, _: &mut Room<Self>) {
        if self.slow {
            std::thread::sleep(Duration::from_millis(70));
        }
    }

    fn on_leave(&mut self, room: &mut Room<Self>, _: PlayerId, _: LeaveReason) {
        if !self.last_will.is_empty() {
            room.after_commit(&self.last_will).expect("it is short");
        }
    }

    async fn perform(effect: Effect) -> Result<(), String> {
        sleep(Duration::from_millis(100)).await;
        *DONE.lock().unwrap().entry(effect.payload.read::<String>().unwrap()).or_default() += 1;
        Ok(())
    }
}

async fn mill(store: &MemoryStore) -> ServerHandle<Mill> {
    let server = Server::new(|_: &str| Mill::default()).port(0).store(store.clone());
    server.sleep_seconds(0).hold_seconds(0).start().await.expect("it starts")
}

async fn enter(url: String) -> Client {
    room_client::connect(url, Mill::schema()).auth(&"friend").await.expect("she joins")
}

/// Waits until no room runs.
async fn empty(server: &ServerHandle<Mill>) {
    let began = Instant::now();
    while !server.rooms().is_empty() {
        assert!(began.elapsed() < PATIENCE, "it does not sleep");
        sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_room_that_does_not_keep_up_still_hears_of_its_commits() {
    let store = MemoryStore::new();
    let server = mill(&store).await;
    let mut ada = enter(server.url("a")).await;
    ada.send("slow").unwrap();
    until(&mut ada, |ada| count(ada) == Some(1)).await;
    for n in 2..6 {
        ada.send("count").unwrap();
        until(&mut ada, |ada| count(ada) == Some(n)).await;
    }
    server.shutdown().await;
}

#[tokio::test]
async fn what_the_last_player_leaves_to_be_done_is_done_before_the_room_sleeps() {
    let store = MemoryStore::new();
    let server = mill(&store).await;
    let mut ada = enter(server.url("a")).await;
    ada.send("her last will").unwrap();
    until(&mut ada, |ada| count(ada) == Some(1)).await;
    // Without a hold, who drops has left.
    drop(ada);
    empty(&server).await;
    assert_eq!(done("her last will"), 1);
    server.shutdown().await;
}

#[tokio::test]
async fn what_the_last_player_leaves_to_be_done_is_done_before_the_room_is_gone() {
    let store = MemoryStore::new();
    let server = mill(&store).await;
    let mut ada = enter(server.url("a")).await;
    ada.send("discard").unwrap();
    ada.send("the result").unwrap();
    until(&mut ada, |ada| count(ada) == Some(2)).await;
    // Without a hold, who drops has left.
    drop(ada);
    empty(&server).await;
    assert_eq!(done("the result"), 1);
    assert_eq!(store.rooms(), Ok(Vec::new()));
    server.shutdown().await;
}

#[tokio::test]
async fn what_a_failed_tick_said_of_the_room_to_others_is_gone_with_it() {
    let store = MemoryStore::new();
    let server = Server::new(|_: &str| Mill::default()).port(0).store(store.clone());
    let server = server.start().await.expect("it starts");
    let mut ada = enter(server.url("a")).await;
    ada.send("count").unwrap();
    until(&mut ada, |ada| count(ada) == Some(1)).await;
    let code = server.label("a").await.expect("it runs").code;
    ada.send("fail").unwrap();
    until(&mut ada, |ada| count(ada) == Some(2)).await;
    let label = server.label("a").await.expect("it runs");
    assert!(!label.started, "that was not committed");
    assert_eq!(label.code, code);
    server.shutdown().await;
}
