#!/usr/bin/env python3
"""Runs known-bug scripts through an engine's own shell and says which of their two results each gives.

    check.py [--before SQL] 'COMMAND' SCRIPT...
    check.py --index SCRIPT...

COMMAND reads SQL on its standard input and prints rows, a line each, values separated by a bar or a tab. SQL is run
before each script. README.md beside this file has the command for every engine; its table is what --index prints.
"""

import argparse
import shlex
import subprocess
import sys


def header(path):
    """The `-- key: value` lines of a script; a line that begins with `--` and three blanks continues the one above."""
    keys, key = {}, None
    for line in open(path, encoding="utf-8"):
        if not line.startswith("-- "):
            break
        if line.startswith("--   "):
            keys[key] += " " + line[5:].strip()
        else:
            key, _, value = line[3:].partition(":")
            keys[key] = value.strip()
    return keys


def rows(results):
    """The rows of all queries of an `expected` or `actual`, as a shell prints them, and whether the last one fails."""
    found, fails = [], False
    for query in results.split(" ; "):
        if query in ("crash", "error"):
            fails = True
        elif query != "-":
            found += [["" if value == "''" else value for value in row.split(" | ")] for row in query.split(" / ")]
    return found, fails


def index(paths):
    """A table of what the headers say."""
    print("| script | engine | status | wrong | newest tried | cause |\n|---|---|---|---|---|---|")
    for path in paths:
        keys = header(path)
        name = path.rsplit("/", 1)[-1]
        columns = [keys[key] for key in ("engine", "status", "wrong", "newest", "cause")]
        print(f"| [{name.removesuffix('.sql')}]({name}) | {' | '.join(columns)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", default="", help="SQL to run before each script")
    parser.add_argument("--index", action="store_true", help="print the table of README.md")
    parser.add_argument("arguments", nargs="+", help="the engine's shell, with its options (not with --index); scripts")
    args = parser.parse_args()
    if args.index:
        return index(args.arguments)
    command, *scripts = args.arguments
    neither = 0
    for path in scripts:
        keys = header(path)
        with open(path, encoding="utf-8") as script:
            ran = subprocess.run(
                shlex.split(command),
                input=f"{args.before}\n{script.read()}".encode(),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        lines = ran.stdout.decode("utf-8", "replace").split("\n")[:-1]
        printed = [line.split("\t" if "\t" in line else "|") for line in lines], ran.returncode != 0
        verdict = "right" if printed == rows(keys["expected"]) else "wrong" if printed == rows(keys["actual"]) else "?"
        print(f"{verdict}  {path}")
        if verdict == "?":
            neither += 1
            said = ran.stderr.decode("utf-8", "replace")[-300:].strip()
            print(f"   printed {printed[0]}, status {ran.returncode}: {said}")
    sys.exit(1 if neither else 0)


if __name__ == "__main__":
    main()
