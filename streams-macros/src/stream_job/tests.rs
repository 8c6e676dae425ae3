//! Broken jobs by the thousand: whatever is written, the compiler answers and does not panic.

use proc_macro2::{Group, TokenStream, TokenTree};

use crate::testing::{DAG, TRAFFIC};

/// Both macros take the tokens, and what they give is Rust.
fn survives(item: &TokenStream) {
    let expansion = super::expand(&TokenStream::new(), item.clone(), "streams_core");
    if let Err(error) = syn::parse2::<syn::File>(expansion.clone()) {
        panic!("{error} in the expansion of\n{item}\n\n{expansion}");
    }
    crate::record::expand(&TokenStream::new(), item.clone(), "streams_core");
}

/// All variants of a token stream in which `change` was applied to one token, at any depth.
fn variants(tokens: &TokenStream, change: &dyn Fn(TokenTree) -> TokenStream) -> Vec<TokenStream> {
    let trees: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let mut found = Vec::new();
    for (i, tree) in trees.iter().enumerate() {
        let mut replaced = vec![change(tree.clone())];
        if let TokenTree::Group(group) = tree {
            let inner = variants(&group.stream(), change).into_iter();
            replaced.extend(inner.map(|stream| {
                let mut changed = Group::new(group.delimiter(), stream);
                changed.set_span(group.span());
                TokenTree::Group(changed).into()
            }));
        }
        for middle in replaced {
            let before = trees[..i].iter().cloned();
            let after = trees[i + 1..].iter().cloned();
            found.push(before.chain(middle).chain(after).collect());
        }
    }
    found
}

#[track_caller]
fn check(change: &dyn Fn(TokenTree) -> TokenStream) {
    for source in [TRAFFIC, DAG] {
        variants(&source.parse().unwrap(), change).iter().for_each(survives);
    }
}

#[test]
fn a_token_is_missing() {
    check(&|_| TokenStream::new());
}

#[test]
fn a_token_stands_twice() {
    check(&|token| [token.clone(), token].into_iter().collect());
}

#[test]
fn a_token_is_another_one() {
    for other in [
        "flows",
        "late",
        "(flows)",
        "|f| f",
        ".",
        "\"x\"",
        "if x { y }",
        "totals.late()",
        "named(\"a\")",
        "r#in",
        "_",
    ] {
        check(&|_| other.parse().unwrap());
    }
}

#[test]
fn the_rest_is_missing() {
    for source in [TRAFFIC, DAG] {
        let trees: Vec<TokenTree> = source.parse::<TokenStream>().unwrap().into_iter().collect();
        (0..trees.len()).for_each(|end| survives(&trees[..end].iter().cloned().collect()));
    }
}
