//! From two queries to a verdict.

use std::collections::BTreeSet;

use crate::cert::Certificate;
use crate::eval::Database;
use crate::evidence::{Reason, Step, Witness};
use crate::ir::{Assumption, OrderKey, Plan, Query, Schema, Type};
use crate::limits::Limits;
use crate::matching::Prover;
use crate::normal::build::Builder;
use crate::normal::term::Nf;
use crate::normal::{Cx, canon};
use crate::refute::{self, Search};
use crate::report::{Report, Verdict};
use crate::{smt, symbolic};

pub(crate) fn decide(schema: &Schema, left: &Query, right: &Query, limits: &Limits) -> Report {
    let (mut report, comparable) = begin(schema, left, right);
    if !comparable {
        return report;
    }
    let searched = refute::search(schema, left, right, limits.seed, limits.trials, limits.fuel_per_trial);
    if let Search::Differs(witness) = searched {
        report.verdict = refuted(schema, witness);
        return report;
    }
    prove(schema, left, right, limits, &mut report);
    let beyond = refute::out_of_reach(schema, left, right);
    if beyond > 0 {
        report.caps.push(("rows counted beyond those of any random database".to_owned(), beyond));
    }
    match (&mut report.verdict, searched) {
        // A proof counts only if the evaluator has seen the two queries agree.
        (Verdict::Proven(certificate), Search::Agrees { trials, .. }) if trials >= limits.trials.max(1) => {
            certificate.trials = trials;
        }
        (Verdict::Proven(_), Search::Agrees { trials, .. }) => {
            let reason = format!("only {trials} of {} databases could be evaluated", limits.trials);
            report.verdict = Verdict::Unknown(Reason::Limit(reason));
        }
        (Verdict::Proven(_) | Verdict::Unknown(Reason::NoProof(_)), Search::OnlyOpaque(names)) => {
            let names = names.into_iter().collect::<Vec<_>>().join(", ");
            report.verdict = Verdict::Unknown(Reason::OpaqueFunctions(names));
        }
        (Verdict::Unknown(Reason::NoProof(_)), _) => symbolic_search(schema, left, right, limits, &mut report),
        _ => {}
    }
    report
}

/// Looks for a proof and for nothing else: no evaluated database stands between a mistake of the prover and the
/// verdict.
pub(crate) fn prove_only(schema: &Schema, left: &Query, right: &Query, limits: &Limits) -> Report {
    let (mut report, comparable) = begin(schema, left, right);
    if comparable {
        prove(schema, left, right, limits, &mut report);
    }
    report
}

/// The report of a pair on which nothing has been tried, and whether the results can be compared at all.
pub(crate) fn begin(schema: &Schema, left: &Query, right: &Query) -> (Report, bool) {
    let mut assumptions: BTreeSet<Assumption> = left.assumptions.union(&right.assumptions).copied().collect();
    assumptions.extend(&schema.assumptions);
    let shown = |query: &Query| query.plan.types().into_iter().take(query.visible).collect::<Vec<_>>();
    let is_moved = |ty: &Type| *ty == Type::Moment;
    let (left_shown, right_shown) = (shown(left), shown(right));
    let why_not = if left.visible != right.visible {
        Some("the results have different widths")
    } else if left_shown.iter().zip(&right_shown).any(|(a, b)| is_moved(a) != is_moved(b)) {
        // Constants are folded, and the text of what comes of it is that of a date.
        Some("one result is a date and the other a moved date, which is a timestamp in some engines")
    } else {
        None
    };
    let verdict = Verdict::Unknown(Reason::NoProof(why_not.unwrap_or("nothing was tried").to_owned()));
    (Report { verdict, assumptions, rlimit: 0, caps: Vec::new() }, why_not.is_none())
}

/// Looks for a difference with the solver: first one row in each table, then more.
pub(crate) fn symbolic_search(schema: &Schema, left: &Query, right: &Query, limits: &Limits, report: &mut Report) {
    for rows in 1..=limits.symbolic_rows {
        let candidate = symbolic::candidate(schema, left, right, rows, limits.rlimit_per_query);
        let Some(tables) = candidate else { continue };
        if let Some(witness) = refute::confirm(schema, left, right, Database { tables }, limits.fuel_per_trial) {
            report.verdict = refuted(schema, witness);
            return;
        }
    }
}

/// The verdict on a pair that differs on a database.
pub(crate) fn refuted(schema: &Schema, witness: Witness) -> Verdict {
    match schema.left_out.first() {
        None => Verdict::Refuted(witness),
        Some(constraint) => Verdict::Unknown(Reason::Unsupported(format!(
            "{constraint}: the queries differ on a database that it may forbid"
        ))),
    }
}

/// Looks for a proof.
fn prove(schema: &Schema, left: &Query, right: &Query, limits: &Limits, report: &mut Report) {
    let cx = Cx::new(schema, limits.work_total);
    let mut builder = Builder::new(&cx);
    let mut prover = Prover::new(&cx, limits);
    let (left_plan, right_plan) = (visible(left), visible(right));
    let mut holds = Ok(false);
    if let Some(cut) = SameCut::of(&left_plan, &right_plan)
        && builder.order_decides(cut.left, cut.order) == Ok(true)
    {
        holds = prove_plans(&cx, &mut builder, &mut prover, cut.left, cut.right);
        if holds == Ok(true) {
            step(&cx, "equal rows in the same order, cut at the same places", String::new(), String::new());
        }
    }
    if holds != Ok(true) {
        holds = prove_plans(&cx, &mut builder, &mut prover, &left_plan, &right_plan);
    }
    report.assumptions.extend(&builder.assumptions);
    report.rlimit = prover.rlimit;
    if !left.order.is_empty() || !right.order.is_empty() {
        report.assumptions.insert(Assumption::OrderNotCompared);
    }
    report.verdict = match holds {
        Err(reason) => Verdict::Unknown(reason),
        // What was left as it stood when the work was used up may have been compared as if it were finished.
        Ok(_) if cx.exhausted() => Verdict::Unknown(Reason::Limit("steps of rewriting and encoding".to_owned())),
        Ok(true) => Verdict::Proven(Box::new(Certificate {
            pair: None,
            prover: env!("CARGO_PKG_VERSION").to_owned(),
            solver: smt::version().to_owned(),
            limits: limits.clone(),
            assumptions: report.assumptions.clone(),
            steps: cx.steps.take(),
            obligations: prover.obligations,
            trials: 0,
        })),
        Ok(false) if prover.rlimit >= limits.rlimit_total => {
            Verdict::Unknown(Reason::Limit("solver resources".to_owned()))
        }
        Ok(false) => Verdict::Unknown(Reason::NoProof("the normal forms could not be matched".to_owned())),
    };
    report.caps = cx.caps.take().into_iter().map(|(what, n)| (what.to_owned(), n)).collect();
}

/// Two plans that cut their inputs in the same way and do the same with what is left.
struct SameCut<'a> {
    left: &'a Plan,
    right: &'a Plan,
    order: &'a [OrderKey],
}

impl<'a> SameCut<'a> {
    fn of(left: &'a Plan, right: &'a Plan) -> Option<Self> {
        match (left, right) {
            (Plan::Project { input: left, exprs: a }, Plan::Project { input: right, exprs: b }) if a == b => {
                Self::of(left, right)
            }
            (
                Plan::Limit { input: left, order, limit, offset },
                Plan::Limit { input: right, order: other, limit: other_limit, offset: other_offset },
            ) if (order, limit, offset) == (other, other_limit, other_offset) && left.types() == right.types() => {
                Some(Self { left, right, order })
            }
            _ => None,
        }
    }
}

fn step(cx: &Cx<'_>, rule: &str, before: String, after: String) {
    cx.steps.borrow_mut().push(Step { rule: rule.to_owned(), before, after });
}

/// Whether two plans are shown to yield the same bag.
fn prove_plans(
    cx: &Cx<'_>,
    builder: &mut Builder<'_>,
    prover: &mut Prover<'_>,
    left: &Plan,
    right: &Plan,
) -> Result<bool, Reason> {
    // Where two rows determine each other, the two sides may have to keep different ones.
    let mut forms = |keep_later: bool| -> Result<_, Reason> {
        cx.keep_later.set(keep_later);
        Ok((builder.query(left)?, builder.query(right)?))
    };
    let (first, other) = (forms(false), forms(true));
    cx.keep_later.set(false);
    let ((l, r), (other_l, other_r)) = match (first, other) {
        (Ok(first), Ok(other)) => (first, other),
        // That an order decides between rows can show in one form only.
        (Ok(only), Err(Reason::NotDeterministic(_))) | (Err(Reason::NotDeterministic(_)), Ok(only)) => {
            (only.clone(), only)
        }
        (Err(reason), _) | (_, Err(reason)) => return Err(reason),
    };
    let show = |form: &Nf| cx.show_terms(&form.terms);
    step(cx, "normal form of the left query", String::new(), show(&l));
    step(cx, "normal form of the right query", String::new(), show(&r));
    let same_form = |a: &Nf, b: &Nf| canon::shape(&a.terms).text == canon::shape(&b.terms).text;
    let mut holds = prover.prove(&l, &r);
    if holds && show(&l) == show(&r) {
        step(cx, "identical normal forms", show(&l), show(&r));
    }
    let (l_varies, r_varies) = (!same_form(&l, &other_l), !same_form(&r, &other_r));
    if !holds && (l_varies || r_varies) {
        cx.keep_later.set(true);
        step(cx, "other normal form of the left query", String::new(), show(&other_l));
        step(cx, "other normal form of the right query", String::new(), show(&other_r));
        holds = prover.prove(&other_l, &other_r)
            || (l_varies && r_varies && (prover.prove(&other_l, &r) || prover.prove(&l, &other_r)));
    }
    Ok(holds)
}

/// The plan without the columns that only serve the order.
pub(crate) fn visible(query: &Query) -> Plan {
    let types = query.plan.types();
    if types.len() == query.visible {
        return query.plan.clone();
    }
    let exprs =
        types.into_iter().take(query.visible).enumerate().map(|(i, ty)| crate::ir::Expr::column(i, ty)).collect();
    query.plan.clone().project(exprs)
}
