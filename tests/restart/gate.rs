//! Servers whose store answers late, or gives a room to somebody else.

use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use room_client::{Checkpoint, ConnectError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

/// A commit, and who is to hear of it.
type Waiting = (Arc<Commit>, Done);

/// A store whose answers wait while it is shut.
#[derive(Clone, Default)]
struct Gate {
    store: MemoryStore,
    /// Commits are not kept, and wait.
    shut: Arc<AtomicBool>,
    waiting: Arc<Mutex<Vec<Waiting>>>,
    /// Rooms are not given.
    hangs: Arc<AtomicBool>,
    takes: Arc<AtomicU32>,
}

impl Gate {
    fn open(&self) {
        self.shut.store(false, Ordering::SeqCst);
        let waiting = std::mem::take(&mut *self.waiting.lock().expect("nothing panics"));
        for (commit, done) in waiting {
            done(self.store.keep(&commit));
        }
    }
}

impl Store for Gate {
    fn rooms(&self) -> Result<Vec<StoredRoom>, StoreError> {
        self.store.rooms()
    }
    fn awake(&self) -> Result<Vec<StoredRoom>, StoreError> {
        self.store.awake()
    }
    fn find(&self, room: &str) -> Result<Option<StoredRoom>, StoreError> {
        self.store.find(room)
    }
    fn by_code(&self, code: &str) -> Result<Option<String>, StoreError> {
        self.store.by_code(code)
    }
    fn take(&self, room: &str) -> Result<Taken, StoreError> {
        self.takes.fetch_add(1, Ordering::SeqCst);
        while self.hangs.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(10));
        }
        self.store.take(room)
    }
    fn commit(&self, commit: Arc<Commit>, done: Done) {
        if self.shut.load(Ordering::SeqCst) {
            return self.waiting.lock().expect("nothing panics").push((commit, done));
        }
        done(self.store.keep(&commit));
    }
}

/// Events are counted; `start` starts the game, and `more` gives it more seats.
struct Duel;

impl Game for Duel {
    type Event = String;
    type Scratch = ();

    fn schema() -> Schema {
        Schema::new().state::<Tally>()
    }

    fn on_event(&mut self, room: &mut Room<Self>, _: Peer, event: String) {
        let count = room.state::<Tally>().count + 1;
        room.state_mut::<Tally>().set_count(count);
        match event.as_str() {
            "start" => room.set_started(true),
            "more" => room.set_max_players(7),
            _ => {}
        }
    }
}

async fn duels(store: impl Store) -> ServerHandle<Duel> {
    duels_at(store, 0).await
}

/// On a port of its own, so that clients find the next one.
async fn duels_at(store: impl Store, port: u16) -> ServerHandle<Duel> {
    Server::new(|_: &str| Duel).port(port).kinds(["duel"]).store(store).start().await.expect("it starts")
}

async fn enter(url: String) -> Client {
    room_client::connect(url, Duel::schema()).auth(&"friend").await.expect("she joins")
}

async fn come_back(url: String, saved: &Checkpoint) -> Result<Client, ConnectError> {
    room_client::connect(url, Duel::schema()).auth(&"friend").checkpoint(saved.clone()).await
}

/// What `GET /rooms` answers.
async fn list(server: &ServerHandle<Duel>) -> String {
    let mut stream = tokio::net::TcpStream::connect(server.local_addr()).await.expect("a connection");
    let request = "GET /rooms HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await.expect("it listens");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("text");
    answer.split_once("\r\n\r\n").expect("a head").1.to_owned()
}

async fn eventually(what: &str, mut is: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !is().await {
        assert!(began.elapsed() < PATIENCE, "{what}");
        sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn what_a_room_says_of_itself_is_known_to_others_once_it_is_kept() {
    let store = Gate::default();
    let server = duels(store.clone()).await;
    let mut ada = enter(server.url_by_kind("duel")).await;
    let room = ada.room_name().expect("a room").to_owned();
    store.shut.store(true, Ordering::SeqCst);
    for word in ["start", "more"] {
        ada.send(word).unwrap();
    }
    eventually("it is committed", async || {
        ada.update(Instant::now());
        !store.waiting.lock().unwrap().is_empty()
    })
    .await;
    sleep(Duration::from_millis(200)).await;
    let label = server.label(&room).await.expect("it runs");
    assert_eq!((label.started, label.max_players), (false, None));
    let listed = list(&server).await;
    assert!(listed.contains(r#""max":20"#) && listed.contains(r#""started":false"#), "{listed}");
    store.open();
    eventually("it is known", async || server.label(&room).await.is_some_and(|label| label.started)).await;
    until(&mut ada, |ada| count(ada) == Some(2)).await;
    let listed = list(&server).await;
    assert!(listed.contains(r#""max":7"#) && listed.contains(r#""started":true"#), "{listed}");
    server.shutdown().await;
}

#[tokio::test]
async fn a_room_of_which_nothing_is_kept_yet_is_not_listed() {
    let store = Gate::default();
    let server = duels(store.clone()).await;
    store.shut.store(true, Ordering::SeqCst);
    let joining = tokio::spawn(enter(server.url("a")));
    eventually("it is committed", async || !store.waiting.lock().unwrap().is_empty()).await;
    assert_eq!(server.rooms(), ["a"]);
    assert_eq!((list(&server).await.as_str(), server.label("a").await), ("[]", None));
    store.open();
    let _ada = joining.await.expect("no panic");
    assert!(list(&server).await.contains(r#""name":"a""#));
    server.shutdown().await;
}

#[tokio::test]
async fn who_comes_back_to_a_damaged_room_keeps_her_session_until_it_is_repaired() {
    let store = MemoryStore::new();
    let server = duels(store.clone()).await;
    let port = server.local_addr().port();
    let mut ada = enter(server.url("a")).await;
    ada.send("one").unwrap();
    until(&mut ada, |ada| count(ada) == Some(1)).await;
    let (session, saved) = (ada.session(), ada.checkpoint().expect("a session"));
    server.shutdown().await;
    drop(ada);
    store.edit("a", |rows| rows[0][5] ^= 1);
    let server = duels_at(store.clone(), port).await;
    eventually("its task ends", async || server.rooms().is_empty()).await;
    for _ in 0..3 {
        let refused = come_back(server.url("a"), &saved).await;
        assert!(matches!(refused, Err(ConnectError::Refused { code: 4009, .. })), "{refused:?}");
    }
    server.shutdown().await;
    store.edit("a", |rows| rows[0][5] ^= 1);
    let server = duels_at(store.clone(), port).await;
    let ada = come_back(server.url("a"), &saved).await.expect("she is let in");
    assert_eq!(ada.session(), session);
    server.shutdown().await;
}

#[tokio::test]
async fn a_room_that_another_owner_has_taken_is_left_to_it() {
    let store = Gate::default();
    let server = duels(store.clone()).await;
    let mut ada = enter(server.url("a")).await;
    ada.send("one").unwrap();
    until(&mut ada, |ada| count(ada) == Some(1)).await;
    let (session, saved) = (ada.session(), ada.checkpoint().expect("a session"));
    let takes = store.takes.load(Ordering::SeqCst);
    store.store.take("a").expect("another owner");
    ada.send("two").unwrap();
    let mut drops = 0;
    until(&mut ada, |ada| {
        drops += usize::from(ada.last_drop().is_some());
        drops > 0
    })
    .await;
    assert!(format!("{:?}", ada.last_drop()).contains("1013"), "{:?}", ada.last_drop());
    drop(ada);
    sleep(Duration::from_secs(1)).await;
    assert!(server.rooms().is_empty());
    assert_eq!(store.takes.load(Ordering::SeqCst), takes, "it has not taken the room back");
    // It does for who comes for it, as long as it may hold her session.
    let mut ada = come_back(server.url("a"), &saved).await.expect("she is let in");
    until(&mut ada, |ada| count(ada).is_some()).await;
    assert_eq!(ada.session(), session);
    server.shutdown().await;
}

#[tokio::test]
async fn who_comes_while_the_store_does_not_give_the_room_is_told_to_come_again() {
    let store = Gate::default();
    let server = duels(store.clone()).await;
    store.hangs.store(true, Ordering::SeqCst);
    let began = Instant::now();
    let mut ada =
        room_client::connect(server.url("a"), Duel::schema()).auth(&"friend").start().expect("a URL");
    until(&mut ada, |ada| ada.last_drop().is_some_and(|drop| format!("{drop:?}").contains("1013"))).await;
    assert!(began.elapsed() < 3 * Duration::from_secs(room::limits::STORE_TAKE_SECONDS));
    store.hangs.store(false, Ordering::SeqCst);
    until(&mut ada, |ada| count(ada) == Some(0)).await;
    assert_eq!(store.takes.load(Ordering::SeqCst), 1, "the room has waited on");
    server.shutdown().await;
}
