#!/usr/bin/env python3
"""Counts the SQL features of sampled test cases for PostgreSQL with two parsers that others wrote: pglast, sqlparse.

The Argus paper (section 7.2) counts them in ten random queries: 23 "unique PostgreSQL types" with pglast and 151
"unique AST nodes" with sqlparse, against 15 and 76 of SQLancer. One draw of ten says little, so this takes the
mean over many.

    pip install pglast sqlparse
    bench/features.py draw --dbms postgres@18.4 --seed 1 --samples 20 > cases.jsonl
    bench/features.py count cases.jsonl
    bench/features.py count queries.sql        # those of another tool, one query a line

The paper does not say what its words mean, so each parser is read in several ways. Those by which queries of SQLancer
come to about what the paper reports of SQLancer are marked with *:

    pglast types *     distinct types of nodes, values such as String aside: SelectStmt, ColumnRef, FuncCall, ...
    pglast variants    types with what tells variants of one apart: the function, the operator, the join, the type
    sqlparse kinds     distinct classes of groups and types of tokens: Comparison, Keyword.DML, ...
    sqlparse words *   distinct keywords, operators, functions and types, by what stands there, and the groups
    sqlparse tokens    distinct tokens by type and text, names and literals among them, blanks not
    sqlparse nodes     distinct nodes of the tree, that is these and the groups, by kind and text

A query that pglast, which is PostgreSQL's own parser, does not read is an error: it ends the program.
"""

import argparse
import json
import random
import statistics
import subprocess
import sys

import pglast
import sqlparse
from pglast import ast
from sqlparse import tokens

# What the paper reports: Argus, SQLancer.
PAPER = {("pglast", "types"): (23, 15), ("sqlparse", "words"): (151, 76)}

# Cases of a block of a campaign.
CASES_PER_BLOCK = 96


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    draw = commands.add_parser("draw", help="print the cases of samples, as JSON lines")
    draw.add_argument("--program", default="caqtus", help="the program")
    draw.add_argument("--dbms", default="postgres", help="the target, which must be PostgreSQL")
    draw.add_argument("--seed", type=int, required=True, help="the seed of the first sample, and of the draw")
    draw.add_argument("--samples", type=int, default=20, help="how many samples")
    draw.add_argument("--size", type=int, default=10, help="cases of each")
    draw.add_argument("options", nargs="*", help="after --: options of `caqtus case`, such as --oracle caq")
    count = commands.add_parser("count", help="count the features of what was drawn")
    count.add_argument("file", help="JSON lines as `draw` prints them, or a file .sql with one query a line")
    count.add_argument("--size", type=int, default=10, help="queries of a sample, of a file .sql")
    count.add_argument("--samples", type=int, default=20, help="samples, of a file .sql")
    count.add_argument("--seed", type=int, default=1, help="the seed by which queries are chosen")
    count.add_argument("--json", action="store_true", help="one JSON object")
    arguments = parser.parse_args()
    {"draw": print_cases, "count": print_counts}[arguments.command](arguments)


def print_cases(arguments):
    """Each sample is of a campaign of its own, each case of a block of its own: another class, another database."""
    rng = random.Random(arguments.seed)
    for sample in range(arguments.samples):
        for block in range(arguments.size):
            place = {"seed": arguments.seed + sample, "block": block, "case": rng.randrange(CASES_PER_BLOCK)}
            command = [arguments.program, "case", "--dbms", arguments.dbms, *arguments.options]
            command += [part for name, value in place.items() for part in (f"--{name}", str(value))]
            printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            print(json.dumps({"sample": sample, **place, **case_of(printed)}), flush=True)


def case_of(printed):
    """The class and the queries of what `caqtus case --case N` prints after the statements that make the database."""
    name = next(line for line in printed.splitlines() if line.startswith("-- class ")).removeprefix("-- class ")
    _, _, text = printed.partition("\n-- case ")
    # The rest of that line is its number; statements are read by PostgreSQL's own parser.
    text = text.partition("\n")[2]
    queries = [text[at.stmt_location : at.stmt_location + at.stmt_len or None] for at in selects(text)]
    return {"class": name, "queries": [uncommented(query) for query in queries]}


def selects(text):
    """The statements of a text that return rows."""
    return [statement for statement in pglast.parse_sql(text) if isinstance(statement.stmt, ast.SelectStmt)]


def uncommented(query):
    """A query without the lines of comment before it."""
    return "\n".join(line for line in query.strip().splitlines() if not line.startswith("--"))


def print_counts(arguments):
    samples = read(arguments)
    features = {of: {} for sample in samples for of in sample}
    for sample in samples:
        for of, queries in sample.items():
            for measure, found in union(queries).items():
                features[of].setdefault(measure, []).append(len(found))
    sizes = [node_count(query) for sample in samples for query in next(iter(sample.values()))]
    means = {
        of: {" ".join(measure): summary(counts) for measure, counts in measures.items()}
        for of, measures in features.items()
    }
    result = {"samples": len(samples), "nodes_of_a_query": round(statistics.fmean(sizes), 1), "features": means}
    if arguments.json:
        print(json.dumps(result))
        return
    print(f"{result['samples']} samples; {result['nodes_of_a_query']} nodes of pglast's tree in a query on average")
    for of, measures in means.items():
        print(f"\n| {of} | mean | fewest | most | paper: Argus | SQLancer |\n|---|---|---|---|---|---|")
        for measure, (mean, least, most) in measures.items():
            argus, sqlancer = PAPER.get(tuple(measure.split()), ("", ""))
            print(f"| {measure} | {mean} | {least} | {most} | {argus} | {sqlancer} |")


def summary(counts):
    return round(statistics.fmean(counts), 1), min(counts), max(counts)


def read(arguments):
    """Samples: of each, one query of every case, and all queries of the cases."""
    rng = random.Random(arguments.seed)
    with open(arguments.file, encoding="utf-8") as file:
        lines = [line for line in map(str.strip, file) if line]
    if arguments.file.endswith(".sql"):
        draws = [rng.sample(lines, arguments.size) for _ in range(arguments.samples)]
        return [{f"{arguments.size} queries": draw} for draw in draws]
    samples = {}
    for case in map(json.loads, lines):
        # A case of a statement that changes rows may have no query.
        if case["queries"]:
            samples.setdefault(case["sample"], []).append(case["queries"])
    return [
        {
            "one query of each case": [rng.choice(queries) for queries in cases],
            "all queries of the cases": [query for queries in cases for query in queries],
        }
        for cases in samples.values()
    ]


def union(queries):
    """The distinct features of queries, by parser and measure."""
    found = {}
    for query in queries:
        for measure, feature in [*pglast_features(query), *sqlparse_features(query)]:
            found.setdefault(measure, set()).add(feature)
    return found


def pglast_nodes(query):
    """Every node of the tree of a query."""
    pending = [statement.stmt for statement in pglast.parse_sql(query)]
    while pending:
        at = pending.pop()
        if isinstance(at, (tuple, list)):
            pending.extend(at)
        elif isinstance(at, ast.Node):
            yield at
            pending.extend(getattr(at, name) for name in at)


def node_count(query):
    return sum(1 for _ in pglast_nodes(query))


def names(parts):
    return ".".join(part.sval for part in parts or () if isinstance(part, ast.String))


def pglast_features(query):
    for node in pglast_nodes(query):
        kind = type(node).__name__
        if isinstance(node, VALUES):
            continue
        yield ("pglast", "types"), kind
        own = [str(getattr(node, name)) for name in node if name in TELLING and getattr(node, name) is not None]
        own += [names(getattr(node, name)) for name in node if name in ("funcname", "names")]
        if isinstance(node, ast.A_Expr):
            own.append(names(node.name))
        yield ("pglast", "variants"), (kind, *own)


# What PostgreSQL's sources call value nodes.
VALUES = (ast.String, ast.Integer, ast.Float, ast.Boolean, ast.BitString)

# The attributes of nodes that say which variant of its type a node is.
TELLING = ["jointype", "op", "kind", "boolop", "nulltesttype", "booltesttype", "subLinkType", "sortby_dir"]


def sqlparse_features(query):
    pending = list(sqlparse.parse(query))
    while pending:
        node = pending.pop()
        if node.is_whitespace or node.ttype in tokens.Comment:
            continue
        text = node.value.upper()
        if node.is_group:
            pending.extend(node.tokens)
            kind = type(node).__name__
            yield ("sqlparse", "words"), kind
            if isinstance(node, sqlparse.sql.Function):
                yield ("sqlparse", "words"), (kind, (node.get_name() or "").upper())
        else:
            kind = str(node.ttype)
            is_name = node.ttype in tokens.Name and node.ttype is not tokens.Name.Builtin
            yield ("sqlparse", "words"), kind if is_name or node.ttype in tokens.Literal else (kind, text)
            yield ("sqlparse", "tokens"), (kind, text)
        yield ("sqlparse", "kinds"), kind
        yield ("sqlparse", "nodes"), (kind, text)


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"{' '.join(error.cmd)} failed:\n{error.stderr}")
