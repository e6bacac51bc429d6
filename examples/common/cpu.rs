//! Processor time of this process, and of some of its threads, which are told apart by their names.

use std::collections::BTreeMap;

/// Milliseconds of processor time that this process has used, where the system tells.
pub fn process_ms() -> Option<f64> {
    #[cfg(unix)]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        Some(time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6)
    }
    #[cfg(not(unix))]
    None
}

/// Nanoseconds of processor time that threads have used, by their numbers.
#[derive(Clone, Debug, Default)]
pub struct Usage(BTreeMap<String, u64>);

impl Usage {
    /// Of the threads whose names begin with one of these. `None` where there is none, or the system does not tell.
    pub fn of(names: &[&str]) -> Option<Usage> {
        let mut used = BTreeMap::new();
        for thread in std::fs::read_dir("/proc/self/task").ok()?.flatten() {
            let read = |file: &str| std::fs::read_to_string(thread.path().join(file)).ok();
            // One that ends meanwhile is gone.
            let (Some(name), Some(times)) = (read("comm"), read("schedstat")) else { continue };
            if names.iter().any(|wanted| name.starts_with(wanted)) {
                let ran = times.split_whitespace().next()?.parse().ok()?;
                used.insert(thread.file_name().to_string_lossy().into_owned(), ran);
            }
        }
        (!used.is_empty()).then_some(Usage(used))
    }

    /// Milliseconds since an earlier look, of the threads that there are now.
    pub fn ms_since(&self, earlier: &Usage) -> f64 {
        let since = |(thread, now): (&String, &u64)| now - earlier.0.get(thread).unwrap_or(&0).min(now);
        self.0.iter().map(since).sum::<u64>() as f64 / 1e6
    }
}
