"""Plants small faults into the code and counts those that its own tests notice: ``make mutants``.

A mutant is a copy of the package with one change: a comparison with its boundary moved or turned round,
another arithmetic operator, a number that is one larger, ``and`` for ``or``, a sign or a ``not`` left out.
Only the tests that mirror the file run, since these are meant to state what the file does. A mutant that
passes them all has survived: either a test is missing, or the change makes no difference that anyone could
see. The sample is drawn by a seed, the same in every run.

    python tests/mutation.py --sample 15 --only tree/topology.py
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
TARGETS = {
    "tree/tree.py": ["tests/tree/test_tree.py"],
    "tree/topology.py": ["tests/tree/test_topology.py"],
    "tree/edits.py": ["tests/tree/test_edits.py"],
    "tree/probability.py": ["tests/tree/test_probability.py"],
    "kernels/routing.py": ["tests/kernels/test_routing.py"],
    "export/artefact.py": ["tests/export/test_artefact.py", "tests/export/test_check.py"],
    "verify/proof/certificates.py": [
        "tests/verify/proof/test_certificates.py",
        "tests/verify/proof/test_sharp_certificates.py",
    ],
}
"""Files of the package, and the tests that mirror them."""
PATIENCE = 10
"""A mutant whose tests take this many times as long as they do without a change counts as noticed: it does not end."""

SWAPS: dict[type[ast.AST], list[type[ast.AST]]] = {
    ast.Lt: [ast.LtE, ast.GtE],
    ast.LtE: [ast.Lt, ast.Gt],
    ast.Gt: [ast.GtE, ast.LtE],
    ast.GtE: [ast.Gt, ast.Lt],
    ast.Eq: [ast.NotEq],
    ast.NotEq: [ast.Eq],
    ast.Add: [ast.Sub],
    ast.Sub: [ast.Add],
    ast.Mult: [ast.Add],
    ast.Div: [ast.Mult],
    ast.FloorDiv: [ast.Mult],
    ast.And: [ast.Or],
    ast.Or: [ast.And],
}


@dataclass(frozen=True)
class Mutant:
    """One change of one file."""

    line: int
    change: str
    text: str
    """The whole file with the change."""


def mutants(source: str) -> Iterator[Mutant]:
    """List all mutants of a file."""
    tree = ast.parse(source)
    for place, node in enumerate(ast.walk(tree)):
        for change in range(_count(node)):
            changed = copy.deepcopy(tree)
            twin = next(other for k, other in enumerate(ast.walk(changed)) if k == place)
            words = _apply(twin, change)
            yield Mutant(getattr(node, "lineno", 0), words, ast.unparse(ast.fix_missing_locations(changed)))


def _count(node: ast.AST) -> int:
    """How many changes a node offers."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return len(SWAPS.get(type(node.ops[0]), []))
    if isinstance(node, (ast.BinOp, ast.BoolOp, ast.AugAssign)):
        return len(SWAPS.get(type(node.op), []))
    if isinstance(node, ast.UnaryOp):
        return int(isinstance(node.op, (ast.USub, ast.Not)) and not isinstance(node.operand, ast.Constant))
    return int(isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)))


def _apply(node: ast.AST, change: int) -> str:
    """Change a node in place, and say how."""
    before = ast.unparse(node)
    if isinstance(node, ast.Compare):
        node.ops = [SWAPS[type(node.ops[0])][change]()]  # type: ignore[list-item]
    elif isinstance(node, (ast.BinOp, ast.BoolOp, ast.AugAssign)):
        node.op = SWAPS[type(node.op)][change]()  # type: ignore[assignment]
    elif isinstance(node, ast.UnaryOp):
        node.op = ast.UAdd() if isinstance(node.op, ast.USub) else node.op
        if isinstance(node.op, ast.Not):
            node.operand = ast.UnaryOp(ast.Not(), node.operand)
    elif isinstance(node, ast.Constant):
        node.value = not node.value if isinstance(node.value, bool) else node.value + 1  # type: ignore[operator]
    return f"{before}  ->  {ast.unparse(node)}"


class Run:
    """A copy of the package in which mutants are tried."""

    def __init__(self, folder: Path) -> None:
        self.package = folder / "dtsemnet"
        shutil.copytree(ROOT / "src" / "dtsemnet", self.package)  # compiled kernels come along

    def passes(self, tests: list[str], limit: float | None = None) -> bool:
        """Whether the tests pass within some seconds; they stop at the first that fails."""
        path = os.pathsep.join([str(self.package.parent), str(ROOT / "workshop" / "src")])
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "not slow", *tests]
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
        try:
            done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=limit)
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0

    def survivors(self, name: str, sample: list[Mutant], limit: float) -> list[Mutant]:
        """Try mutants of a file; returns those that nothing noticed within some seconds."""
        file = self.package / name
        source, survived = file.read_text(encoding="utf-8"), []
        try:
            for mutant in sample:
                file.write_text(mutant.text, encoding="utf-8")
                passed = self.passes(TARGETS[name], limit)
                survived += [mutant] * passed
                verdict = "SURVIVED" if passed else "noticed"
                print(f"  {verdict}: {name}:{mutant.line}: {mutant.change}", flush=True)
        finally:
            file.write_text(source, encoding="utf-8")
        return survived


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=20, help="mutants of each file")
    parser.add_argument("--only", nargs="*", default=list(TARGETS), choices=list(TARGETS), help="files to change")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    tried = noticed = 0
    with tempfile.TemporaryDirectory(prefix="dtsemnet-mutants-") as folder:
        run = Run(Path(folder))
        for name in options.only:
            every = list(mutants((run.package / name).read_text(encoding="utf-8")))
            sample = random.Random(options.seed).sample(every, min(options.sample, len(every)))
            start = time.monotonic()
            if not run.passes(TARGETS[name]):
                print(f"{name}: its tests fail without any change; nothing tried", flush=True)
                return 1
            limit = PATIENCE * (time.monotonic() - start)
            killed = len(sample) - len(run.survivors(name, sample, limit))
            tried, noticed = tried + len(sample), noticed + killed
            seconds = time.monotonic() - start
            print(f"{name}: {killed} of {len(sample)} noticed ({len(every)} possible), {seconds:.0f} s", flush=True)
    print(f"in all: {noticed} of {tried} noticed, {noticed / max(1, tried):.0%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
