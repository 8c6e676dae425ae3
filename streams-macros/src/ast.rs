//! The job as it was written: data with spans, nothing resolved.
//!
//! Words are still words here; what they mean is decided by `lower`.

use proc_macro2::{Ident, Span, TokenStream};
use syn::{Expr, LitStr, Type};

/// A function under `#[stream_job]`.
#[derive(Debug)]
pub(crate) struct Job {
    /// Lines of the doc comment.
    pub(crate) doc: String,
    /// The doc comment as written.
    pub(crate) doc_attrs: Vec<syn::Attribute>,
    /// Attributes that are passed on.
    pub(crate) attrs: Vec<syn::Attribute>,
    /// The function's visibility.
    pub(crate) vis: syn::Visibility,
    /// The place of `fn`.
    pub(crate) keyword: Span,
    /// The function's name.
    pub(crate) name: Ident,
    /// The parameters.
    pub(crate) params: Vec<Param>,
    /// The returned streams' types.
    pub(crate) outputs: Outputs,
    /// The statements before the last expression.
    pub(crate) body: Vec<Stmt>,
    /// The last expression.
    pub(crate) tail: Option<Tail>,
    /// Everything that makes the job do what it does.
    pub(crate) code: TokenStream,
}

/// A parameter.
#[derive(Debug)]
pub(crate) struct Param {
    /// Its name.
    pub(crate) name: Ident,
    /// Its type.
    pub(crate) ty: Type,
    /// Its doc comment.
    pub(crate) doc: String,
    /// The text of `#[arg(default = "..")]`.
    pub(crate) default: Option<LitStr>,
    /// True if its type is `Stream<..>`.
    pub(crate) is_port: bool,
}

/// The return type.
#[derive(Debug)]
pub(crate) struct Outputs {
    /// The streams, in order.
    pub(crate) types: Vec<Type>,
    /// The place of the whole return type.
    pub(crate) tokens: TokenStream,
}

/// A statement.
#[derive(Debug)]
pub(crate) enum Stmt {
    /// `let name = chain;`, a stream or a plain value.
    Let(Box<Let>),
    /// An item, kept as it is.
    Item(syn::Item),
    /// An expression whose value is thrown away.
    Dropped(Chain),
}

/// A `let` with an initializer.
#[derive(Debug)]
pub(crate) struct Let {
    /// The statement as written, for values that are no streams.
    pub(crate) local: syn::Local,
    /// The initializer.
    pub(crate) chain: Chain,
}

/// The end of the body.
#[derive(Debug)]
pub(crate) enum Tail {
    /// One stream.
    One(Box<Chain>),
    /// A tuple of streams.
    Tuple(Vec<Chain>),
}

/// `head.link(..).link(..)`.
#[derive(Debug)]
pub(crate) struct Chain {
    /// What the first operator is called on.
    pub(crate) head: Head,
    /// The operators.
    pub(crate) links: Vec<Link>,
    /// The whole expression, as written.
    pub(crate) whole: Expr,
}

/// The beginning of a chain.
#[derive(Debug)]
pub(crate) enum Head {
    /// A variable.
    Name(Ident),
    /// Anything else.
    Other,
}

/// One step of a chain.
#[derive(Debug)]
pub(crate) struct Link {
    /// The word after the dot.
    pub(crate) word: Ident,
    /// Its arguments; none at all if it is still half-written.
    pub(crate) call: Option<Call>,
    /// The dot, which is where a half-written operator can be pointed at.
    pub(crate) dot: Span,
}

/// The arguments of an operator.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// `::<..>` between the word and the parentheses.
    pub(crate) turbofish: Option<syn::AngleBracketedGenericArguments>,
    /// The parentheses.
    pub(crate) parens: syn::token::Paren,
    /// The arguments.
    pub(crate) args: Vec<Expr>,
}
