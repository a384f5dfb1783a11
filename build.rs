//! Migrations are embedded in the program; without this a new one would not be noticed.

fn main() {
    println!("cargo::rerun-if-changed=migrations");
}
