//! Dates and intervals.

use super::*;

fn date(text: &str) -> Expr {
    Expr::Literal(Value::Text(text.to_owned()), Type::Date)
}

fn moment(text: &str) -> Expr {
    Expr::Literal(Value::Text(text.to_owned()), Type::Timestamp)
}

fn interval(parts: &[&str]) -> Expr {
    call("interval", parts.iter().map(|p| text(p)).collect(), Type::Other("interval".to_owned()))
}

fn plus(moved: Expr, parts: &[&str]) -> Expr {
    let ty = moved.ty();
    call("date_add_op", vec![moved, interval(parts)], ty)
}

fn minus(moved: Expr, parts: &[&str]) -> Expr {
    let ty = moved.ty();
    call("date_sub_op", vec![moved, interval(parts)], ty)
}

#[test]
fn dates_move_by_whole_days_months_and_years() {
    expect_value(plus(date("2000-02-28"), &["1", "day"]), "2000-02-29");
    expect_value(plus(date("2000-02-28"), &["2 days"]), "2000-03-01");
    expect_value(minus(date("1998-12-01"), &["90", "day"]), "1998-09-02");
    expect_value(plus(date("2001-01-31"), &["1", "month"]), "2001-02-28");
    expect_value(plus(date("2001-01-15"), &["-1", "month"]), "2000-12-15");
    expect_value(minus(date("2000-02-29"), &["1", "year"]), "1999-02-28");
    expect_value(plus(date("2001-12-31"), &["1 WEEK"]), "2002-01-07");
    expect_value(plus(date("9999-11-30"), &["1", "month"]), "9999-12-30");
    expect_value(plus(moment("2001-01-31 04:05:06"), &["1", "month"]), "2001-02-28 04:05:06");
    let turned = call("add_date_op", vec![interval(&["1", "day"]), date("2001-01-01")], Type::Date);
    expect_value(turned, "2001-01-02");
    let null = call("date_add_op", vec![Expr::null(Type::Date), interval(&["1", "day"])], Type::Date);
    expect_value(null, N);
}

#[test]
fn what_engines_move_differently_has_no_meaning() {
    for parts in
        [&["1", "hour"][..], &["1.5", "day"], &["1-2", "year", "month"], &["1"], &["1", "week"], &["1 day 2 hours"]]
    {
        expect_opaque(plus(date("2001-01-01"), parts));
    }
    expect_opaque(plus(date("9999-12-31"), &["1", "day"]));
    expect_opaque(minus(date("0001-01-01"), &["1", "day"]));
    expect_opaque(plus(date("2001-02-30"), &["1", "day"]));
    expect_opaque(call("date_add_op", vec![date("2001-01-01"), int(1)], Type::Date));
    expect_opaque(call("date_add", vec![moment("2001-01-01 00:00:00"), interval(&["1", "day"])], Type::Date));
    expect_opaque(call("date_diff_op", vec![date("2001-01-01"), date("2001-01-01")], Type::Unknown));
    expect_opaque(interval(&["1", "day"]));
    // The sum is a date in some engines and a timestamp in others, which its text shows.
    expect_opaque(cast(plus(date("2001-01-01"), &["1", "day"]), Type::Text, "varchar"));
    expect_value(cast(plus(date("2001-01-01"), &["1", "day"]), Type::Date, "date"), "2001-01-02");
}

#[test]
fn functions_move_dates() {
    let of = |name: &str, by: Expr| call(name, vec![date("2001-01-31"), by], Type::Date);
    expect_value(of("date_sub", int(31)), "2000-12-31");
    expect_value(of("date_add", int(1)), "2001-02-01");
    expect_value(of("date_add", interval(&["1", "month"])), "2001-02-28");
    expect_value(of("subdate", interval(&["1", "day"])), "2001-01-30");
    expect_value(of("add_months", int(1)), "2001-02-28");
    expect_value(of("add_months", int(2)), "2001-03-31");
    // The last day of a month, which is not that of the other in all engines.
    expect_opaque(call("add_months", vec![date("2001-02-28"), int(1)], Type::Date));
    expect_value(call("add_months", vec![date("2001-02-27"), int(-12)], Type::Date), "2000-02-27");
    expect_opaque(call("date_add", vec![text("2001-01-31"), int(1)], Type::Date));
}

#[test]
fn parts_of_dates() {
    let part = |name: &str, of: Expr| call(name, vec![of], Type::Integer);
    let day = || date("2001-08-09");
    for (name, value) in [("year", 2001), ("month", 8), ("day", 9), ("quarter", 3)] {
        expect_value(part(name, day()), value);
        expect_value(part(&format!("extract_{name}"), moment("2001-08-09 10:00:00")), value);
    }
    expect_opaque(part("extract_dow", day()));
    expect_opaque(part("extract_year", text("2001-08-09")));
    expect_value(part("extract_year", Expr::null(Type::Date)), N);
}

#[test]
fn days_that_do_not_exist_are_no_dates() {
    for bad in ["2001-02-29", "2001-13-01", "0000-01-01", "2001-1-1"] {
        // An error, NULL, or another day.
        expect_opaque(cast(text(bad), Type::Date, "date"));
    }
    expect_value(cast(text("2000-02-29"), Type::Date, "date"), "2000-02-29");
}
