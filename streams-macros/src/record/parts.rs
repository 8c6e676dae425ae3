//! The types that a record is made of, as far as they may be the user's.
//!
//! Whether a type can be stored is left to rustc; here is which ones it is asked about.

use syn::{Attribute, Field, GenericArgument, Item, PathArguments, Type};

use crate::symbol;

/// Types that are stored whatever they are called elsewhere.
const KNOWN: &[&str] = &[
    "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize", "f32", "f64",
    "bool", "char", "str", "String", "Duration", "Self",
];

/// Types that are stored if what they hold is.
const HOLDERS: &[&str] =
    &["Option", "Vec", "VecDeque", "Box", "BTreeMap", "BTreeSet", "HashMap", "HashSet", "Result", "Reverse"];

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
    if !is_stored_as_another(attrs) {
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
            match &last.arguments {
                PathArguments::AngleBracketed(arguments)
                    if HOLDERS.iter().any(|known| last.ident == known) =>
                {
                    for argument in &arguments.args {
                        if let GenericArgument::Type(ty) = argument {
                            add(types, ty);
                        }
                    }
                }
                // `Self` has no meaning outside of its type.
                PathArguments::None if KNOWN.iter().any(|known| last.ident == known) => {}
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

/// Whether attributes say how something is stored, or on which condition it is there at all.
fn has_own_way(attrs: &[Attribute]) -> bool {
    attrs.iter().any(|attr| attr.path().is_ident("serde") || attr.path().is_ident(symbol::CFG))
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
                inner.parse::<proc_macro2::TokenStream>()?;
            }
            Ok(())
        });
        found
    })
}
