//! The signals that ask a process to stop.

/// Waits for ctrl-c or, on Unix, SIGTERM.
pub(super) async fn signal() {
    let interrupt = async {
        if tokio::signal::ctrl_c().await.is_err() {
            // Without the handler the default action ends the process; there is nothing to wait for here.
            std::future::pending::<()>().await;
        }
    };
    #[cfg(unix)]
    let terminate = async {
        match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            Ok(mut signal) => drop(signal.recv().await),
            Err(_) => std::future::pending().await,
        }
    };
    #[cfg(not(unix))]
    let terminate = std::future::pending::<()>();
    tokio::select! {
        () = interrupt => {}
        () = terminate => {}
    }
}

/// Waits until the server stops or its handle is gone.
pub(super) async fn stopped(stop: &mut tokio::sync::watch::Receiver<bool>) {
    // An error means that the handle was dropped, which stops the server too.
    let _ = stop.wait_for(|stop| *stop).await;
}
