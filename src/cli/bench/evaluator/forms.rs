//! The operators, functions and casts of the prover's language, and the columns and literals that they are applied to.

/// Forms of expressions: `$1` to `$4` stand for operands. All read the one row of a table `t`.
pub(super) fn forms() -> Vec<String> {
    let mut forms: Vec<String> = FORMS.iter().map(ToString::to_string).collect();
    forms.extend(CAST_TYPES.iter().map(|ty| format!("CAST($1 AS {ty})")));
    forms.extend(EXTRACT_FIELDS.iter().map(|field| format!("EXTRACT({field} FROM $1)")));
    for (arity, names) in [(1, UNARY), (2, BINARY), (3, TERNARY)] {
        let operands: Vec<String> = (1..=arity).map(|at| format!("${at}")).collect();
        forms.extend(names.iter().map(|name| format!("{name}({})", operands.join(", "))));
    }
    for aggregate in AGGREGATES {
        forms.push(format!("(SELECT {aggregate} FROM t)"));
        forms.push(format!("(SELECT {aggregate} FROM t WHERE FALSE)"));
    }
    forms.extend(WINDOWS.iter().map(|window| format!("(SELECT {window} FROM t)")));
    for operation in ["UNION ALL", "UNION", "INTERSECT", "EXCEPT"] {
        forms.push(format!("(SELECT MIN(r.q) FROM (SELECT $1 AS q FROM t {operation} SELECT $2 FROM t) AS r)"));
    }
    forms
}

/// How many operands a form has.
pub(super) fn arity(form: &str) -> usize {
    (1..=4).rev().find(|at| form.contains(&format!("${at}"))).unwrap_or(0)
}

const FORMS: &[&str] = &[
    "$1 + $2",
    "$1 - $2",
    "$1 * $2",
    "$1 / $2",
    "$1 % $2",
    "-$1",
    "+$1",
    "$1 = $2",
    "$1 <> $2",
    "$1 < $2",
    "$1 <= $2",
    "$1 > $2",
    "$1 >= $2",
    "$1 <=> $2",
    "$1 IS DISTINCT FROM $2",
    "$1 IS NOT DISTINCT FROM $2",
    "$1 BETWEEN $2 AND $3",
    "$1 NOT BETWEEN $2 AND $3",
    "$1 IN ($2, $3)",
    "$1 NOT IN ($2, $3)",
    "$1 IN (SELECT $2 FROM t)",
    "$1 NOT IN (SELECT $2 FROM t WHERE $3)",
    "$1 = ANY (SELECT $2 FROM t)",
    "$1 < ALL (SELECT $2 FROM t)",
    "EXISTS (SELECT 1 FROM t WHERE $1)",
    "($1, $2) = ($3, $4)",
    "($1, $2) < ($3, $4)",
    "($1, $2) IN (($3, $4), ($2, $1))",
    "$1 IS NULL",
    "$1 IS NOT NULL",
    "$1 AND $2",
    "$1 OR $2",
    "NOT $1",
    "$1 IS TRUE",
    "$1 IS NOT TRUE",
    "$1 IS FALSE",
    "$1 IS NOT FALSE",
    "$1 IS UNKNOWN",
    "$1 IS NOT UNKNOWN",
    "CASE WHEN $1 THEN $2 ELSE $3 END",
    "CASE WHEN $1 THEN $2 END",
    "CASE $1 WHEN $2 THEN $3 ELSE $4 END",
    "CASE WHEN FALSE THEN $1 ELSE $2 END",
    "CASE WHEN TRUE THEN $1 ELSE $2 END",
    "COALESCE($1)",
    "COALESCE($1, $2, $3)",
    "COALESCE(NULL, $1)",
    "COALESCE($1, NULL)",
    "NULLIF($1, NULL)",
    "(SELECT $1)",
    "(SELECT $1 FROM t WHERE $2)",
    "(SELECT MAX(r.q) FROM (VALUES ($1), ($2)) AS r(q))",
    "(SELECT DISTINCT $1 FROM t)",
    "(SELECT $1 FROM t GROUP BY $1)",
    "(SELECT $1 FROM t ORDER BY $2 LIMIT 1)",
    "(SELECT SUM($1) / COUNT($2) FROM t)",
    "(SELECT r.q FROM t LEFT JOIN (SELECT $1 AS q FROM t WHERE $2) AS r ON TRUE)",
    "$1 || $2",
    "$1 LIKE $2",
    "$1 NOT LIKE $2",
    "$1 ILIKE $2",
    "$1 LIKE $2 ESCAPE '!'",
    "$1 SIMILAR TO $2",
    "SUBSTRING($1 FROM $2 FOR $3)",
    "SUBSTRING($1 FROM $2)",
    "TRIM(BOTH 'a' FROM $1)",
    "TRIM(LEADING FROM $1)",
    "TRIM(TRAILING FROM $1)",
    "POSITION($1 IN $2)",
    "$1 & $2",
    "$1 | $2",
    "$1 << $2",
    "$1 >> $2",
    "$1 + INTERVAL '3' DAY",
    "$1 - INTERVAL '1' MONTH",
    "INTERVAL '1' YEAR + $1",
    "$1 + INTERVAL '2 days'",
    "DATE_ADD($1, INTERVAL '1' DAY)",
    "DATE_SUB($1, INTERVAL '1' MONTH)",
    "DATE_TRUNC('month', $1)",
    "CAST($1 + INTERVAL '3' DAY AS DATE)",
    "CAST($1 + INTERVAL '3' DAY AS VARCHAR)",
    "PI()",
];

const CAST_TYPES: &[&str] = &[
    "BOOLEAN",
    "TINYINT",
    "SMALLINT",
    "INT",
    "INTEGER",
    "BIGINT",
    "SIGNED",
    "UNSIGNED",
    "NUMERIC",
    "DECIMAL(10, 2)",
    "DECIMAL(5, 0)",
    "DECIMAL(20, 6)",
    "REAL",
    "FLOAT",
    "DOUBLE",
    "DOUBLE PRECISION",
    "TEXT",
    "CHAR",
    "CHAR(3)",
    "VARCHAR",
    "VARCHAR(1)",
    "VARCHAR(3)",
    "VARCHAR(40)",
    "DATE",
    "TIME",
    "TIMESTAMP",
    "DATETIME",
];

const EXTRACT_FIELDS: &[&str] = &[
    "YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DOY", "DOW", "ISODOW", "HOUR", "MINUTE", "SECOND", "EPOCH", "CENTURY",
];

const UNARY: &[&str] = &[
    "UPPER",
    "LOWER",
    "LCASE",
    "UCASE",
    "LENGTH",
    "LEN",
    "CHAR_LENGTH",
    "CHARACTER_LENGTH",
    "OCTET_LENGTH",
    "BIT_LENGTH",
    "TRIM",
    "LTRIM",
    "RTRIM",
    "BTRIM",
    "REVERSE",
    "INITCAP",
    "MD5",
    "HEX",
    "CHR",
    "QUOTE",
    "SPACE",
    "SOUNDEX",
    "ASCII",
    "UNICODE",
    "CRC32",
    "BIT_COUNT",
    "ABS",
    "SIGN",
    "FLOOR",
    "CEIL",
    "CEILING",
    "ROUND",
    "TRUNC",
    "SQRT",
    "CBRT",
    "EXP",
    "LN",
    "LOG",
    "LOG2",
    "LOG10",
    "SIN",
    "COS",
    "TAN",
    "ASIN",
    "ACOS",
    "ATAN",
    "COT",
    "DEGREES",
    "RADIANS",
    "POSITIVE",
    "NEGATIVE",
    "YEAR",
    "QUARTER",
    "MONTH",
    "WEEK",
    "DAY",
    "DAYOFMONTH",
    "DAYOFWEEK",
    "DAYOFYEAR",
    "WEEKDAY",
    "HOUR",
    "MINUTE",
    "SECOND",
    "UNIX_TIMESTAMP",
    "FROM_UNIXTIME",
    "LAST_DAY",
    "DATE",
    "TO_DATE",
    "TO_TIMESTAMP",
    "GREATEST",
    "LEAST",
    "CONCAT",
];

const BINARY: &[&str] = &[
    "COALESCE",
    "NULLIF",
    "IFNULL",
    "NVL",
    "GREATEST",
    "LEAST",
    "MOD",
    "POWER",
    "POW",
    "ROUND",
    "TRUNC",
    "TRUNCATE",
    "LOG",
    "ATAN2",
    "CONCAT",
    "CONCAT_WS",
    "LEFT",
    "RIGHT",
    "REPEAT",
    "SUBSTR",
    "SUBSTRING",
    "INSTR",
    "STRPOS",
    "LOCATE",
    "TRIM",
    "LTRIM",
    "RTRIM",
    "FORMAT",
    "TO_CHAR",
    "DATE_FORMAT",
    "DATE_ADD",
    "DATE_SUB",
    "ADD_MONTHS",
    "ADDDATE",
    "SUBDATE",
    "MAKEDATE",
    "DATEDIFF",
    "STARTS_WITH",
    "ENDS_WITH",
    "CONTAINS",
    "REGEXP_LIKE",
];

const TERNARY: &[&str] = &[
    "IF",
    "IIF",
    "NVL2",
    "GREATEST",
    "LEAST",
    "SUBSTR",
    "SUBSTRING",
    "REPLACE",
    "TRANSLATE",
    "CONCAT",
    "CONCAT_WS",
    "LPAD",
    "RPAD",
    "SPLIT_PART",
    "LOCATE",
    "REGEXP_REPLACE",
];

const AGGREGATES: &[&str] = &[
    "COUNT(*)",
    "COUNT($1)",
    "COUNT(DISTINCT $1)",
    "SUM($1)",
    "SUM(DISTINCT $1)",
    "AVG($1)",
    "MIN($1)",
    "MAX($1)",
    "BOOL_AND($1)",
    "BOOL_OR($1)",
    "EVERY($1)",
    "BIT_AND($1)",
    "BIT_OR($1)",
    "BIT_XOR($1)",
    "STDDEV($1)",
    "STDDEV_POP($1)",
    "VAR_POP($1)",
    "VAR_SAMP($1)",
];

const WINDOWS: &[&str] = &[
    "SUM($1) OVER ()",
    "AVG($1) OVER ()",
    "COUNT($1) OVER ()",
    "MIN($1) OVER ()",
    "MAX($1) OVER (PARTITION BY $2)",
    "ROW_NUMBER() OVER (ORDER BY $1)",
    "RANK() OVER (ORDER BY $1)",
    "PERCENT_RANK() OVER (ORDER BY $1)",
    "CUME_DIST() OVER (ORDER BY $1)",
    "NTILE(2) OVER (ORDER BY $1)",
    "LAG($1, 1, $2) OVER (ORDER BY $1)",
    "FIRST_VALUE($1) OVER (ORDER BY $2)",
];

/// The columns of `t`, two of most types: name, type, and the values that rows have, as literals. `#TIMESTAMP` is the
/// dialect's name of a point in time.
pub(super) const COLUMNS: &[(&str, &str, &[&str])] = &[
    ("i", "INTEGER", INTEGERS),
    ("j", "INTEGER", INTEGERS),
    ("n", "BIGINT", &["NULL", "0", "5", "-3", "3700", "2147483648", "9007199254740993", "9223372036854775807"]),
    ("b", "BOOLEAN", &["NULL", "TRUE", "FALSE"]),
    ("c", "BOOLEAN", &["NULL", "TRUE", "FALSE"]),
    ("d", "DECIMAL(10, 2)", DECIMALS),
    ("e", "DECIMAL(10, 2)", DECIMALS),
    ("f", "DOUBLE PRECISION", DOUBLES),
    ("g", "DOUBLE PRECISION", DOUBLES),
    ("s", "VARCHAR(40)", TEXTS),
    ("u", "VARCHAR(40)", TEXTS),
    ("y", "DATE", DATES),
    ("x", "DATE", DATES),
    ("z", "#TIMESTAMP", &["NULL", "'2020-02-29 12:34:56'", "'1999-12-31 00:00:00'", "'2020-03-01 23:59:59'"]),
    ("w", "TIME", &["NULL", "'12:34:56'", "'00:00:00'"]),
];

const INTEGERS: &[&str] = &["NULL", "0", "1", "2", "-1", "-7", "3", "5", "60", "100", "3700", "2147483647"];
const DECIMALS: &[&str] = &["NULL", "0.00", "1.00", "1.50", "-1.50", "2.25", "-7.00", "0.01", "3700.00", "99999999.99"];
const DOUBLES: &[&str] = &["NULL", "0.0", "1.0", "2.5", "-2.5", "-7.0", "0.5", "3.0", "1e20", "-1e20", "1e-7"];
const TEXTS: &[&str] =
    &["NULL", "''", "'a'", "'A'", "'ab'", "'a '", "'b'", "'1'", "'-2'", "'2.5'", "'2020-02-29'", "'a%'"];
const DATES: &[&str] = &["NULL", "'2020-02-29'", "'1999-12-31'", "'2020-03-01'", "'0001-01-01'"];

/// Literals as operands.
pub(super) const LITERALS: &[&str] = &[
    "NULL",
    "0",
    "1",
    "2",
    "3",
    "7",
    "60",
    "(-1)",
    "(-7)",
    "2147483648",
    "9007199254740993",
    "0.0",
    "0.5",
    "1.0",
    "1.5",
    "60.0",
    "(-2.5)",
    "0e0",
    "1e0",
    "2.5e0",
    "9007199254740992e0",
    "''",
    "'a'",
    "'A'",
    "'ab'",
    "'b '",
    "'1'",
    "'2.5'",
    "'a%'",
    "'_'",
    "'2020-02-29'",
    "'2020-02-29 12:34:56'",
    "TRUE",
    "FALSE",
    "DATE '2020-02-29'",
    "DATE '1999-12-31'",
    "TIMESTAMP '2020-02-29 12:34:56'",
    "TIME '12:34:56'",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_different_and_name_their_operands_in_order() {
        let forms = forms();
        let different: std::collections::BTreeSet<&String> = forms.iter().collect();
        assert_eq!(different.len(), forms.len());
        for form in &forms {
            let arity = arity(form);
            assert!((1..=arity).all(|at| form.contains(&format!("${at}"))), "{form}");
        }
        assert_eq!(arity("($1, $2) = ($3, $4)"), 4);
        assert_eq!(arity("PI()"), 0);
    }
}
