//! What links do to those who use them.

use super::net::FAST;
use super::run::Sim;

impl Sim {
    /// A step's faults.
    pub(crate) fn weather(&mut self) {
        if self.plan.weather == 0 {
            return;
        }
        let ids: Vec<u64> = self.sockets.keys().copied().collect();
        for id in ids {
            if self.rng.millionths(self.plan.weather) {
                self.fault(id);
            }
        }
    }

    fn fault(&mut self, id: u64) {
        let now = self.now;
        let choice = self.rng.below(10);
        let long = if self.rng.one_in(8) { 20_000 } else { 2_500 };
        let until = now + self.rng.between(100, long);
        let Some(socket) = self.sockets.get_mut(&id).filter(|socket| !socket.cut) else { return };
        let pipe = if self.rng.one_in(3) { &mut socket.up } else { &mut socket.down };
        match choice {
            0 | 1 => {
                self.count("cuts");
                self.cut_somehow(id);
            }
            2 | 3 => pipe.cut_after = Some(self.rng.below(6000) as usize),
            4 | 5 => {
                pipe.stalled_until = until;
                self.count("stalls");
            }
            6 => {
                socket.up.stalled_until = until;
                socket.down.stalled_until = until;
                self.count("stalls");
            }
            7 | 8 => {
                pipe.rate = self.rng.between(2, 60);
                self.count("slow links");
            }
            _ => {
                pipe.latency = self.rng.below(800);
                pipe.rate = FAST;
                self.count("latencies");
            }
        }
    }
}
