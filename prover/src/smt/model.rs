//! Models of formulas: the one place of the symbolic search that calls Z3.

use std::collections::HashMap;

use num_rational::BigRational;
use z3::ast::{Bool, Int, Real};
use z3::{Config, Params, SatResult, Solver};

/// The sort of a declared constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Sort {
    Bool,
    Int,
    Real,
}

/// What a model assigns to a constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Constant {
    Bool(bool),
    Number(BigRational),
}

/// A model of the SMT-LIB script's assertions: the values of the constants, each declared in the script with its sort.
/// `None` if there is no model, none is found within the resource limit, or a value does not fit.
pub(crate) fn model(script: &str, constants: &[(String, Sort)], rlimit: u32) -> Option<HashMap<String, Constant>> {
    // A nul byte cannot be passed on, and a script without assertions was not understood.
    if script.contains('\0') {
        return None;
    }
    z3::with_z3_config(&Config::new(), || {
        let solver = Solver::new();
        let mut params = Params::new();
        params.set_u32("rlimit", rlimit);
        solver.set_params(&params);
        solver.from_string(script);
        if solver.get_assertions().is_empty() || solver.check() != SatResult::Sat {
            return None;
        }
        let model = solver.get_model()?;
        let value = |name: &str, sort: Sort| match sort {
            Sort::Bool => model.eval(&Bool::new_const(name), true)?.as_bool().map(Constant::Bool),
            Sort::Int => {
                let value = model.eval(&Int::new_const(name), true)?.as_i64()?;
                Some(Constant::Number(BigRational::from_integer(value.into())))
            }
            Sort::Real => {
                let (numerator, denominator) = model.eval(&Real::new_const(name), true)?.as_rational()?;
                (denominator != 0).then(|| Constant::Number(BigRational::new(numerator.into(), denominator.into())))
            }
        };
        constants.iter().map(|(name, sort)| Some((name.clone(), value(name, *sort)?))).collect()
    })
}
