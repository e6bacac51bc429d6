//! Frames that no good client sends.

use std::time::Duration;

use crate::common::raw::{BINARY, CLOSE, PING, PONG, Raw, Request, hello, hello_message};
use crate::common::stage::{Beside, Stage, server};
use crate::{event, mistake};
use room::prelude::*;
use room::session::Hello;
use tokio::time::sleep;

#[tokio::test]
async fn a_frame_without_a_mask_is_4000() {
    mistake(4000, "mask", async |raw| raw.bytes(&[0x82, 2, 2, 0xc0]).await).await;
    mistake(4000, "mask", async |raw| raw.bytes(&[0x89, 0]).await).await;
}

#[tokio::test]
async fn a_length_that_no_machine_holds_is_1009() {
    for length in [u64::MAX, 1 << 63, (1 << 63) - 1, 32 * 1024 + 1] {
        mistake(1009, "32 KiB", async |raw| {
            let mut head = vec![0x82, 0xff];
            head.extend(length.to_be_bytes());
            head.extend([1, 2, 3, 4]);
            raw.bytes(&head).await;
        })
        .await;
    }
}

#[tokio::test]
async fn a_message_of_32_kib_is_read_and_one_byte_more_is_not() {
    mistake(4000, "", async |raw| raw.send(&vec![0x7f; 32 * 1024]).await).await;
    mistake(1009, "32 KiB", async |raw| raw.send(&vec![0x7f; 32 * 1024 + 1]).await).await;
}

#[tokio::test]
async fn a_control_frame_that_is_long_or_fragmented_is_4000() {
    for opcode in [CLOSE, PING, PONG] {
        mistake(4000, "", async |raw| raw.frame(true, opcode, &[0; 126]).await).await;
        mistake(4000, "", async |raw| raw.frame(false, opcode, &[]).await).await;
    }
    mistake(4000, "", async |raw| raw.frame(true, 3, &[]).await).await;
    mistake(4000, "", async |raw| raw.frame(true, 11, &[]).await).await;
}

#[tokio::test]
async fn a_socket_that_ends_in_the_middle_of_a_frame_leaves_the_room() {
    let mut beside = Beside::new(server()).await;
    for part in [&[0x82][..], &[0x82, 0xfe], &[0x82, 0xfe, 1, 0, 1, 2], &[0x82, 0x90, 1, 2, 3, 4, 5]] {
        let mut raw = Raw::joined::<Stage>(&beside.url).await;
        raw.bytes(part).await;
        drop(raw);
        beside.unchanged().await;
        let mut raw = Raw::open(&beside.url).await;
        raw.bytes(part).await;
        drop(raw);
        beside.unchanged().await;
    }
}

#[tokio::test]
async fn a_hello_byte_by_byte_or_right_behind_the_request_gets_in() {
    let mut beside = Beside::new(server()).await;
    let message = hello_message(hello(&Stage::schema()));
    let mut frame = vec![0x82, 0x80 | message.len() as u8, 0, 0, 0, 0];
    assert!(message.len() < 126);
    frame.extend(&message);
    let mut raw = Raw::open(&beside.url).await;
    for byte in &frame {
        raw.bytes(&[*byte]).await;
        sleep(Duration::from_millis(2)).await;
    }
    assert_eq!(raw.message().await[0], 0x81);
    drop(raw);
    let mut raw = Request::new(&beside.url).followed_by(&frame).open().await.expect("a socket");
    assert_eq!(raw.message().await[0], 0x81);
    drop(raw);
    beside.unchanged().await;
}

#[tokio::test]
async fn a_flood_of_pings_is_answered_in_order_up_to_the_last() {
    let mut beside = Beside::new(server()).await;
    let mut raw = Raw::joined::<Stage>(&beside.url).await;
    raw.next().await;
    for turn in 0..2000u32 {
        raw.frame(true, PING, &turn.to_be_bytes()).await;
    }
    // Of those that waited together the last stands for all.
    let mut due = 0u32;
    while due < 2000 {
        match raw.next().await {
            Some((PONG, payload)) => {
                let answered = u32::from_be_bytes(payload.try_into().expect("as it was sent"));
                assert!(answered >= due);
                due = answered + 1;
            }
            Some((BINARY, _)) => {}
            other => panic!("{other:?}"),
        }
    }
    drop(raw);
    beside.unchanged().await;
}

#[tokio::test]
async fn a_players_name_may_be_anything_of_256_bytes() {
    let mut beside = Beside::new(server()).await;
    let long = "ä".repeat(128);
    for name in ["", "two\nlines\x1b[31m", "\0", "🦀🦀", "\u{202e}", &long] {
        let mut raw = Raw::open(&beside.url).await;
        let hello = Hello { name: name.to_owned(), ..hello(&Stage::schema()) };
        raw.send(&hello_message(hello)).await;
        assert_eq!(raw.message().await[0], 0x81, "{name:?}");
        assert!(beside.avatars().await.contains(&name.to_owned()));
        drop(raw);
        beside.unchanged().await;
    }
    // `encode` would not write one that is too long, or not UTF-8.
    for name in [vec![b'n'; 257], vec![0xff; 4]] {
        let mut raw = Raw::open(&beside.url).await;
        let mut message = hello_message(Hello { name: String::new(), ..hello(&Stage::schema()) });
        // Without the name, the auth and the word that it resumes nothing.
        message.truncate(message.len() - 3);
        if name.len() > 127 {
            message.push(name.len() as u8 & 0x7f | 0x80);
            message.push((name.len() >> 7) as u8);
        } else {
            message.push(name.len() as u8);
        }
        message.extend(name);
        message.extend([0, 0]);
        raw.send(&message).await;
        assert_eq!(raw.closed().await.0, 4000);
    }
    let mut raw = Raw::joined::<Stage>(&beside.url).await;
    raw.send(&event("nothing")).await;
    drop(raw);
    beside.unchanged().await;
}
