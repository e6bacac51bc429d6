//! Interest by custom keys: each team sees its own units and what is neutral, and nothing of the other team.
//!
//! `cargo run --example teams` runs a server and four clients in one process and prints who sees what.

use std::error::Error;
use std::time::{Duration, Instant};

use room::prelude::*;
use room::server::Server;

/// Something on the map; a unit without a team is everyone's to see.
#[derive(Entity, Clone, Debug)]
struct Unit {
    name: String,
    team: String,
}

struct Teams;

impl Game for Teams {
    type Event = ();
    type Scratch = ();

    fn schema() -> Schema {
        Schema::new().entity::<Unit>()
    }

    fn interest(&self) -> Visibility<Self> {
        custom(ByTeam).into()
    }

    fn on_create(&mut self, room: &mut Room<Self>) {
        for (name, team) in [("castle", ""), ("archer", "red"), ("tower", "red"), ("knight", "blue")] {
            room.create(Unit { name: name.to_owned(), team: team.to_owned() }).expect("IDs do not run out");
        }
    }
}

struct ByTeam;

impl Interest<Teams> for ByTeam {
    fn keys(&self, _room: RoomRef<'_, Teams>, entity: EntityRef<'_>, keys: &mut Keys) {
        if let Some(unit) = entity.get::<Unit>() {
            keys.add(unit.team.as_str());
        }
    }

    fn subscriptions(&self, _room: RoomRef<'_, Teams>, conn: &Connection<Teams>, keys: &mut Keys) {
        keys.add("");
        // A real game asks its `authenticate` hook for the team; here it follows the name: "Ada of red".
        keys.add(conn.name().rsplit(' ').next().unwrap_or_default());
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = Server::new(|_: &str| Teams).port(0).start().await?;
    let url = server.url("valley");
    for name in ["Ada of red", "Bob of red", "Cleo of blue", "Dan, who watches"] {
        let mut client = room_client::connect(&url, Teams::schema()).name(name).await?;
        while client.all::<Unit>().count() == 0 {
            client.update(Instant::now());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let seen: Vec<&str> = client.all::<Unit>().map(|(_, unit)| unit.name.as_str()).collect();
        println!("{name} sees {}", seen.join(", "));
        client.leave().await;
    }
    server.shutdown().await;
    Ok(())
}
