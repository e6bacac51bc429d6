//! Stores of rooms: what is kept, whatever happens to the process, the disk and the file.

#[path = "store/copies.rs"]
mod copies;
#[path = "store/damage.rs"]
mod damage;
#[path = "store/durable.rs"]
mod durable;
#[path = "store/full.rs"]
mod full;
#[path = "store/kit.rs"]
mod kit;
#[path = "store/measure.rs"]
mod measure;
#[path = "store/model.rs"]
mod model;
#[cfg(unix)]
#[path = "store/process.rs"]
mod process;
#[path = "store/rules.rs"]
mod rules;
#[path = "store/trim.rs"]
mod trim;
