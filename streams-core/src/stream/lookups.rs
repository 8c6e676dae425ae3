//! Look-ups in tables beside a job: what a job calls.

use super::{Next, Pure, Stream};
use crate::join::{Inner, LeftOuter};
use crate::key::Key;
use crate::lookup::{Table, TableRow};
use crate::op::lookup::Lookup;

impl<T, K, Tm, W, O, H> Stream<T, K, Tm, W, O, H> {
    /// Each record with the row of its key in a table: a file, a table of MySQL, what an HTTP server gives. A record
    /// whose key has no row is left out; [`Self::left_lookup`] keeps it. The table is a parameter of the job; the
    /// closures are the key of a record, the key of a row, and the result of both.
    ///
    /// # Examples
    /// ```
    /// use streams_core::{prelude::*, testing::Harness};
    ///
    /// #[record]
    /// struct Hit { ip: String }
    /// #[record]
    /// struct Host { ip: String, owner: String }
    ///
    /// #[stream_job]
    /// fn owners(hits: Stream<Hit>, #[arg(default = "file:hosts.csv")] hosts: Table<Host>) -> Stream<String> {
    ///     hits.lookup(hosts, |hit| hit.ip.clone(), |host| host.ip.clone(), |_, host| host.owner.clone())
    /// }
    ///
    /// let mut job = Harness::new(owners);
    /// job.table("hosts", &[Host { ip: "10.0.0.1".to_owned(), owner: "ann".to_owned() }]);
    /// job.push("hits", Hit { ip: "10.0.0.1".to_owned() });
    /// job.push("hits", Hit { ip: "10.0.0.2".to_owned() });
    /// assert_eq!(job.take::<String>("owners"), ["ann"]);
    /// ```
    pub fn lookup<V, K2, R, F, G, P, M>(
        self,
        table: Table<V>,
        key: F,
        key_of_row: G,
        row: P,
    ) -> <K2 as Key<M>>::Proven<Next<R, K, Tm, W, O, Lookup<K2, V, F, Inner<P>>, H>>
    where
        V: TableRow,
        K2: Key<M> + Sync,
        F: Fn(&T) -> K2 + Pure,
        G: Fn(&V) -> K2 + Pure,
        P: Fn(&T, &V) -> R + Pure,
    {
        <K2 as Key<M>>::proven(self.then(Lookup::new("lookup", table.address, key, key_of_row, Inner(row))))
    }

    /// As [`Self::lookup`], and a record whose key has no row comes with `None`.
    ///
    /// # Examples
    /// ```
    /// use streams_core::{prelude::*, testing::Harness};
    ///
    /// #[record]
    /// struct Hit { ip: String }
    /// #[record]
    /// struct Host { ip: String, owner: String }
    ///
    /// #[stream_job]
    /// fn owners(hits: Stream<Hit>, #[arg(default = "file:hosts.csv")] hosts: Table<Host>) -> Stream<String> {
    ///     hits.left_lookup(
    ///         hosts,
    ///         |hit| hit.ip.clone(),
    ///         |host| host.ip.clone(),
    ///         |_, host| host.map_or("nobody".to_owned(), |host| host.owner.clone()),
    ///     )
    /// }
    ///
    /// let mut job = Harness::new(owners);
    /// job.push("hits", Hit { ip: "10.0.0.2".to_owned() });
    /// assert_eq!(job.take::<String>("owners"), ["nobody"]);
    /// ```
    pub fn left_lookup<V, K2, R, F, G, P, M>(
        self,
        table: Table<V>,
        key: F,
        key_of_row: G,
        row: P,
    ) -> <K2 as Key<M>>::Proven<Next<R, K, Tm, W, O, Lookup<K2, V, F, LeftOuter<P>>, H>>
    where
        V: TableRow,
        K2: Key<M> + Sync,
        F: Fn(&T) -> K2 + Pure,
        G: Fn(&V) -> K2 + Pure,
        P: Fn(&T, Option<&V>) -> R + Pure,
    {
        <K2 as Key<M>>::proven(self.then(Lookup::new(
            "left_lookup",
            table.address,
            key,
            key_of_row,
            LeftOuter(row),
        )))
    }
}
