"""Prints the licences of everything that is in the programs or comes with them.

What is linked is what cargo says of the ordinary dependencies of both programs on this platform; their texts are in the
packages. A package without a text is printed with what it says of itself.
"""

import json
import pathlib
import re
import subprocess
import sys

PROGRAMS = ["caqtus", "prover"]
FILES = re.compile(r"(licen[cs]e|copying|copyright|notice|unlicense)", re.IGNORECASE)


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def linked():
    """The names and versions of what is linked into the programs."""
    found = set()
    for program in PROGRAMS:
        tree = run("cargo", "tree", "--locked", "-p", program, "-e", "normal,no-proc-macro", "--prefix", "none")
        found.update(tuple(line.split()[:2]) for line in tree.splitlines() if line)
    return found


def texts(directory):
    """The licence texts of a package by their file names, without repeating one."""
    found = {}
    for path in sorted(directory.rglob("*")):
        depth = len(path.relative_to(directory).parts)
        if depth <= 3 and path.is_file() and FILES.match(path.name) and path.suffix not in {".rs", ".c", ".h", ".json"}:
            found.setdefault(path.read_text(encoding="utf-8", errors="replace").strip(), str(path.relative_to(directory)))
    return {name: text for text, name in found.items()}


printed = {}


def section(title, about, parts):
    print("=" * 80, title, about, "=" * 80, sep="\n")
    for name, text in parts.items():
        first = printed.setdefault(" ".join(text.split()), title)
        print(f"\n--- {name} ---\n\n{text}" if first == title else f"\n{name}: word for word that of {first} above")
    print()


def main():
    packages = json.loads(run("cargo", "metadata", "--locked", "--format-version", "1"))["packages"]
    inside = linked()
    # The crates of this repository are under its own licence.
    foreign = [p for p in packages if p["source"] and (p["name"], f"v{p['version']}") in inside]
    if len(foreign) < 100:
        sys.exit(f"only {len(foreign)} packages found: cargo's output has changed its form")
    print(f"The programs caqtus and caqtus-prover contain the {len(foreign)} Rust packages below and Rust's standard library;")
    print("libz3 comes with them. SQLite, which is in libsqlite3-sys, is in the public domain.\n")
    z3 = pathlib.Path(__file__).with_name("LICENSE-z3")
    section("Z3", "MIT", {z3.name: z3.read_text().strip()})
    for package in sorted(foreign, key=lambda p: (p["name"], p["version"])):
        directory = pathlib.Path(package["manifest_path"]).parent
        about = [package["license"] or "no licence named", ", ".join(package["authors"]), package["repository"] or ""]
        parts = texts(directory) or {"no text in the package": "Its licence is the one named above."}
        section(f"{package['name']} {package['version']}", "\n".join(filter(None, about)), parts)
    rust = pathlib.Path(run("rustc", "--print", "sysroot").strip(), "share/doc/rust/licenses")
    parts = {path.name: path.read_text().strip() for path in (rust / "MIT.txt", rust / "Apache-2.0.txt") if path.exists()}
    about = "MIT OR Apache-2.0, The Rust Project contributors\nhttps://github.com/rust-lang/rust"
    section("Rust's standard library", about, parts or {"no text in the toolchain": "Its licence is the one named above."})


main()
