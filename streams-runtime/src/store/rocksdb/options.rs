//! How the database is set up: what it may use of the memory, what it must flush, what it must notice.

use rocksdb::{
    BlockBasedIndexType, BlockBasedOptions, Cache, ColumnFamilyDescriptor, DBCompressionType, DBRecoveryMode,
    LogLevel, Options, WriteBufferManager,
};

use super::{MARKS, PENDING, ROWS};

/// A smaller budget would be spent before the first row.
const LEAST_BYTES: usize = 1024 * 1024;

/// What may be chosen about a RocksDB store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RocksOptions {
    /// All memory that the store may hold between calls: cached blocks, indexes, filters, write buffers, and
    /// what writing files needs. A commit's own bytes come on top while it lasts.
    pub memory_bytes: usize,
}

impl Default for RocksOptions {
    /// 32 MB.
    fn default() -> Self {
        Self { memory_bytes: 32 * 1024 * 1024 }
    }
}

impl RocksOptions {
    /// The same with another budget; less than 1 MB counts as 1 MB.
    #[must_use]
    pub fn with_memory_bytes(self, memory_bytes: usize) -> Self {
        Self { memory_bytes }
    }

    /// The set-up of the database and of each column family.
    pub(super) fn database(self) -> (Options, Vec<ColumnFamilyDescriptor>) {
        let budget = self.memory_bytes.max(LEAST_BYTES);
        // Three eighths are for what can be counted. The rest is for what cannot: buffers of compactions and of
        // files being written, open tables, and what the allocator keeps of the memory it was given back.
        let cache = Cache::new_lru_cache(budget / 8 * 3);
        // Write buffers are charged to the same cache: when they grow, cached blocks give way.
        let buffers =
            WriteBufferManager::new_write_buffer_manager_with_cache(budget / 4, false, cache.clone());

        let mut options = Options::default();
        options.set_write_buffer_manager(&buffers);
        durability(&mut options);
        options.set_max_background_jobs(2);
        options.set_max_open_files(256);
        options.set_max_total_wal_size(u64::try_from(2 * budget).unwrap_or(u64::MAX));
        options.set_compaction_readahead_size(256 * 1024);
        options.set_writable_file_max_buffer_size(256 * 1024);
        options.set_manifest_preallocation_size(64 * 1024);
        options.set_skip_stats_update_on_db_open(true);
        options.set_stats_dump_period_sec(0);
        options.set_stats_persist_period_sec(0);
        // RocksDB's own log is for the developer of RocksDB.
        options.set_log_level(LogLevel::Warn);
        options.set_keep_log_file_num(2);
        options.set_max_log_file_size(1024 * 1024);

        let families = [(ROWS, budget / 8), (PENDING, budget / 8), (MARKS, budget / 64)];
        let mut described: Vec<ColumnFamilyDescriptor> = families
            .into_iter()
            .map(|(name, bytes)| ColumnFamilyDescriptor::new(name, family(&cache, bytes)))
            .collect();
        // Every database has this one; nothing is in it.
        described.push(ColumnFamilyDescriptor::new("default", family(&cache, budget / 64)));
        (options, described)
    }
}

/// What must be noticed after a crash, and what must not be taken for damage.
fn durability(options: &mut Options) {
    // A process that is killed while it writes leaves half a record behind; that is no damage. Any other bad
    // record in the log is, and must not become an older state in silence, as the default would have it.
    options.set_wal_recovery_mode(DBRecoveryMode::TolerateCorruptedTailRecords);
    // A log in front of the last one has no torn end; this notices when one is short or missing.
    options.set_track_and_verify_wals_in_manifest(true);
    // Rows, marks and pending commits go from the log to tables together, or a short log would leave them
    // at different commits.
    options.set_atomic_flush(true);
    options.set_paranoid_checks(true);
}

fn family(cache: &Cache, buffer_bytes: usize) -> Options {
    let mut blocks = BlockBasedOptions::default();
    blocks.set_block_cache(cache);
    blocks.set_block_size(16 * 1024);
    blocks.set_format_version(6);
    blocks.set_bloom_filter(10.0, false);
    // Indexes and filters in pieces, under the same budget: those of a large table would not fit otherwise.
    blocks.set_cache_index_and_filter_blocks(true);
    blocks.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
    blocks.set_partition_filters(true);
    blocks.set_metadata_block_size(4096);

    let mut options = Options::default();
    options.set_block_based_table_factory(&blocks);
    options.set_write_buffer_size(buffer_bytes);
    options.set_max_write_buffer_number(2);
    options.set_target_file_size_base(32 * 1024 * 1024);
    options.set_compression_type(DBCompressionType::Lz4);
    options
}
