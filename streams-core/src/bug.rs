//! The planted bugs: known mistakes that the simulator must find, each behind a switch of its own.
//!
//! Without the feature `sim` no switch exists and every question is answered with `false` at compile time. The
//! numbers up to 30 are those of the list in the project's protocol; the others are mistakes that the simulator
//! found in this code.

/// A mistake that can be planted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[cfg_attr(
    not(feature = "sim"),
    expect(dead_code, unreachable_pub, reason = "the simulator shows it and plants the others")
)]
#[non_exhaustive]
pub enum Bug {
    /// A reader drops or takes whole messages.
    MessageNumbers = 1,
    /// A sender does not wait for its last message.
    TwoInFlight = 2,
    /// A reader goes on behind a gap.
    GapAccepted = 3,
    /// What one output queue holds is taken for what all hold.
    OneNumberPerSplit = 4,
    /// What a reader has seen is kept apart from the snapshot.
    HighOutsideSnapshot = 5,
    /// Numbers begin at 1 again.
    NumbersNotRestored = 6,
    /// A commit does not wait until everything is stored.
    CommitBeforeAcks = 7,
    /// What a held stage gives out leaves at once.
    HeldSentEarly = 8,
    /// A snapshot has no outbox.
    NoOutbox = 9,
    /// Processing begins before the start offset is committed.
    NoSnapshotZero = 10,
    /// A queue that appears later is read from its end.
    NewQueueAtLatest = 11,
    /// Rows are read before the token is raised.
    ReadBeforeRaise = 12,
    /// A commit compares the token alone.
    NoVersion = 13,
    /// A transaction is committed although a statement of it failed.
    HalfDelta = 14,
    /// Tokens are compared by epoch alone.
    NoNonce = 16,
    /// A local copy is believed although the remote store does not have its commit.
    LocalAhead = 15,
    /// A copy that was loaded in part is taken for the whole.
    HalfLoaded = 17,
    /// A page of the background load replaces what is newer.
    PageOverwrites = 18,
    /// Results of a firing carry the watermark that fired them.
    FiringCarriesNew = 19,
    /// Idleness is told by a watermark, without a number.
    IdleUnnumbered = 20,
    /// Idleness is declared without a fresh look.
    IdleByTimer = 21,
    /// A watermark overtakes the data that it covers.
    MarkOvertakes = 22,
    /// Keys go to the queues that are there at the moment.
    CurrentRoute = 23,
    /// A bound on event time is measured by the clock of whoever runs.
    BoundByClock = 24,
    /// Watermarks move once per poll.
    WatermarkPerBatch = 25,
    /// Windows fire in the order of a hash map.
    HashOrder = 26,
    /// Changed rows go into the local store before they are committed.
    DirtySpill = 27,
    /// A split is given away while a commit is under way.
    RemoveNotJoined = 28,
    /// Counters are not part of the snapshot.
    CountersOutside = 29,
    /// A fenced owner's position is where the next one begins.
    FencedReports = 30,
    /// A machine runs on rows that were read after its split was taken from it.
    LoadNotVerified = 31,
    /// Only the idle marks of a source that may be idle are held, and not what stands before and behind them.
    IdleNotHeld = 32,
    /// Records carry no watermark from before a restart.
    BorderForgets = 33,
    /// A commit that matches no row is taken for one of another owner.
    NoRowIsFenced = 34,
    /// Event time of a held stage leaves before its commit.
    HeldMarkEarly = 35,
    /// A split is left clean although an earlier owner sent more than was made again.
    CleanBehindTail = 36,
    /// A copy that has only begun is not marked as such before the next commit.
    CopyUnmarked = 37,
    /// Rows of a copy that lie behind what has been loaded are taken for loaded.
    BehindCursor = 38,
    /// Reading goes on behind a record that is rejected, before that is committed.
    RejectUndecided = 39,
    /// What depends on the time at which records come in leaves at once.
    ClockNotHeld = 40,
    /// A machine counts an input as ended although more comes in.
    EndStays = 41,
    /// A clean end is taken for that of the last owner although another one has begun behind it.
    CleanIsStale = 42,
    /// What was made of rows of a table leaves at once.
    TablesNotHeld = 43,
}

#[cfg(not(feature = "sim"))]
#[inline(always)]
pub(crate) const fn planted(_bug: Bug) -> bool {
    false
}

#[cfg(feature = "sim")]
pub(crate) use switch::{plant, planted, without};

#[cfg(feature = "sim")]
mod switch {
    use std::cell::Cell;

    use super::Bug;

    thread_local! {
        static PLANTED: Cell<Option<Bug>> = const { Cell::new(None) };
    }

    impl Bug {
        /// All of them.
        pub const ALL: [Self; 43] = [
            Self::MessageNumbers,
            Self::TwoInFlight,
            Self::GapAccepted,
            Self::OneNumberPerSplit,
            Self::HighOutsideSnapshot,
            Self::NumbersNotRestored,
            Self::CommitBeforeAcks,
            Self::HeldSentEarly,
            Self::NoOutbox,
            Self::NoSnapshotZero,
            Self::NewQueueAtLatest,
            Self::ReadBeforeRaise,
            Self::NoVersion,
            Self::HalfDelta,
            Self::LocalAhead,
            Self::NoNonce,
            Self::HalfLoaded,
            Self::PageOverwrites,
            Self::FiringCarriesNew,
            Self::IdleUnnumbered,
            Self::IdleByTimer,
            Self::MarkOvertakes,
            Self::CurrentRoute,
            Self::BoundByClock,
            Self::WatermarkPerBatch,
            Self::HashOrder,
            Self::DirtySpill,
            Self::RemoveNotJoined,
            Self::CountersOutside,
            Self::FencedReports,
            Self::LoadNotVerified,
            Self::IdleNotHeld,
            Self::BorderForgets,
            Self::NoRowIsFenced,
            Self::HeldMarkEarly,
            Self::CleanBehindTail,
            Self::CopyUnmarked,
            Self::BehindCursor,
            Self::RejectUndecided,
            Self::ClockNotHeld,
            Self::EndStays,
            Self::CleanIsStale,
            Self::TablesNotHeld,
        ];

        /// Its number in the list.
        #[must_use]
        pub fn number(self) -> u8 {
            self as u8
        }
    }

    /// Plants a bug in this thread, or takes it out.
    pub(crate) fn plant(bug: Option<Bug>) {
        PLANTED.set(bug);
    }

    /// Whether this one is planted here.
    #[inline(always)]
    pub(crate) fn planted(bug: Bug) -> bool {
        PLANTED.get() == Some(bug)
    }

    /// Runs `f` as if nothing were planted: what the others are compared with has no bug.
    pub(crate) fn without<R>(f: impl FnOnce() -> R) -> R {
        let before = PLANTED.replace(None);
        let result = f();
        PLANTED.set(before);
        result
    }
}
