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

import decimal
import json
import sys

requests, answers = sys.stdin, sys.stdout
# What an engine prints is not an answer.
sys.stdout = sys.stderr


def run(connection, sql):
    cursor = connection.cursor()
    cursor.execute(sql)
    return cursor.fetchall() if cursor.description else None


def close(connection):
    connection.close()


def version():
    return "unknown"


def code(error):
    return type(error).__name__


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
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else {"number": str(value)}
    if isinstance(value, float):
        return {"real": repr(value)}
    if isinstance(value, decimal.Decimal):
        return {"number": format(value, "f") if value.is_finite() else str(value)}
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"blob": bytes(value).hex()}
    return str(value)


class Session:
    def __init__(self, time_max_ms):
        self.connection = None
        self.time_max_ms = time_max_ms

    def hello(self, _):
        return {"version": profile["version"](), "limits": "limit" in profile}

    def reset(self, _):
        if self.connection is not None:
            profile["close"](self.connection)
            self.connection = None
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
            answer = {"error": str(error) or type(error).__name__, "code": profile["code"](error)}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


main()
