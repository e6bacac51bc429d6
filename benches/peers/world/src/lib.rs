//! What all peers have in common: the worlds, their moves, who must see what, and how a run is measured.
//!
//! A peer implements [`Peer`] and calls [`main`]. Everything that decides about work stands here, so that no peer
//! gets another world than the others.

mod motion;
mod report;
mod rng;
mod run;
mod script;
mod spec;
pub mod terrain;
mod views;

pub use motion::World;
pub use report::{Report, peak_rss_mb, stop_with};
pub use rng::Rng;
pub use run::{Options, Peer, Sent, main, measure, sample};
pub use script::write_script;
pub use spec::{Motion, Sees, Spec, WORKLOADS};
pub use views::{Delta, Views, naive};
