#!/usr/bin/env python3
"""Measures which edges of SQLite's control flow hunts reach with snippets of different origins, as the ablation in
Fig. 5 of the Argus paper does with lines and branches of DuckDB, and how far apart the members of a class are.

    bench/edges.py build sqlite3.c libsqlite-edges.so      # with clang; minutes
    bench/edges.py run --library libsqlite-edges.so --seed 1 --cpu-seconds 300 --work DIR
    bench/edges.py show DIR ...

`run` hunts once for each set of snippets, with the same classes and the same seed, each with one executor until that
has used the CPU seconds, validation of snippets not counted; run again with more of them, it goes on. The sets:

    none            placeholders are filled by the generator of expressions alone
    grammar         and with snippets made from the engine's catalogue of functions and from a small grammar of tables
    llm             and with snippets of a large language model instead
    llm-combined    and with these and 1,000 combinations of them
    shipped         and with everything that ships

A combination is a snippet with another in the place of a column of the type that the other one has. The hunt makes them
and finds out which hold, as `caqtus hunt --combinations` does.

The distance of two queries is the Jaccard distance of the sets of edges that they take, from being prepared to being
finalized: 0 if they are the same, 1 if they share none. It is taken of each two members of a case, if their texts
differ; cases in which a query fails are left out. A case counts as the mean of its pairs.
"""

import argparse
import functools
import itertools
import json
import math
import operator
import os
import signal
import statistics
import struct
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
CORPUS = HERE.parent / "corpus"
SETS = ["none", "grammar", "llm", "llm-combined", "shipped"]
BY_THE_CATALOGUE = "engine's catalogue"
# As many as a campaign draws expressions.
COMBINATIONS = 1000

WRAPPED = ["open_v2", "close", "prepare_v2", "step", "finalize"]
# Those of `caqtus dbms install sqlite@VERSION`.
OPTIONS = ["THREADSAFE=0", "ENABLE_FTS3", "ENABLE_FTS4", "ENABLE_FTS5", "ENABLE_RTREE", "ENABLE_JSON1", "ENABLE_STAT4"]
OPTIONS += ["ENABLE_MATH_FUNCTIONS", "ENABLE_DBSTAT_VTAB", "DEFAULT_MEMSTATUS=0"]

HEAD = struct.Struct("=6Q")
ENTRY = struct.Struct("=3QiII4x")
DONE = 101


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    build = commands.add_parser("build", help="compile SQLite with a flag for each edge")
    build.add_argument("source", type=Path, help="the amalgamation, sqlite3.c")
    build.add_argument("library", type=Path, help="the library to make")
    build.add_argument("--clang", default="clang", help="the compiler")
    run = commands.add_parser("run", help="hunt with each set of snippets")
    run.add_argument("--program", default="caqtus", help="the program")
    run.add_argument("--library", type=Path, required=True, help="what `build` made")
    run.add_argument("--seed", type=int, required=True, help="the seed of the campaigns")
    run.add_argument("--cpu-seconds", type=int, default=300, help="CPU seconds of each hunt's executor")
    run.add_argument("--sample", type=int, default=500, help="one case in so many is looked at query by query")
    run.add_argument("--oracle", default="caq", help="the oracle")
    run.add_argument("--sets", nargs="+", choices=SETS, default=SETS, help="sets of snippets")
    run.add_argument("--work", type=Path, required=True, help="a directory for everything that is made")
    show = commands.add_parser("show", help="print what was measured")
    show.add_argument("work", type=Path, nargs="+", help="directories of `run`; of several, means")
    arguments = parser.parse_args()
    {"build": build_library, "run": hunt_with_each, "show": print_results}[arguments.command](arguments)


def build_library(arguments):
    compiler = [arguments.clang, "-O1", "-fPIC", "-w"]
    renamed = [f"-Dsqlite3_{name}=plain_{name}" for name in WRAPPED]
    options = [f"-DSQLITE_{option}" for option in OPTIONS]
    coverage = ["-fsanitize-coverage=inline-bool-flag,pc-table"]
    objects = [arguments.library.with_suffix(".sqlite.o"), arguments.library.with_suffix(".edges.o")]
    subprocess.run([*compiler, *renamed, *options, *coverage, "-c", arguments.source, "-o", objects[0]], check=True)
    subprocess.run([*compiler, "-O2", "-c", HERE / "edges.c", "-o", objects[1]], check=True)
    link = ["-shared", *objects, "-o", arguments.library, "-lm", "-ldl", "-lpthread"]
    subprocess.run([arguments.clang, *link], check=True)


def hunt_with_each(arguments):
    for name in arguments.sets:
        out = arguments.work.resolve() / name
        if not out.exists():
            lines = snippets(name)
            print(f"{name}: {len(lines)} snippets", file=sys.stderr)
            begin(arguments, out, lines, COMBINATIONS if name == "llm-combined" else 0)
        go_on(arguments, out)
        print(json.dumps({"snippets": name, **result(out)}), flush=True)


def snippets(name):
    with open(CORPUS / "snippets/sqlite.jsonl", encoding="utf-8") as file:
        shipped = [json.loads(line) for line in file]
    by_model = [line for line in shipped if line.get("origin") != BY_THE_CATALOGUE]
    return {
        "none": lambda: [],
        "grammar": lambda: [line for line in shipped if line.get("origin") == BY_THE_CATALOGUE],
        "llm": lambda: by_model,
        "llm-combined": lambda: by_model,
        "shipped": lambda: shipped,
    }[name]()


def begin(arguments, out, lines, combinations):
    """A hunt has no option for a file of snippets, but a campaign has: one is begun, and given it."""
    for name in ("begun", "edges"):
        (out / name).mkdir(parents=True)
    options = ["--seed", str(arguments.seed), "--oracle", arguments.oracle, "--cases", "1"]
    options += ["--combinations", str(combinations)]
    if not lines:
        options += ["--snippets", "0"]
    # One that finds a bug with its only case ends with another status.
    begun = environment(arguments, out / "begun")
    subprocess.run(command(arguments, out, options), env=begun, stdout=subprocess.DEVNULL)
    state = out / "campaign.json"
    campaign = json.loads(state.read_text())
    if lines:
        (out / "snippets.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        campaign["snippets"] = str(out / "snippets.jsonl")
    campaign.update(finished=False, done_below=0, done=[], learned=None)
    state.write_text(json.dumps(campaign))


def go_on(arguments, out):
    before = cpu_seconds(out)
    if before >= arguments.cpu_seconds:
        return
    edges = environment(arguments, out / "edges")
    edges["EDGES_CPU_SECONDS"] = str(math.ceil(arguments.cpu_seconds - before))
    with open(out / "summary.json", "w", encoding="utf-8") as summary:
        process = subprocess.Popen(command(arguments, out, ["--resume"]), env=edges, stdout=summary)
        while process.poll() is None:
            time.sleep(1)
            if cpu_seconds(out) >= arguments.cpu_seconds:
                process.send_signal(signal.SIGINT)
                process.wait()


def command(arguments, out, options):
    target = f"sqlite:{arguments.library.resolve()}"
    places = ["--out", str(out), "--data-dir", str(out / "data")]
    return [arguments.program, "hunt", "--dbms", target, "--workers", "1", *places, "--quiet", "--json", *options]


def environment(arguments, edges):
    return {**os.environ, "EDGES_DIR": str(edges), "EDGES_SAMPLE": str(arguments.sample)}


def cpu_seconds(out):
    return sum(head["cpu_ns"] for head, _ in maps(out)) / 1e9


def maps(out):
    """Of each process that ran cases what is at the head of its map, and the map."""
    names = ["edges", "cpu_ns", "cpu_ns_max", "statements", "queries", "done"]
    for path in sorted((out / "edges").glob("*.map")):
        content = path.read_bytes()
        if len(content) > HEAD.size:
            yield dict(zip(names, HEAD.unpack_from(content))), content[HEAD.size :]


def reached(out):
    """For each edge whether a statement that makes databases (1) or a query (2) took it, in any process of a hunt."""
    return [functools.reduce(operator.or_, bits) for bits in zip(*(edges for _, edges in maps(out)))]


def case_distances(path):
    """The mean distance of the queries of each case in a log that has two that differ and none that fails."""
    for _, entries in itertools.groupby(entries_of(path), key=lambda entry: entry[0]):
        by_text, failed = {}, False
        for _, code, text, edges in entries:
            failed |= code != DONE
            by_text[text] = edges
        pairs = list(itertools.combinations(by_text.values(), 2))
        if pairs and not failed:
            yield statistics.fmean(1 - len(a & b) / len(a | b) for a, b in pairs)


def entries_of(path):
    """The statements of a log: the block and the case, the code with which it ended, its text, its edges."""
    with open(path, "rb") as log:
        while len(start := log.read(ENTRY.size)) == ENTRY.size:
            block, case, _, code, length, count = ENTRY.unpack(start)
            text, edges = log.read(length), log.read(4 * count)
            # What is cut off was being written when the process ended.
            if len(edges) == 4 * count:
                yield (block, case), code, text, frozenset(struct.unpack(f"={count}I", edges))


def result(out):
    processes = [head for head, _ in maps(out)]
    edges = reached(out)
    logs = sorted((out / "edges").glob("*.log"))
    distances = [distance for path in logs for distance in case_distances(path)]
    summary = json.loads((out / "summary.json").read_text().splitlines()[-1])
    return {
        "edges": sum(1 for bits in edges if bits),
        "edges_of_queries": sum(1 for bits in edges if bits & 2),
        "edges_there_are": len(edges),
        "cpu_seconds": round(cpu_seconds(out), 1),
        "queries": sum(head["queries"] for head in processes),
        "processes": len(processes),
        "cases_looked_at": len(distances),
        "distance": statistics.fmean(distances),
        "distance_error": statistics.stdev(distances) / len(distances) ** 0.5,
        "verdict": summary["verdict"],
    }


def print_results(arguments):
    names = [name for name in SETS if all((work / name / "summary.json").exists() for work in arguments.work)]
    print("| snippets | edges | not with none | of queries | queries | cases looked at | distance |")
    print("|---|---|---|---|---|---|---|")
    for name in names:
        results = [result(work / name) for work in arguments.work]
        more = [
            sum(1 for own, other in zip(reached(work / name), reached(work / "none")) if own and not other)
            for work in arguments.work
            if "none" in names
        ]
        cells = [name, span([r["edges"] for r in results]), span(more)]
        cells.append(span([r["edges_of_queries"] for r in results]))
        cells += [span([r[of] for r in results]) for of in ("queries", "cases_looked_at")]
        distance = statistics.fmean(r["distance"] for r in results)
        error = sum(r["distance_error"] ** 2 for r in results) ** 0.5 / len(results)
        print(f"| {' | '.join(cells)} | {distance:.3f} ± {error:.3f} |")


def span(counts):
    """A mean, and the least and the most if there are several."""
    if len(counts) < 2:
        return f"{counts[0]:,}" if counts else ""
    return f"{statistics.fmean(counts):,.0f} ({min(counts):,} to {max(counts):,})"


if __name__ == "__main__":
    main()
