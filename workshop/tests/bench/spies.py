"""Estimators that tell what they were given, fail, or take their time."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from sklearn.dummy import DummyClassifier


class Spy:
    """Remembers every row that it was shown in fitting and in choosing."""

    fitted: ClassVar[list[dict[str, Any]]] = []

    def __init__(self, max_depth: int = 1, random_state: int | None = None) -> None:
        self.max_depth, self.random_state = max_depth, random_state

    def fit(self, X: Any, y: Any, *, X_val: Any = None, y_val: Any = None) -> Spy:
        self.asked: list[Any] = []
        self.fitted.append({"model": self, "X": X, "y": y, "X_val": X_val, "y_val": y_val, "asked": self.asked})
        self.label = y[0]
        return self

    def predict(self, X: Any) -> Any:
        self.asked.append(X)
        # Better on deeper trees, so that the choice can be foretold: class 0 wherever depth allows.
        return np.where(np.arange(len(X)) % (self.max_depth + 1) == 0, -1, self.label)


class Failing(DummyClassifier):
    """Fails on odd seeds."""

    def fit(self, X: Any, y: Any) -> Failing:
        if self.random_state % 2:
            raise ZeroDivisionError("odd seed")
        return super().fit(X, y)


class Signing(DummyClassifier):
    """Signs for each fit of the runs proper in a file; after seed 5 each waits until another file is there."""

    def fit(self, X: Any, y: Any) -> Signing:
        if len(X) != 40:  # not the fit that only warms up
            with Path(os.environ["SIGNATURES"]).open("a") as file:
                file.write(f"{self.random_state}\n")
            while self.random_state > 5 and not Path(os.environ["GO_ON"]).exists():
                time.sleep(0.01)
        return super().fit(X, y)


class Interrupted(DummyClassifier):
    """Swallows a Ctrl-C, as a fit does that keeps its best tree so far."""

    def fit(self, X: Any, y: Any) -> Interrupted:
        if len(X) != 40 and self.random_state == 2:
            with contextlib.suppress(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
        return super().fit(X, y)
