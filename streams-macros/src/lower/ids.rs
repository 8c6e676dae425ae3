//! Ids: the names under which operators keep their state and their dead letters.
//!
//! An id comes from `.named("..")`, else from the `let` that binds the operator, else from its kind and
//! position. It must not depend on anything else, because saved state is found by it.

use std::collections::BTreeMap;

use proc_macro2::Ident;
use syn::ext::IdentExt;

use crate::ir::{Call, Node, NodeId};
use crate::ops::Id;

/// Gives every node its id.
pub(super) fn assign(nodes: &mut [Node], let_ends: &[(NodeId, Ident)]) {
    let mut seen_of_kind: BTreeMap<&str, usize> = BTreeMap::new();
    for (number, node) in nodes.iter_mut().enumerate() {
        if matches!(node.call, Call::Port(..)) {
            continue;
        }
        let seen = seen_of_kind.entry(node.op.name).or_default();
        *seen += 1;
        let bound = let_ends.iter().find(|(end, _)| *end == number).map(|(_, name)| name);
        if let Some(name) = &node.named {
            node.id = name.value();
            node.id_span = name.span();
        } else if node.op.id != Id::None {
            if let Some(name) = bound {
                node.id = name.unraw().to_string();
                node.id_span = name.span();
            } else if *seen == 1 {
                node.id = node.op.name.to_owned();
            } else {
                node.id = format!("{}_{seen}", node.op.name);
            }
        }
    }
}
