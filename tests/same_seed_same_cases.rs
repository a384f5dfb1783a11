//! The same seed gives byte-identical cases, in one process and in two.

use crate::support::Caqtus;

#[test]
fn cases_do_not_depend_on_the_run_or_the_number_of_workers() {
    let caqtus = Caqtus::new();
    let digest = |seed: &str, workers: &str, out: &str| {
        let (code, json) = caqtus.hunt(&[
            "--seed",
            seed,
            "--cases",
            "3000",
            "--workers",
            workers,
            "--out",
            out,
            "--class",
            "*-where*",
        ]);
        assert_eq!(code, 0, "{json}");
        assert_eq!(json["cases"], 3000);
        json["case_digest"].as_str().expect("a digest").to_owned()
    };
    let one = digest("9", "1", "a");
    assert_eq!(one, digest("9", "1", "b"));
    assert_eq!(one, digest("9", "2", "c"));
    assert_ne!(one, digest("10", "1", "d"));
}

#[test]
fn cases_print_the_same_twice() {
    let print = || {
        let caqtus = Caqtus::new();
        let output = caqtus.run(&["case", "--seed", "4", "--block", "17"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    let first = print();
    assert!(first.len() > 5000, "a block has 96 cases");
    assert_eq!(first, print());
}
