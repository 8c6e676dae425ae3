//! Defaults of settings: where the type is one that the core reads, its text is read here as it will be there.
//!
//! What a type of the user's makes of a text is known when the job is built.

use syn::{GenericArgument, LitStr, PathArguments, Type};

use super::signature::plain;
use crate::ctxt::Ctxt;

/// A job whose default is no value would be told of by whoever runs it: `#[arg(default = "ten")] limit: u64`.
pub(super) fn check_default_is_a_value(ctxt: &Ctxt, ty: &Type, default: &LitStr) {
    if let Some(Err(why)) = known(ty).map(|known| known.read(&default.value())) {
        ctxt.error_at(default.span(), why);
    }
}

/// A type of which it is known how its values are written.
struct Known {
    name: String,
    /// An empty text is none.
    is_optional: bool,
}

/// By the name alone, as nothing else is known of a type here.
fn known(ty: &Type) -> Option<Known> {
    let Type::Path(path) = plain(ty) else { return None };
    let names: Vec<String> = path.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    match &path.path.segments.last()?.arguments {
        _ if path.qself.is_some() => None,
        PathArguments::None => match names.as_slice() {
            ["std" | "core", "time", "Duration"] => {
                Some(Known { name: "Duration".to_owned(), is_optional: false })
            }
            [name] => Some(Known { name: (*name).to_owned(), is_optional: false }),
            _ => None,
        },
        PathArguments::AngleBracketed(args) if names == ["Option"] => match args.args.first()? {
            GenericArgument::Type(inner) => Some(Known { is_optional: true, ..known(inner)? }),
            _ => None,
        },
        _ => None,
    }
}

macro_rules! parsed {
    ($name:ident, $text:ident, $($expected:literal, $example:literal: $($ty:ident)*;)*) => {
        match $name {
            $($(stringify!($ty) => $text.parse::<$ty>().map(drop).map_err(|error| {
                let expected = concat!($expected, " (", stringify!($ty), ")");
                format!("`{}` is no {expected}: {error}; write for example `default = \"{}\"`", $text, $example)
            }),)*)*
            _ => Ok(()),
        }
    };
}

impl Known {
    /// Why a text is no value, and what would be one; of a type that is not known after all every text is one.
    fn read(&self, text: &str) -> Result<(), String> {
        let name = self.name.as_str();
        if self.is_optional && text.is_empty() {
            return Ok(());
        }
        if name == "Duration" {
            return duration(text);
        }
        parsed! { name, text,
            "whole number", "10": u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize;
            "number", "0.5": f32 f64;
            "`true` or `false`", "true": bool;
            "single character", "x": char;
        }
    }
}

/// Reads a length of time as the core does.
fn duration(text: &str) -> Result<(), String> {
    let wrong = |why: &str| {
        format!("`{text}` is no duration: {why}; write for example `250ms`, `5s`, `10m`, `1h30m`")
    };
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(wrong("it is empty"));
    }
    let mut total_ms = 0_u64;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, tail) = rest.split_at(digits);
        let tail = tail.trim_start();
        let letters = tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(letters);
        let number: f64 = number.parse().map_err(|_| wrong("a number is expected in front of the unit"))?;
        let ms = match unit {
            "ms" => 1.0,
            "s" => 1_000.0,
            "m" | "min" => 60_000.0,
            "h" => 3_600_000.0,
            "d" => 86_400_000.0,
            "" => return Err(wrong("the unit is missing")),
            _ => return Err(wrong(&format!("`{unit}` is no unit; units are ms, s, m, h, d"))),
        };
        let ms = (number * ms).round();
        if ms > i64::MAX as f64 {
            return Err(wrong("it is longer than time itself"));
        }
        total_ms = total_ms.saturating_add(ms as u64);
        rest = tail.trim_start();
    }
    Ok(())
}

#[cfg(test)]
mod tests;
