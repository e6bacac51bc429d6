//! The join burst.

use std::time::{Duration, Instant};

use bevy::prelude::*;
use bevy_replicon::prelude::*;
use bevy_replicon::server::visibility::client_visibility::ClientVisibility;
use bevy_replicon::shared::backend::channels::ServerChannel;
use serde::{Deserialize, Serialize};
use serde_json::json;
use world::terrain::{CONNECTIONS, chunks};
use world::{peak_rss_mb, sample, stop_with};

use crate::server::{InView, Times, app, serve};
use crate::{PACKET, client};

#[derive(Component, Clone, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Blocks {
    at: [i16; 3],
    blocks: Vec<u8>,
}

/// Measures it and prints one line.
pub fn burst() {
    let register = |app: &mut App| {
        app.replicate::<Blocks>();
    };
    let mut server = app(register);
    serve(&mut server);
    let InView(bit) = *server.world().resource::<InView>();
    let mut should: Vec<Blocks> = chunks()
        .into_iter()
        .map(|chunk| Blocks { at: chunk.at.map(|c| c as i16), blocks: chunk.blocks })
        .collect();
    let world = server.world_mut();
    let entities: Vec<Entity> =
        should.iter().map(|blocks| world.spawn((Replicated, blocks.clone())).id()).collect();
    let connections: Vec<Entity> =
        (0..CONNECTIONS).map(|_| world.spawn(ConnectedClient { max_size: PACKET }).id()).collect();
    for connection in &connections {
        let mut visibility = world.get_mut::<ClientVisibility>(*connection).expect("it has one");
        entities.iter().for_each(|entity| visibility.set(*entity, bit, false));
    }
    server.update();
    server.world_mut().resource_mut::<ServerMessages>().drain_sent().for_each(drop);

    let start = Instant::now();
    for connection in &connections {
        let mut visibility = server.world_mut().get_mut::<ClientVisibility>(*connection).expect("it has one");
        entities.iter().for_each(|entity| visibility.set(*entity, bit, true));
    }
    let shown = start.elapsed();
    server.update();
    let took: Duration = shown + server.world().resource::<Times>().send();
    let sent: Vec<_> = server.world_mut().resource_mut::<ServerMessages>().drain_sent().collect();
    let bytes: usize = sent.iter().map(|(_, _, message)| message.len()).sum();

    should.sort();
    let sampled = sample(CONNECTIONS);
    for connection in &sampled {
        let mut client = client(register);
        for (whose, channel, message) in &sent {
            if *whose == connections[*connection] {
                assert_eq!(*channel, usize::from(ServerChannel::Updates));
                client
                    .world_mut()
                    .resource_mut::<ClientMessages>()
                    .insert_received(*channel, message.clone());
            }
        }
        client.update();
        let mut blocks = client.world_mut().query_filtered::<&Blocks, With<Remote>>();
        let mut held: Vec<Blocks> = blocks.iter(client.world()).cloned().collect();
        held.sort();
        if held != should {
            stop_with(&format!("connection {connection} does not hold the chunks that it should"));
        }
    }
    println!(
        "{}",
        json!({
            "tick_us": took.as_secs_f64() * 1e6,
            "tick_p99_us": took.as_secs_f64() * 1e6,
            "bytes_per_client": bytes as f64 / CONNECTIONS as f64,
            "rss_mb": peak_rss_mb(),
            "checked": sampled.len(),
            "visible": should.len(),
            "crossings": should.len(),
            "ticks": 1,
            "settings": "nothing is compressed: replicon leaves that to the transport",
        })
    );
}
