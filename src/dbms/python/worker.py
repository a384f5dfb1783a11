"""Runs statements for Caqtus on an engine that is a Python module: one JSON object a line in, one out.

The engine's profile is executed first, with `connect()` to define, which returns a connection to an empty database. Where
they differ from the DB-API (PEP 249) it also defines

* version()                  the engine's version, as text
* run(connection, sql)       runs a statement; the rows, None if there are none
* types(connection, sql)     the names of the types of a query's columns, without running it; None for another type
* limit(connection, ms)      bounds the time of the statements that follow, from inside the engine
* code(error)                the code of an error, which the profile has a class for; the exception's own name
* close(connection)          ends the connection
"""

import sys

# Not the working directory: its files are not the engine.
sys.path = [entry for entry in sys.path if entry]

import decimal
import json
import numbers
import os

# What an engine prints, from whatever language, is not an answer.
requests, answers = sys.stdin, os.fdopen(os.dup(1), "w")
os.dup2(2, 1)


def run(connection, sql):
    cursor = connection.cursor()
    cursor.execute(sql)
    return cursor.fetchmany(rows_max + 1) if cursor.description else None


def close(connection):
    connection.close()


def version():
    return "unknown"


def code(error):
    return type(error).__name__


rows_max = 0

profile = {"run": run, "close": close, "version": version, "code": code}


def die_with_parent():
    # A query that cannot be interrupted must not go on without anybody to wait for it (prctl(2), PR_SET_PDEATHSIG).
    try:
        import ctypes

        ctypes.CDLL(None).prctl(1, 9)
    except (OSError, AttributeError, ImportError):
        pass


def encode(value):
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, numbers.Integral):
        value = int(value)
        return value if -(2**63) <= value < 2**63 else {"number": str(value)}
    if isinstance(value, numbers.Real):
        return {"real": repr(float(value))}
    if isinstance(value, decimal.Decimal):
        return {"number": format(value, "f") if value.is_finite() else str(value)}
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"blob": bytes(value).hex()}
    return str(value)


def describe(error):
    try:
        return str(error) or type(error).__name__
    except Exception:
        return type(error).__name__


def code_of(error):
    try:
        return str(profile["code"](error))
    except Exception:
        return type(error).__name__


class Session:
    def __init__(self, time_max_ms):
        self.connection = None
        self.time_max_ms = time_max_ms

    def hello(self, _):
        return {"version": profile["version"](), "limits": "limit" in profile, "typed": "types" in profile}

    def reset(self, _):
        # One that cannot be closed is not used again either.
        last, self.connection = self.connection, None
        if last is not None:
            profile["close"](last)
        self.connection = profile["connect"]()
        if "limit" in profile:
            profile["limit"](self.connection, self.time_max_ms)
        return {}

    def run(self, request):
        rows = profile["run"](self.connection, request["sql"])
        if rows is None or not request["rows"]:
            return {}
        if len(rows) > request["rows"]:
            return {"too_many": True}
        return {"rows": [[encode(value) for value in row] for row in rows]}

    def types(self, request):
        return {"types": profile["types"](self.connection, request["sql"])}


def main():
    die_with_parent()
    source, time_max_ms = sys.argv[1], int(sys.argv[2])
    global rows_max
    rows_max = int(sys.argv[3])
    session = Session(time_max_ms)
    loaded = False
    for line in requests:
        request = json.loads(line)
        try:
            if not loaded:
                exec(source, profile)
                loaded = True
            answer = getattr(session, request["do"])(request)
        # A panic of an engine in Rust is no Exception.
        except BaseException as error:
            answer = {"error": describe(error), "code": code_of(error)}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


main()
