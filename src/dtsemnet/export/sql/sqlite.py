"""Running an exported expression in sqlite, which comes with Python.

sqlite collects the constants of a statement to compute them once, and looks for each among
those it has: time that grows with the square of their number, a second at five thousand
weights. It does not do so inside a trigger, so that is where the expression runs.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Sequence
from typing import Any

from dtsemnet.arrays import Array
from dtsemnet.export.sql.literals import identifier

__all__ = ["query"]


def query(columns: Sequence[str], rows: Array, expression: str, table: str, n_values: int = 1) -> list[tuple[Any, ...]]:
    """Select an expression from a table of rows.

    Parameters
    ----------
    columns : sequence of str
        Names of the columns.
    rows : table
        As :func:`dtsemnet.export.probes.read_table` gives it; sqlite stores None and NaN as NULL.
    expression : str
        One expression, or several with commas between them.
    table : str
        Name of the table.
    n_values : int, default=1
        Number of expressions.

    Examples
    --------
    >>> import numpy as np
    >>> query(["a", "b"], np.array([[1.0, 2.0], [3.0, np.nan]]), '"a" + "b"', "t")
    [(3.0,), (None,)]
    """
    connection = sqlite3.connect(":memory:")
    try:
        connection.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, 10**9)
        connection.execute(f"CREATE TABLE {identifier(table)} ({', '.join(map(identifier, columns))})")
        marks = ", ".join("?" * len(columns))
        connection.executemany(f"INSERT INTO {identifier(table)} VALUES ({marks})", rows.tolist())
        _need_exp(connection)
        return _select(connection, expression, identifier(table), n_values)
    except sqlite3.Error as error:
        raise ValueError(
            f"sqlite cannot run this expression of {len(expression):,} characters: {error}. A smaller tree would do: "
            f"prune it, or drop columns."
        ) from error
    finally:
        connection.close()


def _select(connection: sqlite3.Connection, expression: str, table: str, n_values: int) -> list[tuple[Any, ...]]:
    found, start = (identifier(f"dtsemnet {word}") for word in ("found", "start"))
    connection.execute(f"CREATE TABLE {found} ({', '.join(f'value{k}' for k in range(n_values))})")
    connection.execute(f"CREATE TABLE {start} (now)")
    select = f"SELECT {expression} FROM {table} ORDER BY {table}.rowid"
    connection.execute(f"CREATE TRIGGER run AFTER INSERT ON {start} BEGIN INSERT INTO {found} {select}; END")
    connection.execute(f"INSERT INTO {start} VALUES (1)")
    return connection.execute(f"SELECT * FROM {found} ORDER BY rowid").fetchall()


def _need_exp(connection: sqlite3.Connection) -> None:
    """EXP is an option of sqlite's build; a database without it needs the same help as here."""
    try:
        connection.execute("SELECT EXP(0e0)")
    except sqlite3.OperationalError:
        connection.create_function("EXP", 1, math.exp, deterministic=True)
