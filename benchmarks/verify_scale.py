"""How proofs grow with the tree: reachable leaves, robust digits, and what bounds on the path spare.

Three questions, CPU time on one thread:

- which leaves of a random tree on 16 features can be reached, at depth 8 and 10. Splits far from the middle of the box
  (``spread``) leave many leaves out of reach, which is the harder case. For comparison: one linear program for every
  leaf, and the time to check all certificates once more in rational arithmetic;
- how far each of 100 test digits of MNIST can move (largest change of a pixel) before a tree of depth 8 changes its
  class;
- how much longer the same takes if every leaf of another class gets its program;
- how long another checkout of this repository takes for the same digits, if ``--against`` names its folder. Both take
  turns, each in a process of its own, so that they share what the machine is busy with.

Run ``python benchmarks/verify_scale.py``. MNIST is found as the benchmarks of the paper find it (``DTSEMNET_DATA``).
The tree is fitted first, unless ``--model`` names a model file. Writes ``VERIFY.md`` next to this file.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from measure import cpu_time, machine, one_thread, table

from dtsemnet.tree import Model, Topology, Tree
from dtsemnet.verify import Domain, reachable_leaves, robustness
from dtsemnet.verify.proof.binding import bind, bind_around
from dtsemnet.verify.proof.linear_programs import interior
from dtsemnet.verify.proof.nearest import NearestPoint, distance_from, try_leaf
from dtsemnet.verify.proof.regions import Cuts, Region

HERE = Path(__file__).parent
N_FEATURES, N_DIGITS, N_WITHOUT = 16, 100, 3
CASES = [(8, 0.5), (8, 4.0), (10, 0.5), (10, 4.0)]


def main() -> None:
    """Measure and write the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", help="a model file with a tree for MNIST; fitted here by default")
    parser.add_argument("--digits", type=int, default=N_DIGITS, help="number of test digits")
    parser.add_argument("--against", type=Path, help="another checkout, whose time for the digits is measured, too")
    options = parser.parse_args()
    one_thread()
    reachable_leaves(_random_tree(2, 0.5), Domain(-1.0, 1.0))  # compile
    m = machine()
    versions = ", ".join(f"{package} {number}" for package, number in m["versions"].items())
    command = "python benchmarks/verify_scale.py" + (" --model FILE" if options.model else "")
    command += " --against FOLDER" if options.against else ""
    digits = _mnist(options.model, options.digits)
    page = [
        f"# Proofs at scale\n\nCPU time on one thread; made by `{command}`.\n",
        "## Reachable leaves, 16 features\n", _leaves_table(), "\n## Robustness, largest change\n",
        _radius_table(digits, options.digits),
        *([_against(options.against, *digits)] if options.against else []),
        f"\n{date.today().isoformat()}: {m['processor']}, {m['cores']} cores, {m['system']}; {versions}.\n",
    ]  # fmt: skip
    (HERE / "VERIFY.md").write_text("\n".join(page))
    print("\n".join(page))


def _random_tree(depth: int, spread: float) -> Tree:
    rng = np.random.default_rng(0)
    n = 2**depth - 1
    value = np.eye(2)[rng.integers(0, 2, n + 1)]
    weight, bias = rng.normal(size=(n, N_FEATURES)), spread * rng.normal(size=n)
    return Tree(Topology.complete(depth), weight, bias, value, class_names=[0, 1])


def _leaves_table() -> str:
    rows: list[tuple[str, ...]] = []
    for depth, spread in CASES:
        tree, domain = _random_tree(depth, spread), Domain(-1.0, 1.0)
        start = time.process_time()
        leaves = reachable_leaves(tree, domain)
        decided = time.process_time() - start
        checked = cpu_time(leaves.check)
        count = f"{len(leaves.reachable)} / {len(leaves.unreachable)} / {len(leaves.undecided)}"
        times = [f"{seconds:.2f} s" for seconds in (decided, _all_programs(tree, domain), checked)]
        rows.append((f"{depth}, {spread:g}", count, times[0], str(leaves.n_programs), times[1], times[2]))
    header = (
        "depth, spread", "reachable / unreachable / undecided", "whole question, certified", "programs in it",
        "a program for every leaf", "all certificates again",
    )  # fmt: skip
    return table(header, rows)


def _all_programs(tree: Tree, domain: Domain) -> float:
    """CPU seconds of one linear program per leaf, without certificates."""
    cuts = Cuts(bind(Model.of(tree), domain))
    regions = _regions(cuts)
    polytopes = [cuts.polytope(region) for region in regions]
    return cpu_time(lambda: [interior(polytope) for polytope in polytopes])


def _regions(cuts: Cuts) -> list[Region]:
    todo, leaves = [(0, cuts.root())], []
    while todo:
        node, region = todo.pop()
        if node < 0:
            leaves.append((~node, region))
            continue
        for side, child in enumerate(cuts.tree.topology.children[node].tolist()):
            todo.append((child, cuts.child(region, node, side)))
    return [region for _, region in sorted(leaves, key=lambda pair: pair[0])]


def _radius_table(digits: tuple[Model, Any], n_digits: int) -> str:
    rng = np.random.default_rng(1)
    synthetic = Model.of(_random_tree(8, 0.5)), rng.uniform(-1, 1, (n_digits, N_FEATURES))
    rows = [_radii("random tree, depth 8, 16 features", *synthetic), _radii("MNIST, depth 8, 784 features", *digits)]
    header = (
        "tree", "inputs", "time each, mean", "median", "slowest", "programs each", "lower = upper within",
        "program for every leaf", "speed-up by bounds",
    )  # fmt: skip
    note = (
        f"Bounds on the path spare programs; without them every leaf of another class needs one ({N_WITHOUT} inputs)."
    )
    return f"{note}\n\n{table(header, rows)}"


def _radii(name: str, model: Model, X: Any) -> tuple[str, ...]:
    times, programs, gaps = [], [], []
    for x in X:
        start = time.process_time()
        radius = robustness(model, x)
        times.append(time.process_time() - start)
        programs.append(radius.n_programs)
        gaps.append((radius.upper - radius.lower) / radius.upper)
    without = [cpu_time(lambda x=x: _radius_of_all(model, x)) for x in X[:N_WITHOUT]]  # type: ignore[misc]
    ratio = sum(without) / sum(times[:N_WITHOUT])
    return (
        name, str(len(X)), f"{np.mean(times):.3f} s", f"{np.median(times):.3f} s", f"{max(times):.2f} s",
        f"{np.mean(programs):.1f}", f"{max(gaps):.0e}", f"{np.mean(without):.2f} s", f"{ratio:.0f}x",
    )  # fmt: skip


def _radius_of_all(model: Model, x: Any) -> float:
    """The radius from the programs of all leaves of other classes, without bounds on the path."""
    row = np.asarray(x, dtype=np.float64)
    own = model.tree.leaf_class[int(model.apply(row[None])[0])]
    encoded = bind_around(model, row, 10.0 * (1.0 + float(np.abs(row).max())))
    cuts, distance = Cuts(encoded), distance_from(encoded, row, "inf")
    best = np.inf
    for leaf, region in enumerate(_regions(cuts)):
        if model.tree.leaf_class[leaf] != own and not region.empty:
            best = min(best, try_leaf(cuts, distance, region, leaf, 0.0, NearestPoint()))
    return best


TIMED = """
import sys, time
import numpy as np
from dtsemnet.tree import Tree
from dtsemnet.verify import robustness
tree = Tree.load(sys.argv[1])
X = np.load(sys.argv[2])
robustness(tree, X[0])
for line in sys.stdin:
    start = time.process_time()
    found = robustness(tree, X[int(line)])
    print(time.process_time() - start, found.lower, found.upper, flush=True)
"""
"""What each checkout runs: a number of a digit comes in, CPU seconds and the radius go out."""


def _against(folder: Path, model: Model, X: Any) -> str:
    """Time the radii of the same digits by this checkout and by another, in turns."""
    with tempfile.TemporaryDirectory() as scratch:
        tree, rows = Path(scratch, "tree.json"), Path(scratch, "rows.npy")
        model.tree.replace(feature_names=None).save(
            tree
        )  # without the encoder, which passes pixels on: older checkouts may not know its version
        np.save(rows, X)
        runs = [_timed(source, tree, rows) for source in (folder / "src", HERE.parent / "src")]
        found = []
        for i in range(len(X)):
            for run in runs:
                run.stdin.write(f"{i}\n")
                run.stdin.flush()
                found.append([float(word) for word in run.stdout.readline().split()])
        for run in runs:
            run.communicate()
    before, now = np.array(found).reshape(len(X), 2, 3).transpose(1, 0, 2)
    ratio = before[:, 0].mean() / now[:, 0].mean()
    apart = float(np.abs(before[:, 1] - now[:, 1]).max())
    header = ("", "time each, mean", "median", "slowest")
    lines = [
        (name, f"{part[:, 0].mean():.3f} s", f"{np.median(part[:, 0]):.3f} s", f"{part[:, 0].max():.2f} s")
        for name, part in (("the other checkout", before), ("this one", now))
    ]
    note = f"The radii differ by at most {apart:.0e}; this checkout is {ratio:.1f} times as fast."
    return f"\n## The same {len(X)} digits by another checkout, in turns\n\n{note}\n\n{table(header, lines)}"


def _timed(source: Path, tree: Path, rows: Path) -> Any:
    environment = os.environ | {"PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
    words = [sys.executable, "-c", TIMED, str(tree), str(rows)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    return subprocess.Popen(words, env=environment, text=True, **pipes)  # type: ignore[call-overload]


def _mnist(path: str | None, n_digits: int) -> tuple[Model, Any]:
    from dtsemnet import DTSemNetClassifier
    from dtsemnet_paper.bench.data import load_data, read_catalogue

    data = load_data(read_catalogue(HERE.parent / "paper" / "datasets.toml")["mnist"])
    test = data.masks["test"]
    if path is not None:
        model = Model.load(path)
    else:
        fitted = DTSemNetClassifier(max_depth=8, max_iter=20, n_init=1, refit=False, random_state=0)
        model = Model.of(fitted.fit(data.X[~test], data.y[~test]))
    return model, np.asarray(data.X[test][:n_digits], dtype=np.float64)


if __name__ == "__main__":
    main()
