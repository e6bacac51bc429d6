//! Having what the next viewers need in the caches by the time that it is needed.

use super::Viewer;
use crate::sync::budget::Bucket;

impl Viewer {
    /// Reads a little of what [`update`](Self::update) will of the next viewers, all over it, so that it is in the
    /// caches by then: fetched together, and not one after the other as each is needed. Of the nearest of them the
    /// lists, of the next its parts, of the farthest no more than where these are: where one lies is known by then.
    pub fn warm([far, next, near]: [Option<&Viewer>; 3]) {
        let own = |viewer: &Viewer| {
            let Viewer { look, window, behind, held, parts, bucket, .. } = viewer;
            let flags = usize::from(*look) ^ usize::from(behind.is_some()) ^ parts.len();
            flags ^ window.bytes() ^ held.len() ^ usize::from(*bucket == Bucket::default())
        };
        let parts = |viewer: &Viewer| viewer.parts.iter().fold(0, |sum, part| sum ^ part.warm());
        let lists = |viewer: &Viewer| viewer.parts.iter().fold(0, |sum, part| sum ^ part.warm_lists());
        std::hint::black_box(far.map_or(0, own) ^ next.map_or(0, parts) ^ near.map_or(0, lists));
    }
}
