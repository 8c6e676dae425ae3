//! `min_by(|r| key, |r| value)` and `max_by(|r| key, |r| value)`: the value where the key is smallest or largest.

use crate::aggregate::extreme::{Extreme, replaces};
use crate::aggregate::{Aggregate, AggregateError, ByRef, Kept, type_name};

macro_rules! extremes {
    ($($function:ident $name:ident $operator:tt $doc:literal $example:literal),*) => {$(
        #[doc = concat!("See [`", stringify!($function), "`].")]
        #[derive(Debug, Clone, Copy)]
        pub struct $name<T, F, K, G, V>(ByRef<T, F, K>, ByRef<T, G, V>);

        #[doc = $doc]
        ///
        /// **Order** of equal keys the first to arrive counts (as in [`first`](super::first)); a NaN, or what contains
        /// one, only when there is nothing else. All others must be comparable with each other.
        /// **State** one key and one value. The second closure runs only where the first gives a better key; with
        /// several workers, a better one than those of the same batch.
        ///
        /// # Examples
        /// ```
        /// use streams_core::{prelude::*, testing::Harness};
        ///
        /// #[record]
        /// struct Request { host: String, path: String, ms: u64 }
        ///
        /// #[stream_job]
        /// fn paths(requests: Stream<Request>) -> Stream<String> {
        ///     let paths = requests
        ///         .key_by(|r| r.host.clone())
        ///         .running(forever())
        #[doc = concat!("        .aggregate(", stringify!($function), "(|r| r.ms, |r| r.path.clone()));")]
        ///     paths
        /// }
        ///
        /// let mut job = Harness::new(paths);
        /// for (path, ms) in [("/a", 20), ("/b", 70), ("/c", 20), ("/d", 70)] {
        ///     job.push("requests", Request { host: "h".to_owned(), path: path.to_owned(), ms });
        /// }
        #[doc = concat!("assert_eq!(job.take::<String>(\"paths\").pop().as_deref(), Some(", $example, "));")]
        /// ```
        pub fn $function<T, F, K, G, V, M, N>(
            key: ByRef<T, F, K>,
            value: ByRef<T, G, V>,
        ) -> K::Proven<V::Proven<$name<T, F, K, G, V>>>
        where
            F: Fn(&T) -> K,
            K: Extreme<M>,
            G: Fn(&T) -> V,
            V: Kept<N>,
        {
            K::proven(V::proven($name(key, value)))
        }

        impl<T: 'static, F, K: Extreme, G, V: Kept> Aggregate<T> for $name<T, F, K, G, V>
        where
            F: Fn(&T) -> K + Send + Sync + 'static,
            G: Fn(&T) -> V + Send + Sync + 'static,
        {
            type State = Option<(K, V)>;
            type Out = V;

            const COMBINES: bool = true;

            fn signature() -> String {
                format!(concat!(stringify!($function), "({}, {})"), type_name::<K>(), type_name::<V>())
            }

            #[inline(always)]
            fn init(&self) -> Self::State {
                None
            }

            #[inline(always)]
            fn add(&self, state: &mut Self::State, value: &T) {
                let key = (self.0.f)(value);
                match state {
                    Some((best, _)) if !replaces(&key, best, |a, b| a $operator b) => {}
                    _ => *state = Some((key, (self.1.f)(value))),
                }
            }

            fn merge(&self, state: &mut Self::State, behind: Self::State) {
                let Some((key, value)) = behind else { return };
                match state {
                    Some((best, _)) if !replaces(&key, best, |a, b| a $operator b) => {}
                    _ => *state = Some((key, value)),
                }
            }

            fn finish(&self, state: Self::State) -> Result<V, AggregateError> {
                state.map(|(_, value)| value).ok_or(AggregateError::Empty(stringify!($function)))
            }
        }
    )*};
}

extremes!(
    min_by MinBy < "What the second closure gives for the record with the smallest key." "\"/a\"",
    max_by MaxBy > "What the second closure gives for the record with the largest key." "\"/b\""
);
