"""A question about each row of a table: asked by several processes if that is wanted, with progress."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from dtsemnet.arrays import Array

__all__ = ["ask_rows"]

Outcome = TypeVar("Outcome")


def ask_rows(
    ask: Callable[[Array], Outcome], rows: Array, n_jobs: int | None, progress: Callable[[int, int], None] | None
) -> list[Outcome]:
    """Ask about each row, in order.

    Parameters
    ----------
    ask : callable
        Gives the outcome for one row; processes must be able to take it along.
    rows : ndarray of shape (n_samples, n_columns)
    n_jobs : int, optional
        Processes of joblib.
    progress : callable, optional
        Called with the number of rows done and of all rows.
    """
    from joblib import Parallel, delayed

    done: list[Outcome] = []
    for outcome in Parallel(n_jobs=n_jobs, return_as="generator")(delayed(ask)(row) for row in rows):
        done.append(outcome)
        if progress is not None:
            progress(len(done), len(rows))
    return done
