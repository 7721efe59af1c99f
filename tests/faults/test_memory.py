"""Too little memory: a MemoryError and no half state, also from the command line; with more memory it works."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from dtsemnet.tree import Topology, Tree
from faults.failing import run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is limited by RLIMIT_AS")

LIMITED = """
import resource, sys
from contextlib import contextmanager
import numpy as np
from sklearn.datasets import load_iris
from dtsemnet import DTSemNetClassifier, DTSemNetRegressor
from dtsemnet.tree import Tree

def limit(megabytes):
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + megabytes * 2**20, resource.RLIM_INFINITY))

def no_limit():
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
"""

FIT = """
rng = np.random.default_rng(0)
options = {"max_depth": 2, "max_iter": 2, "effort": 0, "n_init": 1, "random_state": 0}
for kind in (DTSemNetClassifier, DTSemNetRegressor):
    X = rng.normal(size=(100_000, 40))
    y = (X[:, 0] > 0).astype(int)
    before = kind(**options).fit(X[:200], y[:200])
    estimator = kind(**options)
    limit(40)
    try:
        estimator.fit(X, y)
    except MemoryError as error:
        assert str(error), "it says how much was asked for"
    else:
        raise AssertionError("there was enough memory")
    finally:
        no_limit()
    assert not hasattr(estimator, "tree_")
    assert kind(**options).fit(X[:200], y[:200]).tree_ == before.tree_
"""

LOAD = """
Tree.load(sys.argv[1])
limit(3)
try:
    Tree.load(sys.argv[1])
except MemoryError:
    pass
else:
    raise AssertionError("there was enough memory")
no_limit()
assert Tree.load(sys.argv[1]).n_splits == 1023
"""


def test_a_fit_without_memory_leaves_the_estimator_unfitted() -> None:
    done = run(LIMITED + FIT)
    assert done.returncode == 0, done.stderr


def test_a_model_that_does_not_fit_into_memory_can_be_loaded_later(tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    weight = np.random.default_rng(0).normal(size=(1023, 60))
    Tree(Topology.complete(10), weight, np.zeros(1023), np.zeros((1024, 1))).save(path)
    done = run(LIMITED + LOAD, path)
    assert done.returncode == 0, done.stderr
