//! The vectors of presence, from a room that has nothing else.

use std::collections::BTreeMap;
use std::time::Duration;

use room::prelude::*;
use room::runtime::{Closed, Identity, Join, Outgoing, Runtime, Settings};
use room::session::Hello;
use room::wire::message::ClientMessage;
use room_client::Replica;

use super::chapter;
use super::{CONNS, TOKENS, apply, encoded, hello};

struct Lobby;

impl Game for Lobby {
    type Event = ();
    type Scratch = ();

    fn schema() -> Schema {
        Schema::new()
    }
}

const AWAY: ClientMessage<'_> = ClientMessage::Status { gap: 1, text: "away" };

/// Two players join; the first says something of herself, and drops. Updates are those of the second.
pub(crate) fn vectors() -> BTreeMap<&'static str, Vec<u8>> {
    let mut runtime = Runtime::new(Lobby, Settings::default(), [7; 32]).unwrap();
    let mut now = Duration::ZERO;
    for (conn, (name, token)) in CONNS.into_iter().zip(["Ada", "Bo"].into_iter().zip(TOKENS)) {
        let hello = Hello { name: name.into(), schema_hash: Lobby::schema().hash(), ..hello() };
        runtime.handle_open(conn, now, Join { hello, identity: Identity::guest(), token });
    }
    let mut updates = Vec::new();
    let mut tick = |runtime: &mut Runtime<Lobby>| {
        now += Duration::from_millis(50);
        runtime.tick(now);
        while let Some(transmit) = runtime.poll_transmit() {
            match transmit.outgoing {
                Outgoing::Message(bytes) if transmit.conn == CONNS[1] && bytes[0] == 0x82 => {
                    updates.push(bytes.to_vec());
                }
                _ => {}
            }
        }
    };
    tick(&mut runtime);
    runtime.handle_message(CONNS[0], Duration::ZERO, &encoded(&AWAY));
    tick(&mut runtime);
    runtime.handle_close(CONNS[0], Duration::ZERO, Closed::Broken);
    tick(&mut runtime);
    let mut named = BTreeMap::from([("status", encoded(&AWAY))]);
    named.extend(["update-presence", "update-status", "update-held"].into_iter().zip(updates));
    named
}

#[test]
fn presence_reads_as_the_chapter_says() {
    assert_eq!(chapter::text("presence-schema"), Lobby::schema().text(true));
    assert_eq!(ClientMessage::decode(&chapter::vectors()["status"]), Ok(AWAY));
    let mut replica = Replica::new(&Lobby::schema());
    let ada = |replica: &Replica| replica.presence(PlayerId(1)).cloned().unwrap();
    apply(&mut replica, "update-presence");
    let names: Vec<_> = replica.presences().iter().map(|presence| presence.name.clone()).collect();
    assert_eq!(names, ["Ada", "Bo"]);
    assert_eq!((ada(&replica).connections, ada(&replica).held()), (1, None));
    apply(&mut replica, "update-status");
    assert_eq!(ada(&replica).status, "away");
    apply(&mut replica, "update-held");
    assert_eq!((ada(&replica).connections, ada(&replica).held()), (0, Some(Tick(603))));
}
