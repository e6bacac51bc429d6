//! What is drawn, against what was.

mod link;

mod town;
mod truth;
