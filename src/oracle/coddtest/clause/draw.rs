//! Drawing a case with φ in a clause.

use super::{ClauseCase, Condition, Source, Usage, scope};
use crate::generate::ColumnInfo;
use crate::oracle::coddtest::phi::{COMPARISONS, Phi};
use crate::oracle::coddtest::{CoddDatabase, Place, Scope, comparable};
use crate::rng::{Rng, chance, pick};
use crate::sql::operator::Kind;
use crate::sql::types::SqlType;
use rand::RngExt as _;

/// Relations in a FROM clause, at most.
const SOURCES_MAX: usize = 3;

/// Columns of a result, at most.
const OUTPUTS_MAX: usize = 3;

impl<'a> ClauseCase<'a> {
    /// A case with φ in a place.
    pub(in crate::oracle::coddtest) fn draw(on: &'a CoddDatabase<'a>, place: Place, rng: &mut Rng) -> Self {
        let target = rng.random_range(0..on.own);
        let mut sources = match place {
            Place::Update | Place::Delete => Vec::new(),
            Place::On => sources(on, rng.random_range(2..=SOURCES_MAX), rng),
            _ => sources(on, rng.random_range(1..=SOURCES_MAX), rng),
        };
        let table = &on.database.tables[target];
        let all = if sources.is_empty() { on.scope_of(&table.columns, &table.name) } else { scope(on, &sources) };
        let joined = if place == Place::On { rng.random_range(1..sources.len()) } else { 0 };
        if let Some((keyword, condition @ Condition::None)) = sources.get_mut(joined).and_then(|of| of.join.as_mut()) {
            (*keyword, *condition) = ("JOIN".into(), Condition::True);
        }
        // What a condition may name: of a join's, what stands before it.
        let named = if place == Place::On { scope(on, &sources[..=joined]) } else { all.clone() };
        let typed: Vec<ColumnInfo> = all.columns.iter().filter(|column| column.ty.is_some()).cloned().collect();
        let mut outputs: Vec<ColumnInfo> =
            (0..rng.random_range(1..=OUTPUTS_MAX)).filter_map(|_| pick(rng, &typed).cloned()).collect();
        outputs.dedup_by(|a, b| a.name == b.name);
        let mut keys = named.clone();
        keys.columns.retain(comparable);
        match place {
            Place::Having => {
                // φ is over the key of the groups.
                outputs = pick(rng, &keys.columns).cloned().into_iter().collect();
                keys.columns.clone_from(&outputs);
            }
            Place::OrderBy => outputs.retain(comparable),
            _ => {}
        }
        let stored = chance(rng, 40);
        let mut phi = Phi::draw(on, &keys, rng);
        while !may_stand(on, place, stored, &phi) {
            phi = Phi::draw(on, &keys, rng);
        }
        let usage = match (phi.as_list(), phi.ty()) {
            (Some(_), _) => {
                if chance(rng, 70) {
                    Usage::Truth
                } else {
                    Usage::Not
                }
            }
            (None, SqlType::Boolean) if chance(rng, 80) => match rng.random_range(0..4) {
                0 | 1 => Usage::Truth,
                2 => Usage::Not,
                _ => Usage::IsNull,
            },
            (None, _) if chance(rng, 10) => Usage::IsNull,
            (None, ty) => {
                let comparison = pick(rng, &COMPARISONS).copied().unwrap_or("=");
                Usage::Compare(comparison, on.node(&keys, Kind::Typed(ty), 1, rng))
            }
        };
        let of_filter = if place == Place::Having { &keys } else { &named };
        let filter = chance(rng, 40).then(|| (chance(rng, 50), on.node(of_filter, on.truth(), 1, rng)));
        let limit = rng.random_range(1..=4);
        Self { on, place, sources, target, joined, phi, usage, filter, outputs, limit, stored }
    }
}

/// Whether φ may stand in a place; `stored` says that UPDATE stores it.
fn may_stand(on: &CoddDatabase, place: Place, stored: bool, phi: &Phi) -> bool {
    let sees_changes = on.oracle.profile().set_sees_changes && place == Place::Update && stored;
    match phi.as_list() {
        Some(_) => place.takes_list() && !sees_changes && (on.oracle.quantified || !phi.is_quantified()),
        None => !(sees_changes && phi.has_query()),
    }
}

/// A FROM clause of so many relations.
fn sources(on: &CoddDatabase, count: usize, rng: &mut Rng) -> Vec<Source> {
    let mut all: Vec<Source> = Vec::new();
    for at in 0..count {
        let (relation, plain, columns) = on.relation(rng);
        let join = (at > 0).then(|| {
            let before = scope(on, &all);
            let own = on.scope_of(&columns, &format!("a{at}"));
            let keyword = pick(rng, &on.oracle.capabilities.joins).cloned().unwrap_or_default();
            let condition = if keyword.takes_condition() { condition(on, &before, &own, rng) } else { Condition::None };
            (keyword.text().clone(), condition)
        });
        all.push(Source { relation, plain, join, columns });
    }
    all
}

fn condition(on: &CoddDatabase, before: &Scope, own: &Scope, rng: &mut Rng) -> Condition {
    match rng.random_range(0..10) {
        0..5 => {
            let left = pick(rng, &before.columns);
            let fits = |column: &&ColumnInfo| left.is_some_and(|l| l.ty.is_some() && l.ty == column.ty);
            let fitting: Vec<&ColumnInfo> = own.columns.iter().filter(fits).collect();
            match (left, pick(rng, &fitting)) {
                (Some(left), Some(right)) => Condition::Equal(left.name.clone(), right.name.clone()),
                _ => Condition::True,
            }
        }
        5..8 => Condition::True,
        _ => {
            let mut both = before.clone();
            both.columns.extend(own.columns.iter().cloned());
            Condition::Node(on.node(&both, on.truth(), 1, rng))
        }
    }
}
