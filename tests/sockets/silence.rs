//! Sockets that say nothing, and sockets that take nothing.

use std::time::{Duration, Instant};

use room::Dropped;
use room::server::Server;
use room::wire::message::ClientMessage;
use tokio::time::{sleep, timeout};

use crate::common::raw::{CLOSE, PATIENCE, PING, PONG, Raw};
use crate::common::stage::{Beside, ROOM, Stage, server};
use crate::event;

/// A server whose seconds are hundredths.
fn quick() -> Server<Stage> {
    server().hold_seconds(30).rhythm(Duration::from_millis(50), Duration::from_millis(400))
}

/// How those who were dropped were.
async fn drops(beside: &Beside) -> Vec<Dropped> {
    beside.server.inspect(ROOM, |game, _| game.dropped.clone()).await.expect("the room")
}

#[tokio::test]
async fn who_says_nothing_is_pinged_and_then_ended_without_a_close_frame() {
    let beside = Beside::new(quick()).await;
    let mut raw = Raw::joined::<Stage>(&beside.url).await;
    let began = Instant::now();
    let mut pings = 0;
    while let Some((opcode, _)) = raw.next().await {
        assert_ne!(opcode, CLOSE);
        pings += usize::from(opcode == PING);
    }
    let lasted = began.elapsed();
    assert!((5..=9).contains(&pings), "{pings}");
    assert!((0.3..2.0).contains(&lasted.as_secs_f64()), "{lasted:?}");
    sleep(Duration::from_millis(200)).await;
    assert_eq!(drops(&beside).await, [Dropped::Silent]);
}

#[tokio::test]
async fn who_answers_pings_or_says_anything_stays() {
    let beside = Beside::new(quick()).await;
    let end = Instant::now() + Duration::from_millis(1500);
    let mut answers = Raw::joined::<Stage>(&beside.url).await;
    let answering = async {
        let mut pings = 0;
        while Instant::now() < end {
            let (opcode, payload) = answers.next().await.expect("it stays open");
            if opcode == PING {
                answers.frame(true, PONG, &payload).await;
                pings += 1;
            }
        }
        assert!(pings > 10, "{pings}");
    };
    let mut talks = Raw::joined::<Stage>(&beside.url).await;
    let talking = async {
        let mut message = Vec::new();
        ClientMessage::Ping(7).encode(&mut message);
        while Instant::now() < end {
            talks.send(&message).await;
            sleep(Duration::from_millis(100)).await;
        }
        // Everything that has come until now, and no end.
        while let Ok(next) = timeout(Duration::from_millis(20), talks.next()).await {
            assert!(next.is_some_and(|(opcode, _)| opcode != CLOSE));
        }
    };
    // A large message that comes slowly is something, too.
    let mut drips = Raw::joined::<Stage>(&beside.url).await;
    let dripping = async {
        drips.bytes(&[0x82, 0xfe, 0x40, 0, 0, 0, 0, 0]).await;
        while Instant::now() < end {
            drips.bytes(&[0]).await;
            sleep(Duration::from_millis(100)).await;
        }
        while let Ok(next) = timeout(Duration::from_millis(20), drips.next()).await {
            assert!(next.is_some_and(|(opcode, _)| opcode != CLOSE));
        }
    };
    tokio::join!(answering, talking, dripping);
    assert_eq!(drops(&beside).await, []);
}

#[tokio::test]
async fn who_takes_nothing_of_what_may_be_lost_has_fallen_behind() {
    let beside = Beside::new(server().hold_seconds(30)).await;
    let mut raw = Raw::joined::<Stage>(&beside.url).await;
    raw.send(&event("flood")).await;
    let deadline = Instant::now() + PATIENCE;
    while drops(&beside).await != [Dropped::FellBehind] {
        assert!(Instant::now() < deadline, "{:?}", drops(&beside).await);
        sleep(Duration::from_millis(20)).await;
    }
    while let Some((opcode, _)) = raw.next().await {
        assert_ne!(opcode, CLOSE, "it would not read it");
    }
}

#[tokio::test]
async fn a_session_with_too_many_events_to_come_is_ended_without_a_close_frame() {
    let mut beside = Beside::new(server().hold_seconds(30)).await;
    let mut raw = Raw::joined::<Stage>(&beside.url).await;
    raw.send(&event("pile")).await;
    while let Some((opcode, _)) = raw.next().await {
        assert_ne!(opcode, CLOSE);
    }
    beside.unchanged().await;
}

#[tokio::test]
async fn pings_of_who_reads_nothing_pile_up_nowhere() {
    let mut beside = Beside::new(server()).await;
    let many = [&[0x89, 0x80 | 125, 0, 0, 0, 0][..], &[7; 125]].concat().repeat(1000);
    for joined in [false, true] {
        let mut raw =
            if joined { Raw::joined::<Stage>(&beside.url).await } else { Raw::open(&beside.url).await };
        for _ in 0..100 {
            raw.bytes(&many).await;
        }
        let mut pongs = 0;
        while let Ok(Some((opcode, _))) = timeout(Duration::from_millis(300), raw.next()).await {
            pongs += usize::from(opcode == PONG);
        }
        // What the kernels of both sides hold, and one.
        assert!((1..20_000).contains(&pongs), "joined {joined}: {pongs} of 100,000");
        drop(raw);
        beside.unchanged().await;
    }
}
