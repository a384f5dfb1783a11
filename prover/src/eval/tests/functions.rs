//! Functions, casts and arbitrary meanings.

use super::*;

#[test]
fn like() {
    let of = |value: &str, pattern: &str| call("like", vec![text(value), text(pattern)], Type::Boolean);
    for (value, pattern, result) in [
        ("abc", "a%", true),
        ("abc", "%b%", true),
        ("abc", "a_c", true),
        ("abc", "a_", false),
        ("abc", "B%", false),
        ("", "%", true),
        ("", "_", false),
        ("aab", "%ab", true),
        ("abab", "a%b", true),
    ] {
        expect_value(of(value, pattern), result);
    }
    let escaped = |value: &str| call("like", vec![text(value), text("a!%"), text("!")], Type::Boolean);
    expect_value(escaped("a%"), true);
    expect_value(escaped("ab"), false);
    expect_value(call("like", vec![null(), text("a")], Type::Boolean), N);
    expect_opaque(of("a\\", "a\\"));
    // Case matters in some engines.
    expect_opaque(of("abc", "A%"));
    expect_value(call("ilike", vec![text("abc"), text("A%")], Type::Boolean), true);
    expect_opaque(of("äb", "_b"));
    expect_opaque(of("ab", "ä%"));
    expect_opaque(call("ilike", vec![text("Ä"), text("ä")], Type::Boolean));
}

#[test]
fn texts() {
    let of = |name: &str, args: Vec<Expr>| call(name, args, Type::Text);
    expect_value(of("upper", vec![text("aB")]), "AB");
    expect_opaque(of("upper", vec![text("ä")]));
    expect_value(call("length", vec![text("abc")], Type::Integer), 3);
    expect_value(call("char_length", vec![text("ab")], Type::Integer), 2);
    for name in ["lower", "length", "char_length"] {
        expect_opaque(of(name, vec![text("ä")]));
    }
    expect_opaque(of("substr", vec![text("äb"), int(2)]));
    expect_value(of("substring", vec![text("abcd"), int(2), int(2)]), "bc");
    expect_value(of("substr", vec![text("abcd"), int(3)]), "cd");
    expect_opaque(of("substr", vec![text("abcd"), int(0)]));
    expect_value(of("trim", vec![text("  a ")]), "a");
    expect_value(of("rtrim", vec![text(" a ")]), " a");
    expect_value(of("replace", vec![text("aba"), text("a"), text("xy")]), "xybxy");
    expect_value(of("replace", vec![null(), text("a"), text("b")]), N);
    expect_opaque(of("replace", vec![text("a"), text("b"), null()]));
    expect_value(of("concat_op", vec![text("a"), text("b")]), "ab");
    expect_value(of("concat_op", vec![text("a"), null()]), N);
    expect_opaque(of("concat", vec![text("a"), null()]));
}

#[test]
fn numbers() {
    let of = |name: &str, value: Value| call(name, vec![lit(value)], Type::Decimal);
    expect_value(of("abs", Value::int(-2)), 2);
    expect_value(of("sign", decimal(-5, 2)), -1);
    expect_value(of("floor", decimal(-5, 2)), -3);
    expect_value(of("ceiling", decimal(-5, 2)), -2);
    expect_value(of("round", decimal(-5, 2)), -3);
    expect_value(of("round", decimal(5, 2)), 3);
    expect_opaque(of("round", Value::Double(2.5)));
    expect_value(call("round", vec![lit(decimal(1255, 1000)), int(2)], Type::Decimal), decimal(126, 100));
    expect_value(call("mod", vec![int(7), int(3)], Type::Integer), 1);
    assert_eq!(value_of(call("mod", vec![int(-7), int(3)], Type::Integer)), Ok((Value::int(-1), true)));
    assert_eq!(value_of(call("mod", vec![int(1), int(0)], Type::Integer)), Err(EvalError::DivisionByZero));
    expect_value(call("greatest", vec![int(1), int(3), int(2)], Type::Integer), 3);
    expect_value(call("least", vec![int(2), int(1)], Type::Integer), 1);
    expect_opaque(call("least", vec![int(2), null()], Type::Integer));
}

#[test]
fn casts() {
    expect_value(cast(int(1), Type::Decimal, "decimal(5,2)"), 1);
    expect_value(cast(int(1), Type::Double, "double precision"), Value::Double(1.0));
    expect_value(cast(lit(decimal(4, 2)), Type::Integer, "integer"), 2);
    expect_opaque(cast(lit(decimal(5, 2)), Type::Integer, "integer"));
    expect_value(cast(lit(decimal(5, 2)), Type::Decimal, "decimal(5,1)"), decimal(5, 2));
    expect_opaque(cast(lit(decimal(5, 2)), Type::Decimal, "decimal(5,0)"));
    expect_opaque(cast(int(1000), Type::Decimal, "decimal(3,1)"));
    expect_value(cast(int(-12), Type::Text, "varchar"), "-12");
    expect_opaque(cast(int(-12), Type::Text, "varchar(2)"));
    expect_value(cast(text("-12"), Type::Integer, "integer"), -12);
    expect_value(cast(text("1.50"), Type::Decimal, "decimal(5,2)"), decimal(3, 2));
    for bad in ["x", "", "-"] {
        assert!(matches!(value_of(cast(text(bad), Type::Integer, "integer")), Err(EvalError::Cast(_))), "{bad}");
    }
    // Some engines read these.
    for read in ["1.5", " 1", "1e3", "0x1"] {
        expect_opaque(cast(text(read), Type::Integer, "integer"));
    }
    for (text_of, to, target) in [
        ("2020-02-29 12:34:56", Type::Time, "time"),
        ("12:34", Type::Time, "time"),
        ("20200229", Type::Date, "date"),
        ("today", Type::Date, "date"),
        ("2020-02-29 12:34", Type::Timestamp, "timestamp"),
        ("NaN", Type::Double, "double"),
        ("1e3", Type::Decimal, "decimal"),
    ] {
        expect_opaque(cast(text(text_of), to, target));
    }
    expect_value(cast(Expr::bool(true), Type::Integer, "integer"), 1);
    expect_value(cast(int(0), Type::Boolean, "boolean"), false);
    expect_opaque(cast(Expr::bool(true), Type::Text, "varchar"));
    expect_value(cast(text("abc"), Type::Text, "varchar(3)"), "abc");
    expect_opaque(cast(text("abc"), Type::Text, "char(2)"));
    expect_value(cast(lit(Value::Double(2.0)), Type::Integer, "bigint"), 2);
    expect_opaque(cast(lit(Value::Double(2.5)), Type::Integer, "bigint"));
    let date = cast(text("2001-02-03"), Type::Date, "date");
    expect_value(date.clone(), "2001-02-03");
    expect_value(cast(date, Type::Timestamp, "timestamp"), "2001-02-03 00:00:00");
    let moment = cast(text("2001-02-03 04:05:06"), Type::Timestamp, "timestamp");
    expect_value(cast(moment.clone(), Type::Timestamp, "timestamp(0)"), "2001-02-03 04:05:06");
    assert!(matches!(value_of(cast(text("soon"), Type::Date, "date")), Err(EvalError::Cast(_))));
    expect_value(cast(null(), Type::Text, "json"), N);
    expect_opaque(cast(text("{}"), Type::Other("json".to_owned()), "json"));
}

#[test]
fn what_an_engine_rounds_on_the_way_is_open() {
    // 2^53 + 1 is no double.
    let long = || lit(Value::int(9_007_199_254_740_993));
    let in_postgresql = |function, value: Expr| {
        let ty = crate::ir::results::function(function, &[value.ty()]).expect("a number");
        call(function, vec![value], ty)
    };
    for function in ["floor", "ceil", "round", "sign", "trunc"] {
        expect_opaque(in_postgresql(function, long()));
    }
    expect_value(in_postgresql("floor", int(5)), 5);
    // Written as 5 or as 5.0.
    expect_opaque(cast(in_postgresql("floor", int(5)), Type::Text, "text"));
    let half = || Expr::Literal(decimal(5, 2), crate::ir::results::with_exponent(false));
    expect_opaque(in_postgresql("round", half()));
    // PostgreSQL keeps fifteen digits of a double.
    expect_opaque(cast(lit(Value::Double(9_007_199_254_740_992.0)), Type::Decimal, "decimal(20,0)"));
    expect_value(cast(lit(Value::Double(4096.5)), Type::Decimal, "decimal(20,2)"), decimal(8193, 2));
    // Beyond what the type has, which some engines clamp.
    expect_opaque(cast(lit(Value::Double(1e20)), Type::Integer, "bigint"));
    expect_opaque(cast(int(-3), Type::Integer, "bigint unsigned"));
    expect_opaque(cast(lit(Value::int(1 << 40)), Type::Integer, "integer"));
}

#[test]
fn the_text_of_a_moved_date_is_open() {
    let moved = || {
        let interval = Type::Other("interval".to_owned());
        let days = call("interval", vec![text("1"), text("day")], interval);
        call("date_add_op", vec![cast(text("2020-02-28"), Type::Date, "date"), days], Type::Moment)
    };
    expect_value(moved(), "2020-02-29");
    expect_opaque(call("concat", vec![moved()], Type::Text));
    expect_opaque(call("length", vec![moved()], Type::Integer));
}

#[test]
fn unknown_functions_are_fixed_functions_of_their_arguments() {
    let of = |value: Expr, seed| {
        let expr = call("frobnicate", vec![value], Type::Integer);
        let plan = Plan::Values { types: vec![Type::Integer], rows: vec![vec![expr]] };
        let outcome = evaluate(&query(plan), &Database::default(), seed, FUEL).unwrap();
        assert_eq!(outcome.opaque.len(), 1);
        outcome.rows[0][0].clone()
    };
    for seed in 0..20 {
        assert_eq!(of(int(1), seed), of(lit(Value::Double(1.0)), seed));
    }
    let results: BTreeSet<_> = (0..200).map(|seed| of(null(), seed)).collect();
    assert!(results.contains(&Value::Null) && results.len() == 5);
}

#[test]
fn functions_of_unknown_type_return_what_their_context_needs() {
    let unknown = |n: i64| call("frobnicate", vec![int(n)], Type::Unknown);
    for n in 0..20 {
        assert!(value_of(eq(unknown(n), text("a"))).is_ok());
        assert!(value_of(eq(int(1), unknown(n))).is_ok());
        assert!(value_of(Expr::Not(Box::new(unknown(n)))).is_ok());
    }
}
