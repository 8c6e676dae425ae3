//! The addresses of tables: `file:PATH?format=json|csv&refresh=30s`, `http://HOST/PATH#format=json|csv&refresh=30s`,
//! `http://HOST/PATH/{key}#keep=10000&refresh=1m`, `mysql://USER@HOST/DATABASE?table=NAME&by=COLUMN&keep=10000`.
//!
//! `fixed` among the options says that the rows never change.
//!
//! What is ours stands behind `#` in an address of HTTP, where a browser keeps it too: a `?` belongs to the server.

use std::path::PathBuf;
use std::time::Duration;

use streams_core::setting;

use crate::format::Format;
use crate::wording::nearest;

/// How many rows are kept of a table whose rows are fetched one by one.
const KEEP: usize = 10_000;

const KNOWN: &str = "tables are `file:PATH`, `http://HOST/PATH` and `mysql://USER@HOST/DATABASE?table=NAME`";

/// Where the rows of a table come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    File(PathBuf),
    /// All rows at once, or one at a time where `{key}` stands in the address.
    Http(String),
    /// A table of a database; the text says which. Rows come one at a time where it says by which column.
    Mysql(String),
}

/// An address with what was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) place: Place,
    pub(crate) format: Format,
    /// After how long rows are read again, or not believed any more.
    pub(crate) refresh: Option<Duration>,
    /// How many fetched rows are kept.
    pub(crate) keep: usize,
    /// Whether it was promised that its rows never change.
    pub(crate) fixed: bool,
}

#[derive(Default)]
struct Options {
    format: Option<Format>,
    refresh: Option<Duration>,
    keep: Option<usize>,
    fixed: bool,
    /// What is not ours.
    rest: Vec<String>,
}

impl Address {
    /// Reads an address; an error says what to write instead.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let Some((scheme, rest)) = text.split_once(':') else {
            return Err(format!("`{text}` is no address of a table; for a file write `file:{text}`"));
        };
        match scheme {
            "file" => {
                let (path, options) = rest.rsplit_once('?').unwrap_or((rest, ""));
                if path.is_empty() {
                    return Err(format!("`{text}` has no path; write `file:PATH`"));
                }
                let path = PathBuf::from(path.strip_prefix("//").unwrap_or(path));
                let by_name = Format::of_path(&path);
                Self::of(Place::File(path), &Options::read(options)?.all_known()?, by_name)
            }
            "http" | "https" => {
                if !cfg!(feature = "http") {
                    return Err(
                        "this program was built without HTTP; build it with the feature `http`".to_owned()
                    );
                }
                let (place, options) = text.split_once('#').unwrap_or((text, ""));
                let path = place.split_once('?').map_or(place, |(path, _)| path);
                let by_name = Format::of_path(std::path::Path::new(path));
                Self::of(Place::Http(place.to_owned()), &Options::read(options)?.all_known()?, by_name)
            }
            "mysql" => {
                if !cfg!(feature = "mysql") {
                    return Err(
                        "this program was built without MySQL; build it with the feature `mysql`".to_owned()
                    );
                }
                let (place, options) = text.split_once('?').unwrap_or((text, ""));
                let mut options = Options::read(options)?;
                // The others are about the connection, and read where it is made.
                let rest = std::mem::take(&mut options.rest);
                if options.format.is_some() {
                    return Err("`format`: rows of MySQL have no format; leave it out".to_owned());
                }
                Self::of(Place::Mysql(format!("{place}?{}", rest.join("&"))), &options, None)
            }
            _ => {
                let hint = nearest(scheme, ["file", "http", "https", "mysql"]);
                let hint = hint.map(|name| format!("did you mean `{name}:`?"));
                Err(format!("unknown table `{scheme}:`; {}", hint.unwrap_or_else(|| KNOWN.to_owned())))
            }
        }
    }

    fn of(place: Place, options: &Options, by_name: Option<Format>) -> Result<Self, String> {
        let Options { format, refresh, keep, fixed, .. } = *options;
        let format = format.or(by_name).unwrap_or(Format::Json);
        if format == Format::Lines {
            return Err("`format=lines`: a row has columns; write `format=json` or `format=csv`".to_owned());
        }
        let address = Self { place, format, refresh, keep: keep.unwrap_or(KEEP), fixed };
        if keep.is_some() && !address.fetches_each() {
            return Err(
                "`keep` is for rows that are fetched one by one: write `{key}` into the address of HTTP or `by=COLUMN` into that of MySQL, or leave it out"
                    .to_owned(),
            );
        }
        if fixed && refresh.is_some() {
            return Err(
                "`fixed` says that its rows never change, and `refresh` that they do; leave one of them out"
                    .to_owned(),
            );
        }
        if fixed && address.fetches_each() {
            return Err(
                "`fixed` is for tables that are read as a whole, since whoever goes on with the job checks that the rows are the same; leave it out, or `{key}` or `by=`"
                    .to_owned(),
            );
        }
        Ok(address)
    }

    /// Whether rows are fetched one by one.
    pub(crate) fn fetches_each(&self) -> bool {
        match &self.place {
            Place::File(_) => false,
            Place::Http(url) => url.contains("{key}"),
            Place::Mysql(text) => {
                let options = text.split_once('?').map_or("", |(_, options)| options);
                options.split('&').any(|option| option.starts_with("by="))
            }
        }
    }

    /// As people see it.
    pub(crate) fn shown(&self) -> String {
        match &self.place {
            Place::File(path) => path.display().to_string(),
            Place::Http(text) | Place::Mysql(text) => crate::url::shown(text).into_owned(),
        }
    }
}

impl Options {
    fn read(text: &str) -> Result<Self, String> {
        let mut options = Self::default();
        for option in text.split('&').filter(|option| !option.is_empty()) {
            match option.split_once('=') {
                None if option == "fixed" => options.fixed = true,
                Some(("format", value)) => {
                    let format = Format::named(value);
                    options.format = Some(
                        format.ok_or_else(|| format!("unknown format `{value}`; there are json and csv"))?,
                    );
                }
                Some(("refresh", value)) => {
                    let length = setting::duration(value).map_err(|why| format!("`refresh`: {why}"))?;
                    if length.is_zero() {
                        return Err(
                            "`refresh`: it would never end; write for example `refresh=30s`".to_owned()
                        );
                    }
                    options.refresh = Some(length);
                }
                Some(("keep", value)) => {
                    let keep = value.parse().ok().filter(|keep| *keep >= 2);
                    options.keep = Some(keep.ok_or_else(|| {
                        format!("`keep={value}`: a number of rows from 2 on belongs there, for example `keep=10000`")
                    })?);
                }
                _ => options.rest.push(option.to_owned()),
            }
        }
        Ok(options)
    }

    fn all_known(self) -> Result<Self, String> {
        match self.rest.first() {
            None => Ok(self),
            Some(option) => {
                let name = option.split_once('=').map_or(option.as_str(), |(name, _)| name);
                let hint = nearest(name, ["format", "refresh", "keep", "fixed"])
                    .map(|name| format!("did you mean `{name}`?"));
                let hint =
                    hint.unwrap_or_else(|| "there are `format`, `refresh`, `keep` and `fixed`".to_owned());
                Err(format!("unknown option `{name}` of a table; {hint}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        Address::parse(text).map_or_else(|why| why, |address| format!("{address:?}"))
    }

    #[test]
    fn files() {
        let address = Address::parse("file:a/hosts.csv?refresh=30s").unwrap();
        assert_eq!((address.format, address.refresh), (Format::Csv, Some(Duration::from_secs(30))));
        assert_eq!(address.place, Place::File("a/hosts.csv".into()));
        let address = Address::parse("file:///etc/hosts.table?format=csv").unwrap();
        assert_eq!((address.place, address.format), (Place::File("/etc/hosts.table".into()), Format::Csv));
        assert_eq!(Address::parse("file:x").unwrap().format, Format::Json);
    }

    #[test]
    fn mistakes() {
        for (text, expected) in [
            ("hosts.csv", "`hosts.csv` is no address of a table; for a file write `file:hosts.csv`"),
            ("file:", "`file:` has no path; write `file:PATH`"),
            ("flie:x", "unknown table `flie:`; did you mean `file:`?"),
            (
                "topic:x",
                "unknown table `topic:`; tables are `file:PATH`, `http://HOST/PATH` and `mysql://USER@HOST/DATABASE?table=NAME`",
            ),
            ("file:x?format=xml", "unknown format `xml`; there are json and csv"),
            ("file:x?format=lines", "`format=lines`: a row has columns; write `format=json` or `format=csv`"),
            ("file:x?refersh=3s", "unknown option `refersh` of a table; did you mean `refresh`?"),
            ("file:x?refresh=0s", "`refresh`: it would never end; write for example `refresh=30s`"),
            (
                "file:x?fixed&refresh=3s",
                "`fixed` says that its rows never change, and `refresh` that they do; leave one of them out",
            ),
            ("file:x?fxed", "unknown option `fxed` of a table; did you mean `fixed`?"),
            (
                "file:x?keep=9",
                "`keep` is for rows that are fetched one by one: write `{key}` into the address of HTTP or `by=COLUMN` into that of MySQL, or leave it out",
            ),
        ] {
            assert_eq!(problem(text), expected);
        }
    }

    #[test]
    #[cfg(feature = "http")]
    fn http() {
        let address = Address::parse("http://h:8/rows.csv?all=1#refresh=1m").unwrap();
        assert_eq!((address.format, address.fetches_each()), (Format::Csv, false));
        assert_eq!(address.place, Place::Http("http://h:8/rows.csv?all=1".to_owned()));
        let address = Address::parse("http://h/rows/{key}#keep=7").unwrap();
        assert_eq!((address.keep, address.fetches_each()), (7, true));
        assert!(Address::parse("http://h/rows#fixed").unwrap().fixed);
        let why = problem("http://h/rows/{key}#fixed");
        assert!(why.starts_with("`fixed` is for tables that are read as a whole"), "{why}");
    }

    #[test]
    #[cfg(feature = "mysql")]
    fn mysql() {
        let address = Address::parse("mysql://u@h/db?table=t&by=name&keep=7&refresh=1m").unwrap();
        assert_eq!((address.keep, address.fetches_each()), (7, true));
        assert_eq!(address.place, Place::Mysql("mysql://u@h/db?table=t&by=name".to_owned()));
    }
}
