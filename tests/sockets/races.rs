//! Very many who want the last seats at the same moment.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use room::server::{Server, ServerHandle};
use tokio::sync::{Mutex, Semaphore};

use crate::common::raw::{Request, hello};
use crate::rooms::{Guest, Lounge, lounges, schema};

/// What became of all who raced.
#[derive(Debug, Default)]
struct Outcome {
    /// The seated, by room.
    seated: BTreeMap<String, usize>,
    /// The others, by close code.
    refused: BTreeMap<u16, usize>,
}

/// So many race for what is behind a URL, as many at a time as there may be descriptors. Who is seated stays.
async fn race(url: &str, racers: usize, at_a_time: usize) -> (Outcome, Vec<Guest>) {
    let outcome = Arc::new(Mutex::new((Outcome::default(), Vec::new())));
    let places = Arc::new(Semaphore::new(at_a_time));
    let mut tasks = Vec::new();
    for racer in 0..racers {
        let (url, outcome, places) = (url.to_owned(), outcome.clone(), places.clone());
        tasks.push(tokio::spawn(async move {
            let place = places.acquire_owned().await.expect("it is never closed");
            // From several addresses, for one has only so many ports.
            let request = Request::new(&url).from([127, 0, 0, 1 + (racer % 50) as u8]);
            let knocked = Guest::knock(request, hello(&schema())).await;
            let mut outcome = outcome.lock().await;
            match knocked {
                Ok(guest) => {
                    *outcome.0.seated.entry(guest.room.clone()).or_default() += 1;
                    outcome.1.push(guest);
                }
                Err((code, _)) => *outcome.0.refused.entry(code).or_default() += 1,
            }
            drop(place);
        }));
    }
    for task in tasks {
        task.await.expect("an answer");
    }
    let mut outcome = outcome.lock().await;
    std::mem::take(&mut *outcome)
}

/// A server that has places at its door for so many sockets at a time, twice that.
fn busy(at_a_time: usize) -> Server<Lounge> {
    lounges().max_players(at_a_time).hello_seconds(60)
}

/// Ten are in the room, which has 110 seats. So many race for the hundred that are left.
async fn for_the_last_seats(
    racers: usize,
    at_a_time: usize,
    url: impl AsyncFn(&ServerHandle<Lounge>) -> String,
) {
    let server = busy(at_a_time).max_rooms(1).start().await.expect("a server");
    let mut early = vec![Guest::at(&server.url_by_kind("stadium")).await];
    let room = early[0].room.clone();
    for _ in 1..10 {
        early.push(Guest::at(&server.url(&room)).await);
    }
    let url = url(&server).await;
    let began = Instant::now();
    let (outcome, guests) = race(&url, racers, at_a_time).await;
    println!("{racers} for 100 seats at {url}: {outcome:?} in {:?}", began.elapsed());
    assert_eq!(outcome.seated, BTreeMap::from([(room.clone(), 100)]), "{:?}", outcome.refused);
    let code = if url.contains("/any/") { 1013 } else { 4004 };
    assert_eq!(outcome.refused, BTreeMap::from([(code, racers - 100)]));
    assert_eq!(server.stats(&room).await.expect("the room").sessions, 110);
    let players = server.inspect(&room, |_, room| room.players()).await;
    assert_eq!((players, server.rooms().len()), (Some(110), 1));
    drop((early, guests));
    server.shutdown().await;
}

async fn each_way(racers: usize, at_a_time: usize) {
    for_the_last_seats(racers, at_a_time, async |server| server.url(&server.rooms()[0])).await;
    let by_code = async |server: &ServerHandle<Lounge>| {
        server.url_by_code(&server.label(&server.rooms()[0]).await.expect("it runs").code)
    };
    for_the_last_seats(racers, at_a_time, by_code).await;
    for_the_last_seats(racers, at_a_time, async |server| server.url_by_kind("stadium")).await;
}

/// Where there is place for more rooms everybody is seated, and no room has more than its seats.
async fn for_as_many_rooms_as_it_takes(racers: usize, at_a_time: usize) {
    let server = busy(at_a_time).start().await.expect("a server");
    let began = Instant::now();
    let (outcome, guests) = race(&server.url_by_kind("booth"), racers, at_a_time).await;
    let (rooms, refused) = (outcome.seated.len(), outcome.refused);
    println!("{racers} for any room: {rooms} rooms, {refused:?} refused, in {:?}", began.elapsed());
    assert_eq!((guests.len(), refused.len()), (racers, 0));
    assert!(outcome.seated.values().all(|seated| *seated <= 20), "{:?}", outcome.seated);
    assert_eq!(rooms, server.rooms().len(), "no room was made for nobody");
    assert!(rooms <= racers / 20 * 3 / 2, "rooms are filled: {:?}", outcome.seated);
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_six_hundred_for_a_hundred_seats_a_hundred_are_seated_whichever_way_they_come() {
    each_way(600, 200).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everybody_who_wants_any_room_is_seated_in_as_few_as_it_takes() {
    for_as_many_rooms_as_it_takes(400, 100).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "ten thousand sockets each; for a release build, with 20,000 file descriptors"]
async fn of_ten_thousand_for_a_hundred_seats_a_hundred_are_seated_whichever_way_they_come() {
    each_way(10_000, 4000).await;
    for_as_many_rooms_as_it_takes(4000, 1000).await;
}
