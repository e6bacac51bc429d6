//! What is drawn, against what was.

mod figures;
mod link;
mod mistakes;
mod scenes;
mod states;
mod town;
mod truth;
