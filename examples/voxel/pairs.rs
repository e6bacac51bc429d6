//! What a store costs: short runs with and without one, in turns, so that both meet the same weather.

use serde::Serialize;

use crate::bots::{self, Failure, Report, Run, rounded};
use crate::host::{Host, Site};
use crate::keep::Keep;

/// What came of all runs.
#[derive(Debug, Serialize)]
pub struct Comparison {
    example: &'static str,
    pairs: u32,
    bots: u32,
    seconds: u32,
    /// Processor time of a tick with a store over that of one without, by the server's threads alone: the median of
    /// the pairs, and each.
    cpu_ratio: Option<f64>,
    cpu_ratios: Vec<f64>,
    /// The medians of the runs with a store.
    commit_ms_p50: Option<f64>,
    commit_ms_p99: Option<f64>,
    /// Of all runs.
    pub mismatches: usize,
    runs: Vec<Report>,
}

/// Makes so many pairs of runs. In every other pair the store comes first.
pub fn compare(site: &Site, run: &Run, pairs: u32) -> Result<Comparison, Failure> {
    let mut reports: Vec<Report> = Vec::new();
    let mut cpu_ratios = Vec::new();
    for pair in 0..pairs {
        let first = once(site, run, pair % 2 == 1)?;
        let second = once(site, run, pair % 2 == 0)?;
        let (without, with) = if first.store { (&second, &first) } else { (&first, &second) };
        if let (Some(with), Some(without)) = (with.cpu_ms_per_tick_server, without.cpu_ms_per_tick_server) {
            cpu_ratios.push(rounded(with / without));
            eprintln!("pair {}: {with:.3} ms a tick with a store, {without:.3} ms without", pair + 1);
        }
        reports.extend([first, second]);
    }
    let kept = |of: fn(&Report) -> f64| {
        median(reports.iter().filter(|report| report.store).map(of).collect()).map(rounded)
    };
    Ok(Comparison {
        example: "voxel",
        pairs,
        bots: run.bots,
        seconds: run.seconds,
        cpu_ratio: median(cpu_ratios.clone()),
        cpu_ratios,
        commit_ms_p50: kept(|report| report.commit_ms_p50),
        commit_ms_p99: kept(|report| report.commit_ms_p99),
        mismatches: reports.iter().map(|report| report.mismatches).sum(),
        runs: reports,
    })
}

fn once(site: &Site, run: &Run, store: bool) -> Result<Report, Failure> {
    let keep = if store { Keep::temporary()? } else { Keep::default() };
    let host = Host::start(site.clone(), keep)?;
    let threads = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let report = threads.block_on(bots::drive(&host.handle, run));
    host.stop();
    report
}

fn median(mut of: Vec<f64>) -> Option<f64> {
    of.sort_unstable_by(f64::total_cmp);
    of.get(of.len() / 2).copied()
}
