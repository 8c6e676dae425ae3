//! The types that a record is made of, as far as they may be the user's.
//!
//! Whether a type can be stored is left to rustc; here is which ones it is asked about.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Attribute, Field, GenericArgument, Item, PathArguments, Type};

use crate::symbol;

/// Types that are stored whatever they are called elsewhere.
const KNOWN: &[&str] = &[
    "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize", "f32", "f64",
    "bool", "char", "str", "String", "Duration", "Self",
];

/// Types that are stored if what they hold is, with how many types that are; one behind them says how it is held.
const HOLDERS: &[(&str, usize)] = &[
    ("Option", 1),
    ("Vec", 1),
    ("VecDeque", 1),
    ("Box", 1),
    ("BTreeMap", 2),
    ("BTreeSet", 1),
    ("HashMap", 2),
    ("HashSet", 1),
    ("Result", 2),
    ("Reverse", 1),
];

/// The types of the fields of a struct or an enum, each once; of containers, of what they hold.
///
/// How a field with an attribute of serde is stored is said there; what stands under a condition may not be there.
pub(super) fn of(item: &Item) -> Vec<&Type> {
    let (attrs, fields): (_, Vec<&Field>) = match item {
        Item::Struct(item) => (&item.attrs, item.fields.iter().collect()),
        Item::Enum(item) => {
            let variants = item.variants.iter().filter(|variant| !has_own_way(&variant.attrs));
            (&item.attrs, variants.flat_map(|variant| &variant.fields).collect())
        }
        _ => return Vec::new(),
    };
    let mut types = Vec::new();
    if !is_stored_as_another(attrs) && !attrs.iter().any(|attr| attr.path().is_ident(symbol::CFG_ATTR)) {
        for field in fields.iter().filter(|field| !has_own_way(&field.attrs)) {
            add(&mut types, &field.ty);
        }
    }
    types
}

fn add<'a>(types: &mut Vec<&'a Type>, ty: &'a Type) {
    match ty {
        Type::Path(path) => {
            let Some(last) = path.path.segments.last() else { return };
            let holder = HOLDERS.iter().find(|(known, _)| last.ident == known);
            match (&last.arguments, holder) {
                (PathArguments::AngleBracketed(arguments), Some(&(_, held))) => {
                    for argument in arguments.args.iter().take(held) {
                        if let GenericArgument::Type(ty) = argument {
                            add(types, ty);
                        }
                    }
                }
                (PathArguments::None, _) if KNOWN.iter().any(|known| last.ident == known) => {}
                // It has no meaning outside of its type.
                _ if mentions_self(ty.to_token_stream()) => {}
                _ if types.contains(&ty) => {}
                _ => types.push(ty),
            }
        }
        Type::Tuple(tuple) => tuple.elems.iter().for_each(|ty| add(types, ty)),
        Type::Array(array) => add(types, &array.elem),
        Type::Group(group) => add(types, &group.elem),
        Type::Paren(paren) => add(types, &paren.elem),
        _ => {}
    }
}

fn mentions_self(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(word) => word == "Self",
        TokenTree::Group(group) => mentions_self(group.stream()),
        _ => false,
    })
}

/// Whether attributes say how something is stored, or on which condition it is there at all.
fn has_own_way(attrs: &[Attribute]) -> bool {
    let words = ["serde", symbol::CFG, symbol::CFG_ATTR];
    attrs.iter().any(|attr| words.iter().any(|word| attr.path().is_ident(word)))
}

/// `#[serde(from = "..")]` and its kin store something else than the fields.
fn is_stored_as_another(attrs: &[Attribute]) -> bool {
    const WORDS: &[&str] = &["from", "try_from", "into", "remote"];
    attrs.iter().filter(|attr| attr.path().is_ident("serde")).any(|attr| {
        let mut found = false;
        // What is wrong in a serde attribute is said by serde.
        let _ = attr.parse_nested_meta(|meta| {
            found |= WORDS.iter().any(|word| meta.path.is_ident(word));
            if meta.input.peek(syn::Token![=]) {
                meta.value()?.parse::<syn::Expr>()?;
            } else if meta.input.peek(syn::token::Paren) {
                let inner;
                syn::parenthesized!(inner in meta.input);
                inner.parse::<TokenStream>()?;
            }
            Ok(())
        });
        found
    })
}
