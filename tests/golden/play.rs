//! What players do, and what a room says of it.

use room::prelude::*;
use room::wire::message::{ClientMessage, Report, RoomMessage, WriteEntry};

use super::chapter;

pub(crate) const STEPPED: RoomMessage<'_> = RoomMessage::Stepped { tick: Tick(300), writes: 7 };
pub(crate) const PACED: RoomMessage<'_> =
    RoomMessage::Pong { clock: 300, time: 7500, inputs: Report { early: Some(1), late: 2, starved: 3 } };

pub(crate) fn inputs() -> ClientMessage<'static> {
    let walks: &[u8] = &[0x81, 0xa1, b'x', 1];
    ClientMessage::Inputs { first: Tick(300), inputs: vec![walks, &[0x80]] }
}

pub(crate) fn writes() -> ClientMessage<'static> {
    let id = EntityId::from_wire(300).unwrap();
    let entries = vec![WriteEntry { kind: 2, id, fields: &[0b0000_0101, 7, 0x22, 0x11] }];
    ClientMessage::Writes { number: 9, entries }
}

#[test]
fn what_players_do_reads_as_the_chapter_says() {
    let vectors = chapter::vectors();
    let client = |name| ClientMessage::decode(&vectors[name]).unwrap();
    assert_eq!((client("input"), client("write")), (inputs(), writes()));
    let room = |name| RoomMessage::decode(&vectors[name]).unwrap();
    assert_eq!((room("stepped"), room("pong-inputs")), (STEPPED, PACED));
    let inputs = Report::default();
    assert_eq!(room("pong"), RoomMessage::Pong { clock: 300, time: 7500, inputs });
}
