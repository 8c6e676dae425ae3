//! Calls that break replay: what a record led to would differ when the record is read again.
//!
//! A table of paths with what to write instead. It knows no types: a function of the user's that makes such a
//! call is not looked into, and a name of the user's own that is in the table can be told apart by
//! `#[allow_impure(reason = "..")]`, which this file also reads.

use proc_macro2::Span;
use syn::{Attribute, Expr, LitStr, Path};

use crate::ctxt::Ctxt;
use crate::symbol;

/// One kind of call.
#[derive(Debug)]
pub(crate) struct Impure {
    /// What to write instead.
    pub(crate) instead: &'static str,
    /// The types whose functions they are, or the modules, with the functions; no function means all.
    owners: &'static [(&'static str, &'static [&'static str])],
    /// Crates of which every function is one.
    crates: &'static [&'static str],
    /// Functions under any path, or none.
    functions: &'static [&'static str],
}

/// All kinds.
static KINDS: &[Impure] = &[
    Impure {
        instead: "use a time that is in the record",
        owners: &[
            ("SystemTime", &["now"]),
            ("Instant", &["now"]),
            ("Utc", &["now"]),
            ("Local", &["now"]),
            ("Zoned", &["now"]),
            ("Timestamp", &["now"]),
            ("OffsetDateTime", &["now_utc", "now_local"]),
        ],
        crates: &[],
        functions: &[],
    },
    Impure {
        instead: "derive the number from the record, for example from a hash of its key",
        owners: &[
            ("Uuid", &["new_v1", "new_v4", "new_v6", "new_v7", "now_v1", "now_v6", "now_v7"]),
            ("RandomState", &["new", "default"]),
        ],
        crates: &["rand", "fastrand", "getrandom"],
        functions: &["thread_rng", "getrandom"],
    },
    Impure {
        instead: "make it a setting, a parameter of the job that is no stream",
        owners: &[(
            "env",
            &[
                "var",
                "var_os",
                "vars",
                "vars_os",
                "args",
                "args_os",
                "current_dir",
                "current_exe",
                "temp_dir",
            ],
        )],
        crates: &[],
        functions: &[],
    },
    Impure {
        instead: "derive it from the record, which may be read again by another thread or process",
        owners: &[
            ("thread", &["current", "sleep", "spawn", "park", "yield_now", "available_parallelism"]),
            ("process", &["id", "exit", "abort"]),
        ],
        crates: &[],
        functions: &[],
    },
    Impure {
        instead: "send the data in through a port of its own and join it with `.join_table(..)`",
        owners: &[
            (
                "fs",
                &[
                    "canonicalize",
                    "copy",
                    "create_dir",
                    "create_dir_all",
                    "exists",
                    "hard_link",
                    "metadata",
                    "read",
                    "read_dir",
                    "read_to_string",
                    "remove_dir",
                    "remove_dir_all",
                    "remove_file",
                    "rename",
                    "write",
                ],
            ),
            ("File", &["open", "create", "create_new", "options"]),
            ("OpenOptions", &["new"]),
            ("io", &["stdin", "read_to_string"]),
        ],
        crates: &[],
        functions: &[],
    },
    Impure {
        instead: "ask before, and send the answers in through a port of its own",
        owners: &[
            ("TcpStream", &["connect", "connect_timeout"]),
            ("TcpListener", &["bind"]),
            ("UdpSocket", &["bind"]),
            ("UnixStream", &["connect"]),
            // A record may be called `Command`; a path through the module is that of std.
            ("process::Command", &["new"]),
        ],
        crates: &["reqwest", "ureq", "isahc", "attohttpc", "minreq", "hyper"],
        functions: &[],
    },
];

/// Types whose values change in secret.
const CELLS: &[&str] = &["Mutex", "RwLock", "RefCell", "Cell"];

/// Whether the path makes a value that changes in secret: `Mutex::new`, `AtomicU64::default`.
pub(crate) fn makes_cell(path: &Path) -> bool {
    let mut words = path.segments.iter().rev().map(|segment| segment.ident.to_string());
    let (Some(function), Some(owner)) = (words.next(), words.next()) else { return false };
    let is_cell = CELLS.contains(&owner.as_str()) || owner.starts_with("Atomic");
    is_cell && matches!(function.as_str(), "new" | "default" | "from")
}

/// Methods that change what a `static` holds.
const CHANGES: &[&str] = &[
    "borrow_mut",
    "compare_exchange",
    "fetch_add",
    "fetch_and",
    "fetch_max",
    "fetch_min",
    "fetch_or",
    "fetch_sub",
    "fetch_update",
    "fetch_xor",
    "lock",
    "set",
    "store",
    "swap",
    "with_borrow_mut",
    "write",
];

/// The kind of call that a path names.
pub(crate) fn call(path: &Path) -> Option<&'static Impure> {
    let words: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
    let (first, last) = (words.first()?, words.last()?);
    let behind = |owner: &str| {
        let owner: Vec<&str> = owner.split("::").collect();
        let before = words.len().checked_sub(1 + owner.len())?;
        Some(words.iter().skip(before).zip(&owner).all(|(word, owner)| word == owner))
    };
    KINDS.iter().find(|kind| {
        let owned = kind.owners.iter().any(|(owner, functions)| {
            behind(owner) == Some(true) && (functions.is_empty() || functions.contains(&last.as_str()))
        });
        owned
            || kind.functions.contains(&last.as_str())
            || words.len() > 1 && kind.crates.contains(&first.as_str()) && is_call(last)
    })
}

/// Whether the last word of a path into such a crate can be a call that breaks replay: no constant, no type, and no
/// generator that is made from a seed.
fn is_call(last: &str) -> bool {
    last.starts_with(char::is_lowercase) && !matches!(last, "seed_from_u64" | "from_seed" | "with_seed")
}

/// The `static` whose value a method call changes: `SEEN.fetch_add(1, Relaxed)`.
pub(crate) fn changed_static(call: &syn::ExprMethodCall) -> Option<&Path> {
    let Expr::Path(receiver) = &*call.receiver else { return None };
    let name = receiver.path.segments.last()?.ident.to_string();
    let is_static = name.chars().any(char::is_uppercase) && !name.chars().any(char::is_lowercase);
    (is_static && CHANGES.iter().any(|change| call.method == change)).then_some(&receiver.path)
}

/// Takes `#[allow_impure(reason = "..")]` off an argument and gives the reason.
pub(crate) fn take_permission(ctxt: &Ctxt, expr: &mut Expr) -> Option<LitStr> {
    struct Permissions<'a>(&'a Ctxt, Option<LitStr>);
    impl Permissions<'_> {
        fn take(&mut self, attrs: &mut Vec<Attribute>) {
            attrs.retain(|attr| {
                let is_ours = attr.path().is_ident(symbol::ALLOW_IMPURE);
                if is_ours {
                    // Without a reason it was refused, and the call itself need not be.
                    let reason = reason(self.0, attr);
                    self.1.get_or_insert(reason.unwrap_or_else(|| LitStr::new("", attr.pound_token.span)));
                }
                !is_ours
            });
        }
    }
    impl syn::visit_mut::VisitMut for Permissions<'_> {
        fn visit_expr_closure_mut(&mut self, closure: &mut syn::ExprClosure) {
            self.take(&mut closure.attrs);
            syn::visit_mut::visit_expr_closure_mut(self, closure);
        }
        fn visit_expr_path_mut(&mut self, path: &mut syn::ExprPath) {
            self.take(&mut path.attrs);
        }
        fn visit_item_mut(&mut self, _: &mut syn::Item) {}
    }
    let mut permissions = Permissions(ctxt, None);
    syn::visit_mut::VisitMut::visit_expr_mut(&mut permissions, expr);
    permissions.1
}

/// Who opts out says why: `#[allow_impure]`, `#[allow_impure(reason = "")]`.
fn reason(ctxt: &Ctxt, attr: &Attribute) -> Option<LitStr> {
    let refuse = |span: Span| {
        ctxt.error_at(
            span,
            "opting out of replay needs a reason, which the topology shows; write `#[allow_impure(reason = \"..\")]`",
        );
    };
    let mut found: Option<LitStr> = None;
    let parsed = match attr.meta {
        syn::Meta::List(_) => attr.parse_nested_meta(|meta| {
            if !meta.path.is_ident(symbol::REASON) {
                return Err(meta.error(""));
            }
            found = Some(meta.value()?.parse()?);
            Ok(())
        }),
        _ => Ok(()),
    };
    let said = found.filter(|text| parsed.is_ok() && !text.value().trim().is_empty());
    if said.is_none() {
        refuse(syn::spanned::Spanned::span(attr.path()));
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, is_impure: bool) {
        let path: Path = syn::parse_str(path).unwrap();
        assert_eq!(call(&path).is_some(), is_impure);
    }

    #[test]
    fn paths_that_break_replay() {
        for path in [
            "std::time::SystemTime::now",
            "Instant::now",
            "rand::random",
            "thread_rng",
            "std::env::var",
            "env::args",
            "std::thread::current",
            "std::fs::read",
            "fs::read_to_string",
            "File::open",
            "TcpStream::connect",
            "reqwest::blocking::get",
            "std::process::Command::new",
            "process::id",
            "Uuid::new_v4",
        ] {
            check(path, true);
        }
    }

    #[test]
    fn paths_of_the_users_own() {
        for path in [
            "now",
            "Clock::now",
            "Command::new",
            "open",
            "std::path::Path::new",
            "Flow::id",
            "var",
            "String::new",
            "random",
            "fs::parse",
            "hyper::StatusCode::OK",
            "rand::rngs::SmallRng::seed_from_u64",
            "ahash::RandomState::with_seeds",
        ] {
            check(path, false);
        }
    }

    #[test]
    fn paths_that_make_cells() {
        let makes = |path: &str| makes_cell(&syn::parse_str(path).unwrap());
        assert!(makes("Mutex::new") && makes("std::sync::atomic::AtomicU64::default"));
        assert!(!makes("Arc::new") && !makes("Mutex::lock") && !makes("new") && !makes("LazyLock::new"));
    }

    #[test]
    fn statics_are_changed_by_some_methods() {
        let changed = |text: &str| {
            let call: syn::ExprMethodCall = syn::parse_str(text).unwrap();
            changed_static(&call).is_some()
        };
        assert!(changed("SEEN.fetch_add(1, Relaxed)") && changed("state::CACHE.lock()"));
        assert!(!changed("SEEN.load(Relaxed)") && !changed("LIMIT.min(3)") && !changed("seen.lock()"));
    }
}
