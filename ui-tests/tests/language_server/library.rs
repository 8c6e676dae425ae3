//! A stand-in for the standard library, for toolchains that come without its source (`rustup component add rust-src`):
//! what the types of a job's chain depend on, with empty bodies.
//!
//! An editor infers through it as it does through the real one; nothing is ever compiled against it.

/// The crate `core`; `std` and `alloc` are the same under other names.
pub(crate) const CORE: &str = r#"
#![no_core]
#![rustc_coherence_is_core]
#![feature(lang_items, no_core, rustc_attrs, auto_traits, decl_macro)]

macro_rules! each {
    ($name:ident: $($ty:ty)*) => { $($name!($ty);)* };
}

pub mod marker {
    #[lang = "pointee_sized"] #[fundamental] #[rustc_coinductive] pub trait PointeeSized {}
    #[lang = "meta_sized"] #[fundamental] #[rustc_coinductive] pub trait MetaSized: PointeeSized {}
    #[lang = "sized"] #[fundamental] #[rustc_coinductive] pub trait Sized: MetaSized {}
    #[lang = "unsize"] pub trait Unsize<T: PointeeSized>: PointeeSized {}
    #[lang = "tuple_trait"] pub trait Tuple {}
    #[lang = "copy"] pub trait Copy: Clone {}
    #[rustc_builtin_macro] pub macro Copy($item:item) {}
    #[lang = "unpin"] pub auto trait Unpin {}
    pub unsafe auto trait Send {}
    pub unsafe auto trait Sync {}
    #[lang = "phantom_data"] pub struct PhantomData<T: PointeeSized>;
    impl<T: PointeeSized> Clone for PhantomData<T> { fn clone(&self) -> Self { Self } }
    impl<T: PointeeSized> Copy for PhantomData<T> {}
    macro_rules! copy { ($ty:ty) => { impl Copy for $ty {} }; }
    each!(copy: usize u8 u16 u32 u64 u128 isize i8 i16 i32 i64 i128 f32 f64 bool char !);
    impl<T: PointeeSized> Copy for &T {}
}
pub mod clone {
    #[lang = "clone"] pub trait Clone: Sized { fn clone(&self) -> Self; }
    #[rustc_builtin_macro] pub macro Clone($item:item) {}
    macro_rules! clone { ($ty:ty) => { impl Clone for $ty { fn clone(&self) -> Self { *self } } }; }
    each!(clone: usize u8 u16 u32 u64 u128 isize i8 i16 i32 i64 i128 f32 f64 bool char !);
    impl<T: crate::marker::PointeeSized> Clone for &T { fn clone(&self) -> Self { *self } }
}
pub mod default {
    pub trait Default: Sized { fn default() -> Self; }
    #[rustc_builtin_macro(Default, attributes(default))] pub macro Default($item:item) {}
    macro_rules! default { ($ty:ty) => { impl Default for $ty { fn default() -> Self { loop {} } } }; }
    each!(default: usize u8 u16 u32 u64 u128 isize i8 i16 i32 i64 i128 f32 f64 bool char crate::string::String);
}
pub mod hash {
    use crate::marker::PointeeSized;
    pub trait Hasher { fn finish(&self) -> u64; }
    pub trait BuildHasher { type Hasher: Hasher; }
    pub trait Hash: PointeeSized { fn hash<H: Hasher>(&self, state: &mut H); }
    pub(crate) mod derive { #[rustc_builtin_macro] pub macro Hash($item:item) {} }
    pub use derive::Hash;
    macro_rules! hash { ($ty:ty) => { impl Hash for $ty { fn hash<H: Hasher>(&self, _: &mut H) {} } }; }
    each!(hash: usize u8 u16 u32 u64 u128 isize i8 i16 i32 i64 i128 bool char str () crate::string::String);
    impl<T: Hash + PointeeSized> Hash for &T { fn hash<H: Hasher>(&self, _: &mut H) {} }
    impl<A: Hash, B: Hash> Hash for (A, B) { fn hash<H: Hasher>(&self, _: &mut H) {} }
}
pub mod cmp {
    use crate::marker::PointeeSized;
    pub enum Ordering { Less, Equal, Greater }
    #[lang = "eq"] pub trait PartialEq<Rhs: PointeeSized = Self>: PointeeSized {
        fn eq(&self, other: &Rhs) -> bool;
        fn ne(&self, other: &Rhs) -> bool { loop {} }
    }
    #[rustc_builtin_macro] pub macro PartialEq($item:item) {}
    pub trait Eq: PartialEq<Self> + PointeeSized {}
    #[rustc_builtin_macro] pub macro Eq($item:item) {}
    #[lang = "partial_ord"] pub trait PartialOrd<Rhs: PointeeSized = Self>: PartialEq<Rhs> + PointeeSized {
        fn partial_cmp(&self, other: &Rhs) -> Option<Ordering>;
        fn lt(&self, other: &Rhs) -> bool { loop {} }
        fn le(&self, other: &Rhs) -> bool { loop {} }
        fn gt(&self, other: &Rhs) -> bool { loop {} }
        fn ge(&self, other: &Rhs) -> bool { loop {} }
    }
    #[rustc_builtin_macro] pub macro PartialOrd($item:item) {}
    pub trait Ord: Eq + PartialOrd<Self> + PointeeSized { fn cmp(&self, other: &Self) -> Ordering; }
    #[rustc_builtin_macro] pub macro Ord($item:item) {}
    macro_rules! partial { ($ty:ty) => {
        impl PartialEq for $ty { fn eq(&self, _: &Self) -> bool { loop {} } }
        impl PartialOrd for $ty { fn partial_cmp(&self, _: &Self) -> Option<Ordering> { loop {} } }
    }; }
    macro_rules! total { ($ty:ty) => {
        partial!($ty);
        impl Eq for $ty {}
        impl Ord for $ty { fn cmp(&self, _: &Self) -> Ordering { loop {} } }
    }; }
    each!(total: usize u8 u16 u32 u64 u128 isize i8 i16 i32 i64 i128 bool char str () crate::string::String);
    each!(partial: f32 f64);
    impl<A: PartialEq, B: PartialEq> PartialEq for (A, B) { fn eq(&self, _: &Self) -> bool { loop {} } }
    impl<A: Eq, B: Eq> Eq for (A, B) {}
    impl<A: PartialOrd, B: PartialOrd> PartialOrd for (A, B) {
        fn partial_cmp(&self, _: &Self) -> Option<Ordering> { loop {} }
    }
    impl<A: Ord, B: Ord> Ord for (A, B) { fn cmp(&self, _: &Self) -> Ordering { loop {} } }
    pub fn max<T: Ord>(a: T, b: T) -> T { a }
    pub fn min<T: Ord>(a: T, b: T) -> T { a }
}
pub mod ops {
    use crate::marker::{PointeeSized, Tuple};
    #[lang = "drop"] pub trait Drop { fn drop(&mut self); }
    #[lang = "deref"] pub trait Deref: PointeeSized {
        #[lang = "deref_target"] type Target: ?Sized;
        fn deref(&self) -> &Self::Target;
    }
    #[lang = "deref_mut"] pub trait DerefMut: Deref + PointeeSized { fn deref_mut(&mut self) -> &mut Self::Target; }
    impl<T: ?Sized> Deref for &T { type Target = T; fn deref(&self) -> &T { loop {} } }
    impl<T: ?Sized> Deref for &mut T { type Target = T; fn deref(&self) -> &T { loop {} } }
    impl<T: ?Sized> DerefMut for &mut T { fn deref_mut(&mut self) -> &mut T { loop {} } }
    #[lang = "index"] pub trait Index<I: ?Sized> { type Output: ?Sized; fn index(&self, index: I) -> &Self::Output; }
    #[lang = "add"] pub trait Add<Rhs = Self> { type Output; fn add(self, rhs: Rhs) -> Self::Output; }
    #[lang = "sub"] pub trait Sub<Rhs = Self> { type Output; fn sub(self, rhs: Rhs) -> Self::Output; }
    #[lang = "mul"] pub trait Mul<Rhs = Self> { type Output; fn mul(self, rhs: Rhs) -> Self::Output; }
    #[lang = "div"] pub trait Div<Rhs = Self> { type Output; fn div(self, rhs: Rhs) -> Self::Output; }
    #[lang = "rem"] pub trait Rem<Rhs = Self> { type Output; fn rem(self, rhs: Rhs) -> Self::Output; }
    #[lang = "not"] pub trait Not { type Output; fn not(self) -> Self::Output; }
    macro_rules! numeric { ($ty:ty) => {
        impl Add for $ty { type Output = $ty; fn add(self, _: $ty) -> $ty { self } }
        impl Sub for $ty { type Output = $ty; fn sub(self, _: $ty) -> $ty { self } }
        impl Mul for $ty { type Output = $ty; fn mul(self, _: $ty) -> $ty { self } }
        impl Div for $ty { type Output = $ty; fn div(self, _: $ty) -> $ty { self } }
        impl Rem for $ty { type Output = $ty; fn rem(self, _: $ty) -> $ty { self } }
    }; }
    each!(numeric: usize u8 u16 u32 u64 u128 isize i8 i16 i32 i64 i128 f32 f64);
    #[lang = "fn"] #[fundamental] #[rustc_paren_sugar] pub trait Fn<Args: Tuple>: FnMut<Args> {
        extern "rust-call" fn call(&self, args: Args) -> Self::Output;
    }
    #[lang = "fn_mut"] #[fundamental] #[rustc_paren_sugar] pub trait FnMut<Args: Tuple>: FnOnce<Args> {
        extern "rust-call" fn call_mut(&mut self, args: Args) -> Self::Output;
    }
    #[lang = "fn_once"] #[fundamental] #[rustc_paren_sugar] pub trait FnOnce<Args: Tuple> {
        #[lang = "fn_once_output"] type Output;
        extern "rust-call" fn call_once(self, args: Args) -> Self::Output;
    }
    pub enum ControlFlow<B, C = ()> { #[lang = "Continue"] Continue(C), #[lang = "Break"] Break(B) }
    #[lang = "FromResidual"] pub trait FromResidual<R> {
        #[lang = "from_residual"] fn from_residual(residual: R) -> Self;
    }
    #[lang = "Try"] pub trait Try: FromResidual<Self::Residual> {
        type Output;
        type Residual;
        #[lang = "from_output"] fn from_output(output: Self::Output) -> Self;
        #[lang = "branch"] fn branch(self) -> ControlFlow<Self::Residual, Self::Output>;
    }
    impl<T, E> Try for Result<T, E> {
        type Output = T;
        type Residual = Result<crate::convert::Infallible, E>;
        fn from_output(output: T) -> Self { Ok(output) }
        fn branch(self) -> ControlFlow<Self::Residual, T> { loop {} }
    }
    impl<T, E, F: From<E>> FromResidual<Result<crate::convert::Infallible, E>> for Result<T, F> {
        fn from_residual(residual: Result<crate::convert::Infallible, E>) -> Self { loop {} }
    }
    #[lang = "Range"] pub struct Range<T> { pub start: T, pub end: T }
    #[lang = "RangeFrom"] pub struct RangeFrom<T> { pub start: T }
    #[lang = "RangeTo"] pub struct RangeTo<T> { pub end: T }
    #[lang = "RangeInclusive"] pub struct RangeInclusive<T> { start: T, end: T }
    pub enum Bound<T> { Included(T), Excluded(T), Unbounded }
}
pub mod option {
    #[lang = "Option"] pub enum Option<T> { #[lang = "None"] None, #[lang = "Some"] Some(T) }
    impl<T: Clone> Clone for Option<T> { fn clone(&self) -> Self { loop {} } }
    impl<T: Copy> Copy for Option<T> {}
    impl<T> Option<T> {
        pub fn map<U, F: FnOnce(T) -> U>(self, f: F) -> Option<U> { loop {} }
        pub fn unwrap_or(self, other: T) -> T { other }
    }
}
pub mod result {
    pub enum Result<T, E> { #[lang = "Ok"] Ok(T), #[lang = "Err"] Err(E) }
}
pub mod convert {
    pub enum Infallible {}
    pub trait AsRef<T: ?Sized> { fn as_ref(&self) -> &T; }
    pub trait From<T>: Sized { fn from(value: T) -> Self; }
    pub trait Into<T>: Sized { fn into(self) -> T; }
    impl<T> From<T> for T { fn from(value: T) -> T { value } }
    impl<T, U: From<T>> Into<U> for T { fn into(self) -> U { U::from(self) } }
}
pub mod iter {
    #[lang = "iterator"] pub trait Iterator { type Item; #[lang = "next"] fn next(&mut self) -> Option<Self::Item>; }
    pub trait IntoIterator {
        type Item;
        type IntoIter: Iterator<Item = Self::Item>;
        #[lang = "into_iter"] fn into_iter(self) -> Self::IntoIter;
    }
    impl<I: Iterator> IntoIterator for I { type Item = I::Item; type IntoIter = I; fn into_iter(self) -> I { self } }
    pub trait FromIterator<A>: Sized { fn from_iter<T: IntoIterator<Item = A>>(iter: T) -> Self; }
}
pub mod fmt {
    pub struct Error;
    pub type Result = crate::result::Result<(), Error>;
    pub struct Formatter<'a> { _text: &'a str }
    pub struct Arguments<'a> { _text: &'a str }
    pub trait Debug { fn fmt(&self, f: &mut Formatter<'_>) -> Result; }
    pub trait Display { fn fmt(&self, f: &mut Formatter<'_>) -> Result; }
    pub trait Write { fn write_str(&mut self, text: &str) -> Result; }
    pub(crate) mod derive { #[rustc_builtin_macro] pub macro Debug($item:item) {} }
    pub use derive::Debug;
}
pub mod borrow {
    pub trait ToOwned { type Owned; fn to_owned(&self) -> Self::Owned; }
    impl ToOwned for str { type Owned = crate::string::String; fn to_owned(&self) -> crate::string::String { loop {} } }
}
pub mod string {
    pub struct String { bytes: crate::vec::Vec<u8> }
    impl String {
        pub fn new() -> String { loop {} }
        pub fn len(&self) -> usize { 0 }
        pub fn is_empty(&self) -> bool { true }
        pub fn as_str(&self) -> &str { loop {} }
    }
    impl Clone for String { fn clone(&self) -> Self { loop {} } }
    impl crate::ops::Deref for String { type Target = str; fn deref(&self) -> &str { loop {} } }
    impl From<&str> for String { fn from(text: &str) -> String { loop {} } }
    pub trait ToString { fn to_string(&self) -> String; }
}
pub mod vec {
    pub struct Vec<T> { _item: T }
    impl<T> Vec<T> { pub fn new() -> Self { loop {} } pub fn len(&self) -> usize { 0 } }
    impl<T: Clone> Clone for Vec<T> { fn clone(&self) -> Self { loop {} } }
}
pub mod boxed {
    #[lang = "owned_box"] pub struct Box<T: ?Sized>(*const T);
    impl<T> Box<T> { pub fn new(value: T) -> Self { loop {} } }
}
pub mod time {
    pub struct Duration { secs: u64, nanos: u32 }
    impl Clone for Duration { fn clone(&self) -> Self { loop {} } }
    impl Copy for Duration {}
}
pub mod mem { pub fn drop<T>(_: T) {} }

mod macros {
    #[macro_export] #[rustc_builtin_macro(core_panic)] macro_rules! panic { ($($arg:tt)*) => {}; }
    #[macro_export] macro_rules! unreachable { ($($arg:tt)*) => { loop {} }; }
    #[macro_export] macro_rules! assert { ($($arg:tt)*) => { () }; }
    #[macro_export] macro_rules! format { ($($arg:tt)*) => { $crate::string::String::new() }; }
    #[macro_export] #[rustc_builtin_macro] macro_rules! concat {}
    #[macro_export] #[rustc_builtin_macro] macro_rules! compile_error { ($text:expr) => {}; }
    pub(crate) mod builtin { #[rustc_builtin_macro] pub macro derive($item:item) {} }
}

pub mod prelude {
    pub mod v1 {
        pub use crate::borrow::ToOwned;
        pub use crate::boxed::Box;
        pub use crate::clone::Clone;
        pub use crate::cmp::{Eq, Ord, PartialEq, PartialOrd};
        pub use crate::convert::{AsRef, From, Into};
        pub use crate::default::Default;
        pub use crate::fmt::derive::Debug;
        pub use crate::hash::derive::Hash;
        pub use crate::iter::{FromIterator, IntoIterator, Iterator};
        pub use crate::macros::builtin::derive;
        pub use crate::marker::{Copy, Send, Sized, Sync, Unpin};
        pub use crate::mem::drop;
        pub use crate::ops::{Drop, Fn, FnMut, FnOnce};
        pub use crate::option::Option::{self, None, Some};
        pub use crate::result::Result::{self, Err, Ok};
        pub use crate::string::{String, ToString};
        pub use crate::vec::Vec;
        pub use crate::{assert, compile_error, concat, format, panic, unreachable};
    }
    pub mod rust_2015 { pub use super::v1::*; }
    pub mod rust_2018 { pub use super::v1::*; }
    pub mod rust_2021 { pub use super::v1::*; }
    pub mod rust_2024 { pub use super::v1::*; }
}

#[prelude_import]
#[allow(unused)]
use prelude::v1::*;
"#;
