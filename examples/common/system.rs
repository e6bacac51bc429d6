//! What the operating system is asked.

/// Descriptors that a process needs besides its sockets.
const OTHERS: u64 = 100;

/// Seconds of processor time that this process has used.
#[cfg(unix)]
pub fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Bytes that this process has in memory, where the system tells.
pub fn rss() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024)
}

/// Lets this process have so many sockets, where the system limits them.
#[cfg(unix)]
pub fn allow_sockets(sockets: usize) -> Result<(), String> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let needed = sockets as u64 + OTHERS;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    let raised = Rlimit { current: Some(needed), maximum: limit.maximum };
    setrlimit(Resource::Nofile, raised).map_err(|_| {
        let most = limit.maximum.map_or_else(|| "fewer".to_owned(), |most| most.to_string());
        format!(
            "{sockets} sockets need {needed} descriptors and the system allows {most}; raise `ulimit -Hn`"
        )
    })
}

#[cfg(not(unix))]
pub fn cpu_seconds() -> f64 {
    0.0
}

#[cfg(not(unix))]
pub fn allow_sockets(_sockets: usize) -> Result<(), String> {
    Ok(())
}
