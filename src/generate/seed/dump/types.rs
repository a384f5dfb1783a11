//! The types of real schemas, and the nearest ones that classes have.

use crate::sql::types::SqlType;

/// The nearest type of classes, and what taking it for the other assumes; `None` if there is none near.
pub(super) fn nearest(declared: &str) -> Option<(SqlType, &'static str)> {
    let upper = declared.to_ascii_uppercase();
    let (name, arguments) = match (upper.find('('), upper.rfind(')')) {
        (Some(open), Some(close)) if open < close => {
            (format!("{} {}", &upper[..open], &upper[close + 1..]), upper[open + 1..close].to_owned())
        }
        _ => (upper, String::new()),
    };
    if name.contains(['[', ']']) {
        return None;
    }
    let words: Vec<&str> = name.split_whitespace().collect();
    let words: Vec<&str> =
        words.into_iter().filter(|word| !["UNSIGNED", "SIGNED", "ZEROFILL"].contains(word)).collect();
    let first = words.first().copied().unwrap_or_default();
    let (exact, text) = ("of any length, compared byte by byte", "any text");
    Some(match first {
        "" => (SqlType::Text, "a column without a type holds texts"),
        "BOOLEAN" | "BOOL" => (SqlType::Boolean, ""),
        "TINYINT" if arguments == "1" => (SqlType::Boolean, "0 and 1 only"),
        "BIT" if matches!(arguments.as_str(), "" | "1") && words.len() == 1 => (SqlType::Boolean, "0 and 1 only"),
        "INT" | "INTEGER" | "BIGINT" if words.len() == 1 => (SqlType::Int, ""),
        "BIGINT" | "INT" | "INTEGER" | "INT2" | "INT4" | "INT8" | "SMALLINT" | "MEDIUMINT" | "TINYINT" | "SERIAL"
        | "SMALLSERIAL" | "BIGSERIAL" | "YEAR" | "BIG" => (SqlType::Int, "with the range of INT"),
        "DECIMAL" | "DEC" | "NUMERIC" | "NUMBER" if !arguments.is_empty() && whole(&arguments) => {
            (SqlType::Int, "with the range of INT")
        }
        "DECIMAL" | "DEC" | "NUMERIC" | "NUMBER" | "MONEY" => (SqlType::Real, "a floating-point number, not exact"),
        "REAL" | "DOUBLE" | "FLOAT" | "FLOAT4" | "FLOAT8" => (SqlType::Real, ""),
        "TEXT" => (SqlType::Text, ""),
        "VARCHAR" | "CHAR" | "CHARACTER" | "NCHAR" | "NVARCHAR" | "VARYING" | "BPCHAR" | "CITEXT" | "CLOB" | "STRING"
        | "TINYTEXT" | "MEDIUMTEXT" | "LONGTEXT" | "NATIVE" | "NATIONAL"
            // `CHARACTER LARGE OBJECT` and the like; a list of texts is none.
            if !words.contains(&"ARRAY") =>
        {
            if arguments.is_empty() && first == "VARCHAR" { (SqlType::Text, "") } else { (SqlType::Text, exact) }
        }
        "ENUM" | "SET" | "UUID" | "JSON" | "JSONB" | "XML" => (SqlType::Text, text),
        "DATE" | "DATETIME" | "TIME" | "TIMESTAMP" | "TIMETZ" | "TIMESTAMPTZ" => {
            (SqlType::Text, "a text as in '2020-01-31', compared as one")
        }
        "BLOB" => (SqlType::Blob, ""),
        "BYTEA" | "BINARY" | "VARBINARY" | "TINYBLOB" | "MEDIUMBLOB" | "LONGBLOB" => (SqlType::Blob, "of any length"),
        _ => return None,
    })
}

/// Whether precision and scale leave no digits after the point.
fn whole(arguments: &str) -> bool {
    arguments.split_once(',').is_none_or(|(_, scale)| scale.trim() == "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_taken_for_the_nearest() {
        let ty = |declared: &str| nearest(declared).map(|(ty, _)| ty);
        for (declared, expected) in [
            ("integer", SqlType::Int),
            ("INT(11) UNSIGNED", SqlType::Int),
            ("BIGINT UNSIGNED", SqlType::Int),
            ("DECIMAL(10,0)", SqlType::Int),
            ("NUMERIC(38)", SqlType::Int),
            ("DECIMAL(10,2)", SqlType::Real),
            ("numeric", SqlType::Real),
            ("DOUBLE PRECISION", SqlType::Real),
            ("character varying(20)", SqlType::Text),
            ("ENUM('a', 'b')", SqlType::Text),
            ("timestamp(6) without time zone", SqlType::Text),
            ("DATE", SqlType::Text),
            ("VARBINARY(16)", SqlType::Blob),
            ("TINYINT(1)", SqlType::Boolean),
            ("TINYINT(4)", SqlType::Int),
            ("", SqlType::Text),
        ] {
            assert_eq!(ty(declared), Some(expected), "{declared}");
        }
        for declared in
            ["INTEGER[]", "interval", "GEOMETRY", "int4range", "POINT", "BIT(8)", "BIT VARYING(8)", "public.mood"]
        {
            assert_eq!(ty(declared), None, "{declared}");
        }
        // What classes have themselves assumes nothing; everything else says what it does.
        for declared in ["INT", "BIGINT", "TEXT", "BOOLEAN", "REAL", "DOUBLE PRECISION", "BLOB", "VARCHAR"] {
            assert_eq!(nearest(declared).map(|(_, assumes)| assumes), Some(""), "{declared}");
        }
        assert!(!nearest("VARCHAR(20)").expect("near").1.is_empty() && !nearest("DATE").expect("near").1.is_empty());
    }
}
