//! Who is in the room: what is told of players, to whom, and by whose word.

use room::prelude::*;
use room::room::log::Log;
use room::runtime::{Sessions, Settings};
use room::session::code;
use room::{CreateError, StatusError, limits};
use room_client::testing::{TestClient, TestRoom};
use room_client::{SendError, Status};

use super::link::Link;

#[derive(Entity, Clone, Debug, PartialEq)]
#[entity(owner = owner)]
struct Seat {
    owner: PlayerId,
    at: f32,
}

type Sight = Box<dyn Fn() -> Visibility<Lounge> + Send + Sync>;

/// A game that says little, and writes down what its hooks saw of presence.
#[derive(Default)]
pub(crate) struct Lounge {
    interest: Option<Sight>,
    refuses: bool,
    seen: Vec<(&'static str, Option<Presence>)>,
    /// The teams of players, in order of their numbers.
    teams: Vec<u64>,
}

impl Lounge {
    fn seeing(interest: impl Fn() -> Visibility<Lounge> + Send + Sync + 'static) -> Lounge {
        Lounge { interest: Some(Box::new(interest)), ..Lounge::default() }
    }

    fn saw(&mut self, hook: &'static str, room: &Room<Self>, player: PlayerId) {
        self.seen.push((hook, room.presence(player).cloned()));
    }

    fn team(&self, player: PlayerId) -> u64 {
        self.teams.get(player.0 as usize - 1).copied().unwrap_or(0)
    }
}

impl Game for Lounge {
    type Event = String;
    type Scratch = ();

    fn schema() -> Schema {
        Schema::new().entity::<Seat>()
    }

    fn interest(&self) -> Visibility<Self> {
        self.interest.as_ref().map_or_else(Visibility::everything, |interest| interest())
    }

    fn on_join(&mut self, room: &mut Room<Self>, peer: Peer) -> Result<(), Refused> {
        self.saw("on_join", room, peer.player);
        room.create(Seat { owner: peer.player, at: 0.0 }).expect("it is small");
        if self.refuses { Err(Refused::new("not today")) } else { Ok(()) }
    }

    fn on_drop(&mut self, room: &mut Room<Self>, player: PlayerId, _: SessionId, _: Dropped) {
        self.saw("on_drop", room, player);
    }

    fn on_resume(&mut self, room: &mut Room<Self>, peer: Peer) {
        self.saw("on_resume", room, peer.player);
    }

    fn on_leave(&mut self, room: &mut Room<Self>, player: PlayerId, _: LeaveReason) {
        self.saw("on_leave", room, player);
    }

    fn on_event(&mut self, room: &mut Room<Self>, peer: Peer, said: String) {
        room.set_status(peer.player, &said).expect("it is short");
    }

    fn on_status(&mut self, _: &mut Room<Self>, _: PlayerId, status: String) -> Option<String> {
        match &*status {
            "rude" => None,
            "loud" => Some(status.to_uppercase()),
            "long" => Some("é".repeat(limits::STATUS)),
            "panic" => std::panic::resume_unwind(Box::new("as asked")),
            _ => Some(status),
        }
    }
}

pub(crate) fn lounge() -> TestRoom<Lounge> {
    TestRoom::new(Lounge::default())
}

fn several() -> TestRoom<Lounge> {
    TestRoom::with(Lounge::default(), Settings { sessions: Sessions::Several, ..Settings::default() })
}

/// Who a client's player is.
pub(crate) fn id(client: &TestClient) -> PlayerId {
    client.player().expect("it has joined")
}

/// What everyone is called, as a client sees it.
fn names(client: &TestClient) -> Vec<String> {
    client.presences().into_iter().map(|presence| presence.name).collect()
}

/// A player's status, as a client sees it.
pub(crate) fn status(client: &TestClient, player: PlayerId) -> String {
    client.presence(player).expect("she is in the room").status
}

#[test]
fn everyone_sees_who_is_there_and_for_how_long() {
    let mut room = lounge();
    let ada = room.join("Ada");
    let bo = room.join("Bo");
    for client in [&ada, &bo] {
        assert_eq!(names(client), ["Ada", "Bo"]);
        let presence = client.presence(id(&bo)).expect("she is in the room");
        assert_eq!((presence.player, presence.connections, presence.held_until), (id(&bo), 1, None));
        assert!(presence.is_connected() && presence.status.is_empty());
        assert_eq!(client.view::<Presence>().len(), 2);
        assert!(client.view::<Presence>().iter().all(|(id, _)| id.get() > limits::ID_EXPLICIT_MOST));
    }
    assert_eq!(
        room.room().presences().map(|presence| presence.player).collect::<Vec<_>>(),
        [id(&ada), id(&bo)]
    );
    room.leave(&bo);
    assert_eq!(names(&ada), ["Ada"]);
    assert_eq!(room.room().presence(PlayerId(2)), None);
}

#[test]
fn a_held_player_is_shown_so_with_the_tick_her_hold_ends() {
    let mut room = lounge();
    let (ada, bo) = (room.join("Ada"), room.join("Bo"));
    room.drop_link(&bo);
    room.advance(1);
    let presence = ada.presence(id(&bo)).expect("her seat is held");
    let session = room.room().sessions_of(id(&bo)).next().expect("her session is held");
    assert_eq!((presence.connections, presence.held()), (0, room.room().held_until(session)));
    assert!(presence.held().is_some() && !presence.is_connected());

    room.resume(&bo);
    for client in [&ada, &bo] {
        let presence = client.presence(id(&bo)).expect("she is back");
        assert_eq!((presence.connections, presence.held_until), (1, None));
    }

    room.drop_link(&bo);
    room.advance(1);
    let ends = ada.presence(id(&bo)).and_then(|presence| presence.held()).expect("she is held");
    room.advance(ends.0 - room.room().tick().0);
    assert!(ada.presence(id(&bo)).is_some(), "the tick that is named is the last one");
    room.advance(1);
    assert_eq!(names(&ada), ["Ada"]);
}

#[test]
fn each_hook_finds_presence_as_it_is_then() {
    let mut room = lounge();
    let ada = room.join("Ada");
    room.drop_link(&ada);
    room.advance(1);
    room.resume(&ada);
    room.leave(&ada);
    let mut connections = Vec::new();
    for (hook, presence) in &room.game().seen {
        let presence = presence.as_ref().expect("it is there from before on_join until after on_leave");
        assert_eq!(presence.name, "Ada");
        connections.push((*hook, presence.connections));
    }
    assert_eq!(connections, [("on_join", 1), ("on_drop", 0), ("on_resume", 1), ("on_leave", 1)]);
    assert_eq!(room.room().count::<Presence>(), 0);
}

#[test]
fn several_sessions_are_one_presence_that_counts_them() {
    let mut room = several();
    let first = room.join_account("Ada", "ada");
    let second = room.join_account("Ada's phone", "ada");
    let bo = room.join("Bo");
    let told = |bo: &TestClient| {
        let presence = bo.presence(PlayerId(1)).expect("a session of hers lives");
        (presence.name.clone(), presence.connections, presence.held().is_some())
    };
    let phone = String::from("Ada's phone");
    assert_eq!(told(&bo), (phone.clone(), 2, false));
    assert_eq!(bo.presences().len(), 2);

    room.drop_link(&first);
    room.advance(1);
    assert_eq!(told(&bo), (phone.clone(), 1, false), "she is there over the other one");
    room.advance(100);
    room.close_link(&second);
    room.advance(1);
    assert_eq!(told(&bo), (phone, 0, true));
    let sessions: Vec<_> = room.room().sessions_of(PlayerId(1)).collect();
    let last = sessions.iter().map(|session| room.room().held_until(*session)).max().flatten();
    assert_eq!(bo.presence(PlayerId(1)).and_then(|presence| presence.held()), last);

    room.resume(&first);
    assert_eq!(told(&bo).1, 1);
    room.leave(&first);
    assert!(told(&bo).2, "the phone's session is still held");
    room.resume(&second);
    room.leave(&second);
    assert_eq!(names(&bo), ["Bo"]);
}

#[test]
fn another_device_of_the_same_account_brings_its_name() {
    let mut room = lounge();
    let old = room.join_account("Ada", "ada");
    let bo = room.join("Bo");
    let new = room.join_account("Ada on the train", "ada");
    assert!(old.status().is_closed());
    assert_eq!(id(&new), PlayerId(1));
    let presence = bo.presence(PlayerId(1)).expect("she is in the room");
    assert_eq!((&*presence.name, presence.connections), ("Ada on the train", 1));
}

#[test]
fn a_kick_takes_presence_along() {
    let mut room = several();
    let _first = room.join_account("Ada", "ada");
    let _second = room.join_account("Ada", "ada");
    let bo = room.join("Bo");
    room.edit(|_, room| room.kick(PlayerId(1), "enough"));
    room.advance(1);
    assert_eq!(names(&bo), ["Bo"]);
}

#[test]
fn a_refused_join_leaves_no_presence() {
    let mut room = several();
    let bo = room.join("Bo");
    let ada = room.join_account("Ada", "ada");
    room.edit(|game, room| {
        game.refuses = true;
        room.set_status(PlayerId(2), "here first").unwrap();
    });
    let refused = [room.open("Cy", None), room.open("Ada's phone", Some("ada".into()))];
    room.advance(1);
    for client in &refused {
        assert!(matches!(client.status(), Status::Closed { code: Some(code::JOIN_REFUSED), .. }));
    }
    let seen = room.game().seen.last().and_then(|(_, presence)| presence.clone());
    assert_eq!(seen.map(|presence| presence.connections), Some(2), "she asked for a second connection");
    assert_eq!(names(&bo), ["Bo", "Ada"]);
    let presence = ada.presence(id(&ada)).expect("her first session goes on");
    assert_eq!((presence.connections, &*presence.status), (1, "here first"));
    assert_eq!(room.room().count::<Presence>(), 2);
    assert_eq!(room.room().count::<Seat>(), 2);
}

#[test]
fn the_game_neither_makes_nor_deletes_nor_writes_it() {
    let mut room = lounge();
    let ada = room.join("Ada");
    room.edit(|_, room| {
        let id = room.presence_id(PlayerId(1)).expect("she is in the room");
        let copy = room.get(id).cloned().expect("it is read like any entity");
        assert!(room.get_mut(id).is_none());
        assert!(!room.delete(id));
        let refused = CreateError::BuiltIn { kind: "room_presence" };
        assert_eq!(room.create(copy.clone()), Err(refused.clone()));
        assert_eq!(room.create_with_id(77, copy), Err(refused));
    });
    room.advance(1);
    assert_eq!(names(&ada), ["Ada"]);
}

#[test]
fn what_does_not_change_is_not_sent() {
    let mut link = Link::<Lounge>::new(Lounge::default(), Settings::default());
    let (conn, other) = (link.join(), link.join());
    link.ticks(4);
    let before = link.client(conn).bytes;
    link.ticks(4);
    link.edit(|room| room.set_status(PlayerId(1), "").expect("it is short"));
    link.drop_link(other);
    let other = link.rejoin(other);
    link.tick();
    assert!(link.client(other).is_joined());
    assert_eq!(link.client(conn).bytes, before, "she dropped and was back before the next send");
}

/// A game whose schema has no presence.
#[derive(Default)]
pub(crate) struct Alone {
    pub(crate) asked: bool,
}

impl Game for Alone {
    type Event = String;
    type Scratch = ();

    fn schema() -> Schema {
        Schema::new().without_presence().entity::<Seat>()
    }

    fn on_status(&mut self, _: &mut Room<Self>, _: PlayerId, status: String) -> Option<String> {
        self.asked = true;
        Some(status)
    }
}

#[test]
fn a_game_without_presence_tells_of_nobody() {
    let mut room = TestRoom::new(Alone::default());
    let (ada, _bo) = (room.join("Ada"), room.join("Bo"));
    assert!(ada.presences().is_empty() && ada.presence(PlayerId(2)).is_none());
    assert_eq!(room.room().entities(), 0);
    assert_eq!(room.room().presences().count(), 0);
    assert_eq!(room.edit(|_, room| room.set_status(PlayerId(1), "here")), Err(StatusError::Off));
    assert_eq!(ada.set_status("here"), Err(SendError::NoPresence));
    let (raw, plain) = ada.received();
    assert!(![raw, plain].iter().any(|bytes| bytes.windows(2).any(|two| two == b"Bo")));
}

struct Teams;

impl Interest<Lounge> for Teams {
    fn keys(&self, room: RoomRef<'_, Lounge>, entity: EntityRef<'_>, keys: &mut Keys) {
        if let Some(presence) = entity.get::<Presence>() {
            assert_eq!(entity.owner(), Some(presence.player));
            keys.add(room.game.team(presence.player));
        }
    }

    fn subscriptions(&self, room: RoomRef<'_, Lounge>, conn: &Connection<Lounge>, keys: &mut Keys) {
        keys.add(room.game.team(conn.player()));
    }
}

#[test]
fn a_game_scopes_presence_by_team() {
    let game = Lounge { teams: vec![1, 2, 1], ..Lounge::seeing(|| custom(Teams).presence_by_interest()) };
    let mut room = TestRoom::new(game);
    let (ada, bo, cy) = (room.join("Ada"), room.join("Bo"), room.join("Cy"));
    assert_eq!(names(&ada), ["Ada", "Cy"]);
    assert_eq!(names(&bo), ["Bo"]);

    room.edit(|game, room| {
        game.teams = vec![1, 2, 2];
        let id = room.presence_id(PlayerId(3)).expect("she is in the room");
        room.rekey(id);
    });
    room.advance(1);
    assert_eq!(names(&ada), ["Ada"]);
    assert_eq!(names(&bo), ["Bo", "Cy"]);
    assert_eq!(names(&cy), ["Bo", "Cy"]);
    assert_eq!(room.room().presences().count(), 3);
}

#[test]
fn a_grid_and_sees_scope_presence_like_any_kind() {
    let interest = || {
        let grid =
            grid(10.0).dims(Xy).kind(|seat: &Seat| [seat.at, 0.0]).kind(|_: &Presence| None::<[f32; 2]>);
        let part =
            grid.around(|_, _| [0.0f32, 0.0]).range(5.0).sees(|room: RoomRef<'_, Lounge>, conn, entity| {
                entity
                    .get::<Presence>()
                    .is_none_or(|p| room.game.team(p.player) == room.game.team(conn.player()))
            });
        part.presence_by_interest()
    };
    let mut room = TestRoom::new(Lounge { teams: vec![1, 2, 1], ..Lounge::seeing(interest) });
    let (ada, bo, _cy) = (room.join("Ada"), room.join("Bo"), room.join("Cy"));
    assert!(!room.logs().iter().any(|log| matches!(log, Log::UnseenKind { .. })));
    assert_eq!(names(&ada), ["Ada", "Cy"]);
    assert_eq!(names(&bo), ["Bo"]);
}

#[test]
fn presence_that_no_part_of_an_interest_shows_is_logged() {
    let seats = || grid(10.0).dims(Xy).kind(|seat: &Seat| [seat.at, 0.0]).around(|_, _| [0.0f32, 0.0]);
    let unseen = |room: &mut TestRoom<Lounge>| {
        let logs = room.logs();
        logs.iter().any(|log| matches!(log, Log::UnseenKind { kind: "room_presence" }))
    };
    let mut room = TestRoom::new(Lounge::seeing(move || seats().presence_by_interest()));
    let ada = room.join("Ada");
    assert!(unseen(&mut room));
    assert!(ada.presences().is_empty());

    // Without a word of it, everyone sees it whatever the parts place.
    let mut room = TestRoom::new(Lounge::seeing(move || seats().into()));
    let ada = room.join("Ada");
    assert!(!unseen(&mut room));
    assert_eq!(names(&ada), ["Ada"]);
}

#[test]
fn presence_that_all_see_is_outside_limits_and_no_question_to_the_game() {
    let limited = || {
        Visibility::everything().limit(1, |_: RoomRef<'_, Lounge>, _: &_, entity: EntityRef<'_>| {
            assert!(!entity.is::<Presence>(), "the game is not asked");
            0.0
        })
    };
    let mut room = TestRoom::new(Lounge::seeing(limited));
    let clients: Vec<_> = (0..5).map(|number| room.join(&format!("player {number}"))).collect();
    for client in &clients {
        assert_eq!(client.presences().len(), 5);
        assert_eq!(client.view::<Seat>().len(), 2, "her own, and one by the limit");
    }

    let limited = || {
        Visibility::everything()
            .limit(2, |_, _, entity| f64::from(entity.is::<Presence>()))
            .presence_by_interest()
    };
    let mut room = TestRoom::new(Lounge::seeing(limited));
    let clients: Vec<_> = (0..5).map(|number| room.join(&format!("player {number}"))).collect();
    let last = clients.last().expect("she joined");
    assert_eq!(last.presences().len(), 3, "her own, and two by the limit");
}

#[test]
fn a_budget_holds_presence_back_and_not_for_ever() {
    let mut room = TestRoom::new(Lounge::seeing(|| Visibility::everything().budget(2000)));
    for number in 0..15 {
        room.join(&format!("player {number} {}", "x".repeat(200)));
    }
    let ada = room.join("Ada");
    assert!(ada.presences().len() < 16);
    room.advance(60);
    assert_eq!(ada.presences().len(), 16);
}
