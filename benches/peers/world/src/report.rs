//! What a run says.

use serde::{Deserialize, Serialize};

/// The figures of one peer on one workload.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    /// Median server time of a tick, in microseconds: from the end of the game's writes to bytes for the transport.
    pub tick_us: f64,
    /// The 99th percentile.
    pub tick_p99_us: f64,
    /// Bytes a connection and tick, as they are handed to the transport.
    pub bytes_per_client: f64,
    /// The most memory that the process held. What it includes is in the README.
    pub rss_mb: f64,
    /// Client ends that decoded everything and held exactly what they should.
    pub checked: usize,
    /// Median time a tick that the server took to read what clients sent, where it is apart from the tick.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub receive_us: Option<f64>,
    /// Server time of all ticks from the joins until every view was filled.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub join_us: Option<f64>,
    /// Bytes a connection of those ticks.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub join_bytes_per_client: Option<f64>,
    /// Entities that a connection sees, on average.
    pub visible: f64,
    /// Entities that enter or leave a connection's view in a tick, on average.
    pub crossings: f64,
    /// Measured ticks.
    pub ticks: usize,
    /// What was set, and what of it is particular.
    pub settings: String,
}

/// The most memory that this process held, in MB.
pub fn peak_rss_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<f64>().ok());
    (kib.unwrap_or_default() / 1024.0 * 10.0).round() / 10.0
}

/// Ends the run of a peer that cannot take part.
pub fn stop_with(reason: &str) -> ! {
    println!("{}", serde_json::json!({ "reason": reason }));
    std::process::exit(0);
}
