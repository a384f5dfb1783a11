//! A query over an operation agrees with the same query over a table that stores its results, in every way to store them.

use crate::support::{Caqtus, Planted, engines, last_json};

#[test]
fn what_is_wrong_only_when_stored_is_reported_and_small() {
    let caqtus = Caqtus::new();
    for fault in ["wrong-stored", "wrong-stored-aggregate"] {
        let found = caqtus.planted(fault, "edc", &["--cases", "600"]);
        let Planted { case, script, .. } = &found;
        assert_eq!(case["reduced"], true, "{case}");
        let queries = case["queries"].as_array().expect("queries");
        let [.., in_place, stored] = queries.as_slice() else { panic!("{case}") };
        assert_eq!(in_place["context"], "the operation in place", "{case}");
        assert_eq!(stored["context"], "its results, stored", "{case}");
        assert_ne!(in_place["result"], stored["result"], "{case}");
        assert!(script.contains("CREATE TABLE t_stored") && script.contains("DROP TABLE t_stored"), "{script}");
        // A planted fault needs one row, and no more of the operation than a column.
        let statements = case["statements"].as_array().expect("statements");
        let inserts = statements.iter().filter(|s| s.as_str().is_some_and(|s| s.contains(" INTO t("))).count();
        assert!(inserts <= 1, "{statements:#?}");
        let operation = case["fillings"][0].as_str().expect("an operation");
        assert!(operation.len() <= 40, "{operation}");
        found.shows_there_alone();
    }
}

#[test]
fn most_results_are_stored_on_every_engine_in_every_way() {
    let caqtus = Caqtus::new();
    let data = engines::data_dir();
    let data = data.to_str().expect("UTF-8");
    let names = ["duckdb@1.4.5", "postgres@18.4", "mariadb@10.11.5"];
    for target in names.into_iter().filter_map(engines::engine).chain(["sqlite".to_owned()]) {
        let (mut pass, mut cases) = (0, 0);
        for seed in ["2", "3"] {
            let words = ["--dbms", &target, "--oracle", "edc", "--cases", "288", "--seed", seed, "--data-dir", data];
            // An engine may have bugs that are not planted.
            let (code, json) = caqtus.hunt(&words);
            assert!(code == 0 || code == 1, "{target}: {json}");
            assert_eq!(json["classes"].as_u64(), Some(9), "{target}: {json}");
            pass += json["outcomes"]["pass"].as_u64().expect("a number");
            cases += json["cases"].as_u64().expect("a number");
        }
        assert!(pass * 2 >= cases, "{target}: {pass} of {cases}");
        let mut text = String::new();
        for block in ["0", "1", "2"] {
            let words =
                ["case", "--dbms", &target, "--oracle", "edc", "--seed", "1", "--block", block, "--data-dir", data];
            let output = caqtus.run(&words);
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            text.push_str(&String::from_utf8_lossy(&output.stdout));
        }
        for part in [
            "CREATE TABLE t_stored AS SELECT ",
            "INSERT INTO t_stored(k, ",
            " GENERATED ALWAYS AS ",
            "CREATE INDEX t_results ON t_stored",
            " HAVING ",
            " OVER (",
            " GROUP BY q.",
        ] {
            let part = if target == "sqlite" && part.contains("GENERATED") { " AS (" } else { part };
            assert!(text.contains(part), "{target}: {part} is in none of its cases");
        }
    }
}

#[test]
fn what_a_column_does_not_keep_by_the_documentation_is_no_difference() {
    let caqtus = Caqtus::new();
    std::fs::create_dir_all(caqtus.path("own/snippets")).expect("a directory");
    // A column of NUMERIC affinity has the integer 1 where the cast leaves the REAL 1.0. What is not NULL on a row of NULLs
    // is padded by an outer join as a stored value, and not as an expression. A text yields to a column of text, where a
    // column without a type does not.
    let snippets =
        ["CAST(t.c_real AS NUMERIC)", "coalesce(t.c_int, 7)", "json_array(t.c_real)", "coalesce(t.c_int, t.c_text)"];
    let lines: String = snippets.iter().map(|sql| serde_json::json!({ "sql": sql }).to_string() + "\n").collect();
    std::fs::write(caqtus.path("own/snippets/sqlite.jsonl"), lines).expect("writes");
    let words = ["hunt", "--json", "--quiet", "--dbms", "sqlite", "--oracle", "edc", "--snippets", "100"];
    let mut command = caqtus.command(&[&words[..], &["--cases", "9600", "--seed", "1"]].concat());
    let output = command.env("CAQTUS_CORPUS", caqtus.path("own")).output().expect("runs");
    let json = last_json(&String::from_utf8_lossy(&output.stdout));
    // There are combinations of them, too.
    assert!(output.status.code() == Some(0) && json["snippets"].as_u64() >= Some(snippets.len() as u64), "{json}");
    assert!(json["outcomes"]["pass"].as_u64() > Some(7000), "{json}");
}
