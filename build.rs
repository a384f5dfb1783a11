//! Migrations and the corpus are embedded in the program; without this a new file would not be noticed.

fn main() {
    println!("cargo::rerun-if-changed=migrations");
    println!("cargo::rerun-if-changed=corpus");
    println!("cargo::rerun-if-changed=tests/known-bugs");
}
