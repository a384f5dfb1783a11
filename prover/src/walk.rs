//! One walk over syntax trees for everybody who looks at every part of one.
//!
//! sqlparser's visitors are compiled anew, all 1,400 functions of them, for each type that visits and in each crate; a
//! dozen such types are most of the time that a program takes to compile. Here the visitor is one type, what it calls is
//! a trait object, and no function of this interface is generic over what is compiled.

use sqlparser::ast::{Expr, ObjectName, Query, Select, TableFactor, ValueWithSpan, VisitMut as _, VisitorMut};
use std::ops::ControlFlow;

/// Goes on.
pub const ON: ControlFlow<()> = ControlFlow::Continue(());

/// Ends the walk.
pub const OVER: ControlFlow<()> = ControlFlow::Break(());

/// What is called on the way, before a part's own parts unless it says `after`.
#[expect(unused_variables, reason = "the defaults look at nothing")]
pub trait Walk {
    /// A query, subqueries and common table expressions too.
    fn query(&mut self, query: &mut Query) -> ControlFlow<()> {
        ON
    }

    /// A query whose parts were seen.
    fn after_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        ON
    }

    /// A SELECT.
    fn select(&mut self, select: &mut Select) -> ControlFlow<()> {
        ON
    }

    /// A factor of FROM.
    fn table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        ON
    }

    /// The name of a table.
    fn relation(&mut self, name: &mut ObjectName) -> ControlFlow<()> {
        ON
    }

    /// An expression.
    fn expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        ON
    }

    /// An expression whose parts were seen.
    fn after_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        ON
    }

    /// A literal.
    fn value(&mut self, value: &mut ValueWithSpan) -> ControlFlow<()> {
        ON
    }
}

/// A tree that can be walked over.
pub trait Tree: Clone {
    /// Walks over it; whether it went to the end.
    fn accept(&mut self, walker: &mut dyn Walk) -> ControlFlow<()>;
}

impl Tree for Query {
    fn accept(&mut self, walker: &mut dyn Walk) -> ControlFlow<()> {
        self.visit(&mut Hooks(walker))
    }
}

impl Tree for Expr {
    fn accept(&mut self, walker: &mut dyn Walk) -> ControlFlow<()> {
        self.visit(&mut Hooks(walker))
    }
}

/// Walks over a tree; whether it went to the end.
pub fn walk(tree: &mut impl Tree, walker: &mut dyn Walk) -> ControlFlow<()> {
    tree.accept(walker)
}

/// Calls a function for every expression of a tree, also inside subqueries; whether it went to the end.
pub fn each_expr<T: Tree>(tree: &T, mut see: impl FnMut(&Expr) -> ControlFlow<()>) -> ControlFlow<()> {
    struct Each<'a>(&'a mut dyn FnMut(&Expr) -> ControlFlow<()>);
    impl Walk for Each<'_> {
        fn expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            (self.0)(expr)
        }
    }
    walk(&mut tree.clone(), &mut Each(&mut see))
}

struct Hooks<'a>(&'a mut dyn Walk);

impl VisitorMut for Hooks<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.0.query(query)
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.0.after_query(query)
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        self.0.select(select)
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        self.0.table_factor(factor)
    }

    fn pre_visit_relation(&mut self, name: &mut ObjectName) -> ControlFlow<()> {
        self.0.relation(name)
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        self.0.expr(expr)
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        self.0.after_expr(expr)
    }

    fn pre_visit_value(&mut self, value: &mut ValueWithSpan) -> ControlFlow<()> {
        self.0.value(value)
    }
}
