//! Flattens joins and filters into one product and chooses the order of its inputs.

use std::rc::Rc;

use crate::ir::{Expr, JoinKind, Plan, Value};

use super::EvalError;
use super::code::{Code, Node, Product, Step, StepKind};
use super::compile::{Compiler, Scope, width};

/// Inputs have one bit each in a mask.
const MAX_INPUTS: usize = 120;

/// What a product is made of before it is compiled.
#[derive(Default)]
struct Parts<'a> {
    inputs: Vec<Input<'a>>,
    conditions: Vec<(&'a Expr, Rc<[usize]>)>,
    slots: usize,
}

struct Input<'a> {
    kind: StepKind,
    plan: &'a Plan,
    slot: usize,
    width: usize,
    /// The slots of the row in which a lateral input is evaluated.
    lateral: Option<Rc<[usize]>>,
    on: Option<(&'a Expr, Rc<[usize]>)>,
}

impl Compiler {
    /// A plan whose top is a filter, a projection or a join other than FULL.
    pub(super) fn product(&mut self, plan: &Plan) -> Result<Node, EvalError> {
        let (input, exprs) = match plan {
            Plan::Project { input, exprs } => (&**input, Some(exprs)),
            _ => (plan, None),
        };
        if plan_inputs(input) > MAX_INPUTS {
            return Err(EvalError::Unsupported("so many tables in one join".to_owned()));
        }
        let width = width(input);
        let mut parts = Parts { slots: width, ..Parts::default() };
        gather(input, &(0..width).collect(), &mut parts);
        let output = match exprs {
            Some(exprs) => Some(exprs.iter().map(|e| self.row_expr(e)).collect::<Result<Vec<_>, _>>()?),
            None => None,
        };
        self.assemble(parts, width, output)
    }

    fn assemble(&mut self, parts: Parts<'_>, width: usize, output: Option<Vec<Code>>) -> Result<Node, EvalError> {
        let mut owners = vec![0u32; parts.slots];
        for (number, input) in (0u32..).zip(&parts.inputs) {
            owners[input.slot..input.slot + input.width].fill(number);
        }
        let owners: Rc<[u32]> = owners.into();
        let scope =
            |slots: &Rc<[usize]>| Scope { slots: Some(Rc::clone(slots)), owners: Some(Rc::clone(&owners)), touched: 0 };
        let mut conditions = Vec::new();
        for (expr, slots) in &parts.conditions {
            for part in conjuncts(expr) {
                conditions.push(self.within(scope(slots), |c| c.expr(part))?);
            }
        }
        let mut waiting = Vec::new();
        for (number, input) in parts.inputs.into_iter().enumerate() {
            let (source, mut needs) = match &input.lateral {
                Some(slots) => self.within(scope(slots), |c| c.sub(input.plan))?,
                None => (self.sub(input.plan)?, 0),
            };
            let mut on = Vec::new();
            if let Some((expr, slots)) = &input.on {
                for part in conjuncts(expr) {
                    let (code, touched) = self.within(scope(slots), |c| c.expr(part))?;
                    needs |= touched;
                    on.push(code);
                }
                on.sort_by_key(Code::has_subquery);
            }
            needs &= !(1 << number);
            let lateral = input.lateral.is_some();
            let step = Step {
                kind: input.kind,
                source,
                lateral,
                slot: input.slot,
                width: input.width,
                on,
                checks: Vec::new(),
            };
            waiting.push((number, needs, step));
        }
        let first = take_ready(&mut conditions, 0);
        let mut steps = Vec::new();
        let mut bound = 0u128;
        while let Some(at) = next(&waiting, &conditions, bound) {
            let (number, _, mut step) = waiting.remove(at);
            bound |= 1 << number;
            step.checks = take_ready(&mut conditions, bound);
            steps.push(step);
        }
        let plain = steps.len() == 1 && output.is_none() && first.is_empty();
        if plain && steps[0].checks.is_empty() && steps[0].kind == StepKind::Inner {
            return Ok(steps.swap_remove(0).source.node);
        }
        Ok(Node::Product(Product { steps, first, slots: parts.slots, width, output }))
    }
}

/// The conditions that can be tested once `bound` is bound, cheap ones first.
fn take_ready(conditions: &mut Vec<(Code, u128)>, bound: u128) -> Vec<Code> {
    let ready = conditions.extract_if(.., |(_, touched)| *touched & !bound == 0);
    let mut ready: Vec<Code> = ready.map(|(code, _)| code).collect();
    ready.sort_by_key(Code::has_subquery);
    ready
}

/// The input to bind next: one that allows the most conditions to be tested, filters before inputs that only add rows.
fn next(waiting: &[(usize, u128, Step)], conditions: &[(Code, u128)], bound: u128) -> Option<usize> {
    let score = |(number, _, step): &(usize, u128, Step)| {
        let after = bound | 1 << number;
        let ready = conditions.iter().filter(|(_, touched)| touched & !after == 0).count();
        let kind = match step.kind {
            StepKind::Inner => 1,
            StepKind::Left => 0,
            StepKind::Semi | StepKind::Anti => 2,
        };
        4 * ready + kind
    };
    let available = waiting.iter().enumerate().filter(|(_, (_, needs, _))| needs & !bound == 0);
    // The earlier input wins among equals.
    available.max_by_key(|(at, input)| (score(input), usize::MAX - at)).map(|(at, _)| at)
}

fn conjuncts(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::And(parts) => parts.iter().flat_map(conjuncts).collect(),
        Expr::Literal(Value::Bool(true), _) => Vec::new(),
        _ => vec![expr],
    }
}

/// Adds the inputs and conditions of `plan`, whose column `i` has slot `slots[i]`. The slots of a plan are consecutive.
fn gather<'a>(plan: &'a Plan, slots: &Rc<[usize]>, parts: &mut Parts<'a>) {
    match plan {
        Plan::Filter { input, condition } => {
            gather(input, slots, parts);
            parts.conditions.push((condition, Rc::clone(slots)));
        }
        Plan::Join { kind, left, right, on, lateral } if *kind != JoinKind::Full => {
            let left_width = width(left);
            let left_slots: Rc<[usize]> = slots[..left_width].into();
            if *kind == JoinKind::Right {
                let right_slots: Rc<[usize]> = slots[left_width..].into();
                gather(right, &right_slots, parts);
                let on = Some((on, Rc::clone(slots)));
                let slot = left_slots.first().copied().unwrap_or_default();
                let input = Input { kind: StepKind::Left, plan: left, slot, width: left_width, lateral: None, on };
                parts.inputs.push(input);
                return;
            }
            gather(left, &left_slots, parts);
            let right_slots: Rc<[usize]> = if matches!(kind, JoinKind::Semi | JoinKind::Anti) {
                let first = parts.slots;
                parts.slots += width(right);
                (first..parts.slots).collect()
            } else {
                slots[left_width..].into()
            };
            let both: Rc<[usize]> = left_slots.iter().chain(right_slots.iter()).copied().collect();
            let kind = match kind {
                JoinKind::Left => StepKind::Left,
                JoinKind::Semi => StepKind::Semi,
                JoinKind::Anti => StepKind::Anti,
                _ => StepKind::Inner,
            };
            if kind == StepKind::Inner {
                if *lateral {
                    parts.inputs.push(input(right, &right_slots, Some(left_slots)));
                } else {
                    gather(right, &right_slots, parts);
                }
                parts.conditions.push((on, both));
            } else {
                let lateral = lateral.then_some(left_slots);
                parts.inputs.push(Input { kind, on: Some((on, both)), ..input(right, &right_slots, lateral) });
            }
        }
        _ => parts.inputs.push(input(plan, slots, None)),
    }
}

fn input<'a>(plan: &'a Plan, slots: &Rc<[usize]>, lateral: Option<Rc<[usize]>>) -> Input<'a> {
    let slot = slots.first().copied().unwrap_or_default();
    Input { kind: StepKind::Inner, plan, slot, width: slots.len(), lateral, on: None }
}

/// How many inputs a plan adds at most.
fn plan_inputs(plan: &Plan) -> usize {
    match plan {
        Plan::Filter { input, .. } => plan_inputs(input),
        Plan::Join { left, right, .. } => plan_inputs(left) + plan_inputs(right),
        _ => 1,
    }
}
