//! What is freed goes back to the system.
//!
//! Answers of brokers, frames and commits are blocks of up to a megabyte, made by one thread and freed by another.
//! The allocator of glibc takes its own threshold for such blocks up to 32 MiB as it sees them freed, keeps them from
//! then on, and small blocks settle between them: half of the memory of a job that works off a backlog was such
//! holes. A fixed threshold keeps it at what is in use (`scripts/claims/rocketmq_backlog`). Other allocators have no
//! such threshold and are left alone.

/// Blocks from this size on are mapped by themselves.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const OWN_MAPPING_BYTES: i32 = 64 * 1024;

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "the allocator's settings have no safe interface")]
pub(super) fn give_back_large_blocks() {
    for setting in [libc::M_MMAP_THRESHOLD, libc::M_TRIM_THRESHOLD] {
        // What it gives back says whether it knows the setting; without it all goes on as before.
        //
        // SAFETY: `mallopt` takes no pointers, and may be called at any time by any thread.
        let _ = unsafe { libc::mallopt(setting, OWN_MAPPING_BYTES) };
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(super) fn give_back_large_blocks() {}
