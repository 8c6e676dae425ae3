//! SIGINT and SIGTERM as a wish to end: the batch under way is finished, a checkpoint taken, exit code 0.
//!
//! A second signal ends the process at once, for a job that hangs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};

/// Whether the end was asked for.
#[derive(Debug, Clone, Default)]
pub(crate) struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// Listens from now on.
    pub(crate) fn listen() -> std::io::Result<Self> {
        let flag = Self::default();
        for signal in [SIGINT, SIGTERM] {
            // Order: the shutdown is registered first, so that it finds the flag of the signal before.
            signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&flag.0))?;
            signal_hook::flag::register(signal, Arc::clone(&flag.0))?;
        }
        Ok(flag)
    }

    /// Whether the end was asked for.
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
