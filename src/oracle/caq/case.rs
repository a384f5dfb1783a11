//! A case: members of a class with the same fillings.

use super::super::{Case, Columns, Folded, Reworded, SharedCase, Use, note_snippet};
use super::{CaqDatabase, UsableClass, is_truth_value, meets, name_types, snippet_meets};
use crate::caq::class::OracleClass;
use crate::caq::instantiation::{Instantiation, TableInstantiation};
use crate::caq::names::{Placeholder, PlaceholderKind, PlaceholderRequirement};
use crate::caq::node::Node;
use crate::caq::proof::Pair;
use crate::caq::simpler::simpler_pairs;
use crate::program::{Assumption, Expected, Program, Relation};
use crate::sql::profile::{ColumnType, Switch};
use prover::ir::Assumption as Granted;
use std::rc::Rc;
use std::sync::Arc;

/// Pairs of smaller members that are looked at.
const REWORDED_MAX: usize = 60;

/// Members of a class with the same fillings.
pub(super) struct CaqCase<'a> {
    pub(super) on: &'a CaqDatabase<'a>,
    /// The class, or what became of it while the case was made smaller.
    pub(super) class: Arc<UsableClass>,
    /// What is put into each placeholder.
    pub(super) fills: Vec<Instantiation>,
    /// Positions of the members, each with the switch that is turned while it runs.
    pub(super) members: Vec<(usize, Option<Arc<Switch>>)>,
}

/// A member's text, in which no `*` stands for columns.
fn written_out(class: &OracleClass, member: usize) -> String {
    let member = &class.members[member];
    if !["SELECT *", ".*"].iter().any(|star| member.sql.contains(star)) {
        return member.sql.clone();
    }
    let names = &class.names;
    let itself = |placeholder: &Placeholder| match placeholder.kind {
        PlaceholderKind::Table { relation } => {
            Instantiation::Table(TableInstantiation::Name(names.relations[relation].name.as_str().into()))
        }
        PlaceholderKind::Expr { .. } => {
            Instantiation::Generated(Node::Column { level: 0, name: placeholder.name.as_str().into() })
        }
    };
    let fills: Vec<Instantiation> = names.placeholders.iter().map(itself).collect();
    let mut text = String::new();
    member.template.render(&fills, &mut text);
    text
}

impl<'a> Case<'a> for CaqCase<'a> {
    fn program(&self, into: &mut Program) {
        for (at, switch) in &self.members {
            let step = into.add_step(*at, switch.clone());
            self.class.class.members[*at].template.render(&self.fills, step.sql.sql_mut());
        }
        into.add_check(Relation::EqualBag, 0..self.members.len());
    }

    fn describe(&self) -> Vec<String> {
        self.fills.iter().map(Instantiation::describe).collect()
    }

    fn uses(&self, note: &mut dyn FnMut(Use<'_>)) {
        for (placeholder, fill) in self.class.class.names.placeholders.iter().zip(&self.fills) {
            match (fill, &placeholder.kind) {
                (Instantiation::Snippet { snippet, .. }, _) => note_snippet(snippet, note),
                (Instantiation::Generated(node), _) => node.operators(&mut |op| note(Use::Operator(&op.sql))),
                (Instantiation::Table(fill), PlaceholderKind::Table { relation }) => {
                    if let Some(origin) = self.on.origin(*relation, fill) {
                        note(Use::Snippet { key: &origin.key, origin: &origin.origin });
                    }
                }
                (Instantiation::Table(_), PlaceholderKind::Expr { .. }) => {}
            }
        }
    }

    fn only_subquery(&self) -> Option<usize> {
        let mut with = self.fills.iter().enumerate().filter(|(_, fill)| fill.has_subquery()).map(|(at, _)| at);
        with.next().filter(|_| with.next().is_none())
    }

    fn parts(&self) -> usize {
        self.fills.len()
    }

    fn smaller(&self, part: usize) -> Vec<SharedCase<'a>> {
        let with = |fill| {
            let mut fills = self.fills.clone();
            fills[part] = fill;
            Rc::new(Self { on: self.on, class: self.class.clone(), fills, members: self.members.clone() })
                as SharedCase<'a>
        };
        self.on.simpler(&self.class.class, part, &self.fills[part]).into_iter().map(with).collect()
    }

    fn left_out(&self, part: usize) -> usize {
        self.on.left_out(&self.class.class, part, &self.fills[part])
    }

    fn pairs(&self) -> Vec<SharedCase<'a>> {
        let of_class = |at: &usize| match self.members.iter().find(|(own, _)| own == at) {
            Some(own) => Some(own.clone()),
            // One that turns a switch is another case with each.
            None => self.class.class.members[*at].switch.is_none().then_some((*at, None)),
        };
        let members: Vec<_> = self.class.members.iter().filter_map(of_class).collect();
        let pairs =
            members.iter().enumerate().flat_map(|(at, one)| members[at + 1..].iter().map(move |other| [one, other]));
        let case = |pair: [&(usize, Option<Arc<Switch>>); 2]| {
            let case = Self {
                on: self.on,
                class: self.class.clone(),
                fills: self.fills.clone(),
                members: pair.into_iter().cloned().collect(),
            };
            let mut program = Program::default();
            case.program(&mut program);
            let size: usize = program.steps().iter().map(|step| step.sql.sql().len()).sum();
            let switched = case.members.iter().filter(|(_, switch)| switch.is_some()).count();
            (switched, size, Rc::new(case) as SharedCase<'a>)
        };
        let mut pairs: Vec<_> = pairs.map(case).collect();
        pairs.sort_by_key(|(switched, size, _)| (*switched, *size));
        pairs.into_iter().map(|(_, _, case)| case).collect()
    }

    fn reworded(&self) -> Vec<Reworded<'a>> {
        // Switches stay with their members: what they must not change does not hang on the text.
        let [(one, _), (other, _)] = self.members.as_slice() else { return Vec::new() };
        if one == other {
            return Vec::new();
        }
        let class = &self.class.class;
        let with = |texts: [String; 2]| {
            let [first, second] = texts;
            let (mut class, used) = class.with_texts([(*one, first), (*other, second)]).ok()?;
            let question =
                serde_json::to_string(&class.question(Pair((*one).min(*other), (*one).max(*other)))?).ok()?;
            let mut guarantees = self.on.profile().guarantees_for(class.divides());
            if self.on.collated {
                guarantees.remove(&Granted::TextEqualityIsIdentity);
            }
            name_types(&mut class, self.on.profile());
            let meets = |(fill, demand): (&Instantiation, &PlaceholderRequirement)| match fill {
                Instantiation::Generated(node) => meets(node, *demand),
                Instantiation::Snippet { snippet, .. } => snippet_meets(snippet, *demand, &class),
                Instantiation::Table(_) => true,
            };
            if !self.fills.iter().zip(&class.demands).all(meets) {
                return None;
            }
            let mut fills = self.fills.clone();
            for (at, placeholder) in class.names.placeholders.iter().enumerate().filter(|(at, _)| !used[*at]) {
                if let PlaceholderKind::Expr { ty, .. } = placeholder.kind {
                    fills[at] = self.on.null(ty);
                }
            }
            let members = vec![*one, *other];
            let class = Arc::new(class);
            let class =
                Arc::new(UsableClass { class, members, assumed: Vec::new(), candidates: Vec::new(), collated: false });
            let case = Self { on: self.on, class, fills, members: self.members.clone() };
            Some(Reworded { case: Rc::new(case), question, guarantees })
        };
        let [first, second] = [*one, *other].map(|at| written_out(class, at));
        simpler_pairs(&first, &second, REWORDED_MAX).into_iter().filter_map(with).collect()
    }

    fn rewordings_left_out(&self) -> usize {
        let [(one, _), (other, _)] = self.members.as_slice() else { return 0 };
        if one == other {
            return 0;
        }
        let [first, second] = [*one, *other].map(|at| written_out(&self.class.class, at));
        simpler_pairs(&first, &second, usize::MAX).len().saturating_sub(REWORDED_MAX)
    }

    fn folded(&self, part: usize) -> Option<Folded<'a>> {
        let names = &self.class.class.names;
        let database = &self.on.database;
        let with = |fill| {
            let mut fills = self.fills.clone();
            fills[part] = fill;
            Rc::new(Self { on: self.on, class: self.class.clone(), fills, members: self.members.clone() })
                as SharedCase<'a>
        };
        match (&names.placeholders[part].kind, &self.fills[part]) {
            (PlaceholderKind::Table { relation }, Instantiation::Table(fill)) => {
                let info = &database.tables[*relation];
                let plain = TableInstantiation::Name(info.name.clone());
                let source = match fill {
                    TableInstantiation::Name(name) if *name == info.name => return None,
                    TableInstantiation::Name(name) => name.to_string(),
                    TableInstantiation::Derived(query) | TableInstantiation::Cte { query, .. } => format!("({query})"),
                };
                let columns: Vec<Arc<str>> = info.columns.iter().map(|column| column.name.clone()).collect();
                let query = format!("SELECT {} FROM {source} AS c", columns.join(", "));
                let case = with(Instantiation::Table(plain));
                Some(Folded { case, table: info.name.clone(), query, columns: Columns::All(columns) })
            }
            (PlaceholderKind::Expr { relation, ty }, fill) => {
                if matches!(fill, Instantiation::Generated(Node::Column { .. } | Node::Literal(_))) {
                    return None;
                }
                let table = database.tables[*relation].name.clone();
                let plain = names.placeholders.iter().zip(&self.fills).all(|(placeholder, fill)| {
                    match (&placeholder.kind, fill) {
                        (
                            PlaceholderKind::Table { relation: of },
                            Instantiation::Table(TableInstantiation::Name(name)),
                        ) => of != relation || *name == table,
                        (PlaceholderKind::Table { relation: of }, _) => of != relation,
                        (PlaceholderKind::Expr { .. }, _) => true,
                    }
                });
                // The name says that the reducer may drop the column again.
                let name = format!("{table}_f{part}");
                let mut expr = String::new();
                fill.render_expr("c", &mut expr);
                let query = format!("SELECT ({expr}) FROM {table} AS c");
                let declared = self.on.profile().declared(&ColumnType::Class(*ty)).to_owned();
                let case = with(Instantiation::Generated(Node::Column { level: 0, name: name.as_str().into() }));
                plain.then_some(Folded { case, table, query, columns: Columns::Further { name, declared } })
            }
            (PlaceholderKind::Table { .. }, _) => None,
        }
    }

    fn assumptions(&self, _program: &Program, _steps: &[usize]) -> Vec<Assumption> {
        let (class, database) = (&self.class.class, &self.on.database);
        let names = &class.names;
        let mut assumptions = Vec::new();
        for ((placeholder, fill), demand) in names.placeholders.iter().zip(&self.fills).zip(&class.demands) {
            if let (PlaceholderKind::Table { relation }, Instantiation::Table(table)) = (&placeholder.kind, fill)
                && let Some(origin) = self.on.origin(*relation, table)
            {
                let query = match table {
                    TableInstantiation::Name(name) => name.to_string(),
                    TableInstantiation::Derived(query) | TableInstantiation::Cte { query, .. } => format!("({query})"),
                };
                assumptions.push(Assumption {
                    text: format!("{} has the same rows in whatever order its tables are read", placeholder.name),
                    sql: format!("SELECT * FROM {query} AS d").into(),
                    expected: Expected::Same(format!("SELECT * FROM ({}) AS d", origin.reversed).into()),
                });
            }
            let PlaceholderKind::Expr { relation, ty } = placeholder.kind else { continue };
            let demand = *demand;
            // The placeholder's table as it is filled in this case, or the class's own table.
            let filled = names.placeholders.iter().zip(&self.fills).find_map(|(p, f)| match (&p.kind, f) {
                (PlaceholderKind::Table { relation: of }, Instantiation::Table(_)) if *of == relation => Some(f),
                _ => None,
            });
            let source = match filled {
                Some(Instantiation::Table(TableInstantiation::Cte { query, .. })) => format!("({query})"),
                Some(table) => {
                    let mut text = String::new();
                    table.render_table(&mut text);
                    text
                }
                None => database.tables[relation].name.to_string(),
            };
            let mut expr = String::new();
            fill.render_expr("c", &mut expr);
            let is_type = !is_truth_value(demand, ty, self.on.profile());
            assumptions.push(Assumption {
                text: if is_type {
                    format!("{} is {ty} on every row: {expr}", placeholder.name)
                } else {
                    format!("{} has one value per row: {expr}", placeholder.name)
                },
                sql: format!("SELECT ({expr}), (SELECT COUNT(*) FROM {source} AS d) FROM {source} AS c").into(),
                expected: if is_type { Expected::Type(ty) } else { Expected::RowCount },
            });
            // An aggregate over outer columns in disguise would turn the whole query into an aggregate.
            assumptions.push(Assumption {
                text: format!("{} has no value without a row: {expr}", placeholder.name),
                sql: format!("SELECT ({expr}) FROM {source} AS c WHERE 1 = 0").into(),
                expected: Expected::NoRows,
            });
            // Generated expressions are NULL on a padded row by their operators; a snippet's is an observation.
            if demand.null_preserving && matches!(fill, Instantiation::Snippet { .. }) {
                assumptions.push(Assumption {
                    text: format!("{} is NULL on a padded row: {expr}", placeholder.name),
                    sql: format!("SELECT ({expr}) FROM (SELECT 1 AS one) AS d LEFT JOIN {source} AS c ON 1 = 0").into(),
                    expected: Expected::Null,
                });
            }
        }
        assumptions
    }
}
