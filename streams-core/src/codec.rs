//! Bytes and values: the format in which state rows and keys are stored.
//!
//! Why an own format: state outlives the program that wrote it, so a struct must be able to gain, lose and
//! reorder fields, and yet a row must stay small. Named things (fields, variants) are therefore written by
//! the hash of their name and everything else without any description.
//!
//! | value | bytes |
//! |---|---|
//! | unsigned integer, `char` | LEB128 varint, shortest form only |
//! | signed integer | zigzag, then as unsigned |
//! | `f32`, `f64` | 4 or 8 bytes, little endian |
//! | `bool`; unit, unit struct, empty tuple | one byte: 0 or 1; 0 |
//! | string, bytes | varint length, the bytes |
//! | option | 0, or 1 and the value |
//! | sequence, map | varint count, the elements (keys and values in turn) |
//! | tuple, array, tuple struct | the elements |
//! | newtype struct | what it wraps |
//! | struct | varint field count; per field: [`name_id`] (4 bytes, little endian), varint length of the value, the value |
//! | enum | [`name_id`] of the variant, then its payload written as a value, tuple or struct |
//!
//! [`to_vec`] puts one format version byte in front, [`key_to_vec`] does not.
//!
//! What may change while stored rows stay readable: fields may be reordered, removed, and added when they
//! are `Option` or `#[serde(default)]`; renamed with `#[serde(alias)]`; variants may be reordered and added;
//! an integer may grow within its signedness. What may not: everything inside tuples, and from unsigned to
//! signed, which would be *read as another number*. Catching that is the work of the schema lock, not of
//! this module.
//!
//! What it does not do: describe itself. `#[serde(flatten)]`, `#[serde(untagged)]`, `#[serde(tag = "…")]`
//! and `serde_json::Value` are refused when they are read. It neither compresses nor checks sums; the store does.
//!
//! Bytes are untrusted: decoding never panics, never reserves more memory than the bytes can fill (every
//! value takes at least one byte, so a count cannot exceed what is left) and nests at most [`MAX_DEPTH`] deep.

mod access;
mod compound;
mod decode;
mod encode;
mod varint;

#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod tests;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::CodecError;
use decode::Decoder;
use encode::Encoder;

/// The format version that this build writes, and the newest that it reads.
pub const VERSION: u8 = 1;

/// How deeply values may nest, for writing and for reading: a stack is no place for untrusted recursion.
pub const MAX_DEPTH: u32 = 128;

/// Appends the version byte and the value; leaves `out` as it was when the value is refused.
///
/// # Errors
/// When the type's own `Serialize` refuses, announces another number of elements than it writes, or nests
/// more than [`MAX_DEPTH`] deep.
pub fn to_vec<T: Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) -> Result<(), CodecError> {
    let start = out.len();
    out.push(VERSION);
    write(value, start, out)
}

/// Reads what [`to_vec`] wrote; the bytes must hold exactly one value.
///
/// # Errors
/// When the bytes are truncated, damaged, of a newer version, of another type, or too many.
pub fn from_slice<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, CodecError> {
    match bytes.split_first() {
        None => Err(CodecError::Truncated { at: 0, what: "the format version" }),
        Some((&VERSION, _)) => read(bytes, 1),
        Some((0, _)) => Err(CodecError::Invalid { at: 0, what: "format version 0".to_owned() }),
        Some((&found, _)) => Err(CodecError::Version { found, known: VERSION }),
    }
}

/// Appends a key, without a version byte; leaves `out` as it was when the value is refused.
///
/// Equal keys give equal bytes as long as the type has one order of its elements: a `HashMap` inside a key
/// has none. Bytes of different keys do not sort like the keys.
///
/// # Errors
/// As [`to_vec`].
pub fn key_to_vec<T: Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) -> Result<(), CodecError> {
    write(value, out.len(), out)
}

/// Reads what [`key_to_vec`] wrote; the bytes must hold exactly one key.
///
/// # Errors
/// When the bytes are truncated, damaged, of another type, or too many.
pub fn key_from_slice<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, CodecError> {
    read(bytes, 0)
}

/// What stands for a field's or a variant's name in the bytes: FNV-1a of 32 bits.
///
/// Two names of one type may collide, once in about four billion pairs; a reader that cannot tell them
/// apart says so and asks for a new name. This is `const`, so that a derive can find out at build time.
#[must_use]
#[inline]
pub const fn name_id(name: &str) -> u32 {
    let mut rest = name.as_bytes();
    let mut hash = 0x811c_9dc5_u32;
    while let [byte, tail @ ..] = rest {
        // A widening cast; `From` is not callable in a `const fn`.
        hash = (hash ^ *byte as u32).wrapping_mul(0x0100_0193);
        rest = tail;
    }
    hash
}

fn write<T: Serialize + ?Sized>(value: &T, start: usize, out: &mut Vec<u8>) -> Result<(), CodecError> {
    let result = value.serialize(&mut Encoder::new(out));
    if result.is_err() {
        // Half a value behind the caller's own bytes would be read as the start of the next one.
        out.truncate(start);
    }
    result
}

fn read<T: DeserializeOwned>(bytes: &[u8], from: usize) -> Result<T, CodecError> {
    let mut decoder = Decoder::new(bytes, from);
    let value = T::deserialize(&mut decoder)?;
    decoder.finish("the value")?;
    Ok(value)
}

impl serde::ser::Error for CodecError {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self::Message(message.to_string())
    }
}

impl serde::de::Error for CodecError {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self::Message(message.to_string())
    }
}
