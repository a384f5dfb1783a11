//! The encoding against concrete databases: whatever is true there can be asserted together, with all the facts that
//! the encoder adds. If that is unsatisfiable, a fact is no consequence of the meaning.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use rand::SeedableRng as _;

use super::Encoder;
use crate::fuzz::{self, Rng};
use crate::ir::{Query, Schema, Type, Value};
use crate::normal::build::Builder;
use crate::normal::meaning::{Meaning, Rows};
use crate::normal::subst::open;
use crate::normal::term::{Cmp, F, Formula, Nf, Term, V, Val};
use crate::normal::{Cx, make};
use crate::refute::{self, Shape};
use crate::smt::{Answer, Session};
use crate::{decide, lower};

fn literal(value: &Value, ty: &Type) -> V {
    match value {
        Value::Null => make::null(ty.clone()),
        value => Rc::new(Val::Lit(value.clone(), ty.clone())),
    }
}

/// All parts of a formula that are not within another sum.
fn formula_parts(f: &F, formulas: &mut Vec<F>, values: &mut Vec<V>) {
    formulas.push(f.clone());
    match &**f {
        Formula::And(parts) | Formula::Or(parts) => parts.iter().for_each(|p| formula_parts(p, formulas, values)),
        Formula::Not(inner) => formula_parts(inner, formulas, values),
        Formula::Null(v) | Formula::Truth(v) => value_parts(v, formulas, values),
        Formula::Cmp(_, a, b) | Formula::Same(a, b) => [a, b].iter().for_each(|v| value_parts(v, formulas, values)),
        Formula::Has { at, .. } => at.iter().for_each(|v| value_parts(v, formulas, values)),
        Formula::True | Formula::False | Formula::Exists(_) => {}
    }
}

fn value_parts(v: &V, formulas: &mut Vec<F>, values: &mut Vec<V>) {
    values.push(v.clone());
    match &**v {
        Val::Call { args, .. } | Val::Lookup { at: args, .. } => {
            args.iter().for_each(|a| value_parts(a, formulas, values));
        }
        Val::Arith(_, a, b, _) => [a, b].iter().for_each(|v| value_parts(v, formulas, values)),
        Val::Case(c, a, b) => {
            formula_parts(c, formulas, values);
            [a, b].iter().for_each(|v| value_parts(v, formulas, values));
        }
        Val::Bool(t, f) => [t, f].iter().for_each(|f| formula_parts(f, formulas, values)),
        _ => {}
    }
}

/// Asserts what is true of a term in some of its rows; false if there is no meaning, or no row.
fn assert_truths(encoder: &mut Encoder<'_>, cx: &Cx<'_>, meaning: &Meaning<'_>, term: &Term, skip: usize) -> bool {
    let term = open(cx, term);
    let mut found: Option<Rows> = None;
    let mut seen = 0;
    let searched = meaning.each(&term, &Rows::new(), &mut |rows, _| {
        found = Some(rows.clone());
        seen += 1;
        Ok(seen <= skip)
    });
    let (Some(rows), Ok(_)) = (found, searched) else { return false };
    let (mut formulas, mut values) = (Vec::new(), Vec::new());
    term.phi.iter().for_each(|f| formula_parts(f, &mut formulas, &mut values));
    term.out.iter().chain([&term.weight]).for_each(|v| value_parts(v, &mut formulas, &mut values));
    for (var, rel) in &term.vars {
        encoder.open(*var, rel);
        values.extend(cx.row(*var, rel));
    }
    for value in &values {
        if value.ty().is_numeric() {
            formulas.push(Rc::new(Formula::Cmp(Cmp::Lt, make::int(0), value.clone())));
        }
        // What is only a name has no value here.
        let Ok(known) = meaning.value(value, &rows) else { continue };
        encoder.fact(&make::same(value, &literal(&known, &value.ty())));
    }
    for f in formulas {
        let Ok(holds) = meaning.formula(&f, &rows) else { continue };
        encoder.fact(&if holds { f } else { Rc::new(Formula::Not(f)) });
    }
    true
}

fn read(ddl: &str) -> Schema {
    lower::schema(ddl, &BTreeMap::new()).expect(ddl)
}

fn forms(cx: &Cx<'_>, queries: &[Query]) -> Vec<Nf> {
    queries.iter().filter_map(|q| Builder::new(cx).query(&decide::visible(q)).ok()).collect()
}

#[test]
fn what_is_true_on_a_database_is_never_refuted() {
    let setting = |name: &str, default| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default);
    let (first, pairs) = (setting("ENCODER_SEED", 0_u64), setting("ENCODER_PAIRS", 60_u64));
    let mut asked = 0;
    for seed in first..first + pairs {
        let mut rng = Rng::seed_from_u64(seed);
        let case = fuzz::case(seed);
        let schema = read(&case.ddl);
        let queries: Vec<Query> =
            [&case.left, &case.right].iter().filter_map(|text| lower::query(&schema, text).ok()).collect();
        let [left, right] = &queries[..] else { continue };
        let cx = Cx::new(&schema, u64::MAX);
        cx.keep_later.set(seed % 2 == 0);
        let forms = forms(&cx, &queries);
        for skip in 0..3 {
            let shape = Shape { rows: 3, ..Shape::random(&mut rng, 2) };
            let Some(db) = refute::random_database(&schema, [left, right], &mut rng, &shape) else { continue };
            let meaning = Meaning { schema: &schema, db: &db, fuel: Cell::new(20_000) };
            let mut encoder = Encoder::new(&cx);
            let mut any = false;
            for term in forms.iter().flat_map(|nf| &nf.terms) {
                any |= assert_truths(&mut encoder, &cx, &meaning, term, skip);
            }
            if !any {
                continue;
            }
            asked += 1;
            let script = encoder.finish();
            let (answer, _) = Session::default().solve(&script, 1_000_000);
            assert!(
                answer != Answer::Unsat,
                "pair {seed}: {}\n{}\n{}\non {:?}\nis refuted:\n{script}",
                case.ddl,
                case.left,
                case.right,
                db.tables
            );
        }
    }
    assert!(asked > pairs / 3, "only {asked} questions");
}
