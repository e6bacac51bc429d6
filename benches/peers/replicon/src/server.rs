//! A server, with the times at which replicon's part of a tick begins and ends.

use std::time::{Duration, Instant};

use bevy::prelude::*;
use bevy::state::app::StatesPlugin;
use bevy_replicon::prelude::*;
use bevy_replicon::server::visibility::filters_mask::FilterBit;
use bevy_replicon::server::visibility::registry::FilterRegistry;
use bevy_replicon::shared::replication::registry::ReplicationRegistry;

/// When the parts of the last tick began and ended.
#[derive(Resource)]
pub struct Times {
    receive: [Instant; 2],
    send: [Instant; 2],
}

impl Times {
    /// Reading acknowledgements.
    pub fn receive(&self) -> Duration {
        self.receive[1] - self.receive[0]
    }

    /// From what changed to messages.
    pub fn send(&self) -> Duration {
        self.send[1] - self.send[0]
    }
}

/// The visibility that the game sets by hand.
#[derive(Resource, Clone, Copy)]
pub struct InView(pub FilterBit);

/// An app as both ends have it; clients need the same rules.
pub fn app(register: impl Fn(&mut App)) -> App {
    let mut app = App::new();
    app.add_plugins((
        MinimalPlugins,
        StatesPlugin,
        RepliconPlugins
            .set(ServerPlugin::new(PostUpdate))
            .set(RepliconSharedPlugin { auth_method: AuthMethod::None }),
    ));
    register(&mut app);
    app.finish();
    app.cleanup();
    app
}

/// Makes an app the server.
pub fn serve(app: &mut App) {
    let now = Instant::now();
    app.insert_resource(Times { receive: [now; 2], send: [now; 2] });
    let note = |part: fn(&mut Times) -> &mut Instant| {
        move |mut times: ResMut<'_, Times>| *part(&mut times) = Instant::now()
    };
    app.add_systems(
        PreUpdate,
        (
            note(|times| &mut times.receive[0]).before(ServerSystems::ReceivePackets),
            note(|times| &mut times.receive[1]).after(ServerSystems::Receive),
        ),
    );
    app.add_systems(
        PostUpdate,
        (
            note(|times| &mut times.send[0]).before(ServerSystems::IncrementTick),
            note(|times| &mut times.send[1]).after(ServerSystems::SendPackets),
        ),
    );
    let bit = app.world_mut().resource_scope(|world, mut filters: Mut<'_, FilterRegistry>| {
        world.resource_scope(|world, mut registry: Mut<'_, ReplicationRegistry>| {
            filters.register_scope::<Entity>(world, &mut registry, ScopeLifetime::WhileVisible)
        })
    });
    app.insert_resource(InView(bit));
    app.world_mut().resource_mut::<NextState<ServerState>>().set(ServerState::Running);
    app.update();
}
