//! The code of the book and of the README, for the compiler: `cargo test --doc -p room-workspace` builds and runs it.

// The chapters are there for their tests alone, so that `cargo doc` does not hold them for this crate's pages.
macro_rules! chapters {
    ($($name:ident: $file:literal),* $(,)?) => { $(
        #[cfg(doctest)]
        #[doc = include_str!($file)]
        mod $name {}
    )* };
}

chapters! {
    readme: "../README.md",
    quick_start: "src/quick-start.md",
    entities: "src/entities.md",
    interest: "src/interest.md",
    interest_in_depth: "src/interest-in-depth.md",
    costs: "src/costs.md",
    tuning: "src/tuning.md",
    secrets: "src/secrets.md",
    server: "src/server.md",
    rooms: "src/rooms.md",
    client: "src/client.md",
    interpolation: "src/interpolation.md",
    browser: "src/browser.md",
    sessions: "src/sessions.md",
    presence: "src/presence.md",
    prediction: "src/prediction.md",
    ownership: "src/ownership.md",
    lag_compensation: "src/lag-compensation.md",
    exactly_once: "src/exactly-once.md",
    durability: "src/durability.md",
    schema_changes: "src/schema-changes.md",
    outside: "src/outside.md",
    testing: "src/testing.md",
    limits: "src/limits.md",
    wire: "src/wire.md",
}
