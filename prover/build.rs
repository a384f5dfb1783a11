//! Lets the programs of this crate find the libz3 that `make z3` fetched, wherever the checkout lies.

fn main() {
    println!("cargo:rerun-if-changed=../.z3/z3.pc");
    let library = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../.z3/z3/lib");
    if std::env::var_os("CARGO_FEATURE_SOLVER").is_some()
        && let Ok(library) = library.canonicalize()
    {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{}", library.display());
    }
}
